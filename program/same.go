package program

import (
	"fmt"
	"reflect"
	"slices"
)

// SameGraph reports the first difference of two programs in their variables, and in their operators apart from the
// attributes that only training needs.
func SameGraph(a, b *Program) error {
	if len(a.Blocks) != len(b.Blocks) {
		return fmt.Errorf("%d blocks and %d", len(a.Blocks), len(b.Blocks))
	}
	for i := range a.Blocks {
		x, y := &a.Blocks[i], &b.Blocks[i]
		if x.Parent != y.Parent || !reflect.DeepEqual(x.Vars, y.Vars) {
			return fmt.Errorf("block %d: other variables", i)
		}
		if len(x.Ops) != len(y.Ops) {
			return fmt.Errorf("block %d: %d operators and %d", i, len(x.Ops), len(y.Ops))
		}
		for k := range x.Ops {
			if !reflect.DeepEqual(lean(x.Ops[k]), lean(y.Ops[k])) {
				return fmt.Errorf("block %d: operator %d (%s) differs from (%s)", i, k, x.Ops[k].Type, y.Ops[k].Type)
			}
		}
	}
	return nil
}

// lean is an operator without the attributes that only training needs.
func lean(o Op) Op {
	o.Attrs = slices.DeleteFunc(slices.Clone(o.Attrs), func(a Attr) bool { return ofTraining(a.Name) })
	if len(o.Attrs) == 0 {
		o.Attrs = nil
	}
	return o
}
