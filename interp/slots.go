package interp

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/program"
)

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
		name := slotAt(t.in, i)
		if name == "" && i >= len(t.in) {
			name = "operand " + s.Name
		}
		if len(s.Args) > 0 && name != "" {
			in[name] = append(in[name], s.Args...)
		}
	}
	for i, s := range o.Out {
		if name := slotAt(t.out, i); name != "" && len(s.Args) > 0 {
			out[name] = append(out[name], s.Args...)
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

// slotAt is the slot of operand or result i; one that ends in "*" takes all that follow.
func slotAt(slots []string, i int) string {
	if n := len(slots) - 1; n >= 0 && i > n && strings.HasSuffix(slots[n], "*") {
		i = n
	}
	if i >= len(slots) {
		return ""
	}
	return strings.TrimSuffix(slots[i], "*")
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
	for slot, names := range s.in {
		for _, name := range names {
			if err := pl.use(name); err != nil {
				return fmt.Errorf("input %s: %w", slot, err)
			}
		}
	}
	for _, names := range s.out {
		for _, name := range names {
			pl.make(name)
		}
	}
	return nil
}

// takes reports whether the operator has an input slot, or a setting that the slot gives.
func (o *op) takes(slot string) bool {
	for _, want := range o.in {
		if strings.TrimRight(want, "?*") == slot {
			return true
		}
	}
	for _, s := range o.set {
		if slices.Contains(strings.Fields(s.slot), slot) || "@"+s.name == slot {
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
		for _, slot := range strings.Fields(set.slot) {
			delete(in, slot)
		}
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
		case strings.HasSuffix(w, "?") && n <= 1, strings.HasSuffix(w, "?*"), strings.HasSuffix(w, "*") && n >= 1, n == 1:
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
