package main

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"thole.example/data"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// predictionText writes predictions as lines, while they come.
type predictionText struct {
	*head
	sink *sink
	cell byte // between cells
	file *writing
	out  *bufio.Writer
	rows int64
	vals []float64 // scratch
	line []byte

	copied []byte // cell, scratch
}

// begin creates the file with the names of the columns. b are the first examples, nil if there are none.
func (t *predictionText) begin(ctx context.Context, b *data.Batch) (err error) {
	if t.file != nil {
		return nil
	}
	if b != nil {
		t.keeps(b)
	}
	if t.file, err = t.sink.create(ctx); err == nil {
		t.out = bufio.NewWriter(t.file)
		if t.cell == jsonLines {
			return err
		}
		for _, name := range t.names() {
			if len(t.line) > 0 {
				t.line = append(t.line, t.cell)
			}
			t.line = t.text(t.line, name)
		}
		_, err = t.out.Write(append(t.line, '\n'))
	}
	return err
}

// text appends a text as a cell.
func (t *predictionText) text(line []byte, text string) []byte {
	if !strings.ContainsAny(text, string(t.cell)+"\"\r\n") && strings.TrimSpace(text) == text && text != "" {
		return append(line, text...)
	}
	line = append(append(line, '"'), strings.ReplaceAll(text, `"`, `""`)...)
	return append(line, '"')
}

func (t *predictionText) add(ctx context.Context, b *data.Batch, r *rated) error {
	if err := t.begin(ctx, b); err != nil {
		return err
	}
	t.zero = b.Zero
	for i, y := range b.Label {
		if b.Row != nil {
			t.rows = b.Row[i]
		}
		t.vals = t.row(t.vals[:0], i, y, r)
		if t.cell == jsonLines {
			if err := t.object(b, i, y); err != nil {
				return err
			}
			t.rows++
			continue
		}
		t.line = strconv.AppendInt(t.line[:0], t.rows, 10)
		for k, v := range t.vals {
			t.line = append(t.line, t.cell)
			if text, ok := t.textAt(k, float32(v), y); ok {
				t.line = t.text(t.line, text)
				continue
			}
			t.line = strconv.AppendFloat(t.line, v, 'g', -1, t.bits(k))
		}
		for k := range t.kept {
			t.copied = t.cellOf(t.copied[:0], b, i, k)
			t.line = data.AppendCell(append(t.line, t.cell), t.cell, string(t.copied))
		}
		if _, err := t.out.Write(append(t.line, '\n')); err != nil {
			return err
		}
		t.rows++
	}
	return t.out.Flush()
}

// bits is the size of number k of an example.
func (t *predictionText) bits(k int) int {
	if t.exact && k != t.labelAt() {
		return 64
	}
	return 32
}

// object writes example i of a batch as a JSON object, keyed by the names of the columns. NaN, infinities and empty cells become null.
func (t *predictionText) object(b *data.Batch, i int, label float32) error {
	names := t.names()
	line := append(t.line[:0], '{')
	for k := range names {
		name, _ := json.Marshal(names[k]) // a string always can be
		if k > 0 {
			line = append(line, ',')
		}
		line = append(append(line, name...), ':')
		if k == 0 {
			line = strconv.AppendInt(line, t.rows, 10)
			continue
		}
		if at := k - 1 - len(t.vals); at >= 0 {
			if t.copied = t.cellOf(t.copied[:0], b, i, at); len(t.copied) == 0 {
				line = append(line, "null"...)
				continue
			}
			quoted, _ := json.Marshal(string(t.copied))
			line = append(line, quoted...)
			continue
		}
		v := t.vals[k-1]
		switch text, ok := t.textAt(k-1, float32(v), label); {
		case ok:
			quoted, _ := json.Marshal(text)
			line = append(line, quoted...)
		case v-v != 0:
			line = append(line, "null"...)
		default:
			line = strconv.AppendFloat(line, v, 'g', -1, t.bits(k-1))
		}
	}
	t.line = append(line, "}\n"...)
	_, err := t.out.Write(t.line)
	return err
}

func (t *predictionText) end(ctx context.Context) error {
	if err := t.begin(ctx, nil); err != nil {
		return err
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	return t.file.Commit()
}

func (t *predictionText) abort() {
	if t.file != nil {
		t.file.Abort()
	}
}

// predictionTable keeps predictions in a temporary file, as formats want to know how many there are, and then reads as a stored
// frame of them.
type predictionTable struct {
	*head
	env     *env
	results *results
	file    *os.File
	out     *bufio.Writer
	rows    int64
	gaps    []gap
	vals    []float64 // scratch
}

// gap is where rows are further behind their places than the rows before.
type gap struct{ place, behind int64 }

func newPredictionTable(e *env, h *head, r *results) (*predictionTable, error) {
	dir, err := e.scratch()
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, "predictions"))
	if err != nil {
		return nil, err
	}
	return &predictionTable{head: h, env: e, results: r, file: f, out: bufio.NewWriterSize(f, 1<<20)}, nil
}

func (t *predictionTable) add(_ context.Context, b *data.Batch, r *rated) error {
	t.vals, t.zero = t.vals[:0], b.Zero
	for i, y := range b.Label {
		if place := t.rows + int64(i); b.Row != nil && b.Row[i] != t.number(place) {
			t.gaps = append(t.gaps, gap{place, b.Row[i] - place})
		}
		t.vals = t.row(t.vals, i, y, r)
	}
	t.rows += int64(b.Len())
	bytes := wire.View(t.vals)
	if !t.exact {
		single := make([]float32, len(t.vals))
		for i, v := range t.vals {
			single[i] = float32(v)
		}
		bytes = wire.View(single)
	}
	_, err := t.out.Write(bytes)
	return err
}

// numbers is the type of all columns but the first.
func (t *predictionTable) numbers() matrix.DType {
	if t.exact {
		return matrix.F64
	}
	return matrix.F32
}

// number is that of the row at a place.
func (t *predictionTable) number(place int64) int64 {
	n := sort.Search(len(t.gaps), func(i int) bool { return t.gaps[i].place > place })
	if n == 0 {
		return place
	}
	return place + t.gaps[n-1].behind
}

func (t *predictionTable) end(ctx context.Context) error {
	if err := t.out.Flush(); err != nil {
		return err
	}
	o := output{force: t.results.force, lossy: t.results.lossy, quiet: true}
	return o.write(ctx, t.env, t, t.results.target, t.results.path, false)
}

func (t *predictionTable) abort() {
	_ = t.file.Close()           // it is temporary, and so goes
	_ = os.Remove(t.file.Name()) // with the process at the latest
}

// Matrices implements format.Reader.
func (t *predictionTable) Matrices() []matrix.Meta {
	names := t.names()
	types := []matrix.DType{matrix.I64}
	for len(types) < len(names) {
		types = append(types, t.numbers())
	}
	return []matrix.Meta{{Name: "predictions", Rows: t.rows, Cols: int64(len(names)), DType: t.numbers(), ColTypes: types, Labels: names}}
}

// Blocks implements format.Reader.
func (t *predictionTable) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		m := t.Matrices()[0]
		numbers := format.Slab{Name: name, At: matrix.At(0, t.rows, 1, m.Cols), DType: t.numbers(), Order: wire.NativeOrder}
		for b, err := range numbers.Blocks(ctx, t.file, want) {
			if err == nil && want.Cols.Has(0) && !yield(t.counted(b.At.Rows), nil) {
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// counted is the column of the numbers of rows.
func (t *predictionTable) counted(rows matrix.Range) matrix.Block {
	b := matrix.NewDense(matrix.I64, matrix.Rect{Rows: rows, Cols: matrix.Range{Hi: 1}})
	for i := range b.Data.Values().([]int64) {
		b.Data.Values().([]int64)[i] = t.number(rows.Lo + int64(i))
	}
	return b
}

// Notes implements format.Reader.
func (t *predictionTable) Notes() []string { return nil }

// Files implements format.Reader.
func (t *predictionTable) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (t *predictionTable) Close() error { return nil }
