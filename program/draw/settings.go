package draw

import (
	"fmt"
	"strconv"
	"strings"

	"thole.example/program"
)

// setting is an attribute as text.
type setting struct{ name, text string }

func (s setting) String() string { return s.name + "=" + s.text }

// shown are the attributes that stand in the boxes of operators: those without which one cannot say what is computed. A
// text behind a name is the value with which the attribute is left out. ProgramDesc and PIR spell some differently.
var shown = byName(map[string]string{
	"conv2d depthwise_conv2d conv3d conv2d_fusion fused_conv2d deformable_conv": "strides paddings dilations groups " +
		"padding_algorithm=EXPLICIT data_format=NCHW deformable_groups",
	"conv2d_transpose conv3d_transpose depthwise_conv2d_transpose": "strides paddings dilations groups output_size=[] " +
		"output_padding=[] padding_algorithm=EXPLICIT data_format=NCHW",
	"pool2d pool3d": "pooling_type ksize kernel_size strides paddings global_pooling=false adaptive=false ceil_mode=false " +
		"exclusive=true padding_algorithm=EXPLICIT data_format=NCHW",
	"max_pool2d_with_index max_pool3d_with_index": "ksize kernel_size strides paddings global_pooling=false adaptive=false",
	"matmul matmul_v2": "transpose_X=false transpose_Y=false trans_x=false trans_y=false " +
		"transpose_x=false transpose_y=false alpha=1",
	"mul matmul_with_flatten":                "x_num_col_dims=1 y_num_col_dims=1",
	"fc":                                     "in_num_col_dims=1 activation_type=",
	"softmax log_softmax":                    "axis",
	"concat split unbind":                    "axis num=0 sections=[]",
	"split_with_num stack":                   "num axis",
	"unstack":                                "axis num",
	"scale":                                  "scale bias bias_after_scale=true",
	"dropout dropout_nd":                     "dropout_prob p dropout_implementation mode",
	"batch_norm sync_batch_norm":             "epsilon data_layout=NCHW data_format=NCHW",
	"layer_norm":                             "begin_norm_axis epsilon",
	"instance_norm norm l2_norm rms_norm":    "axis begin_norm_axis epsilon",
	"group_norm":                             "groups epsilon",
	"lrn":                                    "n k alpha beta",
	"lookup_table lookup_table_v2 embedding": "padding_idx=-1 is_sparse=false is_distributed=false",
	"reshape reshape2":                       "shape",
	"flatten flatten2 flatten_contiguous_range": "axis start_axis stop_axis",
	"transpose transpose2":                      "axis perm",
	"squeeze squeeze2 unsqueeze unsqueeze2":     "axes axis",
	"slice strided_slice":                       "axes starts ends strides=[] decrease_axis=[]",
	"set_value":                                 "axes starts ends steps",
	"reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_all reduce_any reduce_amax reduce_amin sum mean max min " +
		"prod all any amax amin logsumexp frobenius_norm p_norm": "dim axis dims porder keep_dim=false keepdim=false reduce_all=false",
	"elementwise_add elementwise_sub elementwise_mul elementwise_div elementwise_max elementwise_min elementwise_pow " +
		"elementwise_mod elementwise_floordiv": "axis=-1",
	"cast": "out_dtype dtype",
	"fill_constant full fill_any_like full_like full_batch_size_like fill_constant_batch_size_like assign_value": "shape " +
		"value str_value= dtype",
	"gaussian gaussian_random uniform uniform_random": "shape mean std min max",
	"gather index_select argsort unique":              "axis descending=false",
	"arg_max arg_min argmax argmin":                   "axis keepdims=false",
	"top_k top_k_v2 topk":                             "k axis=-1 largest=true",
	"cumsum":                                          "axis exclusive=false reverse=false",
	"one_hot one_hot_v2":                              "depth num_classes",
	"clip":                                            "min max",
	"clip_by_norm":                                    "max_norm",
	"expand expand_v2 tile":                           "expand_times shape repeat_times",
	"pad pad2d pad3d":                                 "paddings mode pad_value value",
	"roll flip":                                       "shifts axis",
	"tril_triu tril triu diag_v2":                     "diagonal lower offset",
	"pow":                                             "factor y",
	"leaky_relu":                                      "alpha negative_slope",
	"elu celu":                                        "alpha",
	"selu":                                            "scale alpha",
	"prelu":                                           "mode",
	"gelu":                                            "approximate=false",
	"swish":                                           "beta=1",
	"relu6":                                           "threshold=6",
	"hard_sigmoid hardsigmoid":                        "slope offset",
	"hard_swish hardswish":                            "threshold=6 scale=6 offset=3",
	"brelu hardtanh":                                  "t_min t_max",
	"softplus":                                        "beta threshold",
	"stanh":                                           "scale_a scale_b",
	"hard_shrink softshrink thresholded_relu mish": "threshold lambda",
	"maxout":       "groups axis",
	"label_smooth": "epsilon",
	"softmax_with_cross_entropy cross_entropy_with_softmax cross_entropy": "soft_label axis ignore_index=-100",
	"sigmoid_cross_entropy_with_logits":                                   "normalize=false ignore_index=-100",
	"huber_loss":                                                          "delta",
	"log_loss":                                                            "epsilon",
	"accuracy auc":                                                        "curve num_thresholds",
	"bilinear_interp bilinear_interp_v2 nearest_interp nearest_interp_v2 bicubic_interp bicubic_interp_v2": "out_h out_w " +
		"scale interp_method align_corners",
	"pixel_shuffle":                   "upscale_factor",
	"shuffle_channel channel_shuffle": "group groups",
	"space_to_depth":                  "blocksize",
	"temporal_shift":                  "seg_num shift_ratio",
	"unfold im2sequence":              "kernel_sizes kernels strides paddings dilations",
	"grid_sampler grid_sample":        "mode padding_mode align_corners",
	"roi_align roi_pool":              "pooled_height pooled_width spatial_scale",
	"yolo_box":                        "anchors class_num conf_thresh downsample_ratio",
	"multiclass_nms multiclass_nms3":  "score_threshold nms_top_k keep_top_k nms_threshold",
	"rnn lstm gru":                    "mode hidden_size num_layers is_bidirec is_reverse activation",
	"sequence_pool":                   "pooltype",
	"sequence_conv":                   "contextLength contextStart",
	"sequence_mask":                   "maxlen max_len out_dtype",
	"hash":                            "num_hash mod_by",
	"increment":                       "step value",
	"while conditional_block":         "sub_block",
})

// byName gives each name of a key what stands behind the key.
func byName(of map[string]string) map[string][]string {
	table := map[string][]string{}
	for names, text := range of {
		for _, name := range strings.Fields(names) {
			table[name] = strings.Fields(text)
		}
	}
	return table
}

// shortType is the name of an operator without the dialect that nearly all of PIR are of.
func shortType(op string) string {
	for _, dialect := range []string{"pd_op.", "builtin."} {
		if short, ok := strings.CutPrefix(op, dialect); ok && short != "" {
			return short
		}
	}
	return op
}

// baseType is shortType without the mark of operators that write over their input.
func baseType(op string) string { return strings.TrimSuffix(shortType(op), "_") }

// chosen are the settings of an operator that stand in its box.
func chosen(o *program.Op) (list []setting) {
	for _, entry := range shown[baseType(o.Type)] {
		name, without, mayMiss := strings.Cut(entry, "=")
		if a, ok := o.Attr(name); ok {
			if text := show(a); !mayMiss || text != without {
				list = append(list, setting{name, text})
			}
		}
	}
	return list
}

// all are the settings of an operator that say something.
func all(o *program.Op) (list []setting) {
	for _, a := range o.Attrs {
		if !quiet(a.Name) {
			list = append(list, setting{plain(cut(a.Name, maxName)), show(a)})
		}
	}
	return list
}

// quiet are attributes that say nothing of what is computed.
func quiet(name string) bool {
	switch name {
	case "with_quant_attr", "is_test", "mkldnn_data_type", "place", "stop_gradient", "struct_name":
		return true
	}
	return strings.HasPrefix(name, "op_") || strings.HasPrefix(name, "use_")
}

// settings are settings in a line, as "axis=1 scale=2".
func settings(list []setting) string {
	var words []string
	for _, s := range list {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}

// fold lays settings in lines of a box.
func fold(list []setting) (lines []string) {
	for _, s := range list {
		word := drawable(cut(s.String(), maxName))
		if n := len(lines) - 1; n >= 0 && len(lines[n])+1+len(word) <= maxInLine {
			lines[n] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// maxShown is how many values of a list are shown.
const maxShown = 16

// show is the value of an attribute for people: [1,2] and text without quotes, element types by name, all shortened.
func show(a program.Attr) string {
	if n, ok := a.Value.(int64); ok && strings.HasSuffix(a.Name, "dtype") && program.VarType_Type_name[int32(n)] != "" {
		return ElemName(program.VarType_Type(n))
	}
	switch v := a.Value.(type) {
	case []int64:
		return several(v, func(n int64) string { return strconv.FormatInt(n, 10) })
	case []float64:
		return several(v, number)
	case []bool:
		return several(v, strconv.FormatBool)
	case []string:
		return several(v, func(s string) string { return cut(plain(s), maxName) })
	case float64:
		return number(v)
	case string:
		return cut(plain(v), maxName)
	}
	return plain(a.Text())
}

// several are values of a list in brackets.
func several[T any](list []T, text func(T) string) string {
	var words []string
	for _, v := range list[:min(len(list), maxShown)] {
		words = append(words, text(v))
	}
	if more := len(list) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("… %d more", more))
	}
	return "[" + strings.Join(words, ",") + "]"
}

// number is a float with the digits that a float32 has.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 32) }
