package angel

import (
	"fmt"
	"slices"
	"sort"

	"thole.example/wire"
)

// cells sorts the column ids of a row together with its values.
type cells[T Number] struct {
	col []int64
	val []T
}

func (c *cells[T]) Len() int           { return len(c.col) }
func (c *cells[T]) Less(i, j int) bool { return c.col[i] < c.col[j] }
func (c *cells[T]) Swap(i, j int) {
	c.col[i], c.col[j] = c.col[j], c.col[i]
	c.val[i], c.val[j] = c.val[j], c.val[i]
}

// sort puts the columns in order, and finds one that is there twice.
func (c *cells[T]) sort() (col int64, twice bool) {
	if !slices.IsSorted(c.col) {
		sort.Sort(c)
	}
	for i := 1; i < len(c.col); i++ {
		if c.col[i] == c.col[i-1] {
			return c.col[i], true
		}
	}
	return 0, false
}

// sortColumns brings the records of a column format into the order of their ids.
func sortColumns[T Number](r *records[T]) {
	order := make([]int, len(r.col))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return r.col[order[i]] < r.col[order[j]] })
	col, val := make([]int64, 0, len(r.col)), make([]T, 0, len(r.val))
	for _, o := range order {
		col = append(col, r.col[o])
		val = append(val, r.val[o*r.width:(o+1)*r.width]...)
	}
	r.col, r.val = col, val
}

// sortRows brings records that name their rows into the order of rows, and compares how many each row has.
func (w *walk[T]) sortRows(rows []rowMeta, r *records[T]) error {
	if inOrder(rows, r.row) {
		return nil
	}
	if w.u.part { // the rows that are wanted lie elsewhere
		return errStray
	}
	w.stray = true
	next := make([]int, len(rows)) // where the next record of a row goes
	end := make([]int, len(rows))
	total := 0
	for i, row := range rows {
		next[i] = total
		total += int(row.n)
		end[i] = total
	}
	col, val := make([]int64, len(r.col)), make([]T, len(r.val))
	for i, id := range r.row {
		k := sort.Search(len(rows), func(k int) bool { return rows[k].id >= id })
		if k == len(rows) || rows[k].id != id || next[k] == end[k] {
			return &wire.At{Off: w.p.off, Err: fmt.Errorf("partition %d: record %d is of row %d, which has fewer or none",
				w.p.id, i, id)}
		}
		col[next[k]], val[next[k]] = r.col[i], r.val[i]
		next[k]++
	}
	r.col, r.val = col, val
	return nil
}

func inOrder(rows []rowMeta, ids []int32) bool {
	from := 0
	for _, row := range rows {
		to := from + int(row.n)
		if to > len(ids) {
			return false
		}
		for _, id := range ids[from:to] {
			if id != row.id {
				return false
			}
		}
		from = to
	}
	return from == len(ids)
}
