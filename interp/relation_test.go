package interp

import "math"

// relationTrials are examples of operators that give truth values, and of those that came with them.
func relationTrials() []trial {
	nan := float32(math.NaN())
	row, other := Floats([]float32{1, 2, nan}, 3), Floats([]float32{2}, 1)
	col := Floats([]float32{0, 2}, 2, 1)
	whole := twoIn(ints(1, 2, 3), ints(2, 2, 2))
	return []trial{
		{"equal", twoIn(row, other), nil, "[3] [0 1 0]"},
		{"equal", twoIn(row, col), nil, "[2 3] [0 0 0 0 1 0]"},
		{"equal", whole, nil, "[3] [0 1 0]"},
		{"not_equal", twoIn(row, other), nil, "[3] [1 0 1]"},
		{"not_equal", whole, nil, "[3] [1 0 1]"},
		{"less_than", twoIn(row, other), nil, "[3] [1 0 0]"},
		{"less_than", whole, attrs{"force_cpu": true}, "[3] [1 0 0]"},
		{"less_than", twoIn(seq(2, 3), Floats([]float32{1, 4}, 2)), attrs{"axis": int64(0)}, "[2 3] [1 0 0 1 0 0]"},
		{"less_equal", twoIn(row, other), nil, "[3] [1 1 0]"},
		{"less_equal", whole, nil, "[3] [1 1 0]"},
		{"greater_than", twoIn(row, other), nil, "[3] [0 0 0]"},
		{"greater_than", whole, nil, "[3] [0 0 1]"},
		{"greater_equal", twoIn(row, other), nil, "[3] [0 1 0]"},
		{"greater_equal", whole, nil, "[3] [0 1 1]"},
		{"logical_and", twoIn(yes(1, 1, 0, 0), yes(1, 0, 1, 0)), nil, "[4] [1 0 0 0]"},
		{"logical_or", twoIn(yes(1, 1, 0, 0), yes(1, 0, 1, 0)), nil, "[4] [1 1 1 0]"},
		{"logical_xor", twoIn(yes(1, 1, 0, 0), yes(1, 0, 1, 0)), nil, "[4] [0 1 1 0]"},
		{"logical_and", twoIn(Floats([]float32{0.5, 0, nan}, 3), yes(1)), nil, "[3] [1 0 1]"},
		{"logical_not", oneIn(yes(1, 0)), nil, "[2] [0 1]"},
		{"logical_not", oneIn(seq(2)), nil, "[2] [1 0]"},
		{"instance_norm", map[string]*Tensor{"X": seq(1, 2, 1, 2), "Scale": Floats([]float32{1, 2}, 2), "Bias": Floats([]float32{0.5, 0}, 2)},
			attrs{"epsilon": 0.0}, "[1 2 1 2] [-0.5 1.5 -2 2]"},
		{"isnan_v2", oneIn(row), nil, "[3] [0 0 1]"},
		{"isinf_v2", oneIn(Floats([]float32{1, float32(math.Inf(-1)), nan}, 3)), nil, "[3] [0 1 0]"},
		{"isfinite_v2", oneIn(Floats([]float32{1, float32(math.Inf(-1)), nan}, 3)), nil, "[3] [1 0 0]"},
		{"group_norm", map[string]*Tensor{"X": Floats([]float32{0, 2, 0, 2, 7, 9}, 1, 6), "Scale": Floats([]float32{1, 1, 1, 1, 2, 2}, 6)},
			attrs{"groups": int64(3), "epsilon": 0.0}, "[1 6] [-1 1 -1 1 -2 2]"},
		{"instance_norm", oneIn(seq(2, 1, 2)), attrs{"epsilon": 0.75}, "[2 1 2] [-0.5 0.5 -0.5 0.5]"},
		{"assign_value", nil, attrs{"shape": []int64{2}, "fp32_values": []float64{0.5, 2}, "int32_values": []int64{}}, "[2] [0.5 2]"},
		{"assign_value", nil, attrs{"shape": []int64{1, 2}, "int64_values": []int64{1 << 60, -2}, "dtype": int64(3)}, "[1 2] [1152921504606846976 -2]"},
		{"assign_value", nil, attrs{"shape": []int64{2}, "bool_values": []bool{true, false}, "dtype": int64(0)}, "[2] [1 0]"},
		{"assign_value", nil, attrs{"shape": []int64{2}, "values": []float64{3, -4}, "dtype": "int64"}, "[2] [3 -4]"},
	}
}
