package data

// Grouping is which examples belong together, such as those of a query.
type Grouping struct {
	Of    []int // of each example the number of its group, in the order of their first examples
	Count int   // of groups
	// Apart is the first example between which and those before it of its group there are others, -1 if there is none, and Before the
	// last one of these.
	Apart, Before int
}

// GroupBy numbers groups.
func GroupBy(group []int64) *Grouping {
	g := &Grouping{Of: make([]int, len(group)), Apart: -1, Before: -1}
	number, last := map[int64]int{}, []int(nil) // example of each group
	for i, id := range group {
		k, seen := number[id]
		if !seen {
			k = len(last)
			number[id], last = k, append(last, i)
		}
		if g.Apart < 0 && last[k] < i-1 {
			g.Apart, g.Before = i, last[k]
		}
		g.Of[i], last[k] = k, i
	}
	g.Count = len(last)
	return g
}

// Folds deals whole groups out to k folds, as equal in the number of groups as can be: the fold of each example, as [Folds] has it.
func (g *Grouping) Folds(k int, seed uint64) []int {
	folds := Folds(make([]float32, g.Count), k, seed, false)
	all := make([]int, len(g.Of))
	for i, group := range g.Of {
		all[i] = folds[group]
	}
	return all
}

// Members are the examples of some groups, in their order.
func (g *Grouping) Members(groups []int) (all []int) {
	in := make([]bool, g.Count)
	for _, k := range groups {
		in[k] = true
	}
	for i, k := range g.Of {
		if in[k] {
			all = append(all, i)
		}
	}
	return all
}
