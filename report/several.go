package report

import (
	"fmt"
	"slices"

	"thole.example/metric"
	"thole.example/metric/curve"
)

// rowLimit is how many classes a page lists.
const rowLimit = 200

// classes is what becomes of each of several classes.
func (r *Report) classes() []section { return []section{r.confused(r.Input)} }

// confused is the matrix of confusion, where the classes are not too many, and precision and recall of each class.
func (r *Report) confused(in *metric.Input) section {
	s := section{Title: "Confusion"}
	all, confusion := curve.Classes(in)
	if confusion != nil {
		t := table{Title: "Examples by true class (rows) and predicted class (columns)", Head: []string{""}}
		for k := range confusion {
			t.Head = append(t.Head, r.class(k))
		}
		for k, row := range confusion {
			cells := []string{r.class(k)}
			for _, v := range row {
				cells = append(cells, amount(v))
			}
			t.add(false, cells...)
		}
		s.Tables = append(s.Tables, t)
	}
	order := make([]int, len(all))
	for k := range order {
		order[k] = k
	}
	if len(all) > rowLimit {
		s.Text = fmt.Sprintf("%d classes; listed are the %d with the most examples.", len(all), rowLimit)
		slices.SortStableFunc(order, func(a, b int) int {
			switch x, y := all[a].Actual, all[b].Actual; {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		order = order[:rowLimit]
	}
	t := table{Title: "Classes", Head: []string{"class", "examples", "predicted", "precision", "recall", "f1"}}
	for _, k := range order {
		c := all[k]
		t.add(false, r.class(k), amount(c.Actual), amount(c.Predicted), number(c.Precision), number(c.Recall), number(c.F1))
	}
	s.Tables = append(s.Tables, t)
	return s
}
