package interp

import (
	"math"
	"slices"

	"thole.example/matrix"
)

// op is a line of the table: what an operator takes, gives and is set by, and what computes it.
type op struct {
	name string
	// in are input slots and out output slots. A mark behind the name: "?" may be missing, "*" takes several variables.
	in, out []string
	set     []setting
	run     func(c *call) error
}

// setting is an attribute: its name, its default, whose type is the type wanted (int64, float64, bool, string, []int64,
// numbers, elem), and the input slots whose tensor, or tensors of a value each, replace it where there are such.
type setting struct {
	name  string
	value any
	slot  string
}

// only is the default of a setting that must have it, because nothing else is implemented.
type only struct{ value any }

// numbers are values of an attribute, one of the two.
type numbers struct {
	floats []float64
	ints   []int64
}

// elem is an element type, in files a number or a name.
type elem matrix.DType

var unary = []string{"X"}

// ops is the table of operators of ProgramDesc.
func ops() []op {
	x, xy, out := unary, []string{"X", "Y"}, []string{"Out"}
	outShape := []string{"Out", "XShape?"}
	axis := []setting{{"axis", int64(-1), ""}, {"scale_x", only{1.0}, ""}, {"scale_y", only{1.0}, ""}, {"scale_out", only{1.0}, ""}}
	reduce := []setting{{"dim", []int64{0}, "AxisTensor"}, {"keep_dim", false, ""}, {"reduce_all", false, ""},
		{"in_dtype", only{int64(-1)}, ""}, {"out_dtype", only{int64(-1)}, ""}}
	compared := []setting{{"axis", int64(-1), ""}, {"force_cpu", false, ""}}
	perm := []setting{{"axis", []int64{}, ""}, {"data_format", "AnyLayout", ""}}
	lookup := []setting{{"padding_idx", int64(-1), ""}, {"is_sparse", false, ""}}
	conv := []setting{{"strides", []int64{1, 1}, ""}, {"paddings", []int64{0, 0}, ""}, {"dilations", []int64{1, 1}, ""},
		{"groups", int64(1), ""}, {"padding_algorithm", "EXPLICIT", ""}, {"data_format", "NCHW", ""}}
	return slices.Concat(layoutOps(), pickOps(), seriesOps(), lossOps(), curveOps(), []op{
		{"mul", xy, out, []setting{{"x_num_col_dims", int64(1), ""}, {"y_num_col_dims", int64(1), ""},
			{"scale_x", only{1.0}, ""}, {"scale_y", only{[]float64{1}}, ""}, {"scale_out", only{1.0}, ""}}, mul},
		{"matmul", xy, out, []setting{{"transpose_X", false, ""}, {"transpose_Y", false, ""}, {"alpha", 1.0, ""},
			{"head_number", only{int64(1)}, ""}}, matmulOld},
		{"matmul_v2", xy, out, []setting{{"trans_x", false, ""}, {"trans_y", false, ""}}, matmulNew},
		{"bmm", xy, out, nil, func(c *call) error { return matmul(c, false, false, 1) }},

		{"elementwise_add", xy, out, axis, binary(addF, addI)},
		{"elementwise_sub", xy, out, axis, binary(subF, subI)},
		{"elementwise_mul", xy, out, axis, binary(mulF, mulI)},
		{"elementwise_div", xy, out, axis, divided(divF, divI)},
		{"elementwise_mod", xy, out, axis, divided(modF, modI)},
		{"elementwise_floordiv", xy, out, axis, divided(floorF, floorI)},
		{"elementwise_max", xy, out, axis, binary(maxF, maxI)},
		{"elementwise_min", xy, out, axis, binary(minF, minI)},
		{"elementwise_fmax", xy, out, axis, binary(known(maxF), maxI)},
		{"elementwise_fmin", xy, out, axis, binary(known(minF), minI)},
		{"elementwise_heaviside", xy, out, axis, binary(heaviside[float32], heaviside[int64])},
		{"elementwise_pow", xy, out, axis, binary(powF, powI)},
		{"equal", xy, out, compared, relation(func(a, b float32) bool { return a == b }, func(a, b int64) bool { return a == b })},
		{"not_equal", xy, out, compared, relation(func(a, b float32) bool { return a != b }, func(a, b int64) bool { return a != b })},
		{"less_than", xy, out, compared, relation(func(a, b float32) bool { return a < b }, func(a, b int64) bool { return a < b })},
		{"less_equal", xy, out, compared, relation(func(a, b float32) bool { return a <= b }, func(a, b int64) bool { return a <= b })},
		{"greater_than", xy, out, compared, relation(func(a, b float32) bool { return a > b }, func(a, b int64) bool { return a > b })},
		{"greater_equal", xy, out, compared, relation(func(a, b float32) bool { return a >= b }, func(a, b int64) bool { return a >= b })},
		{"logical_and", xy, out, nil, logic(func(a, b bool) bool { return a && b })},
		{"logical_or", xy, out, nil, logic(func(a, b bool) bool { return a || b })},
		{"logical_xor", xy, out, nil, logic(func(a, b bool) bool { return a != b })},
		{"logical_not", x, out, nil, logicalNot},
		{"isnan_v2", x, out, nil, test(math.IsNaN)},
		{"isinf_v2", x, out, nil, test(isInf)},
		{"isfinite_v2", x, out, nil, test(isFinite)},
		{"sum", []string{"X*"}, out, nil, addAll},
		{"scale", x, out, []setting{{"scale", 1.0, "ScaleTensor"}, {"bias", 0.0, ""}, {"bias_after_scale", true, ""}}, scale},

		{"relu", x, out, nil, each(relu)},
		{"relu6", x, out, []setting{{"threshold", only{6.0}, ""}}, each(relu6)},
		{"leaky_relu", x, out, []setting{{"alpha", 0.02, ""}}, leakyRelu},
		{"sigmoid", x, out, nil, sigmoid},
		{"silu", x, out, nil, silu},
		{"tanh", x, out, nil, each(tanh)},
		{"square", x, out, nil, eachOf(square, func(v int64) int64 { return v * v })},
		{"sqrt", x, out, nil, each(sqrt)},
		{"exp", x, out, nil, each(exp)},
		{"log", x, out, nil, each(logE)},
		{"abs", x, out, nil, eachOf(abs, func(v int64) int64 { return max(v, -v) })},
		{"floor", x, out, nil, curve(func(v float64, _ []float64) float64 { return math.Floor(v) })},
		{"ceil", x, out, nil, curve(func(v float64, _ []float64) float64 { return math.Ceil(v) })},
		{"round", x, out, nil, curve(func(v float64, _ []float64) float64 { return math.RoundToEven(v) })},
		{"reciprocal", x, out, nil, each(func(v float32) float32 { return 1 / v })},
		{"gelu", x, out, []setting{{"approximate", false, ""}}, gelu},
		{"swish", x, out, []setting{{"beta", 1.0, ""}}, curve(swish, "beta")},
		{"elu", x, out, []setting{{"alpha", 1.0, ""}}, curve(elu, "alpha")},
		{"hard_sigmoid", x, out, []setting{{"slope", 0.2, ""}, {"offset", 0.5, ""}}, curve(hardSigmoid, "slope", "offset")},
		{"hard_swish", x, out, []setting{{"threshold", only{6.0}, ""}, {"scale", only{6.0}, ""}, {"offset", only{3.0}, ""}}, curve(hardSwish)},
		{"softplus", x, out, []setting{{"beta", 1.0, ""}, {"threshold", 20.0, ""}}, curve(softplus, "beta", "threshold")},
		{"pow", []string{"X"}, out, []setting{{"factor", 1.0, "FactorTensor"}}, curve(power, "factor")},
		{"clip", []string{"X"}, out, []setting{{"min", 0.0, "Min"}, {"max", 0.0, "Max"}}, curve(clip, "min", "max")},
		{"rsqrt", x, out, nil, curve(rsqrt)},
		{"log_softmax", x, out, []setting{{"axis", int64(-1), ""}}, logSoftmax},
		{"softmax", x, out, []setting{{"axis", int64(-1), ""}}, softmax},
		{"dropout", []string{"X", "Seed?"}, []string{"Out", "Mask?"}, []setting{{"dropout_prob", 0.5, ""},
			{"dropout_implementation", "upscale_in_train", ""}, {"is_test", true, ""}, {"seed", int64(0), ""},
			{"fix_seed", false, ""}}, dropout},
		{"batch_norm", []string{"X", "Scale", "Bias", "Mean", "Variance"},
			[]string{"Y", "MeanOut?", "VarianceOut?", "SavedMean?", "SavedVariance?", "ReserveSpace?"},
			[]setting{{"epsilon", 1e-5, ""}, {"data_layout", "NCHW", ""}, {"is_test", true, ""}, {"momentum", 0.9, ""},
				{"use_global_stats", false, ""}, {"trainable_statistics", only{false}, ""}, {"fuse_with_relu", false, ""}}, batchNorm},

		{"lookup_table", []string{"W", "Ids"}, out, append(lookup, setting{"is_distributed", false, ""}), lookupOld},
		{"lookup_table_v2", []string{"W", "Ids"}, out, append(lookup, setting{"is_distributed", false, ""}), lookupNew},
		{"layer_norm", []string{"X", "Scale?", "Bias?"}, []string{"Y", "Mean?", "Variance?"},
			[]setting{{"begin_norm_axis", int64(1), ""}, {"epsilon", 1e-5, ""}}, layerNorm},
		{"instance_norm", []string{"X", "Scale?", "Bias?"}, []string{"Y", "SavedMean?", "SavedVariance?"},
			[]setting{{"epsilon", 1e-5, ""}}, instanceNorm},
		{"group_norm", []string{"X", "Scale?", "Bias?"}, []string{"Y", "Mean?", "Variance?"},
			[]setting{{"epsilon", 1e-5, ""}, {"groups", int64(1), ""}, {"data_layout", only{"NCHW"}, ""}}, groupNorm},
		{"increment", x, out, []setting{{"step", 1.0, ""}}, increment},
		{"slice", []string{"Input"}, out, []setting{{"axes", []int64{}, ""}, {"starts", []int64{}, "StartsTensor StartsTensorList"},
			{"ends", []int64{}, "EndsTensor EndsTensorList"}, {"infer_flags", []int64{}, ""}, {"decrease_axis", []int64{}, ""}}, slice},
		{"stack", []string{"X*"}, []string{"Y"}, []setting{{"axis", int64(0), ""}}, stack},
		{"gather", []string{"X", "Index"}, out, []setting{{"axis", int64(0), "Axis"}, {"overwrite", true, ""}}, gather},
		{"concat", []string{"X*"}, out, []setting{{"axis", int64(0), "AxisTensor"}}, concat},
		{"reduce_sum", x, out, reduce, reduction(sumOf, totalI)},
		{"reduce_mean", x, out, reduce, reduction(meanOf, meanI)},
		{"reduce_max", x, out, reduce, reduction(maxOf, largestI)},
		{"reduce_min", x, out, reduce, reduction(minOf, smallestI)},
		{"reduce_amax", x, out, reduce, reduction(maxOf, largestI)},
		{"reduce_amin", x, out, reduce, reduction(minOf, smallestI)},
		{"reduce_prod", x, out, reduce, reduction(prodOf, prodI)},
		{"reduce_all", x, out, reduce, truths(smallestI)},
		{"reduce_any", x, out, reduce, truths(largestI)},
		{"mean", x, out, nil, meanAll},

		{"reshape", x, out, []setting{{"shape", []int64{}, "Shape ShapeTensor"}}, reshape},
		{"reshape2", x, outShape, []setting{{"shape", []int64{}, "Shape ShapeTensor"}}, reshape},
		{"flatten", x, out, []setting{{"axis", int64(1), ""}}, flattenAt},
		{"flatten2", x, outShape, []setting{{"axis", int64(1), ""}}, flattenAt},
		{"flatten_contiguous_range", x, outShape, []setting{{"start_axis", int64(1), ""}, {"stop_axis", int64(1), ""}}, flattenRange},
		{"squeeze2", x, outShape, []setting{{"axes", []int64{}, ""}}, squeeze},
		{"unsqueeze2", x, outShape, []setting{{"axes", []int64{}, "AxesTensor AxesTensorList"}}, unsqueeze},
		{"transpose", x, out, perm, transpose},
		{"transpose2", x, outShape, perm, transpose},
		{"fill_constant", nil, out, []setting{{"dtype", elem(matrix.F32), ""}, {"shape", []int64{}, "ShapeTensor ShapeTensorList"},
			{"value", 0.0, "ValueTensor"}, {"str_value", "", ""}, {"force_cpu", false, ""}, {"place_type", int64(-1), ""}}, fillConstant},
		{"assign_value", nil, out, []setting{{"dtype", elem(matrix.F32), ""}, {"shape", []int64{}, ""}, {"values", numbers{}, ""},
			{"fp32_values", numbers{}, ""}, {"int32_values", numbers{}, ""}, {"int64_values", numbers{}, ""},
			{"bool_values", numbers{}, ""}}, assignValue},
		{"fill_ints", nil, out, []setting{{"value", []int64{}, ""}, {"dtype", elem(matrix.I64), ""}}, fillInts}, // of PIR only
		{"assign", x, out, nil, identity},
		{"cast", x, out, []setting{{"in_dtype", elem(matrix.F32), ""}, {"out_dtype", elem(matrix.F32), ""}}, cast},

		{"conv2d", []string{"Input", "Filter", "Bias?"}, []string{"Output"}, conv, conv2d},
		{"depthwise_conv2d", []string{"Input", "Filter", "Bias?"}, []string{"Output"}, conv, conv2d},
		{"pool2d", x, out, []setting{{"pooling_type", "max", ""}, {"ksize", []int64{1, 1}, ""}, {"strides", []int64{1, 1}, ""},
			{"paddings", []int64{0, 0}, ""}, {"global_pooling", false, ""}, {"exclusive", true, ""}, {"adaptive", false, ""},
			{"ceil_mode", false, ""}, {"padding_algorithm", "EXPLICIT", ""}, {"data_format", "NCHW", ""}}, pool2d},
	})
}

// hints are attributes that steer execution and not results.
func hints() []string {
	return []string{"op_callstack", "op_role", "op_role_var", "op_namescope", "op_device", "with_quant_attr", "use_cudnn",
		"use_mkldnn", "use_quantizer", "mkldnn_data_type", "workspace_size_MB", "exhaustive_search", "is_test", "use_eigen",
		"remote_prefetch", "entry", "table_class", "slot", "trainer_id", "name", "place", "dtype", "sparse", "stop_gradient",
		"target_shape", "epmap", "height_sections", "table_names", "struct_name"}
}
