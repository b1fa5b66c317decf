package graph

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/data"
	"thole.example/matrix"
)

// affine is out = w*x + in for every input: one weight, inputs summed. The first layer's x are the labels.
type affine struct {
	name string
	w    float32
	b    *data.Batch
	n    int
	out  Tensor
}

func (a *affine) Name() string { return a.name }
func (a *affine) Params() []matrix.Meta {
	return []matrix.Meta{{Name: a.name + "_w", Rows: 1, Cols: 1, DType: matrix.F32}}
}
func (a *affine) Lookups(*data.Batch) []Lookup { return []Lookup{{Matrix: a.name + "_w"}} }

func (a *affine) Forward(b *data.Batch, params []matrix.Block, in []*Tensor) (*Tensor, error) {
	if a.name == "bad" {
		return nil, errors.New("broken")
	}
	a.b, a.n, a.w = b, len(in), params[0].Data.Values().([]float32)[0]
	a.out.Resize(b.Len(), 1)
	for i, y := range b.Label {
		a.out.Val[i] = a.w * y
		for _, t := range in {
			a.out.Val[i] += t.Val[i]
		}
	}
	return &a.out, nil
}

func (a *affine) Backward(grad *Tensor) ([]*Tensor, []matrix.Block, error) {
	var sum float32
	for i, y := range a.b.Label {
		sum += grad.Val[i] * y
	}
	in := make([]*Tensor, a.n)
	for i := range in {
		in[i] = grad // the same one for all: whoever adds must not add in place
	}
	meta := a.Params()[0]
	return in, []matrix.Block{{At: meta.Rect(), Data: &matrix.Dense[float32]{Val: []float32{sum}}}}, nil
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
func (total) Predict(score []float32) float64 { return float64(score[0]) }

// shelf is Params that remember.
type shelf struct {
	val    float32
	pushed []string
	sums   []float32
	clocks []float64
	fail   error
}

func (s *shelf) Pull(_ context.Context, lookups []Lookup) ([]matrix.Block, error) {
	blocks := make([]matrix.Block, len(lookups))
	for i := range lookups {
		blocks[i] = matrix.Block{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[float32]{Val: []float32{s.val}}}
	}
	return blocks, s.fail
}
func (s *shelf) Push(name string, grad matrix.Block) error {
	s.pushed = append(s.pushed, name)
	s.sums = append(s.sums, grad.Data.Values().([]float32)[0])
	return nil
}
func (s *shelf) Clock(_ context.Context, weight, rate float64) error {
	s.clocks = append(s.clocks, weight, rate)
	return nil
}

func model(ins ...[]int) *Model {
	m := &Model{Name: "m", Loss: total{}, Width: 1}
	for i, in := range ins {
		m.Nodes = append(m.Nodes, Node{&affine{name: string(rune('a' + i))}, in})
	}
	return m
}

func examples(labels ...float32) *data.Batch { return &data.Batch{Label: labels} }

// Node a is read three times, twice by c, and b twice: with all weights w and x the sum of the labels, the scores are
// d = wx + c + b, c = wx + a + a + b, b = wx + a, so that a counts 4 times, b 2 times, c and d once.
func TestDiamond(t *testing.T) {
	m := model(nil, []int{0}, []int{0, 0, 1}, []int{2, 1})
	run, err := NewRun(m)
	if err != nil {
		t.Fatal(err)
	}
	world := &shelf{val: 0.5}
	for range 2 { // working memory is used again
		*world = shelf{val: 0.5}
		sum, err := run.Train(context.Background(), world, examples(1, 2, 4), 0.25)
		if err != nil {
			t.Fatal(err)
		}
		if want := 0.5 * 7 * (4 + 2 + 1 + 1); sum != want {
			t.Errorf("loss %v, want %v", sum, want)
		}
		if !slices.Equal(world.pushed, []string{"a_w", "b_w", "c_w", "d_w"}) ||
			!slices.Equal(world.sums, []float32{28, 14, 7, 7}) {
			t.Errorf("pushed %v %v, want 28 14 7 7", world.pushed, world.sums)
		}
		if !slices.Equal(world.clocks, []float64{3, 0.25}) {
			t.Errorf("clock %v, want 3 examples at rate 0.25", world.clocks)
		}
	}
	score, err := run.Predict(context.Background(), world, examples(1, 2))
	if err != nil || !slices.Equal(score.Val, []float32{4, 8}) {
		t.Errorf("scores %v (%v), want 4 and 8", score, err)
	}
	if len(m.Params()) != 4 || run.Model() != m {
		t.Error("the run is not of the model")
	}
}

func TestRunErrors(t *testing.T) {
	run, err := NewRun(model(nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, b := context.Background(), examples(1)
	if _, _, err := run.Step(b, nil); err == nil || !strings.Contains(err.Error(), "parameters of 0 lookups, want 1") {
		t.Errorf("no parameters: %v", err)
	}
	nan := &shelf{val: float32(math.NaN())}
	if _, err := run.Train(ctx, nan, b, 1); !errors.Is(err, ErrDiverged) || len(nan.pushed) != 0 || len(nan.clocks) != 0 {
		t.Errorf("loss NaN: %v, pushed %v", err, nan.pushed)
	}
	away := &shelf{fail: errors.New("away")}
	if _, err := run.Train(ctx, away, b, 1); !errors.Is(err, away.fail) {
		t.Errorf("no answer: %v", err)
	}
	if _, err := run.Predict(ctx, away, b); !errors.Is(err, away.fail) {
		t.Errorf("no answer: %v", err)
	}
	m := model(nil)
	m.Width = 2
	if run, err = NewRun(m); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Predict(ctx, &shelf{}, b); err == nil || !strings.Contains(err.Error(), "want 1 x 2 for total") {
		t.Errorf("scores too narrow: %v", err)
	}
	m = model(nil)
	m.Nodes[0].Layer = &affine{name: "bad"}
	if run, err = NewRun(m); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Train(ctx, &shelf{}, b, 1); err == nil || err.Error() != `layer "bad": broken` {
		t.Errorf("layer that fails: %v", err)
	}
}

func TestCheck(t *testing.T) {
	same := model(nil, []int{0})
	same.Nodes[1].Layer = same.Nodes[0].Layer
	for _, c := range []struct {
		m    *Model
		want string
	}{
		{&Model{}, "at least one layer"},
		{model([]int{0}), "reads node 0"},
		{model(nil, []int{-1}), "reads node -1"},
		{model(nil, nil), `nothing reads layer "a"`},
		{same, `two layers "a"`},
	} {
		if _, err := NewRun(c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
