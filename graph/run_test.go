package graph

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
)

// Node a is read three times, twice by c, and b twice: with all weights w and x the sum of the labels, the scores are
// d = wx + c + b, c = wx + a + a + b, b = wx + a, so that a counts 4 times, b 2 times, c and d once.
func TestDiamond(t *testing.T) {
	m := model(nil, []int{0}, []int{0, 0, 1}, []int{2, 1})
	run := newRun(t, m)
	world := newShelf(m)
	for name := range world.val {
		world.val[name][0] = 0.5
	}
	for range 2 { // working memory is used again
		world.order, world.clocks = nil, nil
		sum, err := run.Train(t.Context(), world, examples(1, 2, 4), 0.25)
		if err != nil {
			t.Fatal(err)
		}
		if want := 0.5 * 7 * (4 + 2 + 1 + 1); sum != want {
			t.Errorf("loss %v, want %v", sum, want)
		}
		if !slices.Equal(world.order, []string{"a_w", "b_w", "c_w", "d_w"}) {
			t.Errorf("pushed %v", world.order)
		}
		for name, want := range map[string]float32{"a_w": 28, "b_w": 14, "c_w": 7, "d_w": 7} {
			if got := world.pushed[name]; !slices.Equal(got, []float32{want}) {
				t.Errorf("gradient of %s is %v, want %v", name, got, want)
			}
		}
		if !slices.Equal(world.clocks, []float64{3, 0.25}) {
			t.Errorf("clock %v, want 3 examples at rate 0.25", world.clocks)
		}
	}
	score, err := run.Predict(t.Context(), world, examples(1, 2))
	if err != nil || !slices.Equal(score.Val, []float32{4, 8}) {
		t.Errorf("scores %v (%v), want 4 and 8", score, err)
	}
	if len(m.Params()) != 4 || len(m.Metas()) != 4 || run.Model() != m {
		t.Error("the run is not of the model")
	}
}

// A batch gives the same sums and gradients in blocks as at once, and as computed example by example, however matrices of
// features are stored.
func TestBlocks(t *testing.T) {
	const cols = 40
	for _, n := range []int{0, 1, BlockRows - 1, BlockRows, BlockRows + 1, 3*BlockRows + 17} {
		for _, together := range []bool{false, true} {
			m := tables(&table{"wide", 2, cols, matrix.RowDense, Tensor{}}, &table{"row", 1, cols, matrix.RowDense, Tensor{}},
				&table{"keys", 2, cols, matrix.RowSparse, Tensor{}}, &table{"large", 3, WholeLimit, matrix.RowDense, Tensor{}})
			last := m.Nodes[len(m.Nodes)-1].Layer.(*affine)
			last.together = together
			run, world, b := newRun(t, m), newShelf(m), featured(n, cols)
			sum, err := run.Train(t.Context(), world, b, 1)
			if err != nil {
				t.Fatal(err)
			}
			size := BlockRows
			if together {
				size = max(n, 1)
			}
			if got, want := len(last.seen), (n+size-1)/size; got != want {
				t.Errorf("%d examples in %d blocks, want %d", n, got, want)
			}
			first := 0
			for _, x := range last.seen {
				if x.First != first || !slices.Equal(x.Label, b.Label[first:first+x.Len()]) {
					t.Errorf("block at %d, want %d", x.First, first)
				}
				first += x.Len()
			}
			want, wantSum := plain(m, world, n, cols)
			if sum != wantSum {
				t.Errorf("%d examples: loss %v, want %v", n, sum, wantSum)
			}
			for name, grad := range want {
				if !slices.Equal(world.pushed[name], grad) {
					t.Errorf("%d examples: gradient of %s is %v, want %v", n, name, world.pushed[name], grad)
				}
			}
			params, err := run.pull(t.Context(), world, b)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := run.Loss(b, params); err != nil || got != wantSum {
				t.Errorf("%d examples: loss without gradients %v, %v, want %v", n, got, err, wantSum)
			}
		}
	}
}

// plain is the gradients and the loss of tables under sum. All numbers are small and whole, so that order does not matter.
func plain(m *Model, world *shelf, n int, cols int64) (grads map[string][]float32, loss float64) {
	grads = map[string][]float32{}
	b := featured(n, cols)
	x := b.Rows()
	for _, p := range m.Params() {
		g, w := make([]float32, p.Rows*p.Cols), world.val[p.Name]
		for row := range n {
			if !p.Features {
				g[0] += b.Label[row]
				loss += float64(b.Label[row] * w[0])
				continue
			}
			for v := x.Ptr[row]; v < x.Ptr[row+1]; v++ {
				for r := range p.Rows {
					place, times := r*p.Cols+x.Idx[v], x.Val[v]*float32(r+1)
					g[place] += times
					loss += float64(times * w[place])
				}
			}
		}
		grads[p.Name] = g
	}
	return grads, loss
}

// Matrices that are found by one plan share it, and the positions that it gives.
func TestPlansShared(t *testing.T) {
	m := tables(&table{"a", 1, 50, matrix.RowSparse, Tensor{}}, &table{"b", 4, 50, matrix.RowSparse, Tensor{}},
		&table{"c", 1, 50, matrix.RowDense, Tensor{}}, &table{"d", 2, 50, matrix.RowDense, Tensor{}})
	run, world := newRun(t, m), newShelf(m)
	for range 2 {
		if _, err := run.Train(t.Context(), world, featured(30, 50), 1); err != nil {
			t.Fatal(err)
		}
	}
	if len(world.plans) != 2 || world.plans[0].asked != 1 || world.plans[1].asked != 1 {
		t.Errorf("%d plans for two batches, want one for each, asked once", len(world.plans))
	}
	v := run.batch.values
	if &v[0].At[0] != &v[1].At[0] || &v[2].At[0] != &v[3].At[0] || &v[0].At[0] == &v[2].At[0] {
		t.Error("columns that are found alike are not kept once")
	}
	if v[4].At != nil {
		t.Error("a matrix that is not of features has columns of them")
	}
}

// Random choices differ between steps and seeds, not between the blocks of a step, and there are none in prediction.
func TestSalt(t *testing.T) {
	salts := func(seed uint64) []uint64 {
		m := model(nil)
		run, world, b := newRun(t, m), newShelf(m), featured(BlockRows+1, 5)
		run.Seed = seed
		for range 2 {
			if _, err := run.Train(t.Context(), world, b, 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := run.Predict(t.Context(), world, b); err != nil {
			t.Fatal(err)
		}
		var all []uint64
		for i, x := range m.Nodes[0].Layer.(*affine).seen {
			if want := i < 4; x.Train != want {
				t.Errorf("block %d is for training: %v", i, x.Train)
			}
			all = append(all, x.Salt)
		}
		if len(all) != 6 || all[0] != all[1] || all[2] != all[3] || all[0] == all[2] {
			t.Errorf("salts %v, want two steps of two blocks", all)
		}
		return all
	}
	one, two := salts(1), salts(2)
	if !slices.Equal(one, salts(1)) || one[0] == two[0] || one[2] == two[2] || one[0] == two[2] {
		t.Errorf("salts %v of one seed, %v of another", one, two)
	}
}

// The norm of the mean gradient is bounded by all gradients together, of which running means are none.
func TestClip(t *testing.T) {
	for _, c := range []struct {
		n    int
		most float64
		want float32 // times the gradient
	}{
		{1, 0, 1}, {1, 5, 1}, {1, 1, 0.2}, {1, 0.001, 0.0002}, // norm 5
		{2, 2.5, 1}, {2, 1.25, 0.5}, // of the mean 2.5
	} {
		run := &Run{batch: batch{params: []Param{{}, {Fixed: true}, {}},
			grads: []Values{{Val: []float32{3, 0}}, {Val: []float32{1000}}, {Val: []float32{-4}}}}}
		run.Clip(float64(c.n), c.most)
		for i, want := range []float32{3 * c.want, 1000, -4 * c.want} {
			if got := run.batch.grads[i].Val[0]; math.Abs(float64(got-want)) > 1e-6*math.Abs(float64(want)) {
				t.Errorf("norm at most %v of the mean of %d: gradient %d is %v, want %v", c.most, c.n, i, got, want)
			}
		}
	}
}

// Rows that columns do not store have no gradients, which the norm of all gradients would count else.
func TestNarrow(t *testing.T) {
	plan := &Index{}
	plan.Build([]int64{30, 5, 12, 5})
	wide := Param{Meta: matrix.Meta{Name: "w", Rows: 3, Cols: 40}}
	narrow := wide
	narrow.Widths = []matrix.Width{{Cols: matrix.Range{Lo: 5, Hi: 12}, Rows: 1}, {Cols: matrix.Range{Lo: 12, Hi: 20}, Rows: 2}}
	ones := func() Values { return Values{Val: []float32{1, 1, 1, 1, 1, 1, 1, 1, 1}} }
	b := batch{params: []Param{wide, narrow}, grads: []Values{ones(), ones()}}
	b.lookedUp = &lookedUp{asked: []Lookup{{Plan: plan}, {Plan: plan}}}
	b.narrow()
	want := map[int64][]float32{5: {1, 0, 0}, 12: {1, 1, 0}, 30: {1, 1, 1}}
	for i, col := range plan.Unique() {
		if got := b.grads[1].Val[3*i:][:3]; !slices.Equal(got, want[col]) || slices.Contains(b.grads[0].Val, 0) {
			t.Errorf("gradients of column %d are %v, want %v", col, got, want[col])
		}
	}
}

// A batch with a feature that a matrix does not have is told with its row, whoever finds out.
func TestOutside(t *testing.T) {
	for _, kind := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := tables(&table{"t", 1, 30, kind, Tensor{}})
		b := featured(20, 30)
		b.Rows().Idx[b.Rows().Ptr[7]] = 30
		_, err := newRun(t, m).Train(t.Context(), newShelf(m), b, 1)
		if err == nil || !strings.Contains(err.Error(), "row 7 of the batch has feature 30, want features within [0,30)") {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

func TestRunErrors(t *testing.T) {
	ctx, b, m := t.Context(), examples(1), model(nil)
	run, world := newRun(t, m), newShelf(m)
	told := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	if _, err := run.Lookups(world, b); err != nil {
		t.Fatal(err)
	}
	_, err := run.Step(b, nil)
	told("no parameters", err, "parameters of 0 lookups, want 1")
	_, err = run.Step(examples(1), make([]matrix.Block, 1))
	told("another batch", err, "parameters of another batch")
	_, err = run.Step(b, []matrix.Block{matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 1))})
	told("float64", err, "want 1 float32")
	_, err = run.Scores(b, []matrix.Block{matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 2))})
	told("too wide", err, "of 2 values, want 1 float32")

	world.val["a_w"][0] = float32(math.NaN())
	if _, err := run.Train(ctx, world, b, 1); !errors.Is(err, ErrDiverged) || len(world.order) != 0 || len(world.clocks) != 0 {
		t.Errorf("loss NaN: %v, pushed %v", err, world.order)
	}
	world.fail = errors.New("away")
	if _, err := run.Train(ctx, world, b, 1); !errors.Is(err, world.fail) {
		t.Errorf("no answer: %v", err)
	}
	if _, err := run.Predict(ctx, world, b); !errors.Is(err, world.fail) {
		t.Errorf("no answer: %v", err)
	}
	m.Width = 2
	_, err = newRun(t, m).Predict(ctx, newShelf(m), b)
	told("scores too narrow", err, "scores of 1 x 1, want 1 x 2 for total")
	for _, name := range []string{"bad", "worse"} {
		m = model(nil)
		m.Nodes[0].Layer = &affine{name: name}
		world = newShelf(m)
		_, err = newRun(t, m).Train(ctx, world, b, 1)
		told(name, err, `layer "`+name+`": broken`)
		if len(world.order) > 0 {
			t.Errorf("%s: pushed %v", name, world.order)
		}
	}
}

func TestCheck(t *testing.T) {
	same, matrices := model(nil, []int{0}), model(nil, []int{0})
	same.Nodes[1].Layer = same.Nodes[0].Layer
	matrices.Nodes[0].Layer, matrices.Nodes[1].Layer = &renamed{affine{name: "x"}, "y"}, &renamed{affine{name: "x"}, "z"}
	for _, c := range []struct {
		m    *Model
		want string
	}{
		{&Model{}, "at least one layer"},
		{model([]int{0}), "reads node 0"},
		{model(nil, []int{-1}), "reads node -1"},
		{model(nil, nil), `nothing reads layer "a"`},
		{same, `two layers "a"`},
		{matrices, `two matrices "x_w"`},
	} {
		if _, err := NewRun(c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// renamed is a layer whose matrices are called otherwise.
type renamed struct {
	affine
	as string
}

func (r *renamed) Name() string { return r.as }
