package interp

import (
	"context"
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
)

// Params reads the parameters of the program from stored matrices of the same names, and holds their shapes and types to
// those that the program says. Parameters that no operator takes are not read.
func Params(ctx context.Context, r format.Reader, p *program.Program) (map[string]*Tensor, error) {
	used := map[string]bool{}
	for i := range p.Blocks {
		for _, o := range p.Blocks[i].Ops {
			for _, name := range arguments(o.In) {
				used[name] = true
			}
			if o.Type == program.PIRParameter {
				for _, name := range arguments(o.Out) {
					used[name] = true
				}
			}
		}
	}
	params := map[string]*Tensor{}
	for _, v := range p.Params() {
		if !used[v.Name] {
			continue
		}
		m, err := format.Find(r, v.Name)
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", v.Name, err)
		}
		if params[v.Name], err = param(ctx, r, m, &v); err != nil {
			return nil, fmt.Errorf("parameter %q: %w", v.Name, err)
		}
	}
	return params, nil
}

// param reads one parameter.
func param(ctx context.Context, r format.Reader, m matrix.Meta, v *program.Var) (*Tensor, error) {
	dims := m.Dims
	if dims == nil {
		dims = []int64{m.Rows, m.Cols}
	}
	fits := !v.Typed || len(v.Dims) == len(dims)
	for i := 0; v.Typed && fits && i < len(dims); i++ {
		fits = v.Dims[i] < 0 || v.Dims[i] == dims[i]
	}
	if !fits {
		return nil, fmt.Errorf("shape %v, want %v: %w", dims, v.Dims, ErrShape)
	}
	t, err := Read(ctx, r, m)
	if err != nil || !v.Typed {
		return t, err
	}
	want, err := runType(v.Elem)
	if err == nil && want != t.Type {
		err = fmt.Errorf("type %v, want %v: %w", m.DType, want, ErrShape)
	}
	return t, err
}

// Read takes a stored matrix into memory: f32, and half floats widened, as floats, integers and truth values as they
// are.
func Read(ctx context.Context, r format.Reader, m matrix.Meta) (*Tensor, error) {
	t := &Tensor{Type: m.DType}
	switch {
	case m.DType == matrix.F32 || m.DType == matrix.F16 || m.DType == matrix.BF16:
		t.Type = matrix.F32
	case m.DType.Float():
		return nil, fmt.Errorf("values of type %v, want f32: %w", m.DType, ErrOp)
	}
	dims := m.Dims
	if dims == nil {
		dims = []int64{m.Rows, m.Cols}
	}
	for _, d := range dims {
		if d > maxElems {
			return nil, fmt.Errorf("shape %v: more than %d elements: %w", dims, maxElems, ErrShape)
		}
		t.Dims = append(t.Dims, int(d))
	}
	t, err := t.like(t.Dims)
	if err != nil {
		return nil, err
	}
	for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
		if err != nil {
			return nil, err
		}
		if err := t.put(&m, b); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// put copies the cells of a block.
func (t *Tensor) put(m *matrix.Meta, b matrix.Block) error {
	to := matrix.I64
	if t.Type == matrix.F32 {
		to = matrix.F32
	}
	wide, exact := b.ToDense().Cast(to)
	if !exact {
		return fmt.Errorf("values that do not fit %v: %w", to, ErrOp)
	}
	width := b.At.Cols.Len()
	for r := range b.At.Rows.Len() {
		at := (b.At.Rows.Lo+r)*m.Cols + b.At.Cols.Lo - m.ColLo
		switch v := wide.Data.Values().(type) {
		case []float32:
			copy(t.F[at:], v[r*width:(r+1)*width])
		case []int64:
			copy(t.I[at:], v[r*width:(r+1)*width])
		}
	}
	return nil
}
