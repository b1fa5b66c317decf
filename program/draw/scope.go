package draw

import "thole.example/program"

// scope finds the variables of a program by block and name.
type scope struct {
	p         *program.Program
	vars      []map[string]*program.Var // of each block
	constants map[string]string         // constants of PIR, whose names are those of one value in all blocks
}

// maxDepth is how many blocks around a block are searched for a name.
const maxDepth = 64

func newScope(p *program.Program) *scope {
	s := &scope{p: p, vars: make([]map[string]*program.Var, len(p.Blocks)), constants: map[string]string{}}
	for b := range p.Blocks {
		s.vars[b] = make(map[string]*program.Var, len(p.Blocks[b].Vars))
		for i := range p.Blocks[b].Vars {
			v := &p.Blocks[b].Vars[i]
			s.vars[b][v.Name] = v
		}
	}
	for b := range p.Blocks {
		for i := range p.Blocks[b].Ops {
			if name, text, ok := s.constant(b, &p.Blocks[b].Ops[i]); ok {
				s.constants[name] = text
			}
		}
	}
	return s
}

// find is the variable of that name in the block or around it, nil if there is none.
func (s *scope) find(block int, name string) *program.Var {
	for depth := 0; block >= 0 && depth < maxDepth; depth++ {
		if v := s.vars[block][name]; v != nil {
			return v
		}
		block = s.p.Blocks[block].Parent
	}
	return nil
}

// isParam reports whether the variable is drawn within the operators that take it.
func isParam(v *program.Var) bool {
	return v != nil && v.Persistable && !holder(v)
}

// holder reports whether the variable is only what feeds and fetches are held in.
func holder(v *program.Var) bool {
	return v != nil && (v.Kind == program.VarType_FEED_MINIBATCH || v.Kind == program.VarType_FETCH_LIST)
}

// constant is the value that an operator of PIR gives whatever goes in; ok is false for all other operators.
func (s *scope) constant(block int, o *program.Op) (name, text string, ok bool) {
	if len(o.Out) != 1 || len(o.Out[0].Args) != 1 {
		return "", "", false
	}
	name = o.Out[0].Args[0]
	a, hasValue := o.Attr("value")
	if !hasValue {
		return "", "", false
	}
	v := s.vars[block][name]
	switch o.Type {
	case "pd_op.full_int_array":
		return name, show(a), true
	case "pd_op.full":
		if n, known := elems(v); known && n > 1 {
			return name, show(a) + " as " + Shape(v), true
		}
		return name, show(a), true
	case "builtin.constant":
		return name, show(a) + " " + Shape(v), true
	}
	return "", "", false
}

func elems(v *program.Var) (n int64, ok bool) {
	if v == nil {
		return 0, false
	}
	return v.Elems()
}
