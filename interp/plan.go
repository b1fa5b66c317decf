package interp

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/matrix"
	"thole.example/program"
)

// Port is an input or output of a program. A dimension of -1 takes any size. The name is that of the variable, or in PIR
// what the fetch calls it.
type Port struct {
	Name string
	Col  int // its number among the inputs or outputs
	Dims []int64
	Type matrix.DType

	variable string
}

// Machine is a program with its parameters, checked and ready to run. Any number of goroutines may use one.
type Machine struct {
	inputs, outputs []Port
	params          map[string]*Tensor
	steps           []step
	last            map[string]int // the step behind which a variable is not needed
}

// step is an operator with its variables by slot, and its settings.
type step struct {
	pos     Position
	op      *op
	in, out map[string][]string
	set     map[string]any
	rank    int // dimensions that the program says the first output has, -1 if it says none
}

// Inputs are what Run must be fed, in their order.
func (m *Machine) Inputs() []Port { return m.inputs }

// Outputs are what Run gives, in their order.
func (m *Machine) Outputs() []Port { return m.outputs }

// Unknown lists the operators of the program that the interpreter does not have.
func Unknown(p *program.Program) []Position {
	t := newTables()
	var all []Position
	for b := range p.Blocks {
		for i := range p.Blocks[b].Ops {
			if o := &p.Blocks[b].Ops[i]; b > 0 || !t.known(o.Type) {
				all = append(all, Position{b, i, o.Type})
			}
		}
	}
	return all
}

// New checks the program and takes the values of its parameters, which it keeps and does not change. It fails with
// UnknownOpsError, or says which operator has an attribute, slot or variable that is not as it must be.
func New(p *program.Program, params map[string]*Tensor) (*Machine, error) {
	if unknown := Unknown(p); len(unknown) > 0 {
		return nil, &UnknownOpsError{unknown}
	}
	pl := &planner{m: &Machine{params: params, last: map[string]int{}}, tables: newTables(), known: map[string]bool{},
		lists: map[string][]string{}, vars: map[string]*program.Var{}}
	for name, t := range params {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		pl.known[name] = true
	}
	main := &p.Blocks[0]
	for i := range main.Vars {
		pl.vars[main.Vars[i].Name] = &main.Vars[i]
	}
	for i := range main.Ops {
		pos := Position{0, i, main.Ops[i].Type}
		if err := pl.add(&main.Ops[i], pos); err != nil {
			return nil, fmt.Errorf("%v: %w", pos, err)
		}
	}
	return pl.m, pl.ports()
}

// tables are both tables by name.
type tables struct {
	ops map[string]*op
	pir map[string]*pirOp
}

func newTables() tables {
	t := tables{map[string]*op{}, map[string]*pirOp{}}
	for _, o := range ops() {
		t.ops[o.name] = &o
	}
	for _, o := range pirOps() {
		t.pir[o.name] = &o
	}
	return t
}

// planned are operators that the planner itself understands: they make no step.
func planned() []string {
	return []string{"feed", "fetch", "pd_op.data", "pd_op.feed", "pd_op.fetch", "builtin.combine", program.PIRParameter,
		"builtin.shadow_output"}
}

func (t *tables) known(name string) bool {
	return t.ops[name] != nil || t.pir[name] != nil || slices.Contains(planned(), name)
}

type planner struct {
	m      *Machine
	tables tables
	vars   map[string]*program.Var
	known  map[string]bool     // variables that have values before the next operator
	lists  map[string][]string // variables of PIR that stand for several
}

// add plans one operator.
func (pl *planner) add(o *program.Op, pos Position) error {
	switch o.Type {
	case "feed", "pd_op.data", "pd_op.feed":
		return pl.input(o)
	case "fetch", "pd_op.fetch", "builtin.shadow_output":
		return pl.output(o)
	case program.PIRParameter:
		for _, name := range arguments(o.Out) {
			if v := pl.vars[name]; !pl.known[name] && (v == nil || v.Persistable) {
				return fmt.Errorf("no values of parameter %q", name)
			}
		}
		return nil
	case "builtin.combine":
		for _, name := range arguments(o.Out) {
			pl.lists[name] = arguments(o.In)
			pl.known[name] = true
		}
		return nil
	}
	attrs := o.Attrs
	in, out := bySlot(o.In), bySlot(o.Out)
	def := pl.tables.ops[o.Type]
	if t := pl.tables.pir[o.Type]; t != nil {
		def = pl.tables.ops[t.as]
		in, out, attrs = t.translate(o)
		for slot, names := range in {
			if len(names) == 1 && pl.lists[names[0]] != nil {
				in[slot] = pl.lists[names[0]]
			}
		}
	}
	s := step{pos: pos, op: def, in: in, out: out, rank: -1}
	if names := out[def.out[0]]; len(names) == 1 && pl.vars[names[0]] != nil && pl.vars[names[0]].Typed {
		s.rank = len(pl.vars[names[0]].Dims)
	}
	var err error
	if s.set, err = def.settings(attrs); err != nil {
		return err
	}
	if err := pl.slots(&s); err != nil {
		return err
	}
	pl.m.steps = append(pl.m.steps, s)
	return nil
}

// arguments are all variables in slots.
func arguments(slots []program.Slot) (all []string) {
	for _, s := range slots {
		all = append(all, s.Args...)
	}
	return all
}

func bySlot(slots []program.Slot) map[string][]string {
	m := make(map[string][]string, len(slots))
	for _, s := range slots {
		if len(s.Args) > 0 {
			m[s.Name] = append(m[s.Name], s.Args...)
		}
	}
	return m
}

// translate gives an operator of PIR the slots and attributes of the first table.
func (t *pirOp) translate(o *program.Op) (in, out map[string][]string, attrs []program.Attr) {
	in, out = map[string][]string{}, map[string][]string{}
	for i, s := range o.In {
		name := "operand " + s.Name
		if i < len(t.in) {
			name = t.in[i]
		}
		if len(s.Args) > 0 && name != "" {
			in[name] = s.Args
		}
	}
	for i, s := range o.Out {
		if i < len(t.out) && t.out[i] != "" && len(s.Args) > 0 {
			out[t.out[i]] = s.Args
		}
	}
	if strings.HasPrefix(t.as, "reduce_") { // where nothing is said all dimensions are meant
		attrs = append(attrs, program.Attr{Name: "dim", Type: program.AttrType_LONGS, Value: []int64{}})
	}
	for _, a := range o.Attrs {
		if name, ok := t.set[a.Name]; ok {
			a.Name = name
		}
		attrs = append(attrs, a)
	}
	return in, out, attrs
}

// slots checks the variables of a step and notes what it makes and uses.
func (pl *planner) slots(s *step) error {
	if err := match(s.op.in, s.in, "input"); err != nil {
		for slot := range s.in {
			if !s.op.takes(slot) {
				return err
			}
		}
		if err = match(s.op.in, s.withoutSettings(), "input"); err != nil {
			return err
		}
	}
	if err := match(s.op.out, s.out, "output"); err != nil {
		return err
	}
	n := len(pl.m.steps)
	for slot, names := range s.in {
		for _, name := range names {
			if !pl.known[name] {
				return fmt.Errorf("input %s: variable %q has no value before it", slot, name)
			}
			pl.m.last[name] = n
		}
	}
	for _, names := range s.out {
		for _, name := range names {
			pl.known[name] = true
			pl.m.last[name] = max(pl.m.last[name], n)
		}
	}
	return nil
}

// takes tells whether the operator has an input slot, or a setting that the slot gives.
func (o *op) takes(slot string) bool {
	for _, want := range o.in {
		if strings.TrimRight(want, "?*") == slot {
			return true
		}
	}
	for _, s := range o.set {
		if s.slot != "" && s.slot == slot || "@"+s.name == slot {
			return true
		}
	}
	return false
}

// withoutSettings are the inputs but for those that give settings.
func (s *step) withoutSettings() map[string][]string {
	in := map[string][]string{}
	for slot, names := range s.in {
		in[slot] = names
	}
	for _, set := range s.op.set {
		delete(in, set.slot)
		delete(in, "@"+set.name)
	}
	return in
}

// match holds slots to what an operator has: one variable in each, but for the marks "?" and "*".
func match(want []string, have map[string][]string, what string) error {
	names := map[string]bool{}
	for _, w := range want {
		slot := strings.TrimRight(w, "?*")
		names[slot] = true
		n := len(have[slot])
		switch {
		case strings.HasSuffix(w, "?") && n <= 1, strings.HasSuffix(w, "*") && n >= 1, n == 1:
		case strings.HasSuffix(w, "*"):
			return fmt.Errorf("%s %s has no variable, want at least one", what, slot)
		default:
			return fmt.Errorf("%s %s has %d variables, want one", what, slot, n)
		}
	}
	for slot := range have {
		if !names[slot] {
			return fmt.Errorf("%s %s: %w", what, slot, ErrOp)
		}
	}
	return nil
}
