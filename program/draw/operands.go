package draw

// operandNames are the inputs of operators of PIR, which has numbers in their place: of those that take parameters or
// constants.
var operandNames = byName(map[string]string{
	"add subtract multiply divide maximum minimum matmul bmm remainder floor_divide elementwise_pow": "x y",
	"conv2d conv3d depthwise_conv2d":                               "input filter",
	"conv2d_transpose conv3d_transpose depthwise_conv2d_transpose": "x filter output_size",
	"batch_norm sync_batch_norm":                                   "x mean variance scale bias",
	"layer_norm group_norm instance_norm":                          "x scale bias",
	"rms_norm":                                                     "x residual bias norm_weight",
	"embedding":                                                    "ids weight",
	"prelu":                                                        "x alpha",
	"scale":                                                        "x scale",
	"dropout":                                                      "x seed p",
	"clip":                                                         "x min max",
	"pool2d":                                                       "x kernel_size",
	"reshape expand full_with_tensor":                              "x shape",
	"empty gaussian randint":                                       "shape",
	"uniform":                                                      "shape min max",
	"squeeze unsqueeze concat cumsum sum max min reverse split_with_num": "x axis",
	"prod":                                "x dims",
	"gather":                              "x index axis",
	"split":                               "x sections axis",
	"slice":                               "input starts ends",
	"strided_slice":                       "x starts ends strides",
	"set_value":                           "x starts ends steps",
	"set_value_with_tensor":               "x values starts ends steps",
	"crop":                                "x shape offsets",
	"tile":                                "x repeat_times",
	"roll":                                "x shifts",
	"topk":                                "x k",
	"one_hot":                             "x num_classes",
	"pad":                                 "x pad_value",
	"pad3d":                               "x paddings",
	"full_like fill full_batch_size_like": "x value",
	"arange":                              "start end step",
	"linspace":                            "start stop num",
	"logspace":                            "start stop num base",
	"eye":                                 "num_rows num_columns",
	"multinomial":                         "x num_samples",
	"sequence_mask":                       "x max_len",
	"allclose isclose":                    "x y rtol atol",
	"where":                               "condition x y",
	"increment":                           "x",
})

// operands are the names of the inputs of an operator of PIR, nil if they are not known.
func operands(op string) []string { return operandNames[baseType(op)] }
