package ps_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// onReal dials a client of a job with one task on servers of package server, which end with the test.
func onReal(t failer, o ps.Options, servers int) (p *ps.Client, stop func()) {
	t.Helper()
	end, err := realServers(&o, setting{real: "mem"}, servers, &blob.Mem{})
	must(t, err)
	o.Job, o.Tasks = "j", max(1, o.Tasks)
	p, err = ps.Dial(context.Background(), o)
	must(t, err)
	return p, func() { p.Close(); end() }
}

// witness is a network that sees what is pushed.
type witness struct {
	rpc.Network
	mu    sync.Mutex
	cells map[string]map[cell]int // of each matrix's number on each server, since it was asked last
	bytes int
}

func (w *witness) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	c, err := w.Network.Dial(ctx, addr)
	return &witnessConn{c, w, addr}, err
}

type witnessConn struct {
	rpc.Conn
	of   *witness
	addr string
}

func (c *witnessConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	if q.Op == rpc.OpPush {
		c.of.record(c.addr, q.Parts)
	}
	return c.Conn.Start(ctx, q)
}

func (w *witness) record(addr string, parts []rpc.Part) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range parts {
		if p.Values == nil {
			continue
		}
		w.bytes += len(p.Values) + 8*len(p.Keys)
		of := fmt.Sprint(addr, p.Matrix)
		if w.cells == nil {
			w.cells = map[string]map[cell]int{}
		}
		if w.cells[of] == nil {
			w.cells[of] = map[cell]int{}
		}
		keys := p.Keys
		if p.Kind == rpc.KindDense {
			for c := p.Cols.Lo; c < p.Cols.Hi; c++ {
				keys = append(keys, c)
			}
		}
		for r := p.Rows.Lo; r < p.Rows.Hi; r++ {
			for _, key := range keys {
				w.cells[of][cell{r, key}]++
			}
		}
	}
}

// taken is how often each cell was pushed, of all servers, and forgets it.
func (w *witness) taken() map[cell]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[cell]int{}
	for _, cells := range w.cells {
		for at, n := range cells {
			all[at] += n
		}
	}
	w.cells = nil
	return all
}

// onWitness is onReal over a network that sees what is pushed.
func onWitness(t failer, o ps.Options, servers int) (p *ps.Client, w *witness, stop func()) {
	t.Helper()
	end, err := realServers(&o, setting{real: "mem"}, servers, &blob.Mem{})
	must(t, err)
	w = &witness{Network: o.Network}
	o.Network, o.Job, o.Tasks = w, "j", max(1, o.Tasks)
	p, err = ps.Dial(context.Background(), o)
	must(t, err)
	return p, w, func() { p.Close(); end() }
}

// increments are sums of cells, made as the client shall make them.
type increments[T matrix.Elem] map[cell]T

func (s increments[T]) add(at cell, v T) {
	if have, ok := s[at]; ok {
		v += have
	}
	s[at] = v
}

// drawIncrement makes one increment of the matrix in one of the forms there are, and adds it to the sums.
func drawIncrement[T matrix.Elem](t *rapid.T, m *ps.Matrix, sums increments[T], value func() T) {
	meta := m.Meta()
	lo := rapid.Int64Range(0, meta.Rows-1).Draw(t, "row")
	rows := matrix.Range{Lo: lo, Hi: rapid.Int64Range(lo+1, meta.Rows).Draw(t, "end")}
	all := meta.Rect().Cols
	columns := func() []int64 {
		keys := rapid.SliceOfN(rapid.Int64Range(all.Lo, all.Hi-1), 1, 12).Draw(t, "columns")
		slices.Sort(keys)
		return slices.Compact(keys)
	}
	b := matrix.Block{At: matrix.Rect{Rows: rows, Cols: all}}
	switch form := rapid.SampledFrom([]string{"dense", "part", "cols", "csr", "coo", "rows", "keys"}).Draw(t, "form"); form {
	case "dense", "part", "rows":
		if form == "part" {
			from := rapid.Int64Range(all.Lo, all.Hi-1).Draw(t, "from")
			b.At.Cols = matrix.Range{Lo: from, Hi: rapid.Int64Range(from+1, all.Hi).Draw(t, "to")}
		}
		at := b.At.Rows
		var to []int64
		if form == "rows" {
			to = rapid.SliceOfN(rapid.Int64Range(0, meta.Rows-1), 1, 6).Draw(t, "rows")
			at = matrix.Range{Hi: int64(len(to))}
		}
		val := make([]T, at.Len()*b.At.Cols.Len())
		for i := range val {
			val[i] = value()
			row := at.Lo + int64(i)/b.At.Cols.Len()
			if to != nil {
				row = to[row]
			}
			sums.add(cell{row, b.At.Cols.Lo + int64(i)%b.At.Cols.Len()}, val[i])
		}
		b.At.Rows, b.Data = at, &matrix.Dense[T]{Val: val}
		if to != nil {
			must(t, m.IncrementRows(to, b))
		} else {
			must(t, m.Increment(b))
		}
		clear(val) // it was copied (T4)
		return
	case "cols":
		keys := columns()
		d := &matrix.Cols[T]{Idx: keys}
		for _, key := range keys {
			for r := rows.Lo; r < rows.Hi; r++ {
				d.Val = append(d.Val, value())
				sums.add(cell{r, key}, d.Val[len(d.Val)-1])
			}
		}
		b.Data = d
	case "csr", "coo":
		csr, coo := &matrix.CSR[T]{Ptr: []int{0}}, &matrix.COO[T]{}
		for r := rows.Lo; r < rows.Hi; r++ {
			for _, key := range columns() {
				v := value()
				csr.Idx, csr.Val = append(csr.Idx, key), append(csr.Val, v)
				coo.Row, coo.Col, coo.Val = append(coo.Row, r-rows.Lo), append(coo.Col, key), append(coo.Val, v)
				sums.add(cell{r, key}, v)
			}
			csr.Ptr = append(csr.Ptr, len(csr.Idx))
		}
		if b.Data = csr; form == "coo" {
			b.Data = coo
		}
	case "keys":
		keys := rapid.SliceOfN(rapid.Int64Range(all.Lo, all.Hi-1), 1, 12).Draw(t, "keys")
		k, err := m.Plan(nil, keys)
		must(t, err)
		grads, own := make([]T, int64(len(keys))*meta.Rows), increments[T]{}
		for i := range grads {
			grads[i] = value()
			own.add(cell{int64(i) % meta.Rows, keys[int64(i)/meta.Rows]}, grads[i])
		}
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			for at, v := range own { // what comes twice in a call is added up first
				sums.add(at, v)
			}
			must(t, ps.PushKeys(m, k, grads))
		}
		clear(grads)
		return
	}
	must(t, m.Increment(b))
	clear(b.Data.Values().([]T))
}

// TestOplogTypes (T2, T3, T4): whatever the oplog type, and whatever is pushed in which form, the servers get the sums bit by bit, each
// cell once and none that was not touched, but for zeros beside them in dense rows.
func TestOplogTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		switch rapid.SampledFrom([]matrix.DType{matrix.F64, matrix.F32, matrix.I32, matrix.I64}).Draw(t, "type") {
		case matrix.F64:
			testOplogType(t, func() float64 { return rand.NormFloat64() })
		case matrix.F32:
			testOplogType(t, func() float32 { return float32(rand.NormFloat64()) })
		case matrix.I32:
			testOplogType(t, func() int32 { return rand.Int32() })
		case matrix.I64:
			testOplogType(t, func() int64 { return rand.Int64() })
		}
	})
}

func testOplogType[T matrix.Elem](t *rapid.T, value func() T) {
	dtype := matrix.DTypeOf[T]()
	p, w, stop := onWitness(t, ps.Options{Bound: rapid.SampledFrom([]ssp.Bound{ssp.BSP, ssp.ASP}).Draw(t, "bound")}, rapid.IntRange(1, 3).Draw(t, "servers"))
	defer stop()
	sparse := rapid.Bool().Draw(t, "sparse")
	model := ps.NewModel("m", rapid.Int64Range(1, 5).Draw(t, "rows"), rapid.Int64Range(1, 150).Draw(t, "cols"))
	model.SetRowType(map[matrix.DType]matrix.RowType{matrix.F64: 0, matrix.F32: 7, matrix.I64: 14, matrix.I32: 21}[dtype])
	model.SetPartitioner(rapid.SampledFrom([]string{"", "range", "column"}).Draw(t, "cut"))
	model.SetMeta(func(m *matrix.Meta) {
		if sparse {
			m.Layout = matrix.RowSparse
		}
		m.ColLo = 7
	})
	name := rapid.SampledFrom(ps.OplogTypes(dtype)).Draw(t, "oplog")
	model.SetOplogType(name)
	ms, err := p.CreateModels(context.Background(), model)
	must(t, err)
	m, want := ms[0], map[cell]T{}
	for range rapid.IntRange(1, 3).Draw(t, "flushes") {
		sums := increments[T]{}
		for range rapid.IntRange(0, 25).Draw(t, "increments") {
			drawIncrement(t, m, sums, value)
		}
		if rapid.Bool().Draw(t, "clock") {
			must(t, p.SyncClock(context.Background()))
		} else {
			must(t, p.Flush(context.Background()))
		}
		for at, n := range w.taken() {
			if _, touched := sums[at]; n != 1 || !touched && sparse {
				t.Fatalf("%s: cell %v was sent %d times, touched %v", name, at, n, touched)
			}
		}
		for at, v := range sums {
			want[at] += v
		}
	}
	must(t, p.SyncClock(context.Background()))
	meta := m.Meta()
	for r := range meta.Rows {
		got, err := m.GetRow(context.Background(), r)
		must(t, err)
		stored := got.ToDense().Data.Values().([]T)
		for c := range meta.Cols {
			if have := stored[c]; have != want[cell{r, meta.ColLo + c}] {
				t.Fatalf("%s: row %d, column %d is %v, want %v", name, r, meta.ColLo+c, have, want[cell{r, meta.ColLo + c}])
			}
		}
	}
}

// TestOplogGrows: many increments of few cells take the memory of few; what is mostly touched is held whole, by rows, and what is
// not by key.
func TestOplogGrows(t *testing.T) {
	for _, c := range []struct {
		oplog, rowType string
		cols, span     int64
		rows, keys     int // that wait at most; whole
	}{
		{"auto", "T_DOUBLE_SPARSE", 4000, 4000, 1, 0},
		{"auto", "T_DOUBLE_DENSE", 4000, 4000, 1, 0},
		{"auto", "T_DOUBLE_SPARSE", 1 << 40, 4000, 0, 530_000},
		{"SPARSE_DOUBLE", "T_DOUBLE_SPARSE", 4000, 4000, 0, 530_000},
		{"DENSE_DOUBE", "T_DOUBLE_SPARSE", 4000, 4000, 1, 0},
	} {
		p, stop := onReal(t, ps.Options{}, 2)
		model := ps.NewModel("m", 2, c.cols)
		model.SetRowType(rowType(t, c.rowType))
		model.SetOplogType(c.oplog)
		ms, err := p.CreateModels(t.Context(), model)
		must(t, err)
		rng, want := rand.New(rand.NewPCG(1, 2)), map[int64]float64{}
		for range 700 {
			d := &matrix.Cols[float64]{}
			for range 2000 {
				d.Idx = append(d.Idx, rng.Int64N(c.span))
			}
			slices.Sort(d.Idx)
			d.Idx = slices.Compact(d.Idx)
			for _, key := range d.Idx {
				v := rng.NormFloat64()
				d.Val, want[key] = append(d.Val, v), want[key]+v
			}
			must(t, ms[0].Increment(matrix.Block{At: matrix.At(1, 2, 0, c.cols), Data: d}))
		}
		if rows, keys := ps.Waiting(ms[0]); rows != c.rows || keys > c.keys || keys == 0 && rows == 0 {
			t.Errorf("%s of %s: %d rows and %d keys wait, want %d and at most %d", c.oplog, c.rowType, rows, keys, c.rows, c.keys)
		}
		must(t, p.SyncClock(t.Context()))
		cols := slices.Sorted(maps.Keys(want))
		got, err := ms[0].GetCols(t.Context(), cols)
		must(t, err)
		for i, v := range got.Data.Values().([]float64) {
			if w := map[bool]float64{true: want[cols[i/2]]}[i%2 == 1]; v != w {
				t.Fatalf("%s of %s: column %d, row %d is %v, want %v", c.oplog, c.rowType, cols[i/2], i%2, v, w)
			}
		}
		stop()
	}
}

// TestOplogRefused: a type that is none of the matrix is refused, and told which would be.
func TestOplogRefused(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	for _, c := range []struct{ oplog, rowType, want string }{
		{"DENSE_INT", "T_DOUBLE_DENSE", "oplog type DENSE_INT is for values of i32 and these are f64, want DENSE_DOUBLE, auto"},
		{"LIL_INT", "T_FLOAT_SPARSE", "oplog type LIL_INT is for values of i32 and these are f32, want SPARSE_FLOAT, COMPONENT_SPARSE_FLOAT, auto"},
		{"T_LONG_SPARSE", "T_INT_DENSE", "oplog type T_LONG_SPARSE is for values of i64 and these are i32, want LIL_INT"},
		{"DENSE", "T_INT_DENSE", `oplog type "DENSE", want DENSE_INT, LIL_INT, SPARSE_INT`},
		{"T_ANY_INTKEY_DENSE", "T_INT_DENSE", `oplog type "T_ANY_INTKEY_DENSE", want DENSE_INT`},
		{"DENSE_FLOAT", "T_FLOAT_SPARSE_LONGKEY", "takes 1099511627776 x 4 bytes for each row that is touched, want at most 2147483648, or SPARSE_FLOAT"},
	} {
		model := ps.NewModel("m", 1, 1<<40)
		model.SetRowType(rowType(t, c.rowType))
		model.SetOplogType(c.oplog)
		if _, err := p.CreateModels(t.Context(), model); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %s", c.oplog, c.rowType, err, c.want)
		}
	}
}

// TestRefusedOplog: what a refused change brought waits again, whatever the oplog type, and is added to what comes then.
func TestRefusedOplog(t *testing.T) {
	for _, oplog := range ps.OplogTypes(matrix.F64) {
		for _, sparse := range []string{"T_DOUBLE_DENSE", "T_DOUBLE_SPARSE"} {
			c := newCluster(2)
			p := c.dial(t, ps.Options{Bound: ssp.ASP})
			model := ps.NewModel("m", 2, 9)
			model.SetOplogType(oplog)
			model.SetRowType(rowType(t, sparse))
			ms, err := p.CreateModels(t.Context(), model)
			must(t, err)
			m := ms[0]
			k, err := m.Plan(nil, []int64{3, 8, 3})
			must(t, err)
			push := func() {
				t.Helper()
				must(t, m.Increment(dense(matrix.At(0, 1, 0, 4), 1, 2, 3, 4)))
				must(t, ps.PushKeys(m, k, []float64{1, 2, 3, 4, 5, 6}))
			}
			push()
			for _, st := range c.stores {
				st.change = func(*rpc.Request) error { return errRefused }
			}
			if err := p.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "no room") {
				t.Fatalf("%s: refused: %v", oplog, err)
			}
			for _, st := range c.stores {
				st.change = nil
			}
			push()
			must(t, p.Flush(t.Context()))
			for at, want := range map[cell]float64{{0, 0}: 2, {0, 3}: 20, {1, 3}: 16, {0, 8}: 6, {1, 8}: 8, {1, 0}: 0} {
				if got := c.sum("m", at); got != want {
					t.Errorf("%s of %s: cell %v is %v, want %v", oplog, sparse, at, got, want)
				}
			}
			c.right(t)
			p.Close()
		}
	}
}
