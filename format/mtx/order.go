package mtx

import (
	"cmp"
	"slices"

	"thole.example/matrix"
)

// held is entries in memory, in the order of rows and columns once they are sorted.
type held[T value] struct {
	h   *head
	row []int64
	col []int64
	val []T
}

// before reports whether entry i stands before entry k.
func (t *held[T]) before(i, k int) bool {
	return t.row[i] < t.row[k] || t.row[i] == t.row[k] && t.col[i] < t.col[k]
}

// sort puts the entries into order, those of one cell in the order of the file.
func (t *held[T]) sort() {
	for i := 1; i < len(t.row); i++ {
		if t.before(i, i-1) {
			t.scatter()
			return
		}
	}
}

// add makes one of the entries of each cell, their sum, as others that read the format do. cell is the first of several; ok
// is false if the sum is beyond the type.
func (t *held[T]) add() (cell [2]int64, several, ok bool) {
	n := 0
	for i := range t.row {
		if n == 0 || t.before(n-1, i) || t.before(i, n-1) {
			t.row[n], t.col[n], t.val[n] = t.row[i], t.col[i], t.val[i]
			n++
			continue
		}
		if !several {
			cell, several = [2]int64{t.row[i], t.col[i]}, true
		}
		a, b := t.val[n-1], t.val[i]
		sum := a + b
		if !matrix.DTypeOf[T]().Float() && (b >= 0) != (sum >= a) {
			return [2]int64{t.row[i], t.col[i]}, true, false
		}
		t.val[n-1] = sum
	}
	t.row, t.col, t.val = t.row[:n], t.col[:n], t.val[:n]
	return cell, several, true
}

// scatter sorts by counting: the entries of one row, or of some neighbouring rows if most rows have none, come together
// in the order of the file; where that is not the order of the cells they are compared.
func (t *held[T]) scatter() {
	n := len(t.row)
	shift, first, last := 0, slices.Min(t.row), slices.Max(t.row)
	for (last-first)>>shift >= int64(n) {
		shift++
	}
	next := make([]int, (last-first)>>shift+2)
	for _, r := range t.row {
		next[(r-first)>>shift+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	row, col, val := make([]int64, n), make([]int64, n), make([]T, n)
	for i, r := range t.row {
		b := (r - first) >> shift
		to := next[b]
		next[b]++
		row[to], col[to], val[to] = r, t.col[i], t.val[i]
	}
	t.row, t.col, t.val = row, col, val
	from := 0
	for _, end := range next[:len(next)-1] { // which are the ends of the buckets now
		t.sortRun(from, end)
		from = end
	}
}

type cell[T value] struct {
	row, col int64
	val      T
}

// sortRun sorts some neighbouring entries unless they are in order.
func (t *held[T]) sortRun(from, end int) {
	sorted := true
	for i := from + 1; i < end && sorted; i++ {
		sorted = !t.before(i, i-1)
	}
	if sorted {
		return
	}
	run := make([]cell[T], 0, end-from)
	for i := from; i < end; i++ {
		run = append(run, cell[T]{t.row[i], t.col[i], t.val[i]})
	}
	slices.SortStableFunc(run, func(a, b cell[T]) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col)) })
	for i, c := range run {
		t.row[from+i], t.col[from+i], t.val[from+i] = c.row, c.col, c.val
	}
}
