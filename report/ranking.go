package report

import (
	"fmt"
	"html/template"
	"math"

	"thole.example/chart"
	"thole.example/metric"
)

// firstPlaces is how many places of a ranking are drawn.
const firstPlaces = 20

// ranked is how good the order within groups is up to each of the first places.
func (r *Report) ranked() []section {
	t := table{Title: "Metrics by how many places count", Head: []string{"places", "NDCG", "MAP"}}
	lines := []chart.Line{{Name: "NDCG", Dots: true}, {Name: "MAP", Dots: true}}
	for k := 1; k <= firstPlaces; k++ {
		cells := []string{fmt.Sprint(k)}
		for i, name := range []string{"ndcg", "map"} {
			m, err := metric.Find(fmt.Sprintf("%s@%d", name, k))
			if err != nil {
				continue // which the table has
			}
			v := m.Of(r.Input)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return []section{{Title: "Order in groups", Text: "There are no groups of graded examples: there is no order to judge."}}
			}
			lines[i].X, lines[i].Y = append(lines[i].X, float64(k)), append(lines[i].Y, v)
			cells = append(cells, number(v))
		}
		t.add(false, cells...)
	}
	c := chart.Chart{Title: "Order in groups", X: chart.Axis{Label: "places that count"}, Y: chart.Axis{Label: "mean of the groups"},
		Width: 560, Height: 420, Lines: lines}
	return []section{{Title: "Order in groups", Text: "1 is the best order; a group in which nothing is relevant counts as 1, equal scores " +
		"as the mean of all their orders.", Pictures: []template.HTML{picture(&c)}, Tables: []table{t}}}
}
