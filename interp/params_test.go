package interp

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
)

// stored is one matrix in pieces.
type stored struct {
	m      matrix.Meta
	pieces []matrix.Block
	fail   error // after the pieces
}

func (s *stored) Matrices() []matrix.Meta  { return []matrix.Meta{s.m} }
func (s *stored) Notes() []string          { return nil }
func (s *stored) Files() map[string][]byte { return nil }
func (s *stored) Close() error             { return nil }

func (s *stored) Blocks(context.Context, string, matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for _, b := range s.pieces {
			if !yield(b, nil) {
				return
			}
		}
		if s.fail != nil {
			yield(matrix.Block{}, s.fail)
		}
	}
}

// TestRead takes matrices of all element types, in pieces of any size, dense or sparse, into tensors.
func TestRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows, cols := rapid.Int64Range(1, 5).Draw(rt, "rows"), rapid.Int64Range(1, 5).Draw(rt, "cols")
		m := matrix.Meta{Name: "w", Rows: rows, Cols: cols, ColLo: rapid.Int64Range(-3, 3).Draw(rt, "first column")}
		m.DType = rapid.SampledFrom([]matrix.DType{matrix.F32, matrix.F16, matrix.BF16, matrix.I64, matrix.I32, matrix.I16, matrix.I8,
			matrix.U64, matrix.U32, matrix.U16, matrix.U8, matrix.Bool}).Draw(rt, "type")
		values := make([]float64, rows*cols)
		for i := range values {
			values[i] = float64(rapid.IntRange(0, 1).Draw(rt, "value"))
			if m.DType != matrix.Bool {
				values[i] *= float64(i + 1)
			}
		}
		whole, _ := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: values}}.Cast(m.DType)
		r := &stored{m: m}
		below, right := rapid.Int64Range(0, rows).Draw(rt, "row of the cut"), m.ColLo+rapid.Int64Range(0, cols).Draw(rt, "column of the cut")
		for _, rs := range []matrix.Range{{Lo: 0, Hi: below}, {Lo: below, Hi: rows}} {
			for _, cs := range []matrix.Range{{Lo: m.ColLo, Hi: right}, {Lo: right, Hi: m.ColLo + cols}} {
				piece := whole.Cut(matrix.Rect{Rows: rs, Cols: cs})
				if rapid.Bool().Draw(rt, "sparse") {
					piece = piece.ToCSR()
				}
				r.pieces = append(r.pieces, piece)
			}
		}
		got, err := Read(context.Background(), r, m)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(got.Dims, []int{int(rows), int(cols)}) || (got.Type == matrix.F32) != m.DType.Float() || got.Len() != len(values) {
			rt.Fatalf("%v of %v gives %s, %d values", m.Rect(), m.DType, got.text(), got.Len())
		}
		for i, want := range values {
			if got.at(i) != want {
				rt.Fatalf("%v of %v: value %d is %v, want %v", m.Rect(), m.DType, i, got.at(i), want)
			}
		}
	})
}

// TestParams holds matrices to what the program says of its parameters.
func TestParams(t *testing.T) {
	fault := errors.New("the disk is broken")
	for _, c := range []struct {
		what   string
		change func(s *stored, p *program.Block)
		err    error
		text   string
	}{
		{"as it is", func(*stored, *program.Block) {}, nil, ""},
		{"any rows", func(_ *stored, b *program.Block) { b.Vars[0].Dims = []int64{-1, 3} }, nil, ""},
		{"not typed", func(_ *stored, b *program.Block) { b.Vars[0].Typed, b.Vars[0].Dims = false, nil }, nil, ""},
		{"dimensions of the matrix", func(s *stored, b *program.Block) { s.m.Dims, b.Vars[0].Dims = []int64{6, 1}, []int64{6, 1} }, nil, ""},
		{"other rows", func(_ *stored, b *program.Block) { b.Vars[0].Dims = []int64{3, 3} }, ErrShape, "shape [2 3], want [3 3]"},
		{"other rank", func(_ *stored, b *program.Block) { b.Vars[0].Dims = []int64{2, 3, 1} }, ErrShape, "shape [2 3], want [2 3 1]"},
		{"integers", func(_ *stored, b *program.Block) { b.Vars[0].Elem = program.VarType_INT64 }, ErrShape, "type f32, want i64"},
		{"strings", func(_ *stored, b *program.Block) { b.Vars[0].Elem = program.VarType_STRING }, ErrOp, ""},
		{"doubles", func(s *stored, _ *program.Block) { s.m.DType = matrix.F64 }, ErrOp, "type f64, want f32"},
		{"absent", func(s *stored, _ *program.Block) { s.m.Name = "v" }, format.ErrMatrix, ""},
		{"absent and not used", func(s *stored, b *program.Block) { s.m.Name, b.Ops[1].In = "v", b.Ops[1].In[:1] }, nil, ""},
		{"a fault", func(s *stored, _ *program.Block) { s.fail = fault }, fault, ""},
		{"too long", func(s *stored, b *program.Block) { s.m.Rows, b.Vars[0].Dims = maxElems+1, []int64{-1, 3} }, ErrShape, "more than"},
		{"too large", func(s *stored, b *program.Block) { s.m.Rows, b.Vars[0].Dims = maxElems, []int64{-1, 3} }, ErrShape, "more than"},
		{"too large for 63 bits", func(s *stored, b *program.Block) {
			s.m.DType, b.Vars[0].Elem = matrix.U64, program.VarType_INT64
			s.pieces[0].Data = &matrix.Dense[uint64]{Val: []uint64{1 << 63, 0, 0, 0, 0, 0}}
		}, ErrOp, "do not fit"},
	} {
		s := &stored{m: matrix.Meta{Name: "w", Rows: 2, Cols: 3, DType: matrix.F32}}
		s.pieces = []matrix.Block{{At: s.m.Rect(), Data: &matrix.Dense[float32]{Val: []float32{1, 2, 3, 4, 5, 6}}}}
		b := flowProgram([]program.Op{op1("matmul_v2 X=x Y=w > Out=y", 0)}).Blocks[0]
		b.Vars = slices.Insert(b.Vars, 0, program.Var{Name: "w", Kind: program.VarType_DENSE_TENSOR, Typed: true, Persistable: true,
			Parameter: true, Elem: program.VarType_FP32, Dims: []int64{2, 3}})
		c.change(s, &b)
		params, err := Params(context.Background(), s, &program.Program{Blocks: []program.Block{b}})
		switch {
		case c.err == nil:
			if err != nil || params["w"] != nil && !slices.Equal(params["w"].F, []float32{1, 2, 3, 4, 5, 6}) {
				t.Errorf("%s: %v, %v", c.what, params["w"], err)
			}
		case !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), `parameter "w"`):
			t.Errorf("%s: %v, want %v: %s", c.what, err, c.err, c.text)
		}
	}
}
