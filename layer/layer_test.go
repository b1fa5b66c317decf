package layer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
)

// batch is n random rows of up to 6 features, columns as far apart as stride.
func batch(rng *rand.Rand, n int, dim, lo, stride int64) *data.Batch {
	x := &matrix.CSR[float32]{Ptr: make([]int, n+1)}
	b := &data.Batch{Label: make([]float32, n)}
	for i := range n {
		var cols []int64
		for range rng.IntN(7) {
			cols = append(cols, lo+rng.Int64N(dim)*stride)
		}
		slices.Sort(cols)
		for _, c := range slices.Compact(cols) {
			x.Idx = append(x.Idx, c)
			x.Val = append(x.Val, float32(rng.NormFloat64()))
		}
		x.Ptr[i+1] = len(x.Idx)
	}
	b.X = matrix.Block{At: matrix.At(0, int64(n), lo, lo+dim*stride), Data: x}
	return b
}

// pull answers lookups with random values.
func pull(rng *rand.Rand, l graph.Layer, lookups []graph.Lookup) []matrix.Block {
	blocks := make([]matrix.Block, len(lookups))
	for i, meta := range l.Params() {
		if lookups[i].Cols == nil {
			blocks[i] = matrix.NewDense(matrix.F32, meta.Rect())
		} else {
			blocks[i] = matrix.Block{At: meta.Rect(), Data: matrix.KindOf(matrix.F32).Cols(lookups[i].Cols, int(meta.Rows))}
		}
		for k := range blocks[i].Data.NNZ() {
			blocks[i].Data.Values().([]float32)[k] = float32(rng.NormFloat64() / 2)
		}
	}
	return blocks
}

func specs() []Spec {
	var all []Spec
	for _, out := range []int{1, 3} {
		for _, s := range []Spec{{Dim: 20}, {Dim: 20, Sparse: true}, {}, {Dim: 40, ColLo: -20}, {Dim: 1 << 30}} {
			for _, f := range Transfers() {
				s.Name, s.OutputDim, s.Transfer = "l", out, f.Name
				all = append(all, s)
			}
		}
	}
	return all
}

// The gradients of every layer are the slopes of a weighted sum of its outputs.
func TestGradient(t *testing.T) {
	for _, kind := range Kinds() {
		for _, s := range specs() {
			t.Run(fmt.Sprintf("%s/%d_%d_%v_%s", kind.Name, s.OutputDim, s.Dim, s.Sparse, s.Transfer), func(t *testing.T) {
				l, err := kind.New(s)
				if err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(1, 2))
				b := batch(rng, 5, 20, s.ColLo, 1)
				params := pull(rng, l, l.Lookups(b))
				up := graph.NewTensor(b.Len(), s.OutputDim)
				for i := range up.Val {
					up.Val[i] = float32(rng.NormFloat64())
				}
				value := func() (sum float64) {
					out, err := l.Forward(b, params, nil)
					if err != nil {
						t.Fatal(err)
					}
					for i, v := range out.Val {
						sum += float64(v) * float64(up.Val[i])
					}
					return sum
				}
				value()
				_, grads, err := l.Backward(up)
				if err != nil {
					t.Fatal(err)
				}
				for i, g := range grads {
					same := reflect.TypeOf(g.Data) == reflect.TypeOf(params[i].Data) && g.At == params[i].At
					if err := g.Check(); err != nil || !same {
						t.Fatalf("gradient %d at %v: %T, %v", i, g.At, g.Data, err)
					}
					w, d := params[i].Data.Values().([]float32), g.Data.Values().([]float32)
					for k := range w {
						const h = 1.0 / 1024
						old := w[k]
						w[k] = old + h
						hi := value()
						w[k] = old - h
						lo := value()
						w[k] = old
						if slope := (hi - lo) / (2 * h); math.Abs(slope-float64(d[k])) > 2e-3 {
							t.Errorf("matrix %d value %d: gradient %v, slope %v", i, k, d[k], slope)
						}
					}
				}
			})
		}
	}
}

// Whole weights and columns give the same scores and gradients.
func TestColumnsEqualAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, out := range []int{1, 2} {
		all, err := newInput(Spec{Name: "a", Dim: 20, OutputDim: out, Transfer: "tanh"})
		if err != nil {
			t.Fatal(err)
		}
		some, err := newInput(Spec{Name: "s", Dim: 20, OutputDim: out, Transfer: "tanh", Sparse: true})
		if err != nil {
			t.Fatal(err)
		}
		b := batch(rng, 30, 20, 0, 1)
		whole := pull(rng, all, all.Lookups(b))
		lookups := some.Lookups(b)
		cols := &matrix.Cols[float32]{Idx: lookups[0].Cols}
		for _, c := range lookups[0].Cols {
			for o := range out {
				cols.Val = append(cols.Val, whole[0].Data.Values().([]float32)[o*20+int(c)])
			}
		}
		one, err := all.Forward(b, whole, nil)
		if err != nil {
			t.Fatal(err)
		}
		two, err := some.Forward(b, []matrix.Block{{At: whole[0].At, Data: cols}, whole[1]}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one.Val, two.Val) {
			t.Fatalf("%d outputs: scores of columns %v, of all %v", out, two.Val, one.Val)
		}
		_, g1, _ := all.Backward(one)
		_, g2, _ := some.Backward(one)
		if !slices.Equal(g1[0].Data.Values().([]float32), g2[0].ToDense().Data.Values().([]float32)) {
			t.Errorf("%d outputs: gradients of columns %v, of all %v", out, g2[0].Data, g1[0].Data)
		}
	}
}

// Batches may be asked for long before they go forward, in any order.
func TestPrefetch(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	l, err := newInput(Spec{Name: "l", OutputDim: 2})
	if err != nil {
		t.Fatal(err)
	}
	var batches []*data.Batch
	var params [][]matrix.Block
	for i := range 4 {
		batches = append(batches, batch(rng, 9, 300, 0, 1<<40+int64(i)))
		params = append(params, pull(rng, l, l.Lookups(batches[i])))
	}
	for i, b := range batches {
		out, err := l.Forward(b, params[i], nil)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(out.Val)
		fresh, _ := newInput(Spec{Name: "l", OutputDim: 2})
		want, err := fresh.Forward(b, params[i], nil)
		if err != nil || !slices.Equal(got, want.Val) {
			t.Errorf("batch %d: %v, want %v (%v)", i, got, want.Val, err)
		}
	}
}

func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var x index
	for n := range 60 {
		idx := make([]int64, n*7)
		for i := range idx {
			idx[i] = rng.Int64N(int64(n*4+1))<<rng.IntN(3) - 5
			if rng.IntN(9) == 0 {
				idx[i] = int64(rng.Uint64())
			}
		}
		x.build(idx)
		want := slices.Clone(idx)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(x.cols, want) {
			t.Fatalf("%d columns, want %d", len(x.cols), len(want))
		}
		if !x.fits(idx) {
			t.Fatalf("index of %d values does not fit them", len(idx))
		}
		if n > 0 {
			idx[rng.IntN(len(idx))]++
			if x.fits(idx) {
				t.Fatal("index fits other values")
			}
		}
	}
	x.now = math.MaxUint32 // the generation number starts over
	x.build([]int64{3, 1, 3})
	if !slices.Equal(x.cols, []int64{1, 3}) || !slices.Equal(x.at, []int32{1, 0, 1}) {
		t.Errorf("after the last generation: %v %v", x.cols, x.at)
	}
	big := make([]int64, 4000)
	x.build(big)
	if n := testing.AllocsPerRun(20, func() { x.build(big) }); n > 0 {
		t.Errorf("%v allocations a batch, want none", n)
	}
}

func TestMeta(t *testing.T) {
	up := Update{"adagrad", map[string]float64{"l2": 1}}
	l, err := newInput(Spec{Name: "in", Dim: 123, OutputDim: 1, Weight: up, Bias: Update{Rule: "sgd"}})
	if err != nil {
		t.Fatal(err)
	}
	w, b := l.Params()[0], l.Params()[1]
	if w.Name != "in_weight" || w.Rows != 1 || w.Cols != 123 || w.Layout != matrix.RowDense || w.Rule != "adagrad" ||
		w.Hyper["l2"] != 1 || w.Attrs["angel.layer"] != "simpleinput" || w.DType != matrix.F32 {
		t.Errorf("weight %+v", w)
	}
	if b.Name != "in_bias" || b.Rows != 1 || b.Cols != 1 || b.Rule != "sgd" || b.Layout != matrix.RowDense {
		t.Errorf("bias %+v", b)
	}
	for _, s := range []Spec{{}, {Dim: 123, Sparse: true}, {Dim: DenseLimit + 1}, {ColLo: 7}, {ColLo: math.MinInt64}} {
		s.Name, s.OutputDim = "in", 4
		l, err := newInput(s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if w := l.Params()[0]; w.Layout != matrix.RowSparse || w.Rows != 4 || w.Check() != nil {
			t.Errorf("%+v: weight %+v", s, w)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "in"}, "output dimension 0"},
		{Spec{OutputDim: 1}, "want a name"},
		{Spec{Name: "in", OutputDim: 1, Transfer: "swish"}, `transfer function "swish", want one of identity sigmoid tanh relu`},
		{Spec{Name: "in", OutputDim: 1, ColLo: math.MaxInt64 - 5, Dim: 100}, "beyond int64"},
	} {
		if _, err := newInput(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
	if _, err := Find(nil, "crosslayer"); err == nil || err.Error() != `layer type "crosslayer", want one of simpleinputlayer` {
		t.Errorf("got %v", err)
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for _, sparse := range []bool{false, true} {
		l, err := newInput(Spec{Name: "in", Dim: 10, OutputDim: 1, Sparse: sparse})
		if err != nil {
			t.Fatal(err)
		}
		b := batch(rng, 4, 10, 0, 1)
		good := pull(rng, l, l.Lookups(b))
		out := batch(rng, 30, 20, 0, 1)
		if _, err := l.Forward(out, pull(rng, l, l.Lookups(out)), nil); err == nil || !strings.Contains(err.Error(), "within [0,10)") {
			t.Errorf("feature outside: %v", err)
		}
		wide := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 10))
		if _, err := l.Forward(b, []matrix.Block{wide, good[1]}, nil); err == nil {
			t.Error("float64 weights taken, want an error")
		}
		if _, err := l.Forward(b, []matrix.Block{good[0], wide}, nil); err == nil {
			t.Error("float64 bias taken, want an error")
		}
		for _, n := range []int64{10, 9} { // whole rows where columns were asked for, and too few
			if whole := matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, n)); sparse || n < 10 {
				if _, err := l.Forward(b, []matrix.Block{whole, good[1]}, nil); err == nil {
					t.Errorf("sparse %v: a row of %d weights taken, want an error", sparse, n)
				}
			}
		}
		short := matrix.Block{At: good[0].At, Data: &matrix.Cols[float32]{}}
		if _, err := l.Forward(b, []matrix.Block{short, good[1]}, nil); err == nil {
			t.Error("no columns taken, want an error")
		}
		if _, err := l.Forward(b, good, nil); err != nil {
			t.Error(err)
		}
		if _, _, err := l.Backward(graph.NewTensor(3, 1)); err == nil {
			t.Error("gradient of 3 rows taken for 4, want an error")
		}
	}
}
