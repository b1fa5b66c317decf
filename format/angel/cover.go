package angel

import (
	"slices"
	"sort"

	"thole.example/matrix"
)

// overlap finds two places that share a cell. It sweeps over the rows and keeps the column ranges that are open there,
// which do not overlap, in order.
func overlap(places []matrix.Rect) (i, j int, found bool) {
	type event struct {
		row   int64
		begin bool
		i     int
	}
	var events []event
	for i, p := range places {
		if !p.Empty() {
			events = append(events, event{p.Rows.Lo, true, i}, event{p.Rows.Hi, false, i})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		switch {
		case a.row < b.row, a.row == b.row && !a.begin && b.begin:
			return -1
		case a.row > b.row, a.row == b.row && a.begin && !b.begin:
			return 1
		}
		return 0
	})
	var open []int // places, by their columns
	for _, e := range events {
		cols := places[e.i].Cols
		at := sort.Search(len(open), func(k int) bool { return places[open[k]].Cols.Lo >= cols.Lo })
		if !e.begin {
			open = slices.Delete(open, at, at+1)
			continue
		}
		if at < len(open) && places[open[at]].Cols.Lo < cols.Hi {
			return open[at], e.i, true
		}
		if at > 0 && places[open[at-1]].Cols.Hi > cols.Lo {
			return open[at-1], e.i, true
		}
		open = slices.Insert(open, at, e.i)
	}
	return 0, 0, false
}
