package formattest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// truth is a matrix and its cells.
type truth struct {
	meta  matrix.Meta
	cells map[place]value
}

type place struct{ row, col int64 }

// value is a value by its bits.
type value struct {
	bits uint64
	nan  bool // any NaN
}

// cells reads the section of that name.
func (g *Golden) cells(text string) error {
	for line := range strings.Lines(text) {
		words, err := fields(line)
		if err == nil && len(words) > 0 {
			err = g.line(words)
		}
		if err != nil {
			return fmt.Errorf("line %q: %w", strings.TrimSpace(line), err)
		}
	}
	for i := range g.matrices {
		if err := g.matrices[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// fields are the words of a line, some of them quoted.
func fields(line string) (words []string, err error) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		word, _, _ := strings.Cut(line, " ")
		text := word
		if line[0] == '"' {
			if word, err = strconv.QuotedPrefix(line); err != nil {
				return nil, err
			}
			if text, err = strconv.Unquote(word); err != nil {
				return nil, err
			}
		}
		words, line = append(words, text), line[len(word):]
	}
	return words, nil
}

func (g *Golden) line(words []string) error {
	switch rest := words[1:]; {
	case words[0] == "format" && len(rest) == 1:
		g.Format = rest[0]
	case words[0] == "file" && len(rest) == 1:
		g.beside[rest[0]] = nil // which parse puts there
	case words[0] == "file" && len(rest) == 2:
		g.beside[rest[0]] = []byte(rest[1])
	case words[0] == "matrix" && len(rest) == 6:
		g.matrices = append(g.matrices, truth{cells: map[place]value{}})
		return g.last().head(rest)
	case len(g.matrices) == 0:
		return errors.New("no matrix before")
	case words[0] >= "a":
		return g.last().said(words[0], rest)
	default:
		return g.last().cell(words)
	}
	return nil
}

func (g *Golden) last() *truth { return &g.matrices[len(g.matrices)-1] }

// head reads the name, element type, rows, x, columns and layout.
func (m *truth) head(words []string) (err error) {
	m.meta.Name = words[0]
	if m.meta.DType, err = matrix.ParseDType(words[1]); err != nil {
		return err
	}
	sizes, err := numbers([]string{words[2], words[4]})
	if err != nil {
		return err
	}
	m.meta.Rows, m.meta.Cols = sizes[0], sizes[1]
	switch words[5] {
	case "dense":
	case "sparse":
		m.meta.Layout = matrix.RowSparse
	default:
		return fmt.Errorf("%q, want dense or sparse", words[5])
	}
	return nil
}

// said reads what else is said of a matrix.
func (m *truth) said(what string, words []string) error {
	switch what {
	case "labels":
		m.meta.Labels = words
		return nil
	case "types":
		for _, w := range words {
			d, err := matrix.ParseDType(w)
			if err != nil {
				return err
			}
			m.meta.ColTypes = append(m.meta.ColTypes, d)
		}
		return nil
	}
	ns, err := numbers(words)
	if err != nil {
		return err
	}
	switch what {
	case "shape":
		m.meta.Dims = append([]int64{}, ns...)
	case "sequences":
		m.meta.LoD = append(m.meta.LoD, ns)
	case "saved":
		for _, n := range ns {
			m.meta.Saved = append(m.meta.Saved, matrix.Range{Lo: n, Hi: n + 1})
		}
	case "first":
		m.meta.ColLo = ns[0]
	default:
		return fmt.Errorf("%q, want labels, types, first, saved, shape or sequences", what)
	}
	return nil
}

func numbers(words []string) (ns []int64, err error) {
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, err
		}
		ns = append(ns, n)
	}
	return ns, nil
}

// cell reads a row, a column and a value.
func (m *truth) cell(words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("%d words, want row, column and value", len(words))
	}
	at, err := numbers(words[:2])
	if err != nil {
		return err
	}
	p := place{at[0], at[1]}
	if _, twice := m.cells[p]; twice {
		return errors.New("a cell that was before")
	}
	m.cells[p], err = valueOf(m.meta.ColType(p.col), words[2])
	return err
}

// valueOf reads a value of the type.
func valueOf(d matrix.DType, text string) (v value, err error) {
	size := 8 * d.Size()
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		v.bits, err = strconv.ParseUint(digits, 16, size)
		return v, err
	}
	var f float64
	switch {
	case d == matrix.Bool:
		v.bits, err = strconv.ParseUint(text, 2, 1)
	case d.Float():
		f, err = strconv.ParseFloat(text, max(size, 32))
		v.nan = math.IsNaN(f)
	case d.Signed():
		var n int64
		n, err = strconv.ParseInt(text, 10, size)
		v.bits = uint64(n) << (64 - size) >> (64 - size)
	default:
		v.bits, err = strconv.ParseUint(text, 10, size)
	}
	exact := f
	switch d {
	case matrix.F64:
		v.bits = math.Float64bits(f)
	case matrix.F32:
		v.bits = uint64(math.Float32bits(float32(f)))
	case matrix.F16:
		h := matrix.ToFloat16(float32(f))
		v.bits, exact = uint64(h), float64(h.Float32())
	case matrix.BF16:
		h := matrix.ToBFloat16(float32(f))
		v.bits, exact = uint64(h), float64(h.Float32())
	}
	if err == nil && exact != f && !v.nan {
		err = fmt.Errorf("%v holds %v instead of %s", d, exact, text)
	}
	return v, err
}

// check reports what contradicts itself.
func (m *truth) check() error {
	rows := int64(0)
	for _, r := range m.meta.SavedRows() {
		rows += r.Len()
	}
	if m.meta.Layout == matrix.RowDense && rows*m.meta.Cols != int64(len(m.cells)) {
		return fmt.Errorf("matrix %q: %d cells, want %d x %d", m.meta.Name, len(m.cells), rows, m.meta.Cols)
	}
	return m.meta.Check()
}

// Reader reads the cells as if they had been stored, in blocks of a column each where columns have types.
func (g *Golden) Reader() format.Reader { return reader{g} }

type reader struct{ g *Golden }

func (r reader) Matrices() (ms []matrix.Meta) {
	for i := range r.g.matrices {
		ms = append(ms, r.g.matrices[i].meta)
	}
	return ms
}

func (r reader) Blocks(_ context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for i := range r.g.matrices {
			if r.g.matrices[i].meta.Name != name {
				continue
			}
			for _, b := range r.g.matrices[i].blocks() {
				if !b.At.Intersect(want).Empty() && !yield(b.Cut(want), nil) {
					return
				}
			}
			return
		}
		yield(matrix.Block{}, format.ErrMatrix)
	}
}

func (r reader) Notes() []string { return nil }

func (r reader) Files() map[string][]byte { return r.g.beside }

func (r reader) Close() error { return nil }

// blocks hold the cells.
func (m *truth) blocks() (all []matrix.Block) {
	whole := m.meta.Rect()
	for _, rows := range m.meta.SavedRows() {
		for lo := whole.Cols.Lo; lo < whole.Cols.Hi; {
			cols := matrix.Range{Lo: lo, Hi: whole.Cols.Hi}
			if m.meta.ColTypes != nil {
				cols.Hi = lo + 1
			}
			all, lo = append(all, m.block(matrix.Rect{Rows: rows, Cols: cols})), cols.Hi
		}
	}
	return all
}

func (m *truth) block(at matrix.Rect) matrix.Block {
	var places []place
	for p := range m.cells {
		if at.Contains(matrix.At(p.row, p.row+1, p.col, p.col+1)) {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col)) })
	ptr, idx := make([]int, at.Rows.Len()+1), make([]int64, len(places))
	for i, p := range places {
		idx[i] = p.col
		for r := p.row - at.Rows.Lo; r < at.Rows.Len(); r++ {
			ptr[r+1] = i + 1
		}
	}
	b := matrix.Block{At: at, Data: matrix.KindOf(m.meta.ColType(at.Cols.Lo)).CSR(ptr, idx)}
	raw, size := wire.ViewAny(b.Data.Values())
	for i, p := range places {
		for k := range size {
			raw[i*size+k] = byte(m.cells[p].bits >> (8 * k))
		}
	}
	if m.meta.Layout == matrix.RowDense {
		b = b.ToDense()
	}
	return b
}
