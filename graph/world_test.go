package graph

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"thole.example/data"
	"thole.example/matrix"
)

// shelf is Params that keep whole matrices, row-major, and remember what was pushed, in the same form.
type shelf struct {
	metas  map[string]*Param
	val    map[string][]float32
	pushed map[string][]float32
	order  []string // of pushes
	clocks []float64
	plans  []*counted
	fail   error
}

// counted is a plan that counts how often it was asked where columns are.
type counted struct {
	Index
	asked int
}

func (c *counted) Positions(dst []uint32) []uint32 {
	c.asked++
	return c.Index.Positions(dst)
}

// newShelf has a matrix for each of the model's, with the numbers 1, 2, 3, ... modulo 5, less 2, as values.
func newShelf(m *Model) *shelf {
	s := &shelf{metas: map[string]*Param{}, val: map[string][]float32{}, pushed: map[string][]float32{}}
	for _, p := range m.Params() {
		s.metas[p.Name] = &p
		val := make([]float32, p.Rows*p.Cols)
		for i := range val {
			val[i] = float32((i+1)%5) - 2
		}
		s.val[p.Name] = val
	}
	return s
}

func (s *shelf) Plan(keys []int64, matrices []string) ([]matrix.Plan, error) {
	plan := &counted{}
	plan.Build(keys)
	for _, name := range matrices {
		if m := s.metas[name]; len(plan.Unique()) > 0 && plan.Unique()[len(plan.Unique())-1] >= m.Cols {
			return nil, fmt.Errorf("shelf: matrix %s has no such column", name)
		}
	}
	s.plans = append(s.plans, plan)
	return slices.Repeat([]matrix.Plan{plan}, len(matrices)), nil
}

func (s *shelf) Pull(_ context.Context, lookups []Lookup) ([]matrix.Block, error) {
	var blocks []matrix.Block
	for _, l := range lookups {
		m, val := s.metas[l.Matrix], s.val[l.Matrix]
		if l.Plan == nil {
			copy(l.Into, val)
			blocks = append(blocks, matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: l.Into}})
			continue
		}
		some := &matrix.Cols[float32]{Idx: l.Plan.Unique()}
		for _, c := range some.Idx {
			for r := range m.Rows {
				some.Val = append(some.Val, val[r*m.Cols+c])
			}
		}
		blocks = append(blocks, matrix.Block{At: m.Rect(), Data: some}) // not into Into, which is a way to save a copy
	}
	return blocks, s.fail
}

func (s *shelf) Push(name string, grad matrix.Block) error {
	s.order = append(s.order, name)
	s.pushed[name] = slices.Clone(grad.Data.Values().([]float32))
	return nil
}

func (s *shelf) PushPlanned(name string, plan matrix.Plan, grad []float32) error {
	m := s.metas[name]
	s.order = append(s.order, name)
	sum := make([]float32, m.Rows*m.Cols)
	for i, c := range plan.Unique() {
		for r := range m.Rows {
			sum[r*m.Cols+c] += grad[int64(i)*m.Rows+r]
		}
	}
	s.pushed[name] = sum
	return nil
}

func (s *shelf) Clock(_ context.Context, weight, rate float64) error {
	s.clocks = append(s.clocks, weight, rate)
	return nil
}

// affine is out = w*label + the sum of its inputs. It remembers what it saw.
type affine struct {
	name     string
	together bool // it needs the whole batch
	out      Tensor
	seen     []Input
}

func (a *affine) Name() string     { return a.name }
func (a *affine) Shape() Shape     { return Shape{Cols: 1} }
func (a *affine) NeedsBatch() bool { return a.together }
func (a *affine) Params() []Param {
	return []Param{{Meta: matrix.Meta{Name: a.name + "_w", Rows: 1, Cols: 1, DType: matrix.F32, Layout: matrix.RowDense}}}
}

func (a *affine) Forward(x *Input, params []Values, in []*Tensor) (*Tensor, error) {
	if a.name == "bad" {
		return nil, fmt.Errorf("broken")
	}
	a.seen = append(a.seen, *x)
	a.out.Resize(x.Len(), 1)
	for i, y := range x.Label {
		a.out.Val[i] = params[0].Val[0] * y
		for _, t := range in {
			a.out.Val[i] += t.Val[i]
		}
	}
	return &a.out, nil
}

func (a *affine) Backward(x *Input, _, grads []Values, grad *Tensor, back []*Tensor) error {
	if a.name == "worse" {
		return fmt.Errorf("broken")
	}
	for i, y := range x.Label {
		grads[0].Val[0] += grad.Val[i] * y
		for _, t := range back {
			t.Val[i] += grad.Val[i]
		}
	}
	clear(grad.Val) // which is the layer's to change
	return nil
}

// table is out = the sum over the values x of an example of x * (row+1) * w[row][column]: its parameters are of features.
type table struct {
	name string
	rows int64
	cols int64
	kind matrix.Layout
	out  Tensor
}

func (a *table) Name() string { return a.name }
func (a *table) Shape() Shape { return Shape{Cols: 1} }
func (a *table) Params() []Param {
	return []Param{{Features: true, Meta: matrix.Meta{Name: a.name + "_t", Rows: a.rows, Cols: a.cols, DType: matrix.F32, Layout: a.kind}}}
}

func (a *table) each(x *Input, at []uint32, f func(row, place int, times float32)) {
	for row := range x.Len() {
		for v := x.Ptr[row]; v < x.Ptr[row+1]; v++ {
			for r := range int(a.rows) {
				f(row, int(at[v])*int(a.rows)+r, x.Val[v]*float32(r+1))
			}
		}
	}
}

func (a *table) Forward(x *Input, params []Values, _ []*Tensor) (*Tensor, error) {
	a.out.Resize(x.Len(), 1)
	clear(a.out.Val)
	a.each(x, params[0].At, func(row, place int, times float32) { a.out.Val[row] += times * params[0].Val[place] })
	return &a.out, nil
}

func (a *table) Backward(x *Input, _, grads []Values, grad *Tensor, _ []*Tensor) error {
	a.each(x, grads[0].At, func(row, place int, times float32) { grads[0].Val[place] += times * grad.Val[row] })
	return nil
}

// total is the sum of the scores.
type total struct{}

func (total) Name() string { return "total" }
func (total) Loss(score *Tensor, _ []float32, grad *Tensor) (sum float64) {
	for i, s := range score.Val {
		sum += float64(s)
		grad.Val[i] = 1
	}
	return sum
}
func (total) Task() Task                                      { return Regression }
func (total) Check([]float32, int) error                      { return nil }
func (total) Predict(to []float64, score []float32) []float64 { return append(to, float64(score[0])) }
func (total) Threshold() float64                              { return 0 }

// model is affine layers a, b, c, ... that read those of the numbers.
func model(ins ...[]int) *Model {
	m := &Model{Name: "m", Loss: total{}, Width: 1}
	for i, in := range ins {
		m.Nodes = append(m.Nodes, Node{&affine{name: string(rune('a' + i))}, in})
	}
	return m
}

// tables is those tables under an affine layer, sum.
func tables(all ...*table) *Model {
	m := &Model{Name: "m", Loss: total{}, Width: 1}
	var in []int
	for i, t := range all {
		m.Nodes, in = append(m.Nodes, Node{t, nil}), append(in, i)
	}
	m.Nodes = append(m.Nodes, Node{&affine{name: "sum"}, in})
	return m
}

// examples are without features.
func examples(labels ...float32) *data.Batch {
	return &data.Batch{Label: labels, X: matrix.Block{Data: &matrix.CSR[float32]{Ptr: make([]int, len(labels)+1)}}}
}

// featured is n examples of up to 3 values of some columns below cols, whose first stored value is not the first in memory.
func featured(n int, cols int64) *data.Batch {
	x := &matrix.CSR[float32]{Ptr: []int{2}, Idx: []int64{1 << 40, 1 << 40}, Val: []float32{99, 99}}
	b := &data.Batch{X: matrix.Block{At: matrix.At(0, int64(n), 0, cols), Data: x}}
	for i := range n {
		for k := range i * 7 % 4 {
			x.Idx, x.Val = append(x.Idx, int64(i*5+k*3)%cols), append(x.Val, float32(i%3+k-1))
		}
		x.Ptr, b.Label = append(x.Ptr, len(x.Idx)), append(b.Label, float32(i%7))
	}
	x.Idx, x.Val = append(x.Idx, 1<<40), append(x.Val, 99) // behind the last row
	return b
}

func newRun(t *testing.T, m *Model) *Run {
	t.Helper()
	run, err := NewRun(m)
	if err != nil {
		t.Fatal(err)
	}
	return run
}
