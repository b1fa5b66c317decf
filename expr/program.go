package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// block is how many cells go through all operations before the next: all registers stay near the processor.
const block = 512

// Program is an expression over cells of one type, with memory of its own: it is of one goroutine at a time. [Program.Clone]
// makes one for another.
type Program[T Elem] struct {
	text string
	rows int
	run  runner[T]
}

// runner runs the code over cells of its type.
type runner[T Elem] interface {
	cells(dst []T, in [][]T, first int64, cols []int64)
	clone() runner[T]
}

// Bind makes a program of an expression for cells of type T: scalars holds a value for each name of [Expr.Scalars], and no
// others.
func Bind[T Elem](e *Expr, scalars map[string]float64) (*Program[T], error) {
	for _, name := range e.scalars {
		if _, ok := scalars[name]; !ok {
			return nil, fmt.Errorf("expr: no value for %q in %s", name, e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(scalars)) {
		if _, ok := slices.BinarySearch(e.scalars, name); !ok {
			return nil, fmt.Errorf("expr: a value for %q, want one of: %s", name, strings.Join(e.scalars, " "))
		}
	}
	p := &Program[T]{text: e.String(), rows: e.rows}
	var r any
	switch any(*new(T)).(type) {
	case float64:
		r = &floats[float64]{code: compile[float64](e, scalars, false, float)}
	case float32:
		r = &floats[float32]{code: compile[float32](e, scalars, false, float)}
	case int64:
		r = &ints[int64]{code: compile[float64](e, scalars, true, integer)}
	case int32:
		r = &ints[int32]{code: compile[float64](e, scalars, true, noKind)}
	}
	p.run = r.(runner[T]).clone()
	return p, nil
}

// noKind is the kind of what a program never writes directly: its cells are of another type than its registers.
const noKind kind = 255

func compile[F floating](e *Expr, scalars map[string]float64, whole bool, out kind) *code[F] {
	l := &lowering[F]{whole: whole, scalars: scalars, known: map[id]int32{}}
	root := l.tree(e.root)
	return assign(l.vals, root, out)
}

// Clone makes a program that another goroutine may use at the same time.
func (p *Program[T]) Clone() *Program[T] {
	return &Program[T]{text: p.text, rows: p.rows, run: p.run.clone()}
}

// Run computes the expression for the cells of a chunk. in holds the rows x, y and z, as many as the expression needs or
// more, each as long as dst; any of them may be dst itself, but must not overlap it otherwise. The columns for i are first,
// first+1 and so on, or those of cols, one for each cell, if it is not nil. It allocates nothing.
func (p *Program[T]) Run(dst []T, in [][]T, first int64, cols []int64) error {
	if len(in) < p.rows || len(in) > 3 {
		return fmt.Errorf("expr: %d rows for %s, want %d to 3", len(in), p.text, p.rows)
	}
	for i, row := range in {
		if len(row) != len(dst) {
			return fmt.Errorf("expr: %d cells of %c, want %d", len(row), "xyz"[i], len(dst))
		}
	}
	if cols != nil && len(cols) != len(dst) {
		return fmt.Errorf("expr: %d columns, want %d", len(cols), len(dst))
	}
	p.run.cells(dst, in, first, cols)
	return nil
}

// At computes the expression for one cell: the value of absent cells is At of the default values of their rows. Missing
// rows are 0.
func (p *Program[T]) At(column int64, x, y, z T) T {
	var d, a, b, c [1]T
	a[0], b[0], c[0] = x, y, z
	p.run.cells(d[:], [][]T{a[:], b[:], c[:]}, column, nil)
	return d[0]
}

// columns fills in the numbers of columns.
func columns[N float64 | float32 | int64](d []N, first int64, cols []int64) {
	if cols == nil {
		for i := range d {
			d[i] = N(first + int64(i))
		}
		return
	}
	cols = cols[:len(d)]
	for i := range d {
		d[i] = N(cols[i])
	}
}

// part is the piece of cols from lo to hi; nil stays nil.
func part(cols []int64, lo, hi int) []int64 {
	if cols == nil {
		return nil
	}
	return cols[lo:hi]
}

// floats runs code over cells of the type it computes in.
type floats[F floating] struct {
	code  *code[F]
	slots [][]F
}

func (r *floats[F]) cloned() *floats[F] {
	return &floats[F]{r.code, registers(r.code.nFloat, r.code.floats)}
}

func (r *floats[F]) clone() runner[F] { return any(r.cloned()).(runner[F]) }

func (r *floats[F]) cells(dst []F, in [][]F, first int64, cols []int64) {
	s := r.slots
	for lo := 0; lo < len(dst); lo += block {
		hi := min(lo+block, len(dst))
		for i, row := range in {
			s[slotX+i] = row[lo:hi]
		}
		s[slotOut] = dst[lo:hi]
		for k := range r.code.instrs {
			o := &r.code.instrs[k]
			d := s[o.d][:hi-lo]
			if o.op == opColumn {
				columns(d, first+int64(lo), part(cols, lo, hi))
				continue
			}
			step(o.op, d, s[o.a], s[o.b], s[o.c], o.p, o.q)
		}
	}
	clear(s[:slotRegister]) // the caller's memory
}

// ints runs code over whole cells: whole numbers in int64, others in float64.
type ints[T int64 | int32] struct {
	code   *code[float64]
	slots  [][]int64
	floats [][]float64
	wide   [3][]int64 // the rows as int64, if they are not
}

func (r *ints[T]) clone() runner[T] {
	c := r.code
	n := &ints[T]{code: c, slots: registers(c.nInt, c.ints), floats: registers(c.nFloat, c.floats)}
	if _, same := any([]T(nil)).([]int64); !same {
		for i, used := range c.rows {
			if used {
				n.wide[i] = make([]int64, block)
			}
		}
	}
	return any(n).(runner[T])
}

func (r *ints[T]) cells(dst []T, in [][]T, first int64, cols []int64) {
	s, f := r.slots, r.floats
	for lo := 0; lo < len(dst); lo += block {
		hi := min(lo+block, len(dst))
		n := hi - lo
		for i, used := range r.code.rows {
			if used {
				s[slotX+i] = widen(in[i][lo:hi], r.wide[i])
			}
		}
		s[slotOut] = nil
		if direct, ok := any(dst[lo:hi]).([]int64); ok {
			s[slotOut] = direct
		}
		for k := range r.code.instrs {
			r.step(&r.code.instrs[k], n, first+int64(lo), part(cols, lo, hi))
		}
		switch {
		case r.code.kind == float:
			narrowFloats(dst[lo:hi], f[r.code.out])
		case r.code.out != slotOut:
			narrowInts(dst[lo:hi], s[r.code.out])
		}
	}
	clear(s[:slotRegister])
}

// step runs one instruction over n cells.
func (r *ints[T]) step(o *instr[float64], n int, first int64, cols []int64) {
	s, f := r.slots, r.floats
	// An operand that is not there names the slot of the result, which may be empty here: the destination stands for it.
	pick := func(at int32, d []int64) []int64 {
		if at == slotOut {
			return d
		}
		return s[at]
	}
	pickFloat := func(at int32, d []float64) []float64 {
		if at == slotOut {
			return d
		}
		return f[at]
	}
	switch {
	case o.op == opColumn:
		columns(s[o.d][:n], first, cols)
	case o.op == opToFloat:
		d, a := f[o.d][:n], s[o.a][:n]
		for i := range d {
			d[i] = float64(a[i])
		}
	case o.op == opTruth:
		truths(s[o.d][:n], f[o.a])
	case o.kind == integer:
		d := s[o.d][:n]
		stepInt(o.op, d, pick(o.a, d), pick(o.b, d), pick(o.c, d), o.ip, o.iq)
	default:
		d := f[o.d][:n]
		step(o.op, d, pickFloat(o.a, d), pickFloat(o.b, d), pickFloat(o.c, d), o.p, o.q)
	}
}

// widen is a row as int64: itself, or a copy in wide.
func widen[T int64 | int32](row []T, wide []int64) []int64 {
	if same, ok := any(row).([]int64); ok {
		return same
	}
	wide = wide[:len(row)]
	for i, v := range row {
		wide[i] = int64(v)
	}
	return wide
}

// bounds are the smallest and the largest value of a type.
func bounds[T int64 | int32]() (lo, hi int64) {
	if _, narrow := any(*new(T)).(int32); narrow {
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func narrowInts[T int64 | int32](dst []T, v []int64) {
	lo, hi := bounds[T]()
	v = v[:len(dst)]
	for i := range dst {
		dst[i] = T(min(max(v[i], lo), hi))
	}
}

// narrowFloats rounds to the nearest whole number, halves to the even one, within the type; NaN becomes 0.
func narrowFloats[T int64 | int32](dst []T, v []float64) {
	lo, hi := bounds[T]()
	v = v[:len(dst)]
	for i := range dst {
		x := math.RoundToEven(v[i])
		switch {
		case x >= float64(hi): // 2^63 for int64
			dst[i] = T(hi)
		case x > float64(lo):
			dst[i] = T(x)
		case x <= float64(lo):
			dst[i] = T(lo)
		default:
			dst[i] = 0
		}
	}
}
