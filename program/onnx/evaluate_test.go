package onnx

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// fatal is what tests and properties fail with.
type fatal interface{ Fatalf(string, ...any) }

// graph is the nodes and initializers of a model.
type graph struct {
	nodes  []opNode
	consts map[string]table
}

type opNode struct {
	kind, out string
	in        []string
	attrs     map[string][]float64
}

// table is a tensor of rows; single that it is of float32. One without dimensions is one value.
type table struct {
	cols   int
	v      []float64
	single bool
}

// each calls visit for the fields of a message.
func each(t fatal, b []byte, visit func(num int, n uint64, text []byte)) {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("%v", protowire.ParseError(n))
		}
		b = b[n:]
		var v uint64
		var text []byte
		if kind == protowire.VarintType {
			v, n = protowire.ConsumeVarint(b)
		} else {
			text, n = protowire.ConsumeBytes(b)
		}
		if n < 0 {
			t.Fatalf("%v", protowire.ParseError(n))
		}
		visit(int(num), v, text)
		b = b[n:]
	}
}

func graphOf(t fatal, data []byte) (g graph) {
	g.consts = map[string]table{}
	each(t, data, func(num int, _ uint64, text []byte) {
		if num != 7 {
			return
		}
		each(t, text, func(num int, _ uint64, text []byte) {
			switch num {
			case 1:
				g.nodes = append(g.nodes, nodeOf(t, text))
			case 5:
				name, c := tensorOf(t, text)
				g.consts[name] = c
			}
		})
	})
	return g
}

func nodeOf(t fatal, b []byte) opNode {
	n := opNode{attrs: map[string][]float64{}}
	each(t, b, func(num int, _ uint64, text []byte) {
		switch num {
		case 1:
			n.in = append(n.in, string(text))
		case 2:
			n.out = string(text)
		case 4:
			n.kind = string(text)
		case 5:
			name := ""
			each(t, text, func(num int, v uint64, text []byte) {
				switch num {
				case 1:
					name = string(text)
				case 3:
					n.attrs[name] = []float64{float64(int64(v))}
				case 5:
					_, c := tensorOf(t, text)
					n.attrs[name] = c.v
				case 8:
					for len(text) > 0 {
						v, k := protowire.ConsumeVarint(text)
						n.attrs[name], text = append(n.attrs[name], float64(int64(v))), text[k:]
					}
				}
			})
		}
	})
	return n
}

func tensorOf(t fatal, b []byte) (name string, c table) {
	kind := uint64(0)
	each(t, b, func(num int, v uint64, text []byte) {
		switch num {
		case 1:
			c.cols = int(v)
		case 2:
			kind = v
		case 8:
			name = string(text)
		case 9:
			size := map[uint64]int{1: 4, 2: 1, 7: 8, 11: 8}[kind]
			for ; len(text) >= size; text = text[size:] {
				switch kind {
				case 1:
					c.v = append(c.v, float64(math.Float32frombits(uint32(le(append(text[:4:4], 0, 0, 0, 0))))))
				case 2:
					c.v = append(c.v, float64(text[0]))
				case 7:
					c.v = append(c.v, float64(int64(le(text))))
				case 11:
					c.v = append(c.v, math.Float64frombits(le(text)))
				default:
					t.Fatalf("type %d", kind)
				}
			}
		}
	})
	c.cols, c.single = max(c.cols, 1), kind == 1
	return name, c
}

// evaluate runs the nodes on rows, by the definitions of the operators.
func evaluate(t fatal, data []byte, rows [][]float64, single bool) map[string][][]float64 {
	g := graphOf(t, data)
	x := table{cols: len(rows[0]), single: single}
	for _, row := range rows {
		for _, v := range row {
			x.v = append(x.v, v)
		}
	}
	known := g.consts
	known[featuresInput] = x
	for _, n := range g.nodes {
		var in []table
		for _, name := range n.in {
			v, ok := known[name]
			if !ok {
				t.Fatalf("%s of %s, which is not known", n.kind, name)
			}
			in = append(in, v)
		}
		known[n.out] = n.run(t, in)
	}
	out := map[string][][]float64{}
	for _, name := range []string{scoreOutput, predictionOutput, probabilitiesOutput} {
		c, ok := known[name]
		for i := 0; ok && i < len(c.v); i += c.cols {
			out[name] = append(out[name], c.v[i:i+c.cols])
		}
	}
	return out
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unaries() map[string]func(float64) float64 {
	return map[string]func(float64) float64{"Abs": math.Abs, "Neg": func(v float64) float64 { return -v }, "Floor": math.Floor, "Exp": math.Exp,
		"Log": math.Log, "Relu": func(v float64) float64 { return max(v, 0) }, "Identity": func(v float64) float64 { return v },
		"IsNaN": func(v float64) float64 { return truth(v != v) }, "Sigmoid": func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }}
}

func binaries() map[string]func(a, b float64) float64 {
	return map[string]func(a, b float64) float64{"Add": func(a, b float64) float64 { return a + b },
		"Mul": func(a, b float64) float64 { return a * b }, "Div": func(a, b float64) float64 { return a / b },
		"Greater": func(a, b float64) float64 { return truth(a > b) }, "And": func(a, b float64) float64 { return a * b }, "Less": func(a, b float64) float64 { return truth(a < b) },
		"GreaterOrEqual": func(a, b float64) float64 { return truth(a >= b) }, "LessOrEqual": func(a, b float64) float64 { return truth(a <= b) }}
}

func (n *opNode) run(t fatal, in []table) table {
	x := in[0]
	out := table{cols: x.cols, single: x.single}
	if f := unaries()[n.kind]; f != nil {
		for _, v := range x.v {
			out.v = append(out.v, f(v))
		}
		return out
	}
	if f := binaries()[n.kind]; f != nil {
		if x.single != in[1].single {
			t.Fatalf("%s of two types", n.kind)
		}
		for i, v := range x.v {
			out.v = append(out.v, rounded(f(v, in[1].v[i%len(in[1].v)]), x.single))
		}
		return out
	}
	switch n.kind {
	case "Cast":
		out.single = n.attrs["to"][0] == 1
		for _, v := range x.v {
			if n.attrs["to"][0] == 7 {
				v = math.Trunc(v)
			}
			out.v = append(out.v, rounded(v, out.single))
		}
	case "Where":
		out.single = in[2].single
		for i, yes := range x.v {
			out.v = append(out.v, [2]float64{in[2].v[i%len(in[2].v)], in[1].v[i%len(in[1].v)]}[int(yes)])
		}
	case "Gather":
		if n.attrs["axis"][0] == 0 {
			for _, row := range in[1].v {
				out.v = append(out.v, x.v[int(row)*x.cols:][:x.cols]...)
			}
			break
		}
		out.cols = in[1].cols
		for i := 0; i < len(x.v); i += x.cols {
			for _, k := range in[1].v {
				out.v = append(out.v, x.v[i+int(k)])
			}
		}
	case "Concat":
		out.cols = 0
		for _, c := range in {
			out.cols += c.cols
		}
		for row := range len(x.v) / x.cols {
			for _, c := range in {
				out.v = append(out.v, c.v[row*c.cols:][:c.cols]...)
			}
		}
	case "Softmax":
		for i := 0; i < len(x.v); i += x.cols {
			sum := 0.0
			for _, v := range x.v[i:][:x.cols] {
				sum += math.Exp(v)
			}
			for _, v := range x.v[i:][:x.cols] {
				out.v = append(out.v, math.Exp(v)/sum)
			}
		}
	case "TreeEnsemble":
		return n.trees(t, x)
	default:
		t.Fatalf("no operator %s", n.kind)
	}
	return out
}

func rounded(v float64, single bool) float64 {
	if single {
		return float64(float32(v))
	}
	return v
}

// trees is the definition of TreeEnsemble.
func (n *opNode) trees(t fatal, x table) table {
	a := n.attrs
	out := table{cols: int(a["n_targets"][0]), single: x.single}
	for i := 0; i < len(x.v); i += x.cols {
		sums := make([]float64, out.cols)
		for _, root := range a["tree_roots"] {
			at, leaf := int(root), false
			for !leaf {
				v, split := x.v[i+int(a["nodes_featureids"][at])], a["nodes_splits"][at]
				if mode := a["nodes_modes"][at]; mode != 0 {
					t.Fatalf("mode %v", mode)
				}
				yes := v <= split || v != v && a["nodes_missing_value_tracks_true"][at] == 1
				next := "false"
				if yes {
					next = "true"
				}
				at, leaf = int(a["nodes_"+next+"nodeids"][at]), a["nodes_"+next+"leafs"][at] == 1
			}
			c := int(a["leaf_targetids"][at])
			sums[c] = rounded(sums[c]+a["leaf_weights"][at], x.single)
		}
		out.v = append(out.v, sums...)
	}
	return out
}
