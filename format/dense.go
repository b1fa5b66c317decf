package format

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"thole.example/matrix"
)

// LoseToDense asks the options about everything that a plain dense tensor cannot say of the matrix: absent cells and
// rows, column ids, labels and types.
func LoseToDense(m *matrix.Meta, o *Options) error {
	if err := LoseAbsent(m, o); err != nil {
		return err
	}
	losses := []struct {
		is   bool
		what string
	}{
		{m.ColLo != 0, "columns are counted from 0"},
		{m.Labels != nil, "names of columns"},
		{mixed(m), fmt.Sprintf("element types of single columns, values become %v", m.DType)},
	}
	for _, l := range losses {
		if !l.is {
			continue
		}
		if err := o.Lose("matrix %q: %s", m.Name, l.what); err != nil {
			return err
		}
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
		return nil
	}
	cells, ok := matrix.Cells(m.Rows, m.Cols)
	size, fits := matrix.Cells(cells, int64(m.DType.Size()))
	if !ok || !fits {
		return fmt.Errorf("matrix %q: %d x %d %v with every cell is beyond 2^63 bytes: %w", m.Name, m.Rows, m.Cols, m.DType, ErrLimit)
	}
	if err := o.Lose("matrix %q: absent %s become zeros, %d x %d %v are %s", m.Name, what, m.Rows, m.Cols, m.DType, Bytes(size)); err != nil {
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

// fill counts a matrix that is filled in, against the bound of the save.
func (o *Options) fill(name string, size int64) error {
	bound := o.MaxDense
	if bound == 0 {
		bound = DefaultMaxDense
	}
	if o.filled == nil {
		o.filled = new(int64)
	}
	if bound < 0 {
		return nil
	}
	if size > bound-*o.filled {
		return fmt.Errorf("matrix %q takes %s for what is absent, after %s of others, want at most %s (--max-dense allows more): %w",
			name, Bytes(size), Bytes(*o.filled), Bytes(bound), ErrLimit)
	}
	*o.filled += size
	return nil
}

// Bytes is a number of bytes for people: "1.5 GiB".
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit := float64(n), 0
	for ; v >= 1023.5 && unit < 6; unit++ {
		v /= 1 << 10
	}
	return fmt.Sprintf("%.3g %ciB", v, "_KMGTPE"[unit])
}

// mixed tells whether some column has another type than the matrix.
func mixed(m *matrix.Meta) bool {
	for _, d := range m.ColTypes {
		if d != m.DType {
			return true
		}
	}
	return false
}

// DropFiles tells that the small files beside the matrices are left out, for formats that are one file.
func DropFiles(o *Options) {
	for _, name := range slices.Sorted(maps.Keys(o.Files)) {
		o.Drop("file %s", name)
	}
}

// LoseTable asks for what tables of named columns cannot hold, and tells which small files are left out.
func LoseTable(m *matrix.Meta, o *Options) error {
	if err := LoseAbsent(m, o); err != nil {
		return err
	}
	for _, l := range []struct {
		is   bool
		what string
	}{
		{m.ColLo != 0, "columns are counted from 0"},
		{len(m.LoD) > 0, "sequences (LoD)"},
		{slices.ContainsFunc(m.Labels, func(l string) bool { return !utf8.ValidString(l) }), "labels that are not UTF-8"},
	} {
		if l.is {
			if err := o.Lose("matrix %q: %s", m.Name, l.what); err != nil {
				return err
			}
		}
	}
	DropFiles(o)
	return nil
}
