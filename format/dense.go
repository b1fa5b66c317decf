package format

import (
	"context"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"thole.example/blob"
	"thole.example/matrix"
)

// LoseToDense asks the options about everything that a plain dense tensor cannot say of the matrix: absent cells and
// rows, column ids, labels and types.
func LoseToDense(m *matrix.Meta, o *Options) error {
	if err := LoseAbsent(m, o); err != nil {
		return err
	}
	for _, l := range []struct {
		is   bool
		of   Aspect
		what string
	}{
		{m.ColLo != 0, Places, "columns are counted from 0"},
		{m.Labels != nil, Labels, "names of columns"},
		{mixed(m), Types, fmt.Sprintf("element types of single columns, values become %v", m.DType)},
	} {
		if !l.is {
			continue
		}
		if err := o.Lose(l.of, m.Name, "%s", l.what); err != nil {
			return err
		}
	}
	cells, ok := matrix.Cells(m.Rows, m.Cols)
	if size, fits := matrix.Cells(cells, int64(m.DType.Size())); ok && fits {
		return o.Need(m.Name, size)
	}
	return nil
}

// DefaultMaxDense is how many bytes of filled matrices a save may have unless Options.MaxDense says otherwise.
const DefaultMaxDense = 1 << 30

// LoseAbsent asks the options whether absent cells and rows of the matrix may become zeros, for formats that store
// every cell, unless it is known that none is absent. It says how large the matrix becomes, and fails with ErrLimit where
// that is beyond Options.MaxDense.
func LoseAbsent(m *matrix.Meta, o *Options) error {
	what := "rows"
	switch {
	case m.Full():
		return nil
	case m.Layout == matrix.RowSparse:
		what = "cells"
	case m.Saved == nil:
		o.open().whole[m.Name] = int64(m.DType.Size())
		return nil
	}
	cells, ok := matrix.Cells(m.Rows, m.Cols)
	size, fits := matrix.Cells(cells, int64(m.DType.Size()))
	if !ok || !fits {
		return fmt.Errorf("matrix %q: %d x %d %v with every cell is beyond 2^63 bytes: %w", m.Name, m.Rows, m.Cols, m.DType, ErrLimit)
	}
	err := o.Lose(Absence, m.Name, "absent %s become zeros, %d x %d %v are %s", what, m.Rows, m.Cols, m.DType, Bytes(size))
	if err != nil {
		return err
	}
	return o.fill(m.Name, size)
}

// LimitEmpty counts what the rows without a cell take, each so many bytes, in a format that has a line for every row of a
// sparse matrix, and fails with ErrLimit where that is beyond Options.MaxDense.
func LimitEmpty(m *matrix.Meta, each int64, o *Options) error {
	size, ok := matrix.Cells(m.Rows-min(m.Rows, m.Stored), each)
	if !ok {
		return fmt.Errorf("matrix %q: a line for each of %d rows is beyond 2^63 bytes: %w", m.Name, m.Rows, ErrLimit)
	}
	return o.fill(m.Name, size)
}

// fill counts bytes of cells that are filled in, against the bound of the save.
func (o *Options) fill(name string, size int64) error {
	bound, g := o.MaxDense, o.open()
	if bound == 0 {
		bound = DefaultMaxDense
	}
	if bound < 0 {
		return nil
	}
	if size > bound-g.filled {
		return fmt.Errorf("matrix %q takes %s for what is absent, after %s of others, want at most %s (--max-dense allows more): %w",
			name, Bytes(size), Bytes(g.filled), Bytes(bound), ErrLimit)
	}
	g.filled += size
	return nil
}

// fillBlock counts the cells that a block of a dense matrix lacks, where the target stores every cell: the header of a file may
// promise any number of them.
func (o *Options) fillBlock(name string, b matrix.Block) error {
	g := o.open()
	cell, whole := g.whole[name]
	cells, ok := b.At.Cells()
	if !whole || !ok || b.Data == nil || int64(b.Data.NNZ()) >= cells {
		return nil
	}
	size, ok := matrix.Cells(cells-int64(b.Data.NNZ()), cell)
	if !ok {
		size = math.MaxInt64
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return o.fill(name, size)
}

// Need says before anything is written how many bytes the matrix takes in the target at least. It fails with ErrLimit if the file
// system has less room, for all matrices of the save together.
func (o *Options) Need(name string, size int64) error {
	g := o.open()
	if g.room < 0 {
		return nil
	}
	if size > g.room {
		return fmt.Errorf("matrix %q takes %s, and %s are free there: %w", name, Bytes(size), Bytes(g.room), ErrLimit)
	}
	g.room -= size
	return nil
}

// room is the free space where the path lies, in bytes; below 0 if it is not known.
func room(ctx context.Context, b blob.Bucket, path string) (int64, error) {
	if r, can := b.(blob.Roomer); can {
		return r.Room(ctx, path)
	}
	return -1, nil
}

// Bytes is a number of bytes for people: "1.5 GiB".
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit, text := float64(n), 0, "%.3g %ciB"
	for ; v >= 1023.5; unit++ {
		v /= 1 << 10
	}
	if v >= 999.5 { // three digits would be 1e+03
		text = "%.0f %ciB"
	}
	return fmt.Sprintf(text, v, "_KMGTPE"[unit])
}

// mixed reports whether some column has another type than the matrix.
func mixed(m *matrix.Meta) bool {
	for _, d := range m.ColTypes {
		if d != m.DType {
			return true
		}
	}
	return false
}

// LoseTable asks for what tables of named columns cannot hold, and for the files beside the matrix.
func LoseTable(m *matrix.Meta, o *Options) error {
	if err := LoseAbsent(m, o); err != nil {
		return err
	}
	for _, l := range []struct {
		is   bool
		of   Aspect
		what string
	}{
		{m.ColLo != 0, Places, "columns are counted from 0"},
		{len(m.LoD) > 0, Sequences, "sequences (LoD)"},
		{slices.ContainsFunc(m.Labels, func(l string) bool { return !utf8.ValidString(l) }), Labels, "labels that are not UTF-8"},
	} {
		if l.is {
			if err := o.Lose(l.of, m.Name, "%s", l.what); err != nil {
				return err
			}
		}
	}
	return LoseFiles(o)
}
