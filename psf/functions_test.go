package psf_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/psf"
)

// want is what a function has to do: it gives an answer ("" of an update function), or is refused in some bands of rows, where
// it changes nothing.
type want[T kernel.Number] struct {
	name, arg string
	answer    string
	refused   bool
}

// TestFunctions runs sequences of functions, pushes, removals and marks on random matrices, cut in every way, and compares
// everything with a naive matrix.
func TestFunctions(t *testing.T) {
	t.Run("f64", func(t *testing.T) { rapid.Check(t, sequence[float64](matrix.F64)) })
	t.Run("f32", func(t *testing.T) { rapid.Check(t, sequence[float32](matrix.F32)) })
	t.Run("i64", func(t *testing.T) { rapid.Check(t, sequence[int64](matrix.I64)) })
	t.Run("i32", func(t *testing.T) { rapid.Check(t, sequence[int32](matrix.I32)) })
}

func sequence[T kernel.Number](dtype matrix.DType) func(t *rapid.T) {
	return func(t *rapid.T) {
		m := matrix.Meta{Name: "m", Rows: rapid.Int64Range(1, 12).Draw(t, "rows"), DType: dtype,
			Layout:    rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "layout"),
			BlockRows: rapid.Int64Range(0, 5).Draw(t, "block rows"),
			Init:      rapid.SampledFrom([]matrix.Init{{}, {}, {}, {Kind: "normal", Scale: 3, Seed: 5}}).Draw(t, "init"),
		}
		cols := columnsFor(t, &m)
		cut := rapid.SampledFrom(part.Partitioners()).Draw(t, "cut")
		if cut.Hash && m.Layout == matrix.RowDense {
			cut.Name = "column"
		}
		w := newWorld[T](t, m, cut.Name, rapid.IntRange(1, 5).Draw(t, "servers"), cols)
		defer w.close()
		for r := range m.Rows {
			for _, c := range cols {
				if w.has(r, c) && m.Init.Random() {
					v := T(m.Init.Cell(matrix.NewDraw(m.Init.Seed, m.Name), r, c))
					w.val[[2]int64{r, c}] = v
				}
			}
		}
		w.push(t)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			switch k := rapid.IntRange(0, 11).Draw(t, "step"); k {
			case 0, 1:
				w.push(t)
				w.check(t, "push")
			case 2:
				w.remove(t)
				w.check(t, "remove")
			case 3:
				w.mark()
			default:
				w.function(t)
			}
		}
		w.checkMarks(t, "at the end")
	}
}

// columnsFor chooses the columns of a matrix, and gives those that the test is about.
func columnsFor(t *rapid.T, m *matrix.Meta) (cols []int64) {
	m.Cols = rapid.Int64Range(1, 40).Draw(t, "columns")
	if rapid.IntRange(0, 3).Draw(t, "wide") == 0 {
		m.Cols = rapid.Int64Range(40, 200).Draw(t, "columns")
	}
	m.ColLo = rapid.SampledFrom([]int64{0, 0, -17, 1 << 40}).Draw(t, "first")
	if rapid.Bool().Draw(t, "blocks") {
		m.BlockCols = rapid.Int64Range(1, m.Cols).Draw(t, "block columns")
	}
	if m.Layout == matrix.RowSparse && rapid.Bool().Draw(t, "hashed") {
		m.Cols, m.BlockCols = rapid.SampledFrom([]int64{1 << 62, math.MaxInt64}).Draw(t, "columns"), 0
		m.ColLo = rapid.SampledFrom([]int64{0, -1 << 62}).Draw(t, "first")
		for i := range int64(rapid.IntRange(1, 60).Draw(t, "keys")) {
			cols = append(cols, m.ColLo+i*(m.Cols/61)+i%3)
		}
		return cols
	}
	for i := range m.Cols {
		cols = append(cols, m.ColLo+i)
	}
	return cols
}

// function runs a random function, and compares.
func (w *world[T]) function(t *rapid.T) {
	f := rapid.SampledFrom(psf.Funcs()).Draw(t, "function")
	var then want[T]
	if l, ok := laws[f.Name]; ok {
		then = w.formula(t, f.Name, l)
	} else {
		then = w.other(t, f.Name)
	}
	got, err := w.run(then.name, then.arg)
	if (err != nil) != then.refused {
		t.Fatalf("%s %s: error %v, want one: %v", then.name, then.arg, err, then.refused)
	}
	if then.answer != "" && string(got) != then.answer {
		t.Fatalf("%s %s: %s, want %s", then.name, then.arg, got, then.answer)
	}
	w.check(t, then.name+" "+then.arg)
}

// args is the text of an argument.
func args(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *world[T]) row(t *rapid.T) int64 { return rapid.Int64Range(0, w.m.Rows-1).Draw(t, "row") }

// rows is some rows, ascending, and the pair of the argument for them; none is all.
func (w *world[T]) rows(t *rapid.T) (rows []int64, arg []any) {
	if rapid.IntRange(0, 2).Draw(t, "all") == 0 {
		for r := range w.m.Rows {
			rows = append(rows, r)
		}
		return rows, nil
	}
	rows = rapid.SliceOfN(rapid.Int64Range(0, w.m.Rows-1), 1, 4).Draw(t, "rows")
	arg = []any{"rows", slices.Clone(rows)}
	slices.Sort(rows)
	return slices.Compact(rows), arg
}

// together reports whether rows lie in one band.
func (w *world[T]) together(rows ...int64) bool {
	for _, r := range rows {
		if w.band(r) != w.band(rows[0]) {
			return false
		}
	}
	return true
}

// put is new values: for stored cells as cell says, and where others count those that other says. Nothing changes in bands where
// one of those is not finite.
func (w *world[T]) put(rows []int64, stored bool, cell func(row, col int64) T, other func(row int64) T) (refused bool) {
	bad := map[int]bool{}
	if w.sparse() && !stored && !w.m.Init.Random() {
		values := map[int64]T{}
		for _, r := range rows {
			values[r] = other(r)
			if x := float64(values[r]); math.IsNaN(x) || math.IsInf(x, 0) {
				bad[w.band(r)] = true
			}
		}
		for _, r := range rows {
			if !bad[w.band(r)] {
				defer func() { w.absent[r] = values[r] + 0 }()
			}
		}
	}
	for _, r := range rows {
		if bad[w.band(r)] {
			continue
		}
		for c := range w.stored[w.band(r)] {
			w.val[[2]int64{r, c}] = cell(r, c)
		}
	}
	return len(bad) > 0
}

// formula runs a law on the naive matrix.
func (w *world[T]) formula(t *rapid.T, name string, l law) want[T] {
	var arg []any
	s := 0.0
	if l.scalar != "" {
		s = rapid.SampledFrom([]float64{0, 1, -1, 2, 3, 0.5, -2.5, 1e10, 7}).Draw(t, "s")
		arg = append(arg, l.scalar, s)
	}
	stored := rapid.Bool().Draw(t, "stored")
	if stored {
		arg = append(arg, "stored", true)
	}
	out := want[T]{name: name}
	if l.shape == "in place" {
		rows, sel := w.rows(t)
		out.arg = args(append(arg, sel...)...)
		if whole := w.m.DType.Float() || s == math.Trunc(s) && (s < 1e10 || w.m.DType == matrix.I64); name == "fill" && !whole ||
			name == "softthreshold" && s < 0 {
			out.refused = true
			return out
		}
		out.refused = w.put(rows, stored, func(r, c int64) T { return apply(name, w.get(r, c), 0, s) },
			func(r int64) T { return apply(name, w.absent[r], 0, s) })
		return out
	}
	x, y, to := w.row(t), w.row(t), w.row(t)
	switch l.shape {
	case "one":
		if y = x; rapid.Bool().Draw(t, "itself") {
			to = x
			arg = append(arg, "from", x)
		} else {
			arg = append(arg, "from", x, "to", to)
		}
	case "two":
		arg = append(arg, "from1", x, "from2", y, "to", to)
	default:
		to = y
		arg = append(arg, "x", x, "y", y)
	}
	out.arg = args(arg...)
	if out.refused = !w.together(x, y, to) || name == "divs" && s == 0; out.refused {
		return out
	}
	out.refused = w.put([]int64{to}, stored, func(_, c int64) T { return apply(name, w.get(x, c), w.get(y, c), s) },
		func(int64) T { return apply(name, w.absent[x], w.absent[y], s) })
	return out
}

// other is what the functions do that are no formulas.
func (w *world[T]) other(t *rapid.T, name string) want[T] {
	if f := w.asks(t, name); f != nil {
		return *f
	}
	if f := w.draws(t, name); f != nil {
		return *f
	}
	if f := w.maps(t, name); f != nil {
		return *f
	}
	return w.brings(t, name)
}

// asks is for get functions.
func (w *world[T]) asks(t *rapid.T, name string) *want[T] {
	rows, arg := w.rows(t)
	x, y := w.row(t), w.row(t)
	out := &want[T]{name: name}
	switch name {
	case "sum":
		out.answer = w.sum(rows, 1, false).text(w.m.DType)
	case "asum":
		out.answer = w.sum(rows, 1, true).text(w.m.DType)
	case "nrm2":
		out.answer = number(w.sum(rows, 2, false).root())
	case "max", "min", "amax", "amin":
		out.answer = w.extreme(rows, name == "min" || name == "amin", name[0] == 'a')
	case "nnz":
		out.answer = w.nnz(rows)
	case "size":
		out.answer = w.size(rows)
	case "topk":
		k, abs := rapid.SampledFrom([]int{0, 1, 2, 5, 10, 30, 3000}).Draw(t, "k"), rapid.Bool().Draw(t, "abs")
		arg = append(arg, "k", k, "abs", abs)
		out.answer = w.topk(rows, k, abs)
	case "histogram":
		lo, width := rapid.SampledFrom([]float64{-3, 0, -1e9}).Draw(t, "min"), rapid.SampledFrom([]float64{1, 7, 2e9}).Draw(t, "width")
		bins := rapid.IntRange(1, 9).Draw(t, "bins")
		arg = append(arg, "min", lo, "max", lo+width, "bins", bins)
		out.answer = w.histogram(rows, lo, lo+width, bins)
	case "quantiles":
		q := rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 4).Draw(t, "q")
		bits := rapid.IntRange(4, 16).Draw(t, "bits")
		arg = append(arg, "q", q, "bits", bits)
		out.answer = w.quantiles(rows, q, uint(bits))
	case "dot":
		arg = []any{"row1", x, "row2", y}
		if out.refused = !w.together(x, y); !out.refused {
			out.answer = w.dot(x, y).text(w.m.DType)
		}
	case "equal":
		tolerance := rapid.SampledFrom([]float64{0, 1e-10, 0.5, 1, 2, 1e19}).Draw(t, "tolerance")
		arg = []any{"row1", x, "row2", y, "tolerance", tolerance}
		if out.refused = !w.together(x, y) || tolerance > 2 && !w.m.DType.Float(); !out.refused {
			out.answer = w.equal(x, y, tolerance)
		}
	default:
		return nil
	}
	out.arg = args(arg...)
	return out
}

// expressions are those that maps are tested with; i stands for the column in the last ones.
var expressions = []struct {
	text    string
	columns bool
	f       func(x, y, z, i float64) float64
}{
	{"x", false, func(x, _, _, _ float64) float64 { return x }},
	{"x > 0 ? 1 : -1", false, func(x, _, _, _ float64) float64 {
		if x > 0 {
			return 1
		}
		return -1
	}},
	{"min(max(x, y), z)", false, func(x, y, z, _ float64) float64 { return min(max(x, y), z) }},
	{"y >= 2 && z != 1", false, func(_, y, z, _ float64) float64 {
		if y >= 2 && z != 1 {
			return 1
		}
		return 0
	}},
	{"k", false, func(_, _, _, _ float64) float64 { return 3 }},
	{"i % 2 == 0 ? 1 : -1", true, func(_, _, _, i float64) float64 {
		if math.Mod(i, 2) == 0 {
			return 1
		}
		return -1
	}},
}

// maps is for the functions that take an expression.
func (w *world[T]) maps(t *rapid.T, name string) *want[T] {
	rowNames := map[string][]string{"map": {"from"}, "mapinplace": {}, "zip2map": {"from1", "from2"}, "zip3map": {"from1", "from2", "from3"}}
	names, ok := rowNames[name]
	if !ok {
		return nil
	}
	e := rapid.SampledFrom(expressions).Draw(t, "f")
	stored := rapid.Bool().Draw(t, "stored")
	arg := []any{"f", e.text, "stored", stored}
	if e.text == "k" {
		arg = append(arg, "with", map[string]any{"k": 3})
	}
	out := &want[T]{name: name}
	of := func(x, y, z T, col int64) T {
		i := float64(col % 2) // what is asked of it; floats may not hold it exactly
		if w.m.DType.Float() {
			i = float64(T(col))
		}
		return T(e.f(float64(x), float64(y), float64(z), i))
	}
	if e.text == "x" || e.text[0] == 'm' { // whole, as they are
		of = func(x, y, z T, _ int64) T {
			if e.text == "x" {
				return x
			}
			return min(max(x, y), z)
		}
	}
	tooMany := len(e.text) > 1 && (e.text[0] == 'm' || e.text[0] == 'y') && len(names) < 3
	if name == "mapinplace" {
		rows, sel := w.rows(t)
		out.arg = args(append(arg, sel...)...)
		out.refused = tooMany || e.columns && w.sparse() && !stored && !w.m.Init.Random()
		if !out.refused {
			out.refused = w.put(rows, stored, func(r, c int64) T { return of(w.get(r, c), 0, 0, c) }, func(r int64) T { return of(w.absent[r], 0, 0, 0) })
		}
		return out
	}
	in, to := [3]int64{}, w.row(t)
	together := true
	for i, n := range names {
		in[i] = w.row(t)
		arg = append(arg, n, in[i])
		together = together && w.together(in[i], to)
	}
	out.arg = args(append(arg, "to", to)...)
	out.refused = tooMany || e.columns && w.sparse() && !stored && !w.m.Init.Random() || !together
	if out.refused {
		return out
	}
	three := func(of func(row int64) T) (v [3]T) {
		for i := range names {
			v[i] = of(in[i])
		}
		return v
	}
	out.refused = w.put([]int64{to}, stored, func(_, c int64) T {
		v := three(func(r int64) T { return w.get(r, c) })
		return of(v[0], v[1], v[2], c)
	}, func(int64) T {
		v := three(func(r int64) T { return w.absent[r] })
		return of(v[0], v[1], v[2], 0)
	})
	return out
}

// draws is for the random functions.
func (w *world[T]) draws(t *rapid.T, name string) *want[T] {
	stored := rapid.Bool().Draw(t, "stored")
	seed := rapid.Uint64Range(0, 3).Draw(t, "seed")
	rows, arg := w.rows(t)
	if name == "random" {
		rows, arg = nil, nil
		for r := range w.m.Rows {
			rows = append(rows, r)
		}
	}
	arg = append(arg, "seed", seed, "stored", stored)
	numbers := matrix.NewDraw(seed, w.m.Name)
	var normal bool
	var at, scale, fan float64
	switch name {
	case "random", "randomuniform":
		at = rapid.SampledFrom([]float64{-1, 0, 4, -1000}).Draw(t, "at")
		scale = rapid.SampledFrom([]float64{1, 2, 8, 2048}).Draw(t, "width")
		if name == "random" {
			arg = append(arg, "low", at, "high", at+scale)
		} else {
			arg = append(arg, "min", at, "max", at+scale)
		}
	case "randomnormal":
		normal, at, scale = true, 3, 20
		arg = append(arg, "mean", at, "std", scale)
	case "xavieruniform", "xaviernormal":
		normal, fan = name == "xaviernormal", 6
		arg = append(arg, "fanin", 2, "fanout", 10, "gain", 3)
	case "kaiminguniform", "kaimingnormal":
		normal, fan = name == "kaimingnormal", 4
		arg = append(arg, "fanin", 4, "gain", 3)
	default:
		return nil
	}
	if fan > 0 {
		if scale = 3 / math.Sqrt(fan); name[0] == 'x' {
			scale = 3 * math.Sqrt(2/12.0)
		}
		if !normal {
			at, scale = -math.Sqrt(3)*scale, 2*(math.Sqrt(3)*scale)
		}
	}
	out := &want[T]{name: name, arg: args(arg...)}
	out.refused = w.sparse() && !stored && !w.m.Init.Random()
	if out.refused {
		return out
	}
	for _, r := range rows {
		for c := range w.stored[w.band(r)] {
			w.val[[2]int64{r, c}] = drawnCell[T](numbers, normal, at, scale, r, c)
		}
	}
	return out
}

// drawnCell is a random number, in ranges that have whole ends, or are far from any: no rounding leaves them.
func drawnCell[T kernel.Number](d matrix.Draw, normal bool, at, scale float64, r, c int64) T {
	u := d.Unit(r, c)
	if normal {
		u = d.Normal(r, c)
	}
	var zero T
	switch any(zero).(type) {
	case float64, float32:
		return T(at + scale*u)
	}
	if normal {
		return rounded[T](at + scale*u)
	}
	lo, hi := math.Ceil(at), math.Ceil(at+scale) // the whole numbers of the range
	return T(math.Floor(lo + (hi-lo)*u))
}

// brings is for the functions that bring values or clear cells.
func (w *world[T]) brings(t *rapid.T, name string) want[T] {
	out := want[T]{name: name}
	rows, sel := w.rows(t)
	switch name {
	case "zero", "reset":
		if name == "zero" {
			sel = nil
		}
		out.arg = args(sel...)
		w.clear(rows, sel == nil)
	case "compress":
		limit := rapid.SampledFrom([]float64{0, 1e-11, 1, 2}).Draw(t, "limit")
		out.arg = args("limit", limit)
		w.compress(limit)
	case "diag", "eye":
		var values []float64
		if name == "diag" {
			for range min(w.m.Rows, w.m.Cols) {
				values = append(values, float64(rapid.IntRange(-3, 3).Draw(t, "v")))
			}
			out.arg = args("values", values)
		}
		if out.refused = w.sparse() && w.m.Init.Random(); !out.refused {
			w.clear(nil, true)
			for r := range min(w.m.Rows, w.m.Cols) {
				v := T(1)
				if values != nil {
					v = T(values[r])
				}
				w.set(r, w.m.ColLo+r, v)
			}
		}
	default:
		out.arg = w.values(t, name)
	}
	return out
}

// clear makes cells 0, and without a choice of rows drops all columns.
func (w *world[T]) clear(rows []int64, all bool) {
	if all {
		rows = nil
		for r := range w.m.Rows {
			rows = append(rows, r)
		}
	}
	w.put(rows, false, func(int64, int64) T { return 0 }, func(int64) T { return 0 })
	if all && w.sparse() && !w.m.Init.Random() {
		for b := range w.bands {
			for c := range w.stored[b] {
				w.drop(b, c)
			}
		}
	}
}

func (w *world[T]) compress(limit float64) {
	small := func(v T) T {
		if math.Abs(float64(v)) <= limit {
			return 0
		}
		return v
	}
	rows := make([]int64, w.m.Rows)
	for r := range rows {
		rows[r] = int64(r)
	}
	w.put(rows, false, func(r, c int64) T { return small(w.get(r, c)) }, func(r int64) T { return small(w.absent[r]) })
	for b, band := range w.bands {
		for c := range w.stored[b] {
			says := !w.sparse() || w.m.Init.Random()
			for r := band.Lo; r < band.Hi; r++ {
				says = says || w.get(r, c) != w.absent[r]
			}
			if !says {
				w.drop(b, c)
			}
		}
	}
}

// values brings values for a row.
func (w *world[T]) values(t *rapid.T, name string) string {
	row := w.row(t)
	cols := someOf(t, w.cols)
	if len(cols) > 20 {
		cols = cols[:20]
	}
	values := make([]float64, len(cols))
	for i := range values {
		values[i] = float64(rapid.IntRange(-9, 9).Draw(t, "v"))
	}
	arg := []any{"row", row, "values", values}
	if w.cols[0] == w.m.ColLo && int64(len(w.cols)) == w.m.Cols && rapid.Bool().Draw(t, "the first") {
		cols = w.cols[:len(values)]
	} else {
		arg = append(arg, "cols", cols)
	}
	for i, c := range cols {
		x, v := w.get(row, c), T(values[i])
		switch name {
		case "put":
			x = v
		case "increment":
			x += v
		case "maxa":
			x = max(x, v)
		case "mina":
			x = min(x, v)
		default:
			panic(fmt.Sprintf("no test of function %s", name))
		}
		w.set(row, c, x)
	}
	return args(arg...)
}
