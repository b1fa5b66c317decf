package interp

import (
	"fmt"
	"slices"

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
	main            *sequence
}

// step is an operator with its variables by slot, and its settings.
type step struct {
	pos     Position
	op      *op
	in, out map[string][]string
	set     map[string]any
	rank    int // dimensions that the program says the first output has, -1 if it says none
	run     func(c *call) error
	free    []string // variables that are not needed behind it
}

// Inputs are what Run must be fed, in their order.
func (m *Machine) Inputs() []Port { return m.inputs }

// Outputs are what Run gives, in their order.
func (m *Machine) Outputs() []Port { return m.outputs }

// Unknown lists the operators of the program that the interpreter does not have.
func Unknown(p *program.Program) []Position {
	t := newTables()
	return t.unknown(p)
}

func (t *tables) unknown(p *program.Program) (all []Position) {
	for b := range p.Blocks {
		for i := range p.Blocks[b].Ops {
			if o := &p.Blocks[b].Ops[i]; !t.known(o.Type) {
				all = append(all, Position{b, i, o.Type})
			}
		}
	}
	return all
}

// New checks the program and takes the values of its parameters, which it keeps and does not change. It fails with
// UnknownOpsError, or says which operator has an attribute, slot or variable that is not as it must be.
func New(p *program.Program, params map[string]*Tensor) (*Machine, error) {
	t := newTables()
	if unknown := t.unknown(p); len(unknown) > 0 {
		return nil, &UnknownOpsError{unknown}
	}
	pl := &planner{m: &Machine{params: params}, p: p, tables: t, known: map[string]bool{},
		lists: map[string][]string{}, vars: map[string]*program.Var{}, parts: map[string][]string{},
		taken: map[int64]bool{}}
	pl.m.main = pl.open()
	for name, t := range params {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		pl.make(name)
	}
	main := &p.Blocks[0]
	for i := range main.Vars {
		pl.vars[main.Vars[i].Name] = &main.Vars[i]
	}
	pl.split(main)
	for i := range main.Ops {
		pos := Position{0, i, main.Ops[i].Type}
		if err := pl.add(&main.Ops[i], pos); err != nil {
			return nil, fmt.Errorf("%v: %w", pos, err)
		}
	}
	if err := pl.ports(); err != nil {
		return nil, err
	}
	pl.close()
	return pl.m, nil
}

// tables are the tables by name. Control flow is among the operators too.
type tables struct {
	ops   map[string]*op
	flows map[string]*flow
	pir   map[string]*pirOp
}

func newTables() tables {
	t := tables{map[string]*op{}, map[string]*flow{}, map[string]*pirOp{}}
	for _, o := range ops() {
		t.ops[o.name] = &o
	}
	for _, f := range flows() {
		t.flows[f.name], t.ops[f.name] = &f, &f.op
	}
	for _, o := range pirOps() {
		t.pir[o.name] = &o
	}
	return t
}

// planned are operators that the planner itself understands: they make no step.
func planned() []string {
	return []string{"feed", "fetch", "pd_op.data", "pd_op.feed", "pd_op.fetch", "builtin.combine", program.PIRParameter,
		program.PIRSplit, "builtin.shadow_output", "cf.yield"}
}

func (t *tables) known(name string) bool {
	return t.ops[name] != nil || t.pir[name] != nil || slices.Contains(planned(), name)
}

type planner struct {
	m      *Machine
	p      *program.Program
	tables tables
	vars   map[string]*program.Var
	known  map[string]bool     // variables that have values before the next operator
	lists  map[string][]string // variables of PIR that stand for several
	parts  map[string][]string // of those that an operator gives: the variables that they are split into
	scopes []*sequence         // the block that is planned, behind those around it
	taken  map[int64]bool      // blocks that an operator runs
}

// split notes the parts of lists that operators of the block give.
func (pl *planner) split(b *program.Block) {
	for i := range b.Ops {
		o := &b.Ops[i]
		if from := arguments(o.In); o.Type == program.PIRSplit && len(from) == 1 {
			for k, s := range o.Out {
				names := s.Args
				if len(names) == 0 {
					names = []string{fmt.Sprintf("part %d of %s", k, from[0])}
				}
				pl.parts[from[0]] = append(pl.parts[from[0]], names...)
			}
		}
	}
}

// open begins a block within the current one.
func (pl *planner) open() *sequence {
	q := &sequence{local: map[string]bool{}, last: map[string]int{}}
	pl.scopes = append(pl.scopes, q)
	return q
}

// close ends the current block, whose variables have no values behind it.
func (pl *planner) close() {
	q := pl.scopes[len(pl.scopes)-1]
	for name := range q.local {
		delete(pl.known, name)
	}
	q.free()
	pl.scopes = pl.scopes[:len(pl.scopes)-1]
}

// make notes that the next step gives the variable a value.
func (pl *planner) make(name string) {
	if !pl.known[name] {
		q := pl.scopes[len(pl.scopes)-1]
		pl.known[name], q.local[name] = true, true
	}
	_ = pl.use(name)
}

// use notes that the next step needs the variable, in whatever block it was made.
func (pl *planner) use(name string) error {
	if !pl.known[name] {
		return fmt.Errorf("variable %q has no value before it", name)
	}
	for _, q := range pl.scopes {
		if q.local[name] {
			q.last[name] = len(q.steps)
		}
	}
	return nil
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
			pl.make(name)
		}
		return nil
	case program.PIRSplit:
		return nil // what gives the list gives its parts
	case "cf.yield":
		return pl.yield(o)
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
		for slot, names := range out {
			if len(names) == 1 && pl.parts[names[0]] != nil {
				out[slot] = pl.parts[names[0]]
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
	s.run = whole(def.run)
	if f := pl.tables.flows[def.name]; f != nil {
		if s.run, err = f.plan(pl, &s); err != nil {
			return err
		}
	}
	q := pl.scopes[len(pl.scopes)-1]
	q.steps = append(q.steps, s)
	return nil
}
