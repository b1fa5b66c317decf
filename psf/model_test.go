package psf_test

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// naive is a matrix as maps of cells: what the functions are compared with.
type naive[T kernel.Number] struct {
	m      matrix.Meta
	bands  []matrix.Range   // rows that are stored together
	stored []map[int64]bool // of each band its columns
	val    map[[2]int64]T   // of stored columns
	slot   map[[2]int64]T   // what the rule keeps for them
	absent []T              // of each row the value in other columns
	cols   []int64          // that the test is about: all of a dense matrix
}

func newNaive[T kernel.Number](m matrix.Meta, bands []matrix.Range, cols []int64) *naive[T] {
	n := &naive[T]{m: m, bands: bands, val: map[[2]int64]T{}, slot: map[[2]int64]T{}, absent: make([]T, m.Rows), cols: cols}
	for range bands {
		n.stored = append(n.stored, map[int64]bool{})
	}
	if m.Layout == matrix.RowDense {
		for r := range m.Rows {
			for _, c := range cols {
				n.touch(r, c)
			}
		}
	}
	return n
}

func (n *naive[T]) clone() *naive[T] {
	c := *n
	c.val, c.slot, c.absent, c.stored = maps.Clone(n.val), maps.Clone(n.slot), slices.Clone(n.absent), nil
	for _, s := range n.stored {
		c.stored = append(c.stored, maps.Clone(s))
	}
	return &c
}

func (n *naive[T]) sparse() bool { return n.m.Layout == matrix.RowSparse }

func (n *naive[T]) band(row int64) int {
	return slices.IndexFunc(n.bands, func(b matrix.Range) bool { return b.Has(row) })
}

func (n *naive[T]) has(row, col int64) bool { return n.stored[n.band(row)][col] }

func (n *naive[T]) get(row, col int64) T {
	switch {
	case n.has(row, col):
		return n.val[[2]int64{row, col}]
	case n.m.Init.Random():
		return T(n.m.Init.Cell(matrix.NewDraw(n.m.Init.Seed, n.m.Name), row, col))
	}
	return n.absent[row]
}

// touch makes the column stored in the row's band.
func (n *naive[T]) touch(row, col int64) {
	if n.has(row, col) {
		return
	}
	b := n.band(row)
	for r := n.bands[b].Lo; r < n.bands[b].Hi; r++ {
		n.val[[2]int64{r, col}] = n.get(r, col)
	}
	n.stored[b][col] = true
}

func (n *naive[T]) set(row, col int64, v T) {
	n.touch(row, col)
	n.val[[2]int64{row, col}] = v
}

// drop takes a column out of a band.
func (n *naive[T]) drop(b int, col int64) {
	delete(n.stored[b], col)
	for r := n.bands[b].Lo; r < n.bands[b].Hi; r++ {
		delete(n.val, [2]int64{r, col})
		delete(n.slot, [2]int64{r, col})
	}
}

// storedCells calls f for the stored cells of rows, row by row.
func (n *naive[T]) storedCells(rows []int64, f func(row, col int64, v T)) {
	for _, r := range rows {
		for _, c := range slices.Sorted(maps.Keys(n.stored[n.band(r)])) {
			f(r, c, n.val[[2]int64{r, c}])
		}
	}
}

// others is how many cells of a row are not stored, if they count as cells.
func (n *naive[T]) others(row int64) int64 {
	if !n.sparse() || n.m.Init.Random() {
		return 0
	}
	return n.m.Cols - int64(len(n.stored[n.band(row)]))
}

// all calls f for the values of the cells of rows, each with how many cells have it.
func (n *naive[T]) all(rows []int64, f func(v T, times int64)) {
	n.storedCells(rows, func(_, _ int64, v T) { f(v, 1) })
	for _, r := range rows {
		if k := n.others(r); k > 0 {
			f(n.absent[r], k)
		}
	}
}

// world is a matrix cut into partitions, and the naive one.
type world[T kernel.Number] struct {
	*naive[T]
	parts  *part.Map
	shards []*shard.Shard
	marks  []marked[T]
}

// marked is a mark of every partition, and the naive matrix at that moment.
type marked[T kernel.Number] struct {
	then  *naive[T]
	marks []*shard.Mark
}

// counting is a rule that counts its steps in its slot, and leaves the weights alone.
var counting = psf.Rule{Name: "counting", Slots: 1, New: func(map[string]float64) psf.Step {
	return psf.Step{
		F64: func(_, _ []float64, slots [][]float64, _ float64, _ int64) { countUp(slots[0]) },
		F32: func(_, _ []float32, slots [][]float32, _ float64, _ int64) { countUp(slots[0]) },
	}
}}

func countUp[T float32 | float64](slot []T) {
	for i := range slot {
		slot[i]++
	}
}

func newWorld[T kernel.Number](t rapid.TB, m matrix.Meta, cut string, servers int, cols []int64) *world[T] {
	t.Helper()
	w := &world[T]{}
	p, err := part.Lookup(cut, &m)
	if err != nil {
		t.Fatal(err)
	}
	if w.parts, err = part.NewMap(&m, p, servers, 1); err != nil {
		t.Fatal(err)
	}
	var rule *psf.Rule
	if m.DType.Float() {
		rule = &counting
	}
	w.naive = newNaive[T](m, w.parts.AllBands(), cols)
	for id := range w.parts.Owners {
		s, err := shard.New(&w.m, w.parts.At(id), w.parts.Bits, rule)
		if err != nil {
			t.Fatal(err)
		}
		w.shards = append(w.shards, s)
	}
	return w
}

func (w *world[T]) close() {
	for _, m := range w.marks {
		for _, k := range m.marks {
			k.Close()
		}
	}
	for _, s := range w.shards {
		s.Close()
	}
}

// run makes a call beside all partitions that it has to do with, and merges what they answer.
func (w *world[T]) run(name, arg string) (psf.Answer, error) {
	call, err := functions.Bind(name, []byte(arg), &w.m)
	if err == nil {
		err = call.Fits(w.parts.AllBands())
	}
	if err != nil {
		return nil, err
	}
	var parts [][]byte
	for id, s := range w.shards {
		if !call.Touches(s.At().Rows) {
			continue
		}
		p, wrong := call.Part(s.View(id))
		if wrong != nil {
			err = wrong
		}
		parts = append(parts, p)
	}
	if err != nil || call.Merge == nil {
		return nil, err
	}
	return call.Merge(parts)
}

// functions is the table of all built-in functions.
var functions = func() *psf.Table {
	t, err := psf.NewTable(psf.Funcs(), nil)
	if err != nil {
		return nil // the first use tells
	}
	return t
}()

// push changes random cells of some columns as pushes do.
func (w *world[T]) push(t *rapid.T) {
	lo := rapid.Int64Range(0, w.m.Rows-1).Draw(t, "row")
	rows := matrix.Range{Lo: lo, Hi: rapid.Int64Range(lo+1, w.m.Rows).Draw(t, "end")}
	cols := someOf(t, w.cols)
	values := make(map[[2]int64]T)
	for _, c := range cols {
		for r := rows.Lo; r < rows.Hi; r++ {
			values[[2]int64{r, c}] = nasty[T](t)
		}
	}
	how := rapid.SampledFrom([]string{"set", "add", "rule"}).Draw(t, "how")
	if how == "rule" && !w.m.DType.Float() {
		how = "add"
	}
	w.change(t, rows, cols, values, how)
}

// change brings values to shards and model: by setting them, adding them, or as gradients of the rule that counts.
func (w *world[T]) change(t rapid.TB, rows matrix.Range, cols []int64, values map[[2]int64]T, how string) {
	for id, s := range w.shards {
		some := rows.Intersect(s.At().Rows)
		if some.Len() == 0 {
			continue
		}
		d := shard.Delta{Rows: some, Cols: s.At().Cols, Keys: []int64{}}
		var flat []T
		for _, c := range cols {
			if !s.View(id).Owns(c) {
				continue
			}
			d.Keys = append(d.Keys, c)
			for r := some.Lo; r < some.Hi; r++ {
				flat = append(flat, values[[2]int64{r, c}])
			}
		}
		d.Values = wire.View(flat)
		do := s.Set
		switch how {
		case "add":
			do = s.Add
		case "rule":
			do = func(d shard.Delta) error { return s.Apply([]shard.Delta{d}, 1, 1) }
		}
		if err := do(d); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range cols {
		for r := rows.Lo; r < rows.Hi; r++ {
			switch v := values[[2]int64{r, c}]; how {
			case "set":
				w.set(r, c, v)
			case "add":
				w.set(r, c, w.get(r, c)+v)
			case "rule":
				w.touch(r, c)
			}
		}
	}
	if how == "rule" {
		w.countSteps(rows, cols)
	}
}

// countSteps is what the rule's step does: to all cells of dense partitions, and to all rows of touched columns.
func (w *world[T]) countSteps(rows matrix.Range, cols []int64) {
	for b, band := range w.bands {
		if rows.Intersect(band).Len() == 0 {
			continue
		}
		touched := cols
		if !w.sparse() {
			touched = w.cols
		}
		for _, c := range touched {
			for r := band.Lo; r < band.Hi && w.stored[b][c]; r++ {
				w.slot[[2]int64{r, c}]++
			}
		}
	}
}

// remove takes columns out of the partitions.
func (w *world[T]) remove(t *rapid.T) {
	for _, c := range someOf(t, w.cols) {
		for id, s := range w.shards {
			if s.View(id).Owns(c) {
				s.Remove([]int64{c})
			}
		}
		for b := range w.bands {
			if w.sparse() {
				w.drop(b, c)
			}
		}
	}
}

// mark marks all partitions.
func (w *world[T]) mark() {
	m := marked[T]{then: w.clone()}
	for _, s := range w.shards {
		m.marks = append(m.marks, s.Mark())
	}
	w.marks = append(w.marks, m)
}

// check compares all partitions with the model, and a mark with what there was then.
func (w *world[T]) check(t *rapid.T, after string) {
	t.Helper()
	for id, s := range w.shards {
		m := s.Mark()
		w.checkMark(t, after, id, m, w.naive)
		m.Close()
		if err := sameAbsent(s.Absent(), s.At().Rows, w.naive); err != nil {
			t.Fatalf("%s: partition %d: %v", after, id, err)
		}
	}
}

// checkMarks reads all marks, in bands, and ends them.
func (w *world[T]) checkMarks(t *rapid.T, after string) {
	t.Helper()
	for _, m := range w.marks {
		for id, k := range m.marks {
			w.checkMark(t, after+", a mark", id, k, m.then)
			k.Close()
		}
	}
	w.marks = nil
}

func sameAbsent[T kernel.Number](got []byte, rows matrix.Range, n *naive[T]) error {
	want := n.absent[rows.Lo:rows.Hi]
	if !slices.ContainsFunc(want, func(v T) bool { return v != 0 }) {
		want = nil
	}
	have, ok := wire.Numbers[T](got)
	if !ok || !slices.EqualFunc(have, want, sameBits) {
		return fmt.Errorf("absent values %v, want %v", have, want)
	}
	return nil
}

func (w *world[T]) checkMark(t *rapid.T, after string, id int, m *shard.Mark, then *naive[T]) {
	t.Helper()
	s := w.shards[id]
	at, slots := s.At(), s.Slots()
	compare := func(row, col int64, slot int, v T) {
		want := then.val[[2]int64{row, col}]
		if slot > 0 {
			want = then.slot[[2]int64{row, col}]
		}
		if !sameBits(v, want) {
			t.Fatalf("%s: partition %d at %v: row %d column %d slot %d is %v, want %v", after, id, at, row, col, slot, v, want)
		}
	}
	if !then.sparse() {
		for slot := range slots + 1 {
			n, _ := at.Cells()
			flat := make([]T, n)
			if err := m.ReadRect(wire.View(flat), at, slot); err != nil {
				t.Fatal(err)
			}
			for i, v := range flat {
				compare(at.Rows.Lo+int64(i)/at.Cols.Len(), at.Cols.Lo+int64(i)%at.Cols.Len(), slot, v)
			}
		}
		return
	}
	if err := sameAbsent(m.Absent(), at.Rows, then); err != nil {
		t.Fatalf("%s: partition %d: %v", after, id, err)
	}
	seen, high := 0, int(at.Rows.Len())
	for keys := m.Keys(5); len(keys) > 0; keys = m.Keys(5) {
		flat := make([]T, len(keys)*high*(1+slots))
		if err := m.Read(wire.View(flat), keys, true); err != nil {
			t.Fatal(err)
		}
		for k, col := range keys {
			if !then.stored[then.band(at.Rows.Lo)][col] {
				t.Fatalf("%s: partition %d has column %d", after, id, col)
			}
			for i := range high * (1 + slots) {
				compare(at.Rows.Lo+int64(i%high), col, i/high, flat[k*high*(1+slots)+i])
			}
		}
		seen += len(keys)
	}
	want := 0
	for col := range then.stored[then.band(at.Rows.Lo)] {
		if s.View(id).Owns(col) {
			want++
		}
	}
	if seen != want {
		t.Fatalf("%s: partition %d has %d columns, want %d", after, id, seen, want)
	}
}

// sameBits reports whether numbers are the same: zeros of one sign, and any two that are no numbers.
func sameBits[T kernel.Number](a, b T) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	return a == b && (a != 0 || math.Signbit(float64(a)) == math.Signbit(float64(b)))
}

func someOf[T any](t *rapid.T, all []T) []T {
	var some []T
	every := rapid.IntRange(1, 5).Draw(t, "every")
	from := rapid.IntRange(0, len(all)-1).Draw(t, "from")
	for i := from; i < len(all); i += every {
		some = append(some, all[i])
	}
	return some
}

// nasty is a value as tests should have: mostly plain, sometimes at the edge of the type.
func nasty[T kernel.Number](t *rapid.T) T {
	switch k := rapid.IntRange(0, 19).Draw(t, "value"); {
	case k < 12:
		return T(k - 4)
	case k < 15:
		return T(rapid.Float64Range(-1e3, 1e3).Draw(t, "x"))
	}
	var zero T
	switch any(zero).(type) {
	case float64:
		return T(rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 5e-324, -5e-324,
			math.MaxFloat64, -1e300, 1e-200, 1e-12, 0.1}).Draw(t, "nasty"))
	case float32:
		return T(rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Copysign(0, -1)),
			1e-45, -1e-45, math.MaxFloat32, -1e30, 1e-12, 0.1}).Draw(t, "nasty"))
	case int64:
		v := rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, math.MinInt64 + 1, 1<<53 + 1, -1 << 32}).Draw(t, "nasty")
		return T(v)
	}
	v := rapid.SampledFrom([]int32{math.MinInt32, math.MaxInt32, math.MinInt32 + 1, 1<<24 + 1, -1 << 16}).Draw(t, "nasty")
	return T(v)
}
