// Package psf holds the functions that run beside the data on the parameter servers: get functions, which compute something
// from the cells of each partition and merge it, update functions, which change cells, and update rules, which turn
// gradients into changes (the rules themselves are in package optim).
//
// Functions are known by name in a [Table]; a name is data on the wire and never the name of a Go type. The built-in ones,
// [Funcs], are those of Angel's libraries of psf, with its names in lower case. A function is a value of [Func]: a name, the
// parameters of its JSON argument, and Bind, which makes a [Call] of it for a matrix.
//
// # Cells that nobody has written
//
// Every column of a sparse matrix has a value in every row, stored or not: the row's absent value, zero at first. Functions
// work on all cells: exp on a sparse row makes its absent value 1, and the sum of the row counts it for every column that
// is not stored. Where that has no meaning (a function of the column's number) a function refuses, or takes "stored": true
// and leaves absent cells alone. The cells of a matrix with random initial values that nobody has written do not count as
// cells.
//
// # Results
//
// What a get function answers does not depend on how a matrix is cut: sums are exact and rounded once, ties are broken by
// row and column.
package psf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/internal/spell"
	"thole.example/kernel"
	"thole.example/matrix"
)

// Func is a function beside the data.
type Func struct {
	Name   string
	Help   string
	Params []Param // of its argument
	// Bind checks the arguments against the matrix and says what is to be done. Client and servers call it alike.
	Bind func(a Args, m *matrix.Meta) (*Call, error)
}

// Call is a function with its arguments for one matrix.
type Call struct {
	// Reads and Writes are the rows whose cells it looks at and changes. Partitions that have none of them are left alone.
	Reads, Writes Rows
	// Together says that it needs all of these rows in one partition.
	Together bool
	// Makes are the columns of sparse matrices that it makes if they are not stored, as far as it is known.
	Makes []int64
	// Atomic says that it runs while all its partitions on a server stand still: nobody sees it done in one of them and not in
	// another, and it sees no change in part. (Staged with a clock it is so on all servers, under BSP and SSP.)
	Atomic bool
	// Check tells what Part would refuse, without changing anything; nil: nothing. A server asks it of all its partitions before
	// Part changes one of them, if they are of several bands of rows; Part refuses the same.
	Check func(v View) error
	// Concurrent, of a get function, says that Part may take long: it runs while others read and change the partition, on the
	// cells as they were at one moment, which it goes through once, with Together or Apart.
	Concurrent bool
	// Part runs beside each partition and gives its part of the answer.
	Part func(v View) ([]byte, error)
	// Merge makes the answer of those of all partitions, in the order of partitions, at the caller; nil: an update function.
	Merge func(parts [][]byte) (Answer, error)
}

// Rows are some rows of a matrix.
type Rows struct {
	All bool
	Of  []int64 // ascending, each once, if not All
}

// In yields those that lie in a range.
func (r Rows) In(some matrix.Range) []int64 {
	if r.All {
		all := make([]int64, some.Len())
		for i := range all {
			all[i] = some.Lo + int64(i)
		}
		return all
	}
	lo, _ := slices.BinarySearch(r.Of, some.Lo)
	hi, _ := slices.BinarySearch(r.Of, some.Hi)
	return r.Of[lo:hi]
}

// Touches reports whether some of the rows lie in the range.
func (r Rows) Touches(some matrix.Range) bool {
	if r.All {
		return some.Len() > 0
	}
	i, _ := slices.BinarySearch(r.Of, some.Lo)
	return i < len(r.Of) && r.Of[i] < some.Hi
}

// Touches reports whether the call has to do with the rows of a partition.
func (c *Call) Touches(rows matrix.Range) bool {
	return c.Reads.Touches(rows) || c.Writes.Touches(rows)
}

// Fits tells why a call cannot be made of partitions with these rows: it needs rows together that lie apart.
func (c *Call) Fits(bands []matrix.Range) error {
	if !c.Together {
		return nil
	}
	var have []matrix.Range
	for _, b := range bands {
		if c.Touches(b) {
			have = append(have, b)
		}
	}
	if len(have) > 1 {
		return fmt.Errorf("the function needs rows of %v and %v in one partition: cut the matrix by columns or by hash", have[0], have[1])
	}
	return nil
}

// View is a partition as a function sees it; valid only during the call.
type View interface {
	// Meta describes the matrix; it must not be changed.
	Meta() *matrix.Meta
	// At is the place of the partition.
	At() matrix.Rect
	// Owns reports whether the column, one within At, lies in the partition: of hash partitions each has the place of the
	// whole matrix.
	Owns(col int64) bool
	// Absent is how many columns have no stored cells, as a number that added up over all partitions with the same rows is
	// right; so it may be below zero. In dense partitions, and where what is not stored does not count as a cell, it is 0.
	Absent() int64
	// Cells is the cells: a Cells[T] of the matrix's element type.
	Cells() any
}

// Cells is the cells of a partition in their element type.
type Cells[T kernel.Number] interface {
	// Together calls f for chunks of the stored cells: of all rows, in their order, at the same columns, of which each comes
	// once. f may change the cells of the last so many rows. A row may be named twice.
	Together(rows []int64, changed int, f func(c *Chunk[T]) error) error
	// Apart calls f for chunks of the stored cells of some of the rows at a time: of each row every column comes once. With
	// change f may change them.
	Apart(rows []int64, change bool, f func(c *Chunk[T]) error) error
	// Pick calls f for chunks of the columns, of which none comes twice, in their order; those that are not stored are made.
	// f may change the cells.
	Pick(rows []int64, cols []int64, f func(c *Chunk[T]) error) error
	// Value is the value of a row in columns that are not stored; SetValue changes it. Dense partitions have no such columns.
	Value(row int64) T
	SetValue(row int64, v T)
	// Drop takes columns out, with all that the rule keeps: they have the rows' absent values again.
	Drop(cols []int64)
}

// Chunk is cells of some rows at the same columns.
type Chunk[T kernel.Number] struct {
	IDs  []int64 // the rows
	Rows [][]T   // of each its cells
	All  []T     // all cells, one row after the other; nil from Together
	Cols []int64 // the columns; nil: consecutive ones, from Col on
	Col  int64
}

// Column is the i-th column.
func (c *Chunk[T]) Column(i int) int64 {
	if c.Cols != nil {
		return c.Cols[i]
	}
	return c.Col + int64(i)
}

// typed makes one function of those for the element types.
func typed[A any](
	f64 func(View, Cells[float64], A) ([]byte, error), f32 func(View, Cells[float32], A) ([]byte, error),
	i64 func(View, Cells[int64], A) ([]byte, error), i32 func(View, Cells[int32], A) ([]byte, error),
) func(v View, a A) ([]byte, error) {
	return func(v View, a A) ([]byte, error) {
		switch c := v.Cells().(type) {
		case Cells[float64]:
			return f64(v, c, a)
		case Cells[float32]:
			return f32(v, c, a)
		case Cells[int64]:
			return i64(v, c, a)
		case Cells[int32]:
			return i32(v, c, a)
		}
		return nil, fmt.Errorf("matrix %s: functions on %v, want f64, f32, i64 or i32", v.Meta().Name, v.Meta().DType)
	}
}

// Each calls f for the stored cells of rows, chunk by chunk, as float64 whatever their type is. With write what f changes is
// written back, rounded to the nearest of an integer type. It is for functions that need not be fast: the built-in ones
// work on the element types themselves.
func Each(v View, rows Rows, write bool, f func(c *Chunk[float64]) error) error {
	_, err := eachFloat(v, floats{rows.In(v.At().Rows), write, f})
	return err
}

// floats is what Each is called with.
type floats struct {
	rows  []int64
	write bool
	f     func(c *Chunk[float64]) error
}

var eachFloat = typed(eachAs[float64], eachAs[float32], eachAs[int64], eachAs[int32])

func eachAs[T kernel.Number](_ View, cells Cells[T], e floats) ([]byte, error) {
	if c, ok := any(cells).(Cells[float64]); ok {
		return nil, c.Apart(e.rows, e.write, e.f)
	}
	wide := Chunk[float64]{}
	return nil, cells.Apart(e.rows, e.write, func(c *Chunk[T]) error {
		wide.IDs, wide.Cols, wide.Col = c.IDs, c.Cols, c.Col
		wide.Rows = slices.Grow(wide.Rows[:0], len(c.Rows))[:len(c.Rows)]
		for r, from := range c.Rows {
			to := slices.Grow(wide.Rows[r][:0], len(from))[:len(from)]
			for i, x := range from {
				to[i] = float64(x)
			}
			wide.Rows[r] = to
		}
		if err := e.f(&wide); err != nil || !e.write {
			return err
		}
		for r, to := range c.Rows {
			for i, x := range wide.Rows[r] {
				if x != float64(to[i]) {
					to[i] = narrow[T](x)
				}
			}
		}
		return nil
	})
}

// Table finds functions and rules by name. It is fixed when made and may be used by many goroutines.
type Table struct {
	funcs map[string]*Func
	rules map[string]*Rule
}

// NewTable makes a table; two entries of one name are an error. Names of functions are lower case.
func NewTable(funcs []Func, rules []Rule) (*Table, error) {
	t := &Table{map[string]*Func{}, map[string]*Rule{}}
	var err error
	add := func(what, name string, there bool) {
		switch {
		case err != nil:
		case there:
			err = fmt.Errorf("psf: two of %s %q", what, name)
		case name == "":
			err = fmt.Errorf("psf: %s without a name", what)
		}
	}
	for i := range funcs {
		name := strings.ToLower(funcs[i].Name)
		add("function", name, t.funcs[name] != nil)
		t.funcs[name] = &funcs[i]
	}
	for i := range rules {
		add("update rule", rules[i].Name, t.rules[rules[i].Name] != nil)
		t.rules[rules[i].Name] = &rules[i]
	}
	return t, err
}

// With is the table with more functions.
func (t *Table) With(more ...Func) (*Table, error) {
	out := &Table{maps.Clone(t.funcs), t.rules}
	for i := range more {
		name := strings.ToLower(more[i].Name)
		if name == "" {
			return nil, fmt.Errorf("psf: function: no name; give it one")
		}
		if out.funcs[name] != nil {
			return nil, fmt.Errorf("psf: function %q: the name is that of a built-in function; choose another (a module has the name of its file)",
				more[i].Name)
		}
		out.funcs[name] = &more[i]
	}
	return out, nil
}

// Funcs are the functions, by name.
func (t *Table) Funcs() []*Func {
	return slices.SortedFunc(maps.Values(t.funcs), func(a, b *Func) int { return strings.Compare(a.Name, b.Name) })
}

// Func finds a function; Angel's names for those that it has may be spelled as there.
func (t *Table) Func(name string) (*Func, error) {
	return find(t.funcs, "function", strings.ToLower(name))
}

// Rule finds an update rule.
func (t *Table) Rule(name string) (*Rule, error) { return find(t.rules, "update rule", name) }

// Bind makes a call of a function with its JSON argument.
func (t *Table) Bind(name string, arg []byte, m *matrix.Meta) (*Call, error) {
	f, err := t.Func(name)
	if err != nil {
		return nil, err
	}
	a, err := ParseArgs(f.Params, arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	c, err := f.Bind(a, m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if common := m.CommonRows(); c.Writes.Touches(matrix.Range{Lo: common.Hi, Hi: m.Rows}) {
		return nil, fmt.Errorf("%s: it changes rows from %d on, which some columns of the matrix do not store, want rows %v", f.Name, common.Hi,
			common)
	}
	c.Atomic = c.Atomic || a.Flag(atomicName)
	return c, nil
}

func find[V any](table map[string]*V, what, name string) (*V, error) {
	if v := table[name]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("psf: no %s %q%s", what, name, spell.Hint(name, slices.Sorted(maps.Keys(table))))
}
