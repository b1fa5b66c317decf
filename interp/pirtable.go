package interp

import "slices"

// pirOp is a line of the second table: how an operator of PIR becomes one of the first. Operands and results come by
// position: in and out name the slots, "" passes one over, and a name with "@" before it is a setting whose value the
// operand holds; a last slot with "*" behind it takes all that follow. set renames attributes.
type pirOp struct {
	name, as string
	in, out  []string
	set      map[string]string
}

// pirOps is the table of operators of PIR.
func pirOps() []pirOp {
	x, xy, out := unary, []string{"X", "Y"}, []string{"Out"}
	reduce := map[string]string{"axis": "dim", "keepdim": "keep_dim"}
	xdim := []string{"X", "@dim"}
	list := []pirOp{
		{"pd_op.matmul", "matmul_v2", xy, out, map[string]string{"transpose_x": "trans_x", "transpose_y": "trans_y"}},
		{"pd_op.add_n", "sum", x, out, nil},
		{"pd_op.scale", "scale", []string{"X", "@scale"}, out, nil},
		{"pd_op.scale_", "scale", []string{"X", "@scale"}, out, nil},
		{"pd_op.leaky_relu", "leaky_relu", x, out, map[string]string{"negative_slope": "alpha"}},
		{"pd_op.softmax", "softmax", x, out, nil},
		{"pd_op.softmax_", "softmax", x, out, nil},
		{"pd_op.dropout", "dropout", []string{"X", "Seed", "@dropout_prob"}, []string{"Out", "Mask"},
			map[string]string{"p": "dropout_prob", "mode": "dropout_implementation"}},
		{"pd_op.batch_norm", "batch_norm", []string{"X", "Mean", "Variance", "Scale", "Bias"}, []string{"Y"},
			map[string]string{"data_format": "data_layout"}},
		{"pd_op.batch_norm_", "batch_norm", []string{"X", "Mean", "Variance", "Scale", "Bias"}, []string{"Y"},
			map[string]string{"data_format": "data_layout"}},
		{"pd_op.embedding", "lookup_table_v2", []string{"Ids", "W"}, out, nil},
		{"pd_op.hardsigmoid", "hard_sigmoid", x, out, nil},
		{"pd_op.hardswish", "hard_swish", x, out, nil},
		{"pd_op.pow", "pow", x, out, map[string]string{"y": "factor"}},
		{"pd_op.clip", "clip", []string{"X", "@min", "@max"}, out, nil},
		{"pd_op.instance_norm", "instance_norm", []string{"X", "Scale", "Bias"}, []string{"Y"}, nil},
		{"pd_op.group_norm", "group_norm", []string{"X", "Scale", "Bias"}, []string{"Y"}, map[string]string{"data_format": "data_layout"}},
		{"pd_op.increment_", "increment", x, out, map[string]string{"value": "step"}},
		{"pd_op.layer_norm", "layer_norm", []string{"X", "Scale", "Bias"}, []string{"Y"}, nil},
		{"pd_op.bmm", "bmm", xy, out, nil},
		{"pd_op.slice", "slice", []string{"Input", "@starts", "@ends"}, out, nil},
		{"pd_op.stack", "stack", x, []string{"Y"}, nil},
		{"pd_op.gather", "gather", []string{"X", "Index", "@axis"}, out, nil},
		{"pd_op.concat", "concat", []string{"X", "@axis"}, out, nil},
		{"pd_op.sum", "reduce_sum", xdim, out, reduce},
		{"pd_op.mean", "reduce_mean", xdim, out, reduce},
		{"pd_op.max", "reduce_max", xdim, out, reduce},
		{"pd_op.min", "reduce_min", xdim, out, reduce},
		{"pd_op.prod", "reduce_prod", xdim, out, map[string]string{"axis": "dim", "dims": "dim", "keep_dim": "keep_dim", "keepdim": "keep_dim"}},
		{"pd_op.amax", "reduce_amax", x, out, reduce},
		{"pd_op.amin", "reduce_amin", x, out, reduce},
		{"pd_op.all", "reduce_all", x, out, reduce},
		{"pd_op.any", "reduce_any", x, out, reduce},
		{"pd_op.reshape", "reshape2", []string{"X", "@shape"}, out, nil},
		{"pd_op.reshape_", "reshape2", []string{"X", "@shape"}, out, nil},
		{"pd_op.flatten", "flatten_contiguous_range", x, out, nil},
		{"pd_op.flatten_", "flatten_contiguous_range", x, out, nil},
		{"pd_op.squeeze", "squeeze2", []string{"X", "@axes"}, out, map[string]string{"axis": "axes"}},
		{"pd_op.unsqueeze", "unsqueeze2", []string{"X", "@axes"}, out, map[string]string{"axis": "axes"}},
		{"pd_op.transpose", "transpose2", x, out, map[string]string{"perm": "axis"}},
		{"pd_op.full", "fill_constant", nil, out, nil},
		{"pd_op.full_int_array", "fill_ints", nil, out, nil},
		{"pd_op.assign", "assign", x, out, nil},
		{"pd_op.assign_", "assign", x, out, nil},
		{"pd_op.share_data_", "assign", x, out, nil},
		{"pd_op.cast", "cast", x, out, map[string]string{"dtype": "out_dtype"}},
		{"pd_op.conv2d", "conv2d", []string{"Input", "Filter"}, []string{"Output"}, nil},
		{"pd_op.depthwise_conv2d", "depthwise_conv2d", []string{"Input", "Filter"}, []string{"Output"}, nil},
		{"pd_op.isnan", "isnan_v2", x, out, nil},
		{"pd_op.isinf", "isinf_v2", x, out, nil},
		{"pd_op.isfinite", "isfinite_v2", x, out, nil},
		{"pd_op.while", "while_values", []string{"Cond", "X*"}, []string{"Out*"}, nil},
		{"pd_op.if", "if_values", []string{"Cond"}, []string{"Out*"}, nil},
		{"pd_op.pool2d", "pool2d", []string{"X", "@ksize"}, out, map[string]string{"kernel_size": "ksize"}},
	}
	for pir, as := range map[string]string{"add": "elementwise_add", "subtract": "elementwise_sub", "multiply": "elementwise_mul",
		"divide": "elementwise_div", "maximum": "elementwise_max", "minimum": "elementwise_min", "elementwise_pow": "elementwise_pow",
		"remainder": "elementwise_mod", "floor_divide": "elementwise_floordiv",
		"fmax": "elementwise_fmax", "fmin": "elementwise_fmin", "heaviside": "elementwise_heaviside",
		"equal": "equal", "not_equal": "not_equal", "less_than": "less_than", "less_equal": "less_equal",
		"greater_than": "greater_than", "greater_equal": "greater_equal",
		"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor"} {
		list = append(list, pirOp{"pd_op." + pir, as, xy, out, nil}, pirOp{"pd_op." + pir + "_", as, xy, out, nil})
	}
	for _, same := range []string{"relu", "relu6", "sigmoid", "silu", "tanh", "square", "sqrt", "exp", "log", "abs", "gelu",
		"swish", "elu", "softplus", "rsqrt", "log_softmax", "floor", "ceil", "round", "reciprocal", "logical_not"} {
		list = append(list, pirOp{"pd_op." + same, same, x, out, nil}, pirOp{"pd_op." + same + "_", same, x, out, nil})
	}
	return slices.Concat(list, layoutPIR(), pickPIR(), seriesPIR(), lossPIR(), curvePIR())
}
