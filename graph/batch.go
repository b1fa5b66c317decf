package graph

import (
	"errors"
	"fmt"
	"slices"

	"thole.example/data"
	"thole.example/matrix"
)

// batch is the parameters of a batch: what is looked up, the values that came, and the gradients by them.
type batch struct {
	params    []Param
	*lookedUp              // by the batch at work
	turns     [2]*lookedUp // of the last lookups, and of those before
	grads     []Values

	names []string   // scratch: matrices whose columns are planned
	at    [][]uint32 // memory of Values.At
	kinds []columns  // what each at is of
	x     Input

	counted matrix.Plan // whose columns' shows and clicks are in counts
	counts  []float32
}

// lookedUp is what a batch has looked up. Two take turns, so that the values of the next batch can come while one is computed.
type lookedUp struct {
	of     *data.Batch
	asked  []Lookup
	values []Values
	wide   [][]float32 // memory of whole matrices of features, row-major as they travel, where that is not column by column
}

func newLookedUp(params []Param) *lookedUp { return &lookedUp{values: make([]Values, len(params))} }

// columns is how the columns of a matrix are found: by a plan, or counted among all.
type columns struct {
	plan matrix.Plan
	all  matrix.Range
}

// entries are the columns of all stored values of the batch; a CSR may hold more than its rows use.
func entries(x *matrix.CSR[float32]) []int64 { return x.Idx[x.Ptr[0]:x.Ptr[len(x.Ptr)-1]] }

// lookups plans the batch.
func (t *batch) lookups(p Params, b *data.Batch) ([]Lookup, error) {
	t.turns[0], t.turns[1] = t.turns[1], t.turns[0]
	if t.turns[0] == nil {
		t.turns[0] = newLookedUp(t.params)
	}
	to := t.turns[0]
	to.of, to.asked, t.names = b, to.asked[:0], t.names[:0]
	for i := range t.params {
		if !t.params[i].Whole() {
			t.names = append(t.names, t.params[i].Name)
		}
	}
	var plans []matrix.Plan
	if len(t.names) > 0 {
		var err error
		if plans, err = p.Plan(entries(b.Rows()), t.names); err != nil {
			return nil, t.outside(b, err)
		}
	}
	for i := range t.params {
		m, v := &t.params[i], &to.values[i]
		l := Lookup{Matrix: m.Name}
		n := int(m.Rows)
		if m.Whole() {
			n *= int(m.Cols)
		} else {
			l.Plan, plans = plans[0], plans[1:]
			n *= len(l.Plan.Unique())
		}
		v.Val = resize(v.Val, n)
		if l.Into = v.Val; m.turned() {
			for len(to.wide) <= i {
				to.wide = append(to.wide, nil)
			}
			to.wide[i] = resize(to.wide[i], n)
			l.Into = to.wide[i]
		}
		to.asked = append(to.asked, l)
	}
	return to.asked, nil
}

// turned reports whether the matrix travels row-major where layers take column after column.
func (p *Param) turned() bool { return p.Features && p.Rows > 1 && p.Whole() }

// resize is n elements of the memory, which grows if it has fewer. They are not cleared, and never nil, which as places means all
// values in their order.
func resize[T any](memory []T, n int) []T {
	if memory == nil || cap(memory) < n {
		return make([]T, n, n+n/4)
	}
	return memory[:n]
}

// take takes what was pulled for the batch, which is of the last lookups or of those before.
func (t *batch) take(b *data.Batch, blocks []matrix.Block) error {
	at := slices.IndexFunc(t.turns[:], func(l *lookedUp) bool { return l != nil && l.of == b })
	if at < 0 {
		return errors.New("parameters of another batch, want those of the last lookups or of those before")
	}
	t.lookedUp = t.turns[at]
	t.kinds = t.kinds[:0]
	if len(blocks) != len(t.asked) {
		return fmt.Errorf("parameters of %d lookups, want %d", len(blocks), len(t.asked))
	}
	for i, block := range blocks {
		m, v := &t.params[i], &t.values[i]
		got, ok := block.Data.Values().([]float32)
		if !ok || len(got) != len(v.Val) {
			return fmt.Errorf("matrix %s: got %T of %d values, want %d float32", m.Name, block.Data, block.Data.NNZ(), len(v.Val))
		}
		if m.turned() {
			turn(v.Val, got, int(m.Rows), int(m.Cols))
		} else if n := len(got); n > 0 && &got[0] != &v.Val[0] {
			copy(v.Val, got)
		}
		if m.Features {
			if err := t.locate(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn writes the transpose of src, rows x cols, to dst.
func turn(dst, src []float32, rows, cols int) {
	for r := range rows {
		for c, v := range src[r*cols:][:cols] {
			dst[c*rows+r] = v
		}
	}
}

// locate finds where the columns of a matrix of features are, for each stored value of the batch; matrices whose columns are
// found alike share that.
func (t *batch) locate(i int) error {
	kind := columns{plan: t.asked[i].Plan}
	if kind.plan == nil {
		kind.all = t.params[i].Rect().Cols
	}
	if k := slices.Index(t.kinds, kind); k >= 0 {
		t.values[i].At = t.at[k]
		return nil
	}
	k := len(t.kinds)
	for len(t.at) <= k {
		t.at = append(t.at, nil)
	}
	x := t.of.Rows()
	first, end := x.Ptr[0], x.Ptr[len(x.Ptr)-1]
	at := resize(t.at[k], end)
	if kind.plan != nil {
		at = kind.plan.Positions(at[:first])
		if len(at) != end {
			return fmt.Errorf("matrix %s: a plan of %d columns, want %d", t.params[i].Name, len(at)-first, end-first)
		}
	} else {
		lo, cols, to := kind.all.Lo, uint64(kind.all.Len()), at[first:]
		for j, c := range entries(x) {
			if uint64(c-lo) >= cols {
				return t.outside(t.of, fmt.Errorf("column %d, want columns within %v", c, kind.all))
			}
			to[j] = uint32(c - lo)
		}
	}
	t.at[k], t.kinds = at, append(t.kinds, kind)
	t.values[i].At = at
	return nil
}

// outside says which row of the batch has a feature that a matrix does not have; if none has, it is err.
func (t *batch) outside(b *data.Batch, err error) error {
	x := b.Rows()
	for i := range t.params {
		m := &t.params[i]
		if all := m.Rect().Cols; m.Features {
			for row := range len(x.Ptr) - 1 {
				for _, c := range x.Idx[x.Ptr[row]:x.Ptr[row+1]] {
					if !all.Has(c) {
						return fmt.Errorf("row %d of the batch has feature %d, want features within %v", row, c, all)
					}
				}
			}
		}
	}
	return err
}

// input is the examples [lo, hi) of the batch, valid until the next call.
func (t *batch) input(lo, hi int) *Input {
	x := t.of.Rows()
	t.x = Input{Label: t.of.Label[lo:hi], Ptr: x.Ptr[lo : hi+1], Idx: x.Idx, Val: x.Val,
		Field: t.of.Field, Fields: t.of.Fields, First: lo}
	if t.of.Weight != nil {
		t.x.Weight = t.of.Weight[lo:hi]
	}
	return &t.x
}

// clearGrads makes room for gradients like the values, all zero. Those of whole matrices are given away with every push.
func (t *batch) clearGrads() {
	for i := range t.grads {
		g, v := &t.grads[i], &t.values[i]
		g.At = v.At
		if t.params[i].Whole() && !t.params[i].turned() {
			g.Val = make([]float32, len(v.Val))
			continue
		}
		g.Val = resize(g.Val, len(v.Val))
		clear(g.Val)
	}
}

// narrow clears the gradients of rows that columns do not store.
func (t *batch) narrow() {
	for i := range t.params {
		m, plan := &t.params[i], t.asked[i].Plan
		if len(m.Widths) == 0 || plan == nil { // which keyed matrices have
			continue
		}
		rows := int(m.Rows)
		for j, col := range plan.Unique() {
			clear(t.grads[i].Val[j*rows:][m.RowsOf(col):rows])
		}
	}
}

// pushCounts pushes how often the batch shows each column of a plan, and how often with a click: a label above 0.
func (t *batch) pushCounts(p Params, name string, plan matrix.Plan, at []uint32) error {
	counter, ok := p.(Counter)
	if !ok {
		return fmt.Errorf("matrix %s: its columns are counted, and %T counts none", name, p)
	}
	if t.counted != plan {
		t.counted, t.counts = plan, resize(t.counts, 2*len(plan.Unique()))
		clear(t.counts)
		x := t.of.Rows()
		for row, label := range t.of.Label {
			click := float32(0)
			if label > 0 {
				click = 1
			}
			for _, u := range at[x.Ptr[row]:x.Ptr[row+1]] {
				t.counts[2*u]++
				t.counts[2*u+1] += click
			}
		}
	}
	return counter.PushCounts(name, plan, t.counts)
}

// push pushes the gradients.
func (t *batch) push(p Params) error {
	t.counted = nil
	for i := range t.params {
		m, g := &t.params[i], t.grads[i].Val
		if plan := t.asked[i].Plan; plan != nil {
			if err := p.PushPlanned(m.Name, plan, g); err != nil {
				return err
			}
			if m.Keep.Counts() {
				if err := t.pushCounts(p, m.Name, plan, t.grads[i].At); err != nil {
					return err
				}
			}
			continue
		}
		if m.turned() {
			turned := make([]float32, len(g))
			turn(turned, g, int(m.Cols), int(m.Rows))
			g = turned
		} else {
			t.grads[i].Val = nil
		}
		if err := p.Push(m.Name, matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: g}}); err != nil {
			return err
		}
	}
	return nil
}
