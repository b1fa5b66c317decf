// Package draw shows the topology of a Paddle model: as text with shapes and sizes of parameters, as a graph for
// Graphviz, and as a picture (SVG) that it lays out itself.
//
// In pictures a box is an operator with the parameters that it takes; a line is a variable that goes from the operator
// that makes it to those that take it. Lines go down: an operator stands below all that it waits for.
package draw

import (
	"fmt"
	"strconv"
	"strings"

	"thole.example/program"
)

// node is an operator of a picture.
type node struct {
	op     *program.Op
	lines  []string // what stands in the box: the type, then parameters
	kind   kind
	layer  int
	order  int // within the layer
	x, y   float64
	w, h   float64
	detail string // attributes
}

// kind is what a box is drawn as.
type kind int

const (
	isOp kind = iota
	isInput
	isOutput
	isBend // of a line that passes a layer
)

// edge is a line: a variable from one box to another.
type edge struct {
	from, to int
	label    string
	via      []int // bends, from above
}

// picture is one block of a program.
type picture struct {
	nodes  []node
	edges  []edge
	layers [][]int
}

// Shape is the dimensions of a variable as text, "?" if they are not known: float32[-1,13].
func Shape(v *program.Var) string {
	if v == nil || !v.Typed {
		return "?"
	}
	var b strings.Builder
	b.WriteString(ElemName(v.Elem))
	b.WriteByte('[')
	for i, d := range v.Dims {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	b.WriteByte(']')
	return b.String()
}

// ElemName is the name of an element type as NumPy says it: float32.
func ElemName(t program.VarType_Type) string {
	text := strings.ToLower(t.String())
	switch {
	case strings.HasPrefix(text, "fp8"):
		return "float8" + text[3:]
	case strings.HasPrefix(text, "fp"):
		return "float" + text[2:]
	case text == "bf16":
		return "bfloat16"
	}
	return text
}

// Size is a number of bytes for people: 52 B, 1.2 MB.
func Size(n int64) string {
	v, unit := float64(n), 0
	units := []string{"B", "kB", "MB", "GB", "TB"}
	for v >= 1000 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", v, units[unit])
}

// variables are those of a block and of the blocks around it, by name.
func variables(p *program.Program, block int) map[string]*program.Var {
	vars := map[string]*program.Var{}
	for b := block; b >= 0; b = p.Blocks[b].Parent {
		for i := range p.Blocks[b].Vars {
			v := &p.Blocks[b].Vars[i]
			if vars[v.Name] == nil {
				vars[v.Name] = v
			}
		}
	}
	return vars
}

// isParam tells whether the variable is drawn within the operators that take it.
func isParam(v *program.Var) bool {
	return v != nil && v.Persistable && v.Kind != program.VarType_FEED_MINIBATCH && v.Kind != program.VarType_FETCH_LIST
}

// holder tells whether the variable is only what feeds and fetches are held in.
func holder(v *program.Var) bool {
	return v != nil && (v.Kind == program.VarType_FEED_MINIBATCH || v.Kind == program.VarType_FETCH_LIST)
}

// build makes the boxes and lines of a block.
func build(p *program.Program, block int) *picture {
	pic := &picture{}
	vars := variables(p, block)
	made := map[string]int{} // the operator that made a variable last
	ops := p.Blocks[block].Ops
	for i := range ops {
		o := &ops[i]
		if o.Type == program.PIRParameter {
			continue
		}
		n := node{op: o, lines: []string{o.Type}, kind: kindOf(o.Type), detail: attributes(o)}
		at := len(pic.nodes)
		for _, s := range o.In {
			for _, name := range s.Args {
				v := vars[name]
				from, ok := made[name]
				switch {
				case holder(v):
				case isParam(v) && !ok:
					n.lines = append(n.lines, fmt.Sprintf("%s %s %s", s.Name, name, Shape(v)))
				case ok:
					pic.edges = append(pic.edges, edge{from: from, to: at, label: name + " " + Shape(v)})
				default:
					n.lines = append(n.lines, fmt.Sprintf("%s %s ?", s.Name, name))
				}
			}
		}
		if n.kind != isOp {
			n.lines = append(n.lines, ends(o, vars)...)
		}
		pic.nodes = append(pic.nodes, n)
		for _, s := range o.Out {
			for _, name := range s.Args {
				if !holder(vars[name]) {
					made[name] = at
				}
			}
		}
	}
	return pic
}

func kindOf(op string) kind {
	switch op {
	case "feed", "pd_op.data", "pd_op.feed":
		return isInput
	case "fetch", "pd_op.fetch":
		return isOutput
	}
	return isOp
}

// ends are the variables of a feed or fetch.
func ends(o *program.Op, vars map[string]*program.Var) (lines []string) {
	for _, slots := range [][]program.Slot{o.In, o.Out} {
		for _, s := range slots {
			for _, name := range s.Args {
				if !holder(vars[name]) && !strings.HasPrefix(name, "%") {
					lines = append(lines, name+" "+Shape(vars[name]))
				}
			}
		}
	}
	return lines
}

// quiet are attributes that say nothing of what is computed.
func quiet(name string) bool {
	return strings.HasPrefix(name, "op_") || strings.HasPrefix(name, "use_") || name == "with_quant_attr" || name == "is_test" ||
		name == "mkldnn_data_type" || name == "place"
}

// attributes are those that say something, as "axis=1 scale=2".
func attributes(o *program.Op) string {
	var all []string
	for _, a := range o.Attrs {
		if !quiet(a.Name) {
			all = append(all, a.Name+"="+a.Text())
		}
	}
	return strings.Join(all, " ")
}
