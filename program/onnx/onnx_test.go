package onnx

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"iter"
	"math"
	"os"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/program"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// source is matrices of float32 or int64, given a row at a time.
type source struct {
	metas  []matrix.Meta
	blocks map[string]matrix.Block
	fail   error
}

func (s *source) add(name string, rows, cols int64, values any) {
	m := matrix.Meta{Name: name, Rows: rows, Cols: cols, DType: matrix.F32}
	b := matrix.Block{At: m.Rect()}
	switch v := values.(type) {
	case []float32:
		b.Data = &matrix.Dense[float32]{Val: v}
	case []int64:
		m.DType, b.Data = matrix.I64, &matrix.Dense[int64]{Val: v}
	}
	if s.blocks == nil {
		s.blocks = map[string]matrix.Block{}
	}
	s.metas, s.blocks[name] = append(s.metas, m), b
}

func (s *source) Matrices() []matrix.Meta  { return s.metas }
func (s *source) Notes() []string          { return nil }
func (s *source) Files() map[string][]byte { return nil }
func (s *source) Close() error             { return nil }

func (s *source) Blocks(_ context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if s.fail != nil {
			yield(matrix.Block{}, s.fail)
			return
		}
		for r := want.Rows.Lo; r < want.Rows.Hi; r++ {
			if !yield(s.blocks[name].Cut(matrix.Rect{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: want.Cols}).Clone(), nil) {
				return
			}
		}
	}
}

func slots(pairs ...string) (all []program.Slot) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, program.Slot{Name: pairs[i], Args: []string{pairs[i+1]}})
	}
	return all
}

func float(name string, dims ...int64) program.Var {
	return program.Var{Name: name, Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: program.VarType_FP32, Dims: dims}
}

func param(name string, elem program.VarType_Type, dims ...int64) program.Var {
	v := float(name, dims...)
	v.Elem, v.Persistable, v.Parameter = elem, true, true
	return v
}

// fed is a program of one input x [batch, 3] and one output, which the operators make of it.
func fed(t *testing.T, out string, vars []program.Var, ops ...program.Op) *program.Program {
	t.Helper()
	col := program.Attr{Name: "col", Type: program.AttrType_INT, Value: int64(0)}
	block := program.Block{Parent: -1, Vars: append([]program.Var{
		{Name: "feed", Kind: program.VarType_FEED_MINIBATCH, Persistable: true},
		{Name: "fetch", Kind: program.VarType_FETCH_LIST, Persistable: true},
		float("x", -1, 3), float(out, -1, 2)}, vars...)}
	block.Ops = append(block.Ops, program.Op{Type: "feed", In: slots("X", "feed"), Out: slots("Out", "x"), Attrs: []program.Attr{col}})
	block.Ops = append(block.Ops, ops...)
	block.Ops = append(block.Ops, program.Op{Type: "fetch", In: slots("X", out), Out: slots("Out", "fetch"), Attrs: []program.Attr{col}})
	p, err := program.New([]program.Block{block}, 2_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// smallest is prediction = x*W.
func smallest(t *testing.T) (*program.Program, *source) {
	src := &source{}
	src.add("w", 3, 2, []float32{1, 2, 3, 4, -5, 0.5})
	return fed(t, "prediction", []program.Var{param("w", program.VarType_FP32, 3, 2)},
		program.Op{Type: "matmul_v2", In: slots("X", "x", "Y", "w"), Out: slots("Out", "prediction")}), src
}

func encode(t *testing.T, p *program.Program, src *source, o Options) []byte {
	t.Helper()
	m, err := New(p, src, o)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	cells := 0
	if err := m.Write(context.Background(), &buf, func(n int) { cells += n }); err != nil {
		t.Fatal(err)
	}
	if int64(buf.Len()) != m.Size() {
		t.Errorf("%d bytes, said %d", buf.Len(), m.Size())
	}
	all := int64(0)
	for _, meta := range src.metas {
		all += meta.Rows * meta.Cols
	}
	if int64(cells) != all {
		t.Errorf("%d values were told of, want %d", cells, all)
	}
	return buf.Bytes()
}

// TestGolden compares the bytes of the smallest model with those that ONNX Runtime was seen to read.
func TestGolden(t *testing.T) {
	p, src := smallest(t)
	got := hex.Dump(encode(t, p, src, Options{Meta: map[string]string{"keys": "7\n8\n", "a": "b"}}))
	const file = "testdata/smallest.hex"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("other bytes:\n%s", got)
	}
	if again := hex.Dump(encode(t, p, src, Options{Meta: map[string]string{"a": "b", "keys": "7\n8\n"}})); again != got {
		t.Error("other bytes the second time")
	}
}

// TestStructure reads a model back, field by field.
func TestStructure(t *testing.T) {
	p, src := smallest(t)
	f := read(t, encode(t, p, src, Options{Meta: map[string]string{"keys": "7\n"}}))
	for what, c := range map[string][2]string{
		"nodes":   {f.nodes, "MatMul(x,w)=prediction; Identity(prediction)=score"},
		"tensors": {f.tensors, "w float32[3 2] 0000803f000000400000404000008040" + "0000a0c00000003f"},
		"ends":    {f.ends, "x float32[batch 3] -> prediction float32[batch 2] score float32[batch 2]"},
		"head":    {f.head, "ir 7 thole opset 13 graph thole keys=7\n"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %q, want %q", what, c[0], c[1])
		}
	}
}

// TestRefuses are programs and parameters that no file is made of.
func TestRefuses(t *testing.T) {
	out := func(op string, attrs ...program.Attr) program.Op {
		return program.Op{Type: op, In: slots("X", "x", "Y", "x"), Out: slots("Out", "y"), Attrs: attrs}
	}
	yes := func(name string) program.Attr {
		return program.Attr{Name: name, Type: program.AttrType_BOOLEAN, Value: true}
	}
	axis := program.Attr{Name: "axis", Type: program.AttrType_INT, Value: int64(1)}
	for want, p := range map[string]*program.Program{
		`operator 1: operator "sigmoit", want one of`: fed(t, "y", nil, out("sigmoit")),
		"operator 1, elementwise_add: axis 1":         fed(t, "y", nil, out("elementwise_add", axis)),
		"operator 1, softmax: no attribute axis":      fed(t, "y", nil, out("softmax")),
		"operator 1, gather: 0 variables in Ind":      fed(t, "y", nil, out("gather", axis)),
		`parameter "w" of type`:                       fed(t, "y", []program.Var{param("w", program.VarType_FP64, 2)}, out("relu")),
		"ProgramDesc of one":                          {Form: program.FormPIR},
		"operator 1, matmul_v2: trans_x, want":        fed(t, "y", nil, out("matmul_v2", yes("trans_x"))),
		"operator 1, reduce_sum: reduce_all, wan":     fed(t, "y", nil, out("reduce_sum", yes("reduce_all"))),
	} {
		_, err := New(p, &source{}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestLimit: the largest file has 2 GiB less a byte, and what is larger is refused unless the parameters are apart.
func TestLimit(t *testing.T) {
	p, src := smallest(t)
	m, err := New(p, src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("the parameter is asked for")
	for extra, want := range map[int64]error{-64: stop, 64: ErrSize} { // heads are shorter than that
		n := (Limit - m.Size() + extra) / 4
		src := &source{metas: []matrix.Meta{{Name: "w", Rows: 1, Cols: n, DType: matrix.F32}}, fail: stop}
		p := fed(t, "prediction", []program.Var{param("w", program.VarType_FP32, n)},
			program.Op{Type: "relu", In: slots("X", "x"), Out: slots("Out", "prediction")})
		m, err := New(p, src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Write(context.Background(), io.Discard, nil); !errors.Is(err, want) {
			t.Errorf("%d values: %v, want %v", n, err, want)
		}
		m.Apart("w.data")
		if err := m.Write(context.Background(), io.Discard, nil); err != nil || m.Size() > 1000 {
			t.Errorf("%d values apart: %v, %d bytes", n, err, m.Size())
		}
		if err := m.WriteData(context.Background(), io.Discard, nil); !errors.Is(err, stop) {
			t.Errorf("%d values apart: %v, want %v", n, err, stop)
		}
	}
}

// TestWriteFails: a parameter that is not there, is of another shape, or cannot be read.
func TestWriteFails(t *testing.T) {
	p, src := smallest(t)
	broken := errors.New("the disk is broken")
	for name, change := range map[string]func(s *source){
		"missing": func(s *source) { s.metas = nil },
		"shape":   func(s *source) { s.metas = []matrix.Meta{{Name: "w", Rows: 2, Cols: 2, DType: matrix.F32}} },
		"type":    func(s *source) { s.metas = []matrix.Meta{{Name: "w", Rows: 3, Cols: 2, DType: matrix.I64}} },
		"read":    func(s *source) { s.fail = broken },
	} {
		s := *src
		change(&s)
		m, err := New(p, &s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = m.Write(context.Background(), &bytes.Buffer{}, nil)
		if err == nil || name == "read" && !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBands: a parameter of more values than a band is written whole, with both types.
func TestBands(t *testing.T) {
	const rows, cols = 3, bandCells/2 + 1
	src := &source{}
	list := make([]int64, rows*cols)
	for i := range list {
		list[i] = int64(i) - math.MaxInt32
	}
	src.add("w", rows, cols, list)
	p := fed(t, "y", []program.Var{param("w", program.VarType_INT64, rows, cols)},
		program.Op{Type: "relu", In: slots("X", "x"), Out: slots("Out", "y")})
	f := read(t, encode(t, p, src, Options{}))
	for i, v := range list {
		if got := int64(le(f.raw[i*8:])); got != v {
			t.Fatalf("value %d is %d, want %d", i, got, v)
		}
	}
}
