package ps_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// TestWireSums: what was sent in fewer bytes and what stays are together the sum of the increments, whatever the type, the form of
// increments and the way the matrix is cut; and when values cross the wire as they are again, the servers have all of it.
func TestWireSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if rapid.Bool().Draw(t, "f32") {
			wireSums[float32](t, 1e-5)
		} else {
			wireSums[float64](t, 1e-13)
		}
	})
}

func wireSums[T float32 | float64](t *rapid.T, epsilon float64) {
	p, w, stop := onWitness(t, ps.Options{Bound: ssp.ASP}, rapid.IntRange(1, 3).Draw(t, "servers"))
	defer stop()
	name := rapid.SampledFrom([]string{"f16", "bf16", "int8"}).Draw(t, "wire")
	model := ps.NewModel("m", rapid.Int64Range(1, 9).Draw(t, "rows"), rapid.SampledFrom([]int64{1, 7, 300, 600}).Draw(t, "cols"))
	kind := map[matrix.DType]string{matrix.F32: "FLOAT", matrix.F64: "DOUBLE"}[matrix.DTypeOf[T]()]
	if rapid.Bool().Draw(t, "sparse") {
		model.SetRowType(rowType(t, "T_"+kind+"_SPARSE"))
	} else {
		model.SetRowType(rowType(t, "T_"+kind+"_DENSE"))
		model.SetPartitioner(rapid.SampledFrom([]string{"", "range"}).Draw(t, "cut"))
	}
	model.SetOplogType(rapid.SampledFrom([]string{"auto", "DENSE_" + kind, "SPARSE_" + kind}).Draw(t, "oplog"))
	model.SetMeta(func(m *matrix.Meta) { m.ColLo = rapid.SampledFrom([]int64{0, -5, 250}).Draw(t, "first") })
	model.SetAttribute("matrix.wire", name)
	ms, err := p.CreateModels(context.Background(), model)
	must(t, err)
	m, total, most := ms[0], increments[T]{}, 0.0
	size := math.Ldexp(1, rapid.IntRange(-30, 30).Draw(t, "size"))
	value := func() T {
		v := T(rand.NormFloat64() * size)
		most += math.Abs(float64(v))
		return v
	}
	check := func(what string) {
		must(t, m.SetWire("")) // to read them as they are
		got, rest := cellsAs[T](t, m), ps.Remainders(m)
		for at, v := range total {
			if d := got[at] + rest[[2]int64{at.row, at.col}] - float64(v); !(math.Abs(d) <= epsilon*most) {
				t.Fatalf("%s: cell %v is %v and %v stays, together want %v", what, at, got[at], rest[[2]int64{at.row, at.col}], v)
			}
		}
	}
	for range rapid.IntRange(1, 4).Draw(t, "flushes") {
		for range rapid.IntRange(0, 4).Draw(t, "increments") {
			drawIncrement(t, m, total, value)
		}
		must(t, p.Flush(context.Background()))
		check(name)
		must(t, m.SetWire(name))
	}
	must(t, p.Flush(context.Background()))
	w.taken()
	must(t, p.Flush(context.Background()))
	if again := w.taken(); len(again) > 0 {
		t.Fatalf("a flush of nothing but what stays sends %v", again)
	}
	must(t, m.SetWire(""))
	must(t, p.Flush(context.Background()))
	if rest := ps.Remainders(m); len(rest) > 0 {
		t.Fatalf("%v stays", rest)
	}
	check("as they are")
}

// cellsAs is cellsOf for floats of both sizes.
func cellsAs[T float32 | float64](t failer, m *ps.Matrix) map[cell]float64 {
	t.Helper()
	got := map[cell]float64{}
	for r := range m.Meta().Rows {
		row, err := m.GetRow(context.Background(), r)
		must(t, err)
		for c, v := range row.ToDense().Data.Values().([]T) {
			got[cell{r, m.Meta().ColLo + int64(c)}] = float64(v)
		}
	}
	return got
}

// floats is a block of f32.
func floats(at matrix.Rect, val ...float32) matrix.Block {
	return matrix.Block{At: at, Data: &matrix.Dense[float32]{Val: val}}
}

// wired is a matrix of f32 that crosses the wire as the type, on real servers of one task.
func wired(t failer, p *ps.Client, name string, rows, cols int64, change func(m *ps.Model)) *ps.Matrix {
	t.Helper()
	model := ps.NewModel("m", rows, cols)
	model.SetRowType(rowType(t, "T_FLOAT_DENSE"))
	model.SetWire(name)
	if change != nil {
		change(model)
	}
	ms, err := p.CreateModels(context.Background(), model)
	must(t, err)
	return ms[0]
}

// TestWireFeedback: descent on a quadratic, beside a column whose steps are large, comes to its end with steps of int8, as what is
// rounded away is sent later; without that it stands still where a step is less than half of the scale.
func TestWireFeedback(t *testing.T) {
	left := map[bool]float64{}
	for _, feedback := range []bool{true, false} {
		p, _, stop := onWitness(t, ps.Options{Bound: ssp.BSP}, 2)
		m := wired(t, p, "int8", 1, 8, nil)
		w := make([]float32, 8)
		for i := range 2000 {
			step := make([]float32, 8)
			for c := range step {
				step[c] = 0.01 * (1000 - w[c])
			}
			step[0] = []float32{1000, -1000}[i%2] // the scale is 8
			must(t, m.Increment(floats(matrix.At(0, 1, 0, 8), step...)))
			must(t, p.SyncClock(t.Context()))
			if !feedback {
				ps.ForgetRemainders(m)
			}
			must(t, ps.PullRow(t.Context(), m, 0, w))
		}
		left[feedback] = math.Abs(float64(w[5]) - 1000)
		stop()
	}
	if left[true] > 20 || left[false] < 300 {
		t.Errorf("with feedback %v are left of 1000, want 20 at most; without %v, want 300 or more", left[true], left[false])
	}
}

// TestWireSameBits: jobs under BSP whose values cross the wire in fewer bytes have the same bits on any servers and partitions.
func TestWireSameBits(t *testing.T) {
	for _, name := range []string{"f16", "bf16", "int8"} {
		for _, kind := range []matrix.RowType{rowType(t, "T_FLOAT_DENSE"), rowType(t, "T_FLOAT_SPARSE")} {
			var want []uint32
			for _, servers := range []int{1, 2, 3, 7} {
				for _, cut := range []string{"", "range"} {
					got := wireBits(t, name, kind, servers, cut)
					if want == nil {
						want = got
					} else if !slices.Equal(got, want) {
						t.Errorf("%s, %v, %d servers, cut %q: the bits are others than on one server", name, kind, servers, cut)
					}
				}
			}
			if slices.Max(want) == 0 {
				t.Errorf("%s, %v: nothing was sent", name, kind)
			}
		}
	}
}

func wireBits(t *testing.T, name string, kind matrix.RowType, servers int, cut string) (bits []uint32) {
	t.Helper()
	const tasks, cols = 2, 700
	o := ps.Options{Bound: ssp.BSP, Job: "j", Tasks: tasks}
	end, err := realServers(&o, setting{real: "mem"}, servers, &blob.Mem{})
	must(t, err)
	defer end()
	errs := make(chan error, tasks)
	for task := range tasks {
		go func() {
			errs <- func() error {
				o := o
				o.Task = task
				p, err := ps.Dial(t.Context(), o)
				if err != nil {
					return err
				}
				defer p.Close()
				model := ps.NewModel("m", 6, cols)
				model.SetRowType(kind)
				model.SetPartitioner(cut)
				model.SetWire(name)
				ms, err := p.CreateModels(t.Context(), model)
				if err != nil {
					return err
				}
				rng := rand.New(rand.NewPCG(uint64(task), 1))
				for step := range 5 {
					if err := wireStep(ms[0], rng, step); err != nil {
						return err
					}
					if err := p.SyncClock(t.Context()); err != nil {
						return err
					}
				}
				if task == 0 {
					for r := range int64(6) {
						row, err := ms[0].GetRow(t.Context(), r)
						if err != nil {
							return err
						}
						for _, v := range row.ToDense().Data.Values().([]float32) {
							bits = append(bits, math.Float32bits(v))
						}
					}
				}
				return p.Leave(t.Context())
			}()
		}()
	}
	for range tasks {
		must(t, <-errs)
	}
	return bits
}

// wireStep pushes whole rows, a part of some, and columns by their keys.
func wireStep(m *ps.Matrix, rng *rand.Rand, step int) error {
	random := func(n int64) []float32 {
		val := make([]float32, n)
		for i := range val {
			val[i] = float32(rng.NormFloat64() * math.Exp(2*rng.NormFloat64()))
		}
		return val
	}
	if step%2 == 0 {
		at := m.Meta().Rect()
		at.Rows.Hi = 2
		part := matrix.At(3, 5, 100, 400)
		return errors.Join(m.Increment(floats(at, random(at.Rows.Len()*at.Cols.Len())...)), m.Increment(floats(part, random(600)...)))
	}
	keys := []int64{3, 699, 255, 256, 511, 3, 40}
	plan, err := m.Plan(nil, keys)
	if err != nil {
		return err
	}
	return ps.PushKeys(m, plan, random(int64(len(keys))*m.Meta().Rows))
}

// TestWireBytes: values that are pushed take a half or a quarter of the bytes.
func TestWireBytes(t *testing.T) {
	for _, tt := range []struct {
		wire         string
		rows         int64
		dense, keyed int // bytes of 4096 cells of a row, of 100 keys of all rows without the keys
	}{
		{"", 16, 16384, 6400}, {"f16", 16, 8192, 3200}, {"bf16", 16, 8192, 3200}, {"int8", 16, 4096 + 16*4, 1600 + 100*4},
		{"int8", 3, 4096 + 16*4, 2 * 300}, // as bf16
	} {
		t.Run(fmt.Sprint(tt.wire, tt.rows), func(t *testing.T) {
			p, w, stop := onWitness(t, ps.Options{Bound: ssp.ASP}, 1)
			defer stop()
			m := wired(t, p, tt.wire, tt.rows, 4096, nil)
			must(t, m.Increment(floats(matrix.At(1, 2, 0, 4096), slices.Repeat([]float32{1.5}, 4096)...)))
			must(t, p.Flush(t.Context()))
			if w.bytes != tt.dense {
				t.Errorf("a row takes %d bytes, want %d", w.bytes, tt.dense)
			}
			w.bytes = 0
			keys := make([]int64, 100)
			for i := range keys {
				keys[i] = int64(7 * i)
			}
			plan, err := m.Plan(nil, keys)
			must(t, err)
			must(t, ps.PushKeys(m, plan, slices.Repeat([]float32{-2.5}, 100*int(tt.rows))))
			must(t, p.Flush(t.Context()))
			if got := w.bytes - 800; got != tt.keyed {
				t.Errorf("values of 100 keys take %d bytes, want %d", got, tt.keyed)
			}
		})
	}
}

// TestWireLeave: what stays is sent in full when the task leaves, and with the next change when more stays than may.
func TestWireLeave(t *testing.T) {
	const v = 1 + 1.0/4096 // no bf16
	for _, leave := range []bool{true, false} {
		o := ps.Options{Bound: ssp.ASP, Job: "j", Tasks: 2}
		end, err := realServers(&o, setting{real: "mem"}, 2, &blob.Mem{})
		must(t, err)
		p, err := ps.Dial(t.Context(), o)
		must(t, err)
		o.Task = 1
		q, err := ps.Dial(t.Context(), o)
		must(t, err)
		m, other := wired(t, p, "bf16", 2, 9, nil), wired(t, q, "", 2, 9, nil)
		must(t, m.Increment(floats(matrix.At(0, 1, 0, 9), slices.Repeat([]float32{v}, 9)...)))
		must(t, p.Flush(t.Context()))
		if are := ps.LimitRemainders(m, 9*4); are != 9*4 {
			t.Errorf("%d bytes stay, want %d", are, 9*4)
		}
		expect := func(want float32) {
			t.Helper()
			row, err := other.GetRow(t.Context(), 0)
			must(t, err)
			if got := row.Data.Values().([]float32); !slices.Equal(got, slices.Repeat([]float32{want}, 9)) {
				t.Errorf("leave %v: the row is %v, want %v", leave, got, want)
			}
		}
		expect(1)
		if leave {
			must(t, p.Leave(t.Context()))
			expect(v)
		} else {
			ps.LimitRemainders(m, 9*4-1)
			must(t, m.Increment(floats(matrix.At(0, 1, 0, 9), slices.Repeat([]float32{v}, 9)...)))
			must(t, p.Flush(t.Context()))
			expect(2 * v)
		}
		p.Close()
		q.Close()
		end()
	}
}

// TestWireLeaveRule: a task whose gradients were rounded leaves, though what is left of them makes no step of the rule.
func TestWireLeaveRule(t *testing.T) {
	for _, name := range []string{"f16", "int8"} {
		p, _, stop := onWitness(t, ps.Options{Bound: ssp.BSP}, 2)
		m := wired(t, p, name, 8, 1000, func(m *ps.Model) { m.SetMeta(func(m *matrix.Meta) { m.Rule = "adagrad" }) })
		plan, err := m.Plan(nil, []int64{3, 999, 3})
		must(t, err)
		must(t, ps.PushKeys(m, plan, slices.Repeat([]float32{0.1, 1e-5, -3, 7}, 3*2)))
		must(t, p.Clock(t.Context(), 1, 0.1))
		must(t, p.Flush(t.Context()))
		if len(ps.Remainders(m)) == 0 {
			t.Errorf("%s: nothing is left", name)
		}
		if err := p.Leave(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		stop()
	}
}

// refuser is a server that refuses pushes as long as it says so.
type refuser struct {
	*server.Server
	on atomic.Bool
}

func (r *refuser) Serve(x *rpc.Exchange) {
	if x.Op == rpc.OpPush && r.on.Load() {
		q := *x.Request
		q.Parts = slices.Clone(q.Parts)
		q.Parts[0].Rows.Hi = 1 << 40 // that many the matrix has not
		x.Request = &q
	}
	r.Server.Serve(x)
}

// TestWireRefused: a change that was refused is sent again, with what came since, and nothing is lost or added twice.
func TestWireRefused(t *testing.T) {
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	must(t, err)
	for _, name := range []string{"f16", "bf16", "int8"} {
		r, net := &refuser{Server: &server.Server{Funcs: funcs}}, &mem.Network{}
		l, err := net.Listen(t.Context(), "", r)
		must(t, err)
		p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "j", Tasks: 1, Bound: ssp.ASP})
		must(t, err)
		m := wired(t, p, name, 6, 300, func(m *ps.Model) { m.SetOplogType("SPARSE_FLOAT") })
		rng, total := rand.New(rand.NewPCG(1, 2)), make([]float64, 300)
		plan, err := m.Plan(nil, []int64{5, 77})
		must(t, err)
		for i := range 6 {
			r.on.Store(i%3 != 2)
			row := make([]float32, 300)
			for c := range row {
				row[c] = float32(rng.NormFloat64())
				total[c] += float64(row[c])
			}
			must(t, m.Increment(floats(matrix.At(1, 2, 0, 300), row...)))
			grads := make([]float32, 12)
			for k := range grads {
				grads[k] = float32(rng.NormFloat64())
			}
			total[5], total[77] = total[5]+float64(grads[1]), total[77]+float64(grads[7])
			must(t, ps.PushKeys(m, plan, grads))
			err := p.Flush(t.Context())
			if refused := errors.Is(err, rpc.ErrMalformed); refused != r.on.Load() || err != nil && !refused {
				t.Fatalf("%s: flush %d: error %v", name, i, err)
			}
		}
		must(t, m.SetWire(""))
		got, rest := cellsAs[float32](t, m), ps.Remainders(m)
		for c, v := range total {
			if d := got[cell{1, int64(c)}] + rest[[2]int64{1, int64(c)}] - v; math.Abs(d) > 1e-4 {
				t.Fatalf("%s: column %d is %v and %v stays, together want %v", name, c, got[cell{1, int64(c)}], rest[[2]int64{1, int64(c)}], v)
			}
		}
		p.Close()
		l.Close()
	}
}

// TestWireTooLarge: what f16 cannot hold is sent in pieces, and a pull of it is refused by its place; what is not finite goes as it is.
func TestWireTooLarge(t *testing.T) {
	p, _, stop := onWitness(t, ps.Options{Bound: ssp.ASP, NonFinite: rpc.AllowNonFinite.String()}, 1)
	defer stop()
	m := wired(t, p, "f16", 1, 3, nil)
	for range 2 {
		must(t, m.Increment(floats(matrix.At(0, 1, 0, 3), 50000, 0, 1)))
		must(t, p.Flush(t.Context()))
	}
	_, err := m.GetRow(t.Context(), 0)
	if !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "row 0, column 0 is too large for f16") {
		t.Errorf("a pull of 100000 as f16: error %v", err)
	}
	must(t, m.Increment(floats(matrix.At(0, 1, 0, 3), -90000, float32(math.Inf(1)), 0.5)))
	must(t, p.Flush(t.Context()))
	row, err := m.GetRow(t.Context(), 0)
	must(t, err)
	if got := row.Data.Values().([]float32); !slices.Equal(got, []float32{10000, float32(math.Inf(1)), 2.5}) {
		t.Errorf("the row is %v", got)
	}
}

// TestWireNames: a wrong name, and a matrix of integers, are told when they are set.
func TestWireNames(t *testing.T) {
	p, _, stop := onWitness(t, ps.Options{}, 1)
	defer stop()
	for _, set := range []func(m *ps.Model){
		func(m *ps.Model) { m.SetWire("f8") },
		func(m *ps.Model) { m.SetAttribute("matrix.wire", "i8") },
		func(m *ps.Model) { m.SetRowType(rowType(t, "T_INT_DENSE")); m.SetWire("f16") },
	} {
		model := ps.NewModel("m", 1, 1)
		set(model)
		if _, err := p.CreateModels(t.Context(), model); err == nil || !strings.Contains(err.Error(), "the wire as") {
			t.Errorf("error %v, want one about the wire", err)
		}
	}
	m := wired(t, p, "", 1, 1, nil)
	if err := m.SetWire("half"); err == nil || !strings.Contains(err.Error(), `"half", want f16, bf16, int8`) {
		t.Errorf("error %v", err)
	}
}
