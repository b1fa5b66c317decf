package interp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"thole.example/matrix"
	"thole.example/program"
)

type attrs = map[string]any

// table is what tests look up; it does not change.
var table = sync.OnceValue(newTables)

// single is a program of one operator over inputs of unknown shape.
func single(t testing.TB, op string, in map[string]*Tensor, set attrs) (*Machine, map[string]*Tensor, error) {
	t.Helper()
	def := table().ops[op]
	b := program.Block{Parent: -1}
	o := program.Op{Type: op}
	feeds, n := map[string]*Tensor{}, 0
	for slot, x := range in {
		for k := range strings.Split(slot, ",") { // "X,X": several in one slot
			name := fmt.Sprintf("in_%s_%d", slot, k)
			elem := program.VarType_FP32
			if x.Type == matrix.I64 {
				elem = program.VarType_INT64
			}
			if x.Type == matrix.I32 {
				elem = program.VarType_INT32
			}
			if x.Type == matrix.Bool {
				elem = program.VarType_BOOL
			}
			dims := make([]int64, len(x.Dims))
			for i := range dims {
				dims[i] = -1
			}
			b.Vars = append(b.Vars, program.Var{Name: name, Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: elem, Dims: dims})
			b.Ops = append(b.Ops, program.Op{Type: "feed", Out: []program.Slot{{Name: "Out", Args: []string{name}}},
				Attrs: []program.Attr{{Name: "col", Type: program.AttrType_INT, Value: int64(n)}}})
			feeds[name], n = x, n+1
			slotName, _, _ := strings.Cut(slot, ",")
			if k == 0 {
				o.In = append(o.In, program.Slot{Name: slotName})
			}
			o.In[len(o.In)-1].Args = append(o.In[len(o.In)-1].Args, name)
		}
	}
	for name, v := range set {
		o.Attrs = append(o.Attrs, program.Attr{Name: name, Value: v})
	}
	out := strings.TrimRight(def.out[0], "?*")
	o.Out = []program.Slot{{Name: out, Args: []string{"out"}}}
	for _, slot := range def.out[1:] {
		if !strings.HasSuffix(slot, "?") {
			o.Out = append(o.Out, program.Slot{Name: slot, Args: []string{"also " + slot}})
		}
	}
	b.Ops = append(b.Ops, o, program.Op{Type: "fetch", In: []program.Slot{{Name: "X", Args: []string{"out"}}}})
	m, err := New(&program.Program{Blocks: []program.Block{b}}, nil)
	return m, feeds, err
}

func seq(dims ...int) *Tensor {
	t, _ := newFloats(dims)
	for i := range t.F {
		t.F[i] = float32(i)
	}
	return t
}

func text(t *Tensor) string {
	if t.Type == matrix.F32 {
		return fmt.Sprint(t.Dims, t.F)
	}
	return fmt.Sprint(t.Dims, t.I)
}

func ints(v ...int64) *Tensor { return Ints(v, len(v)) }

func yes(v ...int64) *Tensor { return &Tensor{Dims: []int{len(v)}, Type: matrix.Bool, I: v} }

// trial is an operator with inputs by slot, attributes, and what it gives.
type trial struct {
	op   string
	in   map[string]*Tensor
	set  attrs
	want string
}

func oneIn(x *Tensor) map[string]*Tensor { return map[string]*Tensor{"X": x} }

func twoIn(x, y *Tensor) map[string]*Tensor { return map[string]*Tensor{"X": x, "Y": y} }

// trials are small examples of all operators, worked out by hand.
func trials() []trial {
	nan := float32(math.NaN())
	x23, row, col := seq(2, 3), Floats([]float32{10, 20, 30}, 3), Floats([]float32{10, 20}, 2)
	in, xy := oneIn, twoIn
	image := map[string]*Tensor{"Input": seq(1, 1, 3, 3), "Filter": Floats([]float32{1, 0, 0, 1}, 1, 1, 2, 2)}
	corner := Floats([]float32{1, 0, 0, 0, 0, 0, 0, 0, 0}, 1, 1, 3, 3)
	return slices.Concat(relationTrials(), layoutTrials(), pickTrials(), seriesTrials(), []trial{
		{"mul", xy(seq(1, 2, 2), seq(4, 1)), attrs{"x_num_col_dims": int64(1)}, "[1 1] [14]"},
		{"mul", xy(seq(2, 1, 2), seq(2, 1)), attrs{"x_num_col_dims": int64(2)}, "[2 1 1] [1 3]"},
		{"matmul_v2", xy(x23, seq(3)), nil, "[2] [5 14]"},
		{"matmul_v2", xy(seq(3), seq(3)), nil, "[] [5]"},
		{"matmul_v2", xy(x23, x23), attrs{"trans_y": true}, "[2 2] [5 14 14 50]"},
		{"matmul_v2", xy(x23, x23), attrs{"trans_x": int64(1)}, "[3 3] [9 12 15 12 17 22 15 22 29]"},
		{"matmul_v2", xy(seq(2, 1, 2), seq(2, 1)), nil, "[2 1 1] [1 3]"},
		{"matmul", xy(x23, seq(3)), attrs{"alpha": 0.5}, "[2] [2.5 7]"},
		{"elementwise_add", xy(x23, row), attrs{"axis": int64(-1)}, "[2 3] [10 21 32 13 24 35]"},
		{"elementwise_add", xy(x23, col), attrs{"axis": int64(0)}, "[2 3] [10 11 12 23 24 25]"},
		{"elementwise_add", xy(x23, Floats([]float32{1, 2, 3}, 3, 1)), attrs{"axis": int64(1)}, "[2 3] [1 3 5 4 6 8]"},
		{"elementwise_sub", xy(row, x23), nil, "[2 3] [10 19 28 7 16 25]"},
		{"elementwise_mul", xy(Ints([]int64{2, 3}, 2), Ints([]int64{5}, 1)), nil, "[2] [10 15]"},
		{"elementwise_div", xy(row, Floats([]float32{4}, 1)), nil, "[3] [2.5 5 7.5]"},
		{"elementwise_max", xy(x23, Floats([]float32{2}, 1)), nil, "[2 3] [2 2 2 3 4 5]"},
		{"elementwise_min", xy(x23, Floats([]float32{2}, 1)), nil, "[2 3] [0 1 2 2 2 2]"},
		{"elementwise_pow", xy(x23, Floats([]float32{2}, 1)), nil, "[2 3] [0 1 4 9 16 25]"},
		{"elementwise_div", xy(ints(-7, 7, -7, 8), ints(2, -2, -2, 3)), nil, "[4] [-3 -3 3 2]"},
		{"elementwise_fmax", xy(Floats([]float32{nan, 1, 2}, 3), Floats([]float32{1, nan, 3}, 3)), nil, "[3] [1 1 3]"},
		{"elementwise_fmin", xy(Floats([]float32{nan, 1, 2}, 3), Floats([]float32{1, nan, 3}, 3)), nil, "[3] [1 1 2]"},
		{"elementwise_heaviside", xy(Floats([]float32{-2, 0, 2}, 3), Floats([]float32{0.5}, 1)), nil, "[3] [0 0.5 1]"},
		{"reduce_amax", in(x23), attrs{"dim": []int64{0}}, "[3] [3 4 5]"},
		{"reduce_amin", in(x23), attrs{"dim": []int64{1}}, "[2] [0 3]"},
		{"elementwise_pow", xy(ints(2, 3, -2), ints(3)), nil, "[3] [8 27 -8]"},
		{"elementwise_mod", xy(ints(-7, 7, -7, 8), ints(2, -2, -2, 3)), nil, "[4] [1 -1 -1 2]"},
		{"elementwise_mod", xy(Floats([]float32{-7.5, 7.5, -7.5, 1}, 4), Floats([]float32{2, -2, -2, 0}, 4)), nil, "[4] [0.5 -0.5 -1.5 NaN]"},
		{"elementwise_floordiv", xy(ints(-7, 7, -7, 8), ints(2, -2, -2, 3)), nil, "[4] [-4 -4 3 2]"},
		{"elementwise_floordiv", xy(Floats([]float32{1, -1, -7.5, 1e8, -3}, 5), Floats([]float32{0.1, 0.1, 2, 3, 0}, 5)), nil,
			"[5] [9 -10 -4 3.3333334e+07 -Inf]"},
		{"elementwise_add", xy(seq(), seq()), nil, "[] [0]"},
		{"sum", map[string]*Tensor{"X,X": x23}, nil, "[2 3] [0 2 4 6 8 10]"},
		{"scale", in(row), attrs{"scale": 2.0, "bias": 1.0}, "[3] [21 41 61]"},
		{"scale", in(row), attrs{"scale": 2.0, "bias": 1.0, "bias_after_scale": false}, "[3] [22 42 62]"},
		{"scale", in(ints(3, -4)), attrs{"scale": 2.5, "bias": 1.7}, "[2] [7 -7]"},
		{"scale", in(ints(3, -4)), attrs{"scale": -2.0, "bias": 1.7, "bias_after_scale": false}, "[2] [-8 6]"},
		{"square", in(ints(3, -4)), nil, "[2] [9 16]"},
		{"abs", in(ints(3, -4)), nil, "[2] [3 4]"},
		{"floor", in(Floats([]float32{-1.5, 1.5}, 2)), nil, "[2] [-2 1]"},
		{"ceil", in(Floats([]float32{-1.5, 1.5}, 2)), nil, "[2] [-1 2]"},
		{"round", in(Floats([]float32{0.5, 1.5, 2.5, -1.5}, 4)), nil, "[4] [0 2 2 -2]"},
		{"reciprocal", in(Floats([]float32{4, -0.5}, 2)), nil, "[2] [0.25 -2]"},
		{"reduce_sum", in(Ints([]int64{7, -2, 4, -3, 5, 6}, 2, 3)), attrs{"dim": []int64{1}}, "[2] [9 8]"},
		{"reduce_mean", in(Ints([]int64{7, -2, 4, -3, 5, 6}, 2, 3)), attrs{"dim": []int64{1}}, "[2] [3 2]"},
		{"reduce_max", in(Ints([]int64{7, -2, 4, -3, 5, 6}, 2, 3)), attrs{"dim": []int64{0}, "keep_dim": true}, "[1 3] [7 5 6]"},
		{"reduce_min", in(Ints([]int64{7, -2, 4, -3, 5, 6}, 2, 3)), attrs{"dim": []int64{-1}}, "[2] [-2 -3]"},
		{"reduce_prod", in(ints(7, -2, 4)), nil, "[] [-56]"},
		{"reduce_all", in(yes(1, 0)), nil, "[] [0]"},
		{"reduce_any", in(yes(1, 0)), attrs{"keep_dim": true}, "[1] [1]"},
		{"transpose", in(x23), attrs{"axis": []int64{1, 0}, "data_format": "AnyLayout"}, "[3 2] [0 3 1 4 2 5]"},
		{"scale", map[string]*Tensor{"X": row, "ScaleTensor": Floats([]float32{3}, 1)}, nil, "[3] [30 60 90]"},
		{"relu", in(Floats([]float32{-1, 0, 2}, 3)), nil, "[3] [0 0 2]"},
		{"relu6", in(Floats([]float32{-1, 5, 9}, 3)), nil, "[3] [0 5 6]"},
		{"leaky_relu", in(Floats([]float32{-1, 2}, 2)), attrs{"alpha": 0.5}, "[2] [-0.5 2]"},
		{"sigmoid", in(Floats([]float32{0, 100, -100}, 3)), nil, "[3] [0.5 1 3.8e-44]"},
		{"silu", in(Floats([]float32{0, 100}, 2)), nil, "[2] [0 100]"},
		{"tanh", in(Floats([]float32{0, 20, -20}, 3)), nil, "[3] [0 1 -1]"},
		{"square", in(row), nil, "[3] [100 400 900]"},
		{"sqrt", in(Floats([]float32{4, 9}, 2)), nil, "[2] [2 3]"},
		{"exp", in(Floats([]float32{0}, 1)), nil, "[1] [1]"},
		{"log", in(Floats([]float32{1}, 1)), nil, "[1] [0]"},
		{"abs", in(Floats([]float32{-3}, 1)), nil, "[1] [3]"},
		{"gelu", in(Floats([]float32{0, 100, -100}, 3)), nil, "[3] [0 100 -0]"},
		{"gelu", in(Floats([]float32{0, 100, -100}, 3)), attrs{"approximate": true}, "[3] [0 100 -0]"},
		{"swish", in(Floats([]float32{0, 100}, 2)), attrs{"beta": 2.0}, "[2] [0 100]"},
		{"elu", in(Floats([]float32{-1000, 3}, 2)), attrs{"alpha": 0.5}, "[2] [-0.5 3]"},
		{"hard_sigmoid", in(Floats([]float32{-9, 0, 1, 9}, 4)), attrs{"slope": 0.25}, "[4] [0 0.5 0.75 1]"},
		{"hard_swish", in(Floats([]float32{-9, 0, 3, 9}, 4)), nil, "[4] [-0 0 3 9]"},
		{"softplus", in(Floats([]float32{-1000, 30}, 2)), nil, "[2] [0 30]"},
		{"pow", in(row), attrs{"factor": 2.0}, "[3] [100 400 900]"},
		{"clip", in(x23), attrs{"min": 1.5, "max": 3.0}, "[2 3] [1.5 1.5 2 3 3 3]"},
		{"rsqrt", in(Floats([]float32{4}, 1)), nil, "[1] [0.5]"},
		{"log_softmax", in(Floats([]float32{7}, 1, 1)), nil, "[1 1] [0]"},
		{"log_softmax", in(Floats([]float32{0, 7, 1000, 7}, 2, 2)), attrs{"axis": int64(0)}, "[2 2] [-1000 -0.6931472 0 -0.6931472]"},
		{"layer_norm", map[string]*Tensor{"X": Floats([]float32{1, 3, -2, 2}, 2, 2), "Scale": Floats([]float32{1, 10}, 2), "Bias": Floats([]float32{5, 6}, 2)},
			attrs{"epsilon": 0.0}, "[2 2] [4 16 4 16]"},
		{"slice", map[string]*Tensor{"Input": x23}, attrs{"axes": []int64{1}, "starts": []int64{-2}, "ends": []int64{99}}, "[2 2] [1 2 4 5]"},
		{"slice", map[string]*Tensor{"Input": x23}, attrs{"axes": []int64{0, 1}, "starts": []int64{1, 0}, "ends": []int64{2, -1}, "decrease_axis": []int64{0}}, "[2] [3 4]"},
		{"slice", map[string]*Tensor{"Input": Ints([]int64{7, 8}, 2, 1)}, attrs{"axes": []int64{0}, "starts": []int64{2}, "ends": []int64{1}}, "[0 1] []"},
		{"stack", map[string]*Tensor{"X,X": row}, attrs{"axis": int64(-1)}, "[3 2] [10 10 20 20 30 30]"},
		{"stack", map[string]*Tensor{"X,X": Ints([]int64{7}, 1)}, nil, "[2 1] [7 7]"},
		{"bmm", xy(seq(1, 2, 2), seq(1, 2, 1)), nil, "[1 2 1] [1 3]"},
		{"softmax", in(Floats([]float32{0, 0, 1000, 1000}, 2, 2)), nil, "[2 2] [0.5 0.5 0.5 0.5]"},
		{"softmax", in(Floats([]float32{0, 1000, 0, 1000}, 2, 2)), attrs{"axis": int64(0)}, "[2 2] [0.5 0.5 0.5 0.5]"},
		{"softmax", in(seq()), nil, "[] [1]"},
		{"log_softmax", in(seq()), nil, "[] [0]"},
		{"dropout", in(row), attrs{"dropout_prob": 0.5}, "[3] [10 20 30]"},
		{"dropout", in(row), attrs{"dropout_prob": 0.5, "dropout_implementation": "downgrade_in_infer"}, "[3] [5 10 15]"},
		{"batch_norm", map[string]*Tensor{"X": seq(1, 2, 2), "Mean": Floats([]float32{1, 2}, 2), "Variance": Floats([]float32{4, 1}, 2),
			"Scale": Floats([]float32{2, 3}, 2), "Bias": Floats([]float32{10, 20}, 2)}, attrs{"epsilon": 0.0}, "[1 2 2] [9 10 20 23]"},
		{"batch_norm", map[string]*Tensor{"X": seq(1, 2, 2), "Mean": Floats([]float32{1, 2}, 2), "Variance": Floats([]float32{4, 1}, 2),
			"Scale": Floats([]float32{2, 3}, 2), "Bias": Floats([]float32{10, 20}, 2)}, attrs{"epsilon": 0.0, "data_layout": "NHWC"}, "[1 2 2] [9 17 11 23]"},
		{"lookup_table_v2", map[string]*Tensor{"W": seq(3, 2), "Ids": Ints([]int64{2, 0}, 2)}, nil, "[2 2] [4 5 0 1]"},
		{"lookup_table_v2", map[string]*Tensor{"W": seq(3, 2), "Ids": Ints([]int64{2, 1}, 2)}, attrs{"padding_idx": int64(2)}, "[2 2] [0 0 2 3]"},
		{"lookup_table", map[string]*Tensor{"W": seq(3, 2), "Ids": Ints([]int64{1}, 1, 1)}, nil, "[1 2] [2 3]"},
		{"gather", map[string]*Tensor{"X": x23, "Index": Ints([]int64{2, 0, 2}, 3)}, attrs{"axis": int64(1)}, "[2 3] [2 0 2 5 3 5]"},
		{"gather", map[string]*Tensor{"X": x23, "Index": Ints([]int64{1}, 1, 1)}, nil, "[1 3] [3 4 5]"},
		{"gather", map[string]*Tensor{"X": Ints([]int64{5, 6}, 2), "Index": Ints([]int64{1})}, nil, "[] [6]"},
		{"concat", map[string]*Tensor{"X,X": x23}, attrs{"axis": int64(1)}, "[2 6] [0 1 2 0 1 2 3 4 5 3 4 5]"},
		{"concat", map[string]*Tensor{"X,X": Ints([]int64{7}, 1)}, attrs{"axis": int64(-1)}, "[2] [7 7]"},
		{"reduce_sum", in(x23), attrs{"dim": []int64{1}}, "[2] [3 12]"},
		{"reduce_sum", in(x23), attrs{"dim": []int64{-2}, "keep_dim": true}, "[1 3] [3 5 7]"},
		{"reduce_sum", in(x23), attrs{"reduce_all": true}, "[] [15]"},
		{"reduce_mean", in(x23), attrs{"dim": []int64{0, 1}}, "[] [2.5]"},
		{"reduce_max", in(x23), attrs{"dim": []int64{0}}, "[3] [3 4 5]"},
		{"reduce_min", in(x23), attrs{"dim": []int64{1}}, "[2] [0 3]"},
		{"reduce_prod", in(x23), attrs{"dim": []int64{1}}, "[2] [0 60]"},
		{"mean", in(x23), nil, "[1] [2.5]"},
		{"reshape2", in(x23), attrs{"shape": []int64{0, -1, 1}}, "[2 3 1] [0 1 2 3 4 5]"},
		{"reshape2", map[string]*Tensor{"X": x23, "Shape": Ints([]int64{6}, 1)}, attrs{"shape": []int64{3, 2}}, "[6] [0 1 2 3 4 5]"},
		{"reshape", in(x23), attrs{"shape": []int64{6}}, "[6] [0 1 2 3 4 5]"},
		{"flatten", in(seq(1, 2, 3)), nil, "[1 6] [0 1 2 3 4 5]"},
		{"transpose", in(seq(1, 2)), attrs{"axis": []int64{-1, 0}}, "[2 1] [0 1]"},
		{"flatten2", in(seq(1, 2, 3)), attrs{"axis": int64(2)}, "[2 3] [0 1 2 3 4 5]"},
		{"flatten_contiguous_range", in(seq(1, 2, 3)), attrs{"start_axis": int64(0), "stop_axis": int64(-1)}, "[6] [0 1 2 3 4 5]"},
		{"squeeze2", in(seq(1, 2, 1)), attrs{"axes": []int64{2}}, "[1 2] [0 1]"},
		{"squeeze2", in(seq(1, 2, 1)), nil, "[2] [0 1]"},
		{"unsqueeze2", in(seq(2)), attrs{"axes": []int64{0, -1}}, "[1 2 1] [0 1]"},
		{"transpose2", in(x23), attrs{"axis": []int64{1, 0}}, "[3 2] [0 3 1 4 2 5]"},
		{"fill_constant", nil, attrs{"shape": []int64{2}, "value": 0.5, "dtype": int64(5)}, "[2] [0.5 0.5]"},
		{"fill_constant", nil, attrs{"shape": []int64{1}, "value": 0.5, "str_value": "7", "dtype": int64(3)}, "[1] [7]"},
		{"fill_ints", nil, attrs{"value": []int64{4, 5}}, "[2] [4 5]"},
		{"assign", in(row), nil, "[3] [10 20 30]"},
		{"cast", in(Floats([]float32{1.5, -1.5, 0}, 3)), attrs{"out_dtype": int64(2)}, "[3] [1 -1 0]"},
		{"cast", in(Floats([]float32{1.5, 0}, 2)), attrs{"out_dtype": int64(0)}, "[2] [1 0]"},
		{"cast", in(Ints([]int64{3}, 1)), attrs{"out_dtype": int64(5)}, "[1] [3]"},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 3, 3), "Filter": Floats([]float32{1, 0, 0, 1}, 1, 1, 2, 2)}, nil, "[1 1 2 2] [4 6 10 12]"},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 2, 2), "Filter": Floats([]float32{1, 1, 1, 1}, 1, 1, 2, 2)},
			attrs{"paddings": []int64{1, 1}, "strides": []int64{2, 2}}, "[1 1 2 2] [0 1 2 3]"},
		{"depthwise_conv2d", map[string]*Tensor{"Input": seq(1, 2, 1, 1), "Filter": Floats([]float32{3, 5}, 2, 1, 1, 1)}, attrs{"groups": int64(2)}, "[1 2 1 1] [0 5]"},
		{"pool2d", in(seq(1, 1, 2, 2)), attrs{"ksize": []int64{2, 2}}, "[1 1 1 1] [3]"},
		{"pool2d", in(seq(1, 1, 2, 2)), attrs{"global_pooling": true, "pooling_type": "avg"}, "[1 1 1 1] [1.5]"},
		{"pool2d", in(seq(1, 1, 3, 3)), attrs{"ksize": []int64{2, 1}, "adaptive": true, "pooling_type": "avg"}, "[1 1 2 1] [2.5 5.5]"},
		{"pool2d", in(seq(1, 1, 3, 3)), attrs{"ksize": []int64{2, 2}, "strides": []int64{2, 2}, "ceil_mode": true, "pooling_type": "avg"}, "[1 1 2 2] [2 3.5 6.5 8]"},
		{"pool2d", in(seq(1, 1, 3, 3)), attrs{"ksize": []int64{2, 2}, "strides": []int64{2, 2}, "ceil_mode": true, "pooling_type": "avg", "exclusive": false}, "[1 1 2 2] [2 3.5 6.5 8]"},
		{"pool2d", in(seq(1, 1, 2, 2)), attrs{"ksize": []int64{2, 2}, "strides": []int64{2, 2}, "paddings": []int64{1, 1}, "pooling_type": "avg"}, "[1 1 2 2] [0 1 2 3]"},
		{"pool2d", in(seq(1, 1, 2, 2)), attrs{"ksize": []int64{2, 2}, "strides": []int64{2, 2}, "paddings": []int64{1, 1}, "pooling_type": "avg", "exclusive": false},
			"[1 1 2 2] [0 0.25 0.5 0.75]"},
		{"conv2d", image, attrs{"padding_algorithm": "SAME"}, "[1 1 3 3] [4 6 2 10 12 5 6 7 8]"},
		{"conv2d", image, attrs{"padding_algorithm": "SAME", "strides": []int64{2, 2}}, "[1 1 2 2] [4 2 6 8]"},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 3, 3), "Filter": corner}, attrs{"padding_algorithm": "SAME"}, "[1 1 3 3] [0 0 0 0 0 1 0 3 4]"},
		{"conv2d", image, attrs{"padding_algorithm": "VALID", "paddings": []int64{1, 1}}, "[1 1 2 2] [4 6 10 12]"},
		{"conv2d", image, attrs{"paddings": []int64{1, 0, 0, 1}}, "[1 1 3 3] [1 2 0 4 6 2 10 12 5]"},
		{"conv2d", image, attrs{"dilations": []int64{2, 2}}, "[1 1 1 1] [8]"},
		{"elementwise_add", xy(ints(2, 3), ints(5)), nil, "[2] [7 8]"},
		{"elementwise_sub", xy(ints(2, 3), ints(5)), nil, "[2] [-3 -2]"},
		{"elementwise_max", xy(ints(2, 7), ints(5)), nil, "[2] [5 7]"},
		{"elementwise_min", xy(ints(2, 7), ints(5)), nil, "[2] [2 5]"},
		{"square", in(&Tensor{Dims: []int{2}, Type: matrix.I32, I: []int64{1 << 15, 1<<16 + 3}}), nil, "[2] [1073741824 393225]"},
		{"sum", map[string]*Tensor{"X,X": ints(2, 3)}, nil, "[2] [4 6]"},
		{"batch_norm", map[string]*Tensor{"X": seq(1, 2, 2), "Mean": Floats([]float32{1, 2}, 2), "Variance": Floats([]float32{4, 1}, 2),
			"Scale": Floats([]float32{2, 3}, 2), "Bias": Floats([]float32{0, -2}, 2)}, attrs{"epsilon": 0.0, "fuse_with_relu": true}, "[1 2 2] [0 0 0 1]"},
		{"assign_value", nil, attrs{"shape": []int64{2}, "int32_values": []int64{3, -4}}, "[2] [3 -4]"},
		{"p_norm", in(Floats([]float32{3, 4, -6, 0}, 2, 2)), attrs{"porder": 1.0, "asvector": true, "keepdim": true}, "[1 1] [13]"},
		{"arg_max", in(x23), attrs{"flatten": true, "keepdims": true}, "[1 1] [5]"},
	})
}

// TestOperators computes the examples.
func TestOperators(t *testing.T) {
	tried := map[string]bool{}
	for _, c := range trials() {
		tried[c.op] = true
		m, feeds, err := single(t, c.op, c.in, c.set)
		if err != nil {
			t.Errorf("%s %v: %v", c.op, c.set, err)
			continue
		}
		got, err := m.Run(context.Background(), feeds)
		if err != nil {
			t.Errorf("%s %v: %v", c.op, c.set, err)
		} else if text(got[0].Tensor) != c.want {
			t.Errorf("%s %v gives %s, want %s", c.op, c.set, text(got[0].Tensor), c.want)
		}
	}
	for _, o := range ops() {
		if !tried[o.name] {
			t.Errorf("%s: no example", o.name)
		}
	}
}

// TestRefusals gives operators what they cannot compute: errors that name the operator, and no panic.
func TestRefusals(t *testing.T) {
	x23 := seq(2, 3)
	for _, c := range []struct {
		op   string
		in   map[string]*Tensor
		set  attrs
		want error
	}{
		{"mul", map[string]*Tensor{"X": x23, "Y": x23}, nil, ErrShape},
		{"mul", map[string]*Tensor{"X": x23, "Y": seq(3, 1)}, attrs{"x_num_col_dims": int64(5)}, ErrShape},
		{"mul", map[string]*Tensor{"X": x23}, nil, nil},
		{"mul", map[string]*Tensor{"X": x23, "Y": seq(3, 1)}, attrs{"scale_x": 2.0}, ErrOp},
		{"matmul_v2", map[string]*Tensor{"X": x23, "Y": x23}, nil, ErrShape},
		{"matmul_v2", map[string]*Tensor{"X": seq(), "Y": x23}, nil, ErrShape},
		{"matmul_v2", map[string]*Tensor{"X": Ints([]int64{1}, 1), "Y": x23}, nil, ErrOp},
		{"elementwise_add", map[string]*Tensor{"X": x23, "Y": seq(2)}, nil, ErrShape},
		{"elementwise_add", map[string]*Tensor{"X": x23, "Y": seq(3)}, attrs{"axis": int64(7)}, ErrShape},
		{"elementwise_div", map[string]*Tensor{"X": Ints([]int64{1}, 1), "Y": Ints([]int64{0}, 1)}, nil, ErrShape},
		{"elementwise_mod", map[string]*Tensor{"X": Ints([]int64{1, 2}, 2), "Y": Ints([]int64{1, 0}, 2)}, nil, ErrShape},
		{"reduce_sum", map[string]*Tensor{"X": yes(1, 0)}, nil, ErrOp},
		{"reduce_all", map[string]*Tensor{"X": x23}, nil, ErrOp},
		{"relu", map[string]*Tensor{"X": x23}, attrs{"fuse_something": true}, ErrOp},
		{"relu", map[string]*Tensor{"X": x23, "Z": x23}, nil, ErrOp},
		{"softmax", map[string]*Tensor{"X": x23}, attrs{"axis": int64(2)}, ErrShape},
		{"softmax", map[string]*Tensor{"X": x23}, attrs{"axis": "last"}, nil},
		{"lookup_table_v2", map[string]*Tensor{"W": x23, "Ids": Ints([]int64{2}, 1)}, nil, ErrShape},
		{"lookup_table_v2", map[string]*Tensor{"W": x23, "Ids": Ints([]int64{-1}, 1)}, nil, ErrShape},
		{"lookup_table", map[string]*Tensor{"W": x23, "Ids": Ints([]int64{1}, 1)}, nil, ErrShape},
		{"concat", map[string]*Tensor{"X,X": x23}, attrs{"axis": int64(4)}, ErrShape},
		{"gather", map[string]*Tensor{"X": x23, "Index": Ints([]int64{3}, 1)}, attrs{"axis": int64(1)}, ErrShape},
		{"gather", map[string]*Tensor{"X": x23, "Index": x23}, nil, ErrOp},
		{"slice", map[string]*Tensor{"Input": x23}, attrs{"axes": []int64{0}, "starts": []int64{0}, "ends": []int64{2}, "decrease_axis": []int64{0}}, ErrShape},
		{"slice", map[string]*Tensor{"Input": x23}, attrs{"axes": []int64{0}, "starts": []int64{}, "ends": []int64{2}}, ErrShape},
		{"stack", map[string]*Tensor{"X,X": x23}, attrs{"axis": int64(3)}, ErrShape},
		{"layer_norm", map[string]*Tensor{"X": x23, "Scale": seq(2)}, nil, ErrShape},
		{"reduce_max", map[string]*Tensor{"X": seq(0, 2)}, attrs{"dim": []int64{0}}, ErrShape},
		{"mean", map[string]*Tensor{"X": seq(0)}, nil, ErrShape},
		{"reshape2", map[string]*Tensor{"X": x23}, attrs{"shape": []int64{-1, -1}}, ErrShape},
		{"reshape2", map[string]*Tensor{"X": x23}, attrs{"shape": []int64{1 << 40, 1 << 40}}, ErrShape},
		{"reshape2", map[string]*Tensor{"X": x23}, attrs{"shape": []int64{4, -1}}, ErrShape},
		{"transpose2", map[string]*Tensor{"X": x23}, attrs{"axis": []int64{0, 0}}, ErrShape},
		{"fill_constant", nil, attrs{"shape": []int64{1 << 20, 1 << 20}}, ErrShape},
		{"fill_constant", nil, attrs{"shape": []int64{1}, "str_value": "inf", "dtype": int64(3)}, ErrOp},
		{"fill_constant", nil, attrs{"shape": []int64{1}, "dtype": int64(6)}, ErrOp},
		{"cast", map[string]*Tensor{"X": Floats([]float32{float32(math.NaN())}, 1)}, attrs{"out_dtype": int64(3)}, ErrOp},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 2, 2), "Filter": seq(1, 2, 1, 1)}, nil, ErrShape},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 2, 2), "Filter": seq(1, 1, 3, 3)}, nil, ErrShape},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 2, 2), "Filter": seq(1, 1, 1, 1)}, attrs{"strides": []int64{0, 1}}, ErrOp},
		{"pool2d", map[string]*Tensor{"X": seq(1, 1, 2, 2)}, attrs{"ksize": []int64{3, 3}}, ErrShape},
		{"pool2d", map[string]*Tensor{"X": x23}, nil, ErrOp},
		{"pool2d", map[string]*Tensor{"X": seq(1, 1, 2, 2)}, attrs{"adaptive": true}, ErrOp},
		{"batch_norm", map[string]*Tensor{"X": x23, "Mean": x23, "Variance": x23, "Scale": x23, "Bias": x23}, nil, ErrShape},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 2, 2), "Filter": seq(1, 1, 1, 1), "Bias": seq(1)}, nil, ErrOp},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 2, 2), "Filter": seq(1, 1, 1, 1)}, attrs{"paddings": []int64{1, 1, 1}}, ErrOp},
		{"conv2d", map[string]*Tensor{"Input": seq(1, 1, 2, 2), "Filter": seq(1, 1, 1, 1)}, attrs{"paddings": []int64{0, -1}}, ErrOp},
		{"assign_value", nil, attrs{"shape": []int64{1}, "fp32_values": []float64{math.Inf(1)}, "dtype": int64(3)}, ErrOp},
		{"fill_any_like", map[string]*Tensor{"X": ints(1)}, attrs{"value": math.Inf(1)}, ErrOp},
		{"fill_ints", nil, attrs{"value": []int64{1}, "dtype": int64(5)}, ErrOp},
		{"sum", map[string]*Tensor{"X": x23, "Y": x23}, nil, ErrOp},
	} {
		m, feeds, err := single(t, c.op, c.in, c.set)
		if err == nil {
			_, err = m.Run(context.Background(), feeds)
		}
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), "("+c.op+")") {
			t.Errorf("%s %v: %v, want an error that names the operator: %v", c.op, c.set, err, c.want)
		}
	}
}

// TestTables holds the lines of both tables to each other.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range ops() {
		if seen[o.name] || o.run == nil || len(o.out) == 0 {
			t.Errorf("%s: twice, or without what computes it or an output", o.name)
		}
		seen[o.name] = true
	}
	tables := newTables()
	for _, o := range pirOps() {
		if seen[o.name] {
			t.Errorf("%s: twice", o.name)
		}
		seen[o.name] = true
		def := tables.ops[o.as]
		if def == nil {
			t.Fatalf("%s: no operator %s", o.name, o.as)
		}
		for _, slot := range o.in {
			if slot = strings.TrimSuffix(slot, "*"); slot != "" && !def.takes(slot) {
				t.Errorf("%s: %s has no input %s", o.name, o.as, slot)
			}
		}
		for from, to := range o.set {
			found := false
			for _, s := range def.set {
				found = found || s.name == to
			}
			if !found {
				t.Errorf("%s: attribute %s becomes %s, which %s does not have", o.name, from, to, o.as)
			}
		}
	}
}

// TestFloor holds quotients that have room for a part behind the point to those of float64, which are nearer to the true one
// than any whole number. That of the first pair, 8190799.27, lies half-way between whole ones when it is rounded.
func TestFloor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := math.Float32frombits(1262010610), math.Float32frombits(1069365036)
	for i := range 100_000 {
		want := float32(math.Floor(float64(a) / float64(b)))
		if got := floorF(a, b); got != want && (i == 0 || math.Abs(float64(want)) < 1<<20) {
			t.Fatalf("%v over %v is %v, want %v", a, b, got, want)
		}
		a, b = float32(rng.NormFloat64()*math.Exp(18*rng.Float64())), float32(rng.NormFloat64())
	}
}

// TestSingle checks the shape of one number, which changed between releases: the program says which it is.
func TestSingle(t *testing.T) {
	x := program.Var{Name: "x", Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: program.VarType_FP32, Dims: []int64{2}}
	for _, op := range []string{"mean", "reduce_mean", "dot"} {
		for want, dims := range map[string][]int64{"[] [0.5]": {}, "[1] [0.5]": {1}} {
			b := program.Block{Parent: -1, Vars: []program.Var{x, x}}
			b.Vars[1].Name, b.Vars[1].Dims = "out", dims
			in := func(slot, name string) []program.Slot { return []program.Slot{{Name: slot, Args: []string{name}}} }
			b.Ops = []program.Op{{Type: "feed", Out: in("Out", "x")}, {Type: op, In: in("X", "x"), Out: in("Out", "out")},
				{Type: "fetch", In: in("X", "out")}}
			if op == "dot" {
				b.Ops[1].In = append(b.Ops[1].In, program.Slot{Name: "Y", Args: []string{"x"}})
			}
			m, err := New(&program.Program{Blocks: []program.Block{b}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Run(context.Background(), map[string]*Tensor{"x": Floats([]float32{0.5, 0.5}, 2)})
			if err != nil || text(got[0].Tensor) != want {
				t.Errorf("%s gives %v (%v), want %s", op, got, err, want)
			}
		}
	}
}
