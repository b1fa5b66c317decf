package draw

import (
	"cmp"
	"fmt"
	"strings"

	"thole.example/program"
)

// How much of a program one picture shows. What is left out is said in the picture.
const (
	maxBoxes   = 5000  // operators of all blocks
	maxTaken   = 50000 // lines that come to boxes
	leastTaken = 16    // of them to each box in any case
	maxParts   = 10000 // values of a list that are drawn one by one
	maxLines   = 12    // parameters and other values that one box names
	maxName    = 48    // letters of a name
	maxTitle   = 400   // letters of a hover text
	maxInLine  = 40    // letters of settings in a line
)

// graph is what a block computes: boxes, and values that go from one to others.
type graph struct {
	block  int
	boxes  []box
	values []value
	more   int // operators that are not drawn
}

// box is an operator.
type box struct {
	kind  kind
	lines []line
	title string
	takes []int // values, each once, in the order of inputs
}

// line is a line of text in a box.
type line struct {
	text  string
	style style
}

// style is what a line of text says.
type style int

const (
	isType style = iota
	isSetting
	isTensor // a parameter, or a value that comes from elsewhere
)

// value is a variable that one box makes and others take.
type value struct {
	from  int
	to    []int // boxes, each once, in the order in which they run
	label string
	title string
}

// kind is what a node of the picture is.
type kind int

const (
	isOp kind = iota
	isInput
	isOutput
	isValue // the label of a value
	isAgain // the label of a value whose line begins anew
	isBend  // of a line that passes a row
)

// kinds are the operators that are the ends of a program.
var kinds = map[string]kind{
	"feed": isInput, "pd_op.data": isInput, "pd_op.feed": isInput,
	"fetch": isOutput, "pd_op.fetch": isOutput, "builtin.shadow_output": isOutput,
}

// builder makes the graph of a block.
type builder struct {
	*scope
	graph
	taken int                 // lines that a box may take
	made  map[string]int      // the value of a variable that an operator before gave
	list  map[string][]string // what a value of PIR that is a list consists of
}

// build makes boxes of at most so many operators of a block.
func build(s *scope, block, most int) *graph {
	b := &builder{scope: s, graph: graph{block: block}, made: map[string]int{}, list: map[string][]string{}}
	b.taken = max(leastTaken, maxTaken/max(1, min(most, len(s.p.Blocks[block].Ops))))
	ops := s.p.Blocks[block].Ops
	for i := range ops {
		switch o := &ops[i]; {
		case b.folded(o):
		case len(b.boxes) == most:
			b.more++
		default:
			b.add(o)
		}
	}
	b.drop()
	return &b.graph
}

// folded reports whether an operator is drawn within others: one that gives a parameter or a constant, and in PIR one that
// makes a list of values or takes it apart.
func (b *builder) folded(o *program.Op) bool {
	in, out := b.args(o.In), b.args(o.Out)
	switch o.Type {
	case program.PIRParameter:
		return true
	case "builtin.combine":
		if len(out) == 1 {
			b.list[out[0]] = in
			return true
		}
	case "builtin.split", "builtin.slice":
		if len(in) != 1 {
			return false
		}
		whole, ok := b.made[in[0]]
		for _, name := range out {
			if ok {
				b.give(name, b.values[whole].from)
			}
		}
		return ok
	}
	return len(out) == 1 && b.constants[out[0]] != ""
}

// args are the variables in slots; lists are what they consist of.
func (b *builder) args(slots []program.Slot) (all []string) {
	for _, s := range slots {
		for _, name := range s.Args {
			if parts, ok := b.list[name]; ok && len(parts) <= maxParts {
				all = append(all, parts...)
			} else {
				all = append(all, name)
			}
		}
	}
	return all
}

// give notes that a box makes a variable.
func (b *builder) give(name string, from int) {
	v := b.find(b.block, name)
	if holder(v) {
		return
	}
	b.made[name] = len(b.values)
	b.values = append(b.values, value{from: from, label: tensor(name, v), title: cut(plain(name+" "+Shape(v)), maxTitle)})
}

// tensor is a variable as a picture names it.
func tensor(name string, v *program.Var) string {
	return drawable(cut(name, maxName) + " " + cut(Shape(v), maxName))
}

// add makes the box of an operator.
func (b *builder) add(o *program.Op) {
	n, at := box{kind: kinds[o.Type]}, len(b.boxes)
	var set []setting
	var tensors []string
	for i := range o.In {
		slot, constants := b.slot(o, i), []string(nil)
		for _, name := range b.args(o.In[i : i+1]) {
			v := b.find(b.block, name)
			made, ok := b.made[name]
			switch text := b.constants[name]; {
			case holder(v):
			case ok && len(n.takes) < b.taken:
				b.take(&n, at, made)
			case text != "":
				constants = append(constants, text)
			default:
				tensors = append(tensors, slot+" "+tensor(name, v))
			}
		}
		if len(constants) > 0 {
			set = append(set, setting{cmp.Or(slot, "operand "+o.In[i].Name), strings.Join(constants, ",")})
		}
	}
	for _, name := range b.args(o.Out) {
		b.give(name, at)
		switch v := b.vars[b.block][name]; {
		case n.kind == isInput && !holder(v):
			tensors = append(tensors, tensor(name, v))
		case v == nil && b.find(b.block, name) != nil && !holder(b.find(b.block, name)): // of a block around this one
			tensors = append(tensors, "→ "+tensor(name, b.find(b.block, name)))
		}
	}
	n.lines = append(n.lines, line{drawable(cut(shortType(o.Type), maxName)), isType})
	for _, text := range fold(append(set, chosen(o)...)) {
		n.lines = append(n.lines, line{text, isSetting})
	}
	for i, text := range tensors {
		if i == maxLines && len(tensors) > maxLines+1 {
			n.lines = append(n.lines, line{fmt.Sprintf("… %d more", len(tensors)-i), isTensor})
			break
		}
		n.lines = append(n.lines, line{strings.TrimSpace(text), isTensor})
	}
	n.title = cut(plain(strings.TrimSpace(o.Type+" "+settings(append(set, all(o)...)))), maxTitle)
	b.boxes = append(b.boxes, n)
}

// slot is what an operator calls its input; PIR has numbers instead of names, and "" stands for what is not known.
func (b *builder) slot(o *program.Op, i int) string {
	if b.p.Form != program.FormPIR {
		return drawable(cut(o.In[i].Name, maxName))
	}
	if names := operands(o.Type); i < len(names) {
		return names[i]
	}
	return ""
}

// take notes that a box takes a value.
func (b *builder) take(n *box, at, v int) {
	if to := b.values[v].to; len(to) == 0 || to[len(to)-1] != at {
		b.values[v].to = append(to, at)
		n.takes = append(n.takes, v)
	}
}

// drop removes the values that no box takes.
func (b *builder) drop() {
	kept := make([]int, len(b.values))
	values := b.values[:0]
	for i, v := range b.values {
		if kept[i] = len(values); len(v.to) > 0 {
			values = append(values, v)
		}
	}
	b.values = values
	for i := range b.boxes {
		for k, v := range b.boxes[i].takes {
			b.boxes[i].takes[k] = kept[v]
		}
	}
}
