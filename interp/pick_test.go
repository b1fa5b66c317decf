package interp

import (
	"context"
	"errors"
	"math"
	"testing"
)

// pickTrials are examples of operators that choose among values, and of losses and norms.
func pickTrials() []trial {
	x23, half := seq(2, 3), Floats([]float32{0.5}, 1)
	indexed := func(x, index *Tensor) map[string]*Tensor { return map[string]*Tensor{"X": x, "Index": index} }
	table := Ints([]int64{2, 0, 1, 1}, 2, 2)
	return []trial{
		{"where", map[string]*Tensor{"Condition": Ints([]int64{1, 0}, 2, 1), "X": x23, "Y": Floats([]float32{9}, 1)}, nil, "[2 3] [0 1 2 9 9 9]"},
		{"where", map[string]*Tensor{"Condition": yes(1, 0), "X": ints(1, 2), "Y": ints(3, 4)}, nil, "[2] [1 4]"},
		{"one_hot_v2", oneIn(ints(2, 0)), attrs{"depth": int64(3), "dtype": int64(5)}, "[2 3] [0 0 1 1 0 0]"},
		{"one_hot_v2", map[string]*Tensor{"X": ints(5), "depth_tensor": ints(2)}, attrs{"allow_out_of_range": true}, "[1 2] [0 0]"},
		{"sequence_mask", oneIn(ints(2, 0)), attrs{"maxlen": int64(3), "out_dtype": int64(5)}, "[2 3] [1 1 0 0 0 0]"},
		{"sequence_mask", oneIn(ints(2, 1)), nil, "[2 2] [1 1 1 0]"},
		{"gather_nd", indexed(x23, Ints([]int64{1, 2, 0, 1}, 2, 2)), nil, "[2] [5 1]"},
		{"gather_nd", indexed(x23, Ints([]int64{1}, 1, 1)), nil, "[1 3] [3 4 5]"},
		{"index_select", indexed(x23, ints(2, 0)), attrs{"dim": int64(1)}, "[2 2] [2 0 5 3]"},
		{"index_sample", indexed(x23, table), nil, "[2 2] [2 0 4 4]"},
		{"take_along_axis", map[string]*Tensor{"Input": x23, "Index": table}, attrs{"Axis": int64(-1)}, "[2 2] [2 0 4 4]"},
		{"take_along_axis", map[string]*Tensor{"Input": x23, "Index": Ints([]int64{1, 0}, 1, 2)}, attrs{"Axis": int64(0)}, "[1 2] [3 1]"},
		{"top_k_v2", oneIn(x23), attrs{"k": int64(1)}, "[2 1] [2 5]"},
		{"top_k", oneIn(x23), attrs{"k": int64(1)}, "[2 1] [2 5]"},
		{"argsort", oneIn(x23), attrs{"descending": true}, "[2 3] [2 1 0 5 4 3]"},
		{"arg_max", oneIn(x23), attrs{"dtype": int64(3)}, "[2] [2 2]"},
		{"arg_max", oneIn(Floats([]float32{1, float32(math.NaN()), 2}, 3)), attrs{"keepdims": true}, "[1] [1]"},
		{"arg_min", oneIn(x23), attrs{"axis": int64(0), "keepdims": true, "dtype": int64(-1)}, "[1 3] [0 0 0]"},
		{"arg_min", oneIn(ints(3, 1, 1)), attrs{"flatten": true}, "[] [1]"},

		{"sigmoid_cross_entropy_with_logits", map[string]*Tensor{"X": Floats([]float32{0, 0, 200}, 3), "Label": Floats([]float32{1, -100, 1}, 3)}, nil,
			"[3] [0.6931472 0 0]"},
		{"bce_loss", map[string]*Tensor{"X": Floats([]float32{0.5, 1, 0}, 3), "Label": Floats([]float32{1, 0, 0}, 3)}, nil, "[3] [0.6931472 100 0]"},
		{"log_loss", map[string]*Tensor{"Predicted": half, "Labels": Floats([]float32{1}, 1)}, attrs{"epsilon": 0.5}, "[1] [-0]"},
		{"softmax_with_cross_entropy", map[string]*Tensor{"Logits": Floats([]float32{0, 0, 0, 0, 700, 0}, 3, 2), "Label": Ints([]int64{1, 0, -100}, 3, 1)}, nil,
			"[3 1] [0.6931472 0.6931472 0]"},
		{"softmax_with_cross_entropy", map[string]*Tensor{"Logits": seq(2, 1), "Label": Floats([]float32{0.5, 0.5}, 2, 1)},
			attrs{"soft_label": true, "axis": int64(0)}, "[1 1] [0.8132617]"},
		{"softmax", oneIn(seq(2, 0, 3)), attrs{"axis": int64(1)}, "[2 0 3] []"},
		{"huber_loss", twoIn(Floats([]float32{0, 0}, 2), Floats([]float32{0.5, -3}, 2)), nil, "[2] [0.125 2.5]"},
		{"kldiv_loss", map[string]*Tensor{"X": Floats([]float32{2, 1}, 2), "Target": Floats([]float32{1, 0}, 2)}, attrs{"reduction": "none"}, "[2] [-2 0]"},
		{"label_smooth", oneIn(Floats([]float32{0, 1}, 1, 2)), attrs{"epsilon": 0.5}, "[1 2] [0.25 0.75]"},
		{"cumsum", oneIn(x23), nil, "[2 3] [0 1 3 3 7 12]"},
		{"cumsum", oneIn(x23), attrs{"axis": int64(0), "reverse": true}, "[2 3] [3 5 7 3 4 5]"},
		{"cumsum", oneIn(ints(1, 2, 3)), attrs{"flatten": true, "exclusive": true}, "[3] [0 1 3]"},

		{"selu", oneIn(Floats([]float32{2, 0}, 2)), attrs{"scale": 0.5}, "[2] [1 0]"},
		{"celu", oneIn(Floats([]float32{2, -2}, 2)), attrs{"alpha": 2.0}, "[2] [2 -1.2642411]"},
		{"mish", oneIn(Floats([]float32{0, 40}, 2)), nil, "[2] [0 40]"},
		{"brelu", oneIn(x23), attrs{"t_min": 1.0, "t_max": 3.0}, "[2 3] [1 1 2 3 3 3]"},
		{"softshrink", oneIn(Floats([]float32{2, -2, 0.5}, 3)), nil, "[3] [1.5 -1.5 0]"},
		{"hard_shrink", oneIn(Floats([]float32{2, -0.5, 0.25}, 3)), nil, "[3] [2 0 0]"},
		{"hardshrink", oneIn(Floats([]float32{2, -0.5, 0.25}, 3)), nil, "[3] [2 -0.5 0]"},
		{"thresholded_relu", oneIn(x23), nil, "[2 3] [0 0 2 3 4 5]"},
		{"prelu", map[string]*Tensor{"X": Floats([]float32{-2, 2}, 1, 2), "Alpha": half}, nil, "[1 2] [-1 2]"},
		{"prelu", map[string]*Tensor{"X": Floats([]float32{-2, -2}, 1, 2, 1), "Alpha": Floats([]float32{0.5, 2}, 2)}, attrs{"mode": "channel"}, "[1 2 1] [-1 -4]"},
		{"prelu", map[string]*Tensor{"X": Floats([]float32{-2, -2}, 1, 2), "Alpha": Floats([]float32{0.5, 2}, 2)}, attrs{"mode": "element"}, "[1 2] [-1 -4]"},
		{"p_norm", oneIn(Floats([]float32{3, 4, -6, 8}, 2, 2)), nil, "[2] [5 10]"},
		{"p_norm", oneIn(Floats([]float32{3, 4, -6, 0}, 2, 2)), attrs{"porder": 1.0, "axis": int64(0), "keepdim": true}, "[1 2] [9 4]"},
		{"p_norm", oneIn(Floats([]float32{3, 4, -6, 0}, 2, 2)), attrs{"porder": math.Inf(1), "asvector": true}, "[] [6]"},
		{"p_norm", oneIn(Floats([]float32{3, 4, -6, 0}, 2, 2)), attrs{"porder": math.Inf(-1)}, "[2] [3 0]"},
		{"p_norm", oneIn(Floats([]float32{3, 4, -6, 0}, 2, 2)), attrs{"porder": 0.0}, "[2] [2 1]"},
		{"dot", twoIn(x23, x23), nil, "[2] [5 50]"},
		{"dot", twoIn(seq(3), seq(3)), nil, "[] [5]"},
		{"mv", map[string]*Tensor{"X": x23, "Vec": seq(3)}, nil, "[2] [5 14]"},

		{"erf", oneIn(half), nil, "[1] [0.5204999]"},
		{"sign", oneIn(Floats([]float32{-3, 0, 2}, 3)), nil, "[3] [-1 0 1]"},
		{"trunc", oneIn(Floats([]float32{-1.5, 1.5}, 2)), nil, "[2] [-1 1]"},
		{"sin", oneIn(half), nil, "[1] [0.47942555]"},
		{"cos", oneIn(half), nil, "[1] [0.87758255]"},
		{"tan", oneIn(half), nil, "[1] [0.5463025]"},
		{"asin", oneIn(half), nil, "[1] [0.5235988]"},
		{"acos", oneIn(half), nil, "[1] [1.0471976]"},
		{"atan", oneIn(half), nil, "[1] [0.4636476]"},
		{"sinh", oneIn(half), nil, "[1] [0.5210953]"},
		{"cosh", oneIn(half), nil, "[1] [1.127626]"},
		{"log1p", oneIn(half), nil, "[1] [0.4054651]"},
		{"log2", oneIn(half), nil, "[1] [-1]"},
		{"log10", oneIn(Floats([]float32{100}, 1)), nil, "[1] [2]"},
		{"expm1", oneIn(Floats([]float32{1}, 1)), nil, "[1] [1.7182819]"},
		{"softsign", oneIn(Floats([]float32{-1, 3}, 2)), nil, "[2] [-0.5 0.75]"},
		{"tanh_shrink", oneIn(Floats([]float32{40}, 1)), nil, "[1] [39]"},
		{"logsigmoid", oneIn(Floats([]float32{0, -200}, 2)), nil, "[2] [-0.6931472 -200]"},
	}
}

// TestPickRefusals gives operators that choose what they cannot use.
func TestPickRefusals(t *testing.T) {
	x23 := seq(2, 3)
	for _, c := range []struct {
		op   string
		in   map[string]*Tensor
		set  attrs
		want error
	}{
		{"where", map[string]*Tensor{"Condition": yes(1), "X": x23, "Y": ints(1)}, nil, ErrOp},
		{"where", map[string]*Tensor{"Condition": yes(1, 0), "X": x23, "Y": x23}, nil, ErrShape},
		{"one_hot_v2", oneIn(ints(3)), attrs{"depth": int64(3)}, ErrShape},
		{"one_hot_v2", oneIn(ints(0)), attrs{"depth": int64(1) << 40}, ErrShape},
		{"one_hot_v2", oneIn(x23), attrs{"depth": int64(3)}, ErrOp},
		{"gather_nd", map[string]*Tensor{"X": x23, "Index": Ints([]int64{0, 3}, 1, 2)}, nil, ErrShape},
		{"gather_nd", map[string]*Tensor{"X": x23, "Index": Ints([]int64{0, 0, 0}, 1, 3)}, nil, ErrShape},
		{"index_select", map[string]*Tensor{"X": x23, "Index": ints(-1)}, nil, ErrShape},
		{"index_sample", map[string]*Tensor{"X": x23, "Index": ints(0)}, nil, ErrShape},
		{"take_along_axis", map[string]*Tensor{"Input": x23, "Index": Ints([]int64{0, 0, 0}, 3, 1)}, attrs{"Axis": int64(1)}, ErrShape},
		{"top_k_v2", oneIn(x23), attrs{"k": int64(4)}, ErrShape},
		{"arg_max", oneIn(seq(0)), nil, ErrShape},
		{"expand_v2", oneIn(x23), attrs{"shape": []int64{2, 4}}, ErrShape},
		{"expand_v2", oneIn(x23), attrs{"shape": []int64{3}}, ErrShape},
		{"expand_v2", oneIn(x23), attrs{"shape": []int64{-1, 2, 3}}, ErrShape},
		{"tile", oneIn(x23), attrs{"repeat_times": []int64{1 << 27, 1 << 27}}, ErrShape},
		{"range", map[string]*Tensor{"Start": ints(0), "End": ints(1), "Step": ints(0)}, nil, ErrShape},
		{"range", map[string]*Tensor{"Start": ints(0), "End": ints(1, 2), "Step": ints(0)}, nil, ErrShape},
		{"assign_value", nil, attrs{"shape": []int64{2}, "fp32_values": []float64{1}}, ErrShape},
		{"instance_norm", oneIn(seq(2)), nil, ErrShape},
		{"instance_norm", map[string]*Tensor{"X": x23, "Scale": seq(2), "Bias": seq(3)}, nil, ErrShape},
		{"less_than", twoIn(x23, ints(1)), nil, ErrOp},
		{"softmax_with_cross_entropy", map[string]*Tensor{"Logits": x23, "Label": Ints([]int64{0, 3}, 2, 1)}, nil, ErrShape},
		{"softmax_with_cross_entropy", map[string]*Tensor{"Logits": x23, "Label": ints(1)}, nil, ErrShape},
		{"softmax_with_cross_entropy", map[string]*Tensor{"Logits": seq(2, 0, 3), "Label": Ints(make([]int64, 6), 2, 1, 3)}, attrs{"axis": int64(1)}, ErrShape},
		{"bce_loss", map[string]*Tensor{"X": x23, "Label": seq(2)}, nil, ErrShape},
		{"prelu", map[string]*Tensor{"X": x23, "Alpha": seq(2)}, nil, ErrShape},
		{"mv", map[string]*Tensor{"X": x23, "Vec": seq(2)}, nil, ErrShape},
		{"dot", twoIn(x23, seq(3)), nil, ErrShape},
	} {
		m, feeds, err := single(t, c.op, c.in, c.set)
		if err == nil {
			_, err = m.Run(context.Background(), feeds)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s %v: %v, want %v", c.op, c.set, err, c.want)
		}
	}
}
