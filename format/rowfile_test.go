package format_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// lister writes every row as its number and the cells of each lane.
type lister struct {
	out  io.Writer
	next int64
	fail bool
}

func (l *lister) Rows(_ context.Context, lanes []matrix.Block) error {
	if l.fail {
		return errors.New("disk full")
	}
	rows := lanes[0].At.Rows
	if rows.Lo != l.next {
		return fmt.Errorf("rows from %d on, want %d", rows.Lo, l.next)
	}
	l.next = rows.Hi
	for r := rows.Lo; r < rows.Hi; r++ {
		fmt.Fprintf(l.out, "%d:", r)
		for _, b := range lanes {
			if err := b.Check(); err != nil {
				return err
			}
			at := b.At
			at.Rows = matrix.Range{Lo: r, Hi: r + 1}
			fmt.Fprintf(l.out, " %v", b.Data.DType())
			_ = b.Cut(at).EachText(func(_, col int64, v []byte) error {
				fmt.Fprintf(l.out, " %d=%s", col, v)
				return nil
			})
		}
		fmt.Fprintln(l.out)
	}
	return nil
}

func (l *lister) End() error { _, err := fmt.Fprintln(l.out, "end"); return err }

func listing(ms []matrix.Meta) format.RowFile {
	return format.RowFile{Metas: ms, Begin: func(out io.Writer) (format.RowSink, error) { return &lister{out: out}, nil }}
}

var rowMetas = [][]matrix.Meta{
	{{Name: "a", Rows: 7, Cols: 5, DType: matrix.I32}},
	{{Name: "a", Rows: 7, Cols: 5, DType: matrix.F64, ColTypes: []matrix.DType{matrix.I8, matrix.I8, matrix.F32, matrix.F64, matrix.F64}}},
	{{Name: "a", Rows: 7, Cols: 1, DType: matrix.F32}, {Name: "b", Rows: 7, Cols: 9, DType: matrix.F64, Layout: matrix.RowSparse}},
	{{Name: "b", Rows: 7, Cols: 9, DType: matrix.U8, Layout: matrix.RowSparse}},
}

// cut makes blocks that tile the matrix, in some of the ways that blocks can be held.
func cut(m matrix.Meta, rnd *rand.Rand) (blocks []matrix.Block) {
	whole := matrix.NewDense(matrix.F64, m.Rect())
	for i := range whole.Data.(*matrix.Dense[float64]).Val {
		whole.Data.(*matrix.Dense[float64]).Val[i] = float64(i + 1)
	}
	whole, _ = whole.Cast(m.DType)
	if m.Layout == matrix.RowSparse {
		whole = whole.Pick(func(c int64) bool { return c%3 != 0 })
	}
	ends := []int64{0, rnd.Int64N(m.Rows), m.Rows}
	for i := range 2 {
		at := matrix.At(ends[i], ends[i+1], 0, m.Cols)
		split := rnd.Int64N(m.Cols + 1)
		if rnd.IntN(3) == 0 {
			split = 0 // whole rows
		}
		left, right := at, at
		left.Cols.Hi, right.Cols.Lo = split, split
		for _, piece := range []matrix.Rect{left, right} {
			b := whole.Cut(piece)
			if rnd.IntN(2) == 0 {
				b = b.ToCSR()
			}
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// TestRowFile puts blocks in any order, by one writer or several: always the same bytes.
func TestRowFile(t *testing.T) {
	ctx := context.Background()
	for i, ms := range rowMetas {
		want := ""
		for seed := range uint64(200) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			b, o := &blob.Mem{}, format.Options{}
			if rnd.IntN(2) == 0 {
				o.Stage = "s"
			}
			var ws []format.Writer
			for range 1 + rnd.IntN(3)*len(o.Stage) {
				w, err := format.NewRowWriter(b, "d/f", o, listing(ms))
				if err != nil {
					t.Fatal(err)
				}
				ws = append(ws, w)
			}
			type put struct {
				name string
				b    matrix.Block
			}
			var puts []put
			for _, m := range ms {
				for _, one := range cut(m, rnd) {
					puts = append(puts, put{m.Name, one})
				}
			}
			if rnd.IntN(2) == 0 {
				rnd.Shuffle(len(puts), func(i, k int) { puts[i], puts[k] = puts[k], puts[i] })
			}
			var parts []format.Part
			for _, p := range puts {
				part, err := ws[rnd.IntN(len(ws))].Put(ctx, p.name, p.b)
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, part)
			}
			if err := ws[rnd.IntN(len(ws))].Commit(ctx, parts); err != nil {
				t.Fatal(err)
			}
			for _, w := range ws {
				w.Abort(ctx)
			}
			text, err := blob.ReadAll(ctx, b, "d/f", 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if infos, _ := b.List(ctx, ""); len(infos) != 1 {
				t.Fatalf("left %v", infos)
			}
			if want == "" {
				want = string(text)
			}
			if string(text) != want {
				t.Fatalf("case %d, order %d:\n%s\nwant\n%s", i, seed, text, want)
			}
		}
		if strings.Count(want, "\n") != 8 || !strings.HasSuffix(want, "end\n") {
			t.Errorf("case %d: %q", i, want)
		}
	}
}

// TestRowFileRefusals are puts and commits that fail and leave nothing.
func TestRowFileRefusals(t *testing.T) {
	ctx := context.Background()
	m := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.F64}
	mixed := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.F64, ColTypes: []matrix.DType{matrix.I8, matrix.F64}}
	full := matrix.NewDense(matrix.F64, m.Rect())
	half := full.Cut(matrix.At(0, 1, 0, 2))
	big := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{1, 1, 300, 1}}}
	for what, c := range map[string]struct {
		ms   []matrix.Meta
		name string
		puts []matrix.Block
		more format.Part
		want string
	}{
		"name":        {[]matrix.Meta{m}, "b", []matrix.Block{full}, nil, "no such matrix"},
		"missing":     {[]matrix.Meta{m}, "a", []matrix.Block{half}, nil, "no block holds row 1"},
		"twice":       {[]matrix.Meta{m}, "a", []matrix.Block{full, half}, nil, "overlap"},
		"type":        {[]matrix.Meta{m}, "a", []matrix.Block{matrix.NewDense(matrix.F32, m.Rect())}, nil, "want f64"},
		"outside":     {[]matrix.Meta{m}, "a", []matrix.Block{matrix.NewDense(matrix.F64, matrix.At(1, 3, 0, 2))}, nil, "want one within"},
		"inexact":     {[]matrix.Meta{mixed}, "a", []matrix.Block{big}, nil, "a value that i8 does not"},
		"other save":  {[]matrix.Meta{m}, "a", nil, format.Part(`{"Spool":"=x","Rows":{"Hi":2},"Cols":{"Hi":2},"DType":1}`), "another save"},
		"other path":  {[]matrix.Meta{m}, "a", nil, format.Part(`{"Spool":"../x","Rows":{"Hi":2},"Cols":{"Hi":2},"DType":1}`), "another save"},
		"no part":     {[]matrix.Meta{m}, "a", nil, format.Part(`x`), "part of"},
		"part beyond": {[]matrix.Meta{m}, "a", nil, format.Part(`{"Rows":{"Hi":3},"Cols":{"Hi":2},"DType":1}`), "outside"},
	} {
		b := &blob.Mem{}
		w, err := format.NewRowWriter(b, "f", format.Options{}, listing(c.ms))
		if err != nil {
			t.Fatal(err)
		}
		parts := []format.Part{}
		if c.more != nil {
			parts = append(parts, c.more)
		}
		for _, blk := range c.puts {
			var p format.Part
			if p, err = w.Put(ctx, c.name, blk); err != nil {
				break
			}
			parts = append(parts, p)
		}
		if err == nil {
			err = w.Commit(ctx, parts)
		}
		w.Abort(ctx)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		if infos, _ := b.List(ctx, ""); len(infos) > 0 {
			t.Errorf("%s: left %v", what, infos)
		}
	}
	for _, ms := range [][]matrix.Meta{{m, m}, {m, {Name: "b", Rows: 3, Cols: 1, DType: matrix.F32}}} {
		if _, err := format.NewRowWriter(&blob.Mem{}, "f", format.Options{}, listing(ms)); err == nil {
			t.Errorf("%v: no error", ms)
		}
	}
}

// TestRowFileBroken checks that a file whose writing failed cannot be committed.
func TestRowFileBroken(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	m := matrix.Meta{Name: "a", Rows: 2, Cols: 1, DType: matrix.F64}
	f := listing([]matrix.Meta{m})
	f.Begin = func(out io.Writer) (format.RowSink, error) { return &lister{out: out, fail: true}, nil }
	w, err := format.NewRowWriter(b, "f", format.Options{}, f)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	if _, err := w.Put(ctx, "a", matrix.NewDense(matrix.F64, m.Rect())); err == nil {
		t.Error("put: no error")
	}
	if err := w.Commit(ctx, nil); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("commit: %v", err)
	}
}

// TestRowFileNoColumns has any number of rows without a cell.
func TestRowFileNoColumns(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	w, err := format.NewRowWriter(b, "f", format.Options{}, listing([]matrix.Meta{{Name: "a", Rows: 1 << 60, DType: matrix.F64}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := blob.ReadAll(ctx, b, "f", 100); string(text) != "end\n" {
		t.Errorf("%q, %v", text, err)
	}
}
