package interp

import (
	"cmp"
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/program"
)

// input plans a feed.
func (pl *planner) input(o *program.Op) error {
	if len(pl.scopes) > 1 {
		return fmt.Errorf("a feed in a block of control flow: %w", ErrOp)
	}
	for _, name := range arguments(o.Out) {
		port, err := pl.port(name, o, len(pl.m.inputs))
		if err != nil {
			return err
		}
		if pl.known[name] {
			return fmt.Errorf("variable %q has a value already", name)
		}
		pl.m.inputs = append(pl.m.inputs, port)
		pl.make(name)
	}
	return nil
}

// output plans a fetch.
func (pl *planner) output(o *program.Op) error {
	if len(pl.scopes) > 1 {
		return fmt.Errorf("a fetch in a block of control flow: %w", ErrOp)
	}
	for _, name := range arguments(o.In) {
		port, err := pl.port(name, o, len(pl.m.outputs))
		if err != nil {
			return err
		}
		if err := pl.use(name); err != nil {
			return err
		}
		if a, ok := o.Attr("name"); ok && o.Type == "pd_op.fetch" {
			if port.Name, err = a.Str(); err != nil {
				return err
			}
		}
		pl.m.outputs = append(pl.m.outputs, port)
	}
	return nil
}

// port describes an input or output; col is its number where the operator does not say one.
func (pl *planner) port(name string, o *program.Op, col int) (Port, error) {
	port := Port{Name: name, Col: col, Type: matrix.F32, variable: name}
	if a, ok := o.Attr("col"); ok {
		v, err := a.Int()
		if err != nil || v < 0 || v > 1<<20 {
			return port, fmt.Errorf("attribute col is %s, want a number from 0 on", a.Text())
		}
		port.Col = int(v)
	}
	if v := pl.vars[name]; v != nil && v.Typed {
		port.Dims = v.Dims
		t, err := runType(v.Elem)
		if err != nil {
			return port, fmt.Errorf("variable %q: %w", name, err)
		}
		port.Type = t
	}
	return port, nil
}

// ports puts inputs and outputs in order; outputs live to the end.
func (pl *planner) ports() error {
	for _, list := range [][]Port{pl.m.inputs, pl.m.outputs} {
		slices.SortStableFunc(list, func(a, b Port) int { return cmp.Compare(a.Col, b.Col) })
		for i := 1; i < len(list); i++ {
			if list[i].Col == list[i-1].Col {
				return fmt.Errorf("%q and %q both have number %d among inputs or outputs", list[i-1].Name, list[i].Name, list[i].Col)
			}
		}
	}
	if len(pl.m.outputs) == 0 {
		return fmt.Errorf("no fetch: the program gives nothing")
	}
	for _, out := range pl.m.outputs {
		pl.m.main.last[out.variable] = len(pl.m.main.steps)
	}
	return nil
}

// runType is the type in which values of a stored type are computed.
func runType(t program.VarType_Type) (matrix.DType, error) {
	switch t {
	case program.VarType_FP32, program.VarType_FP16, program.VarType_BF16:
		return matrix.F32, nil
	case program.VarType_INT64, program.VarType_SIZE_T:
		return matrix.I64, nil
	case program.VarType_INT32:
		return matrix.I32, nil
	case program.VarType_INT16:
		return matrix.I16, nil
	case program.VarType_INT8:
		return matrix.I8, nil
	case program.VarType_UINT8:
		return matrix.U8, nil
	case program.VarType_BOOL:
		return matrix.Bool, nil
	}
	return matrix.Invalid, fmt.Errorf("values of type %v: %w", t, ErrOp)
}
