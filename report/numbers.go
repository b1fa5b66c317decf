package report

import (
	"fmt"
	"html/template"

	"thole.example/chart"
	"thole.example/metric/curve"
)

// numbers is how far predicted values are from the true ones.
func (r *Report) numbers() []section {
	parts := curve.ByPrediction(r.Input, tenths)
	if len(parts) == 0 {
		return []section{{Title: "Values", Text: "There are no examples, or none with a weight above 0: there is nothing to compare."}}
	}
	return []section{compared(parts), r.errors()}
}

// compared is means of predictions and labels side by side.
func compared(parts []curve.Values) section {
	t := table{Title: "Tenths by prediction", Head: []string{"tenth", "prediction from", "to", "examples", "mean prediction", "mean label",
		"difference"}}
	var said, is []float64
	for i := len(parts) - 1; i >= 0; i-- { // the lowest first, as in the picture
		p := parts[i]
		said, is = append(said, p.Predicted), append(is, p.Actual)
		t.add(false, fmt.Sprint(len(parts)-i), number(p.Low), number(p.High), amount(p.Weight), number(p.Predicted), number(p.Actual),
			number(p.Predicted-p.Actual))
	}
	ends := []float64{said[0], said[len(said)-1]}
	c := chart.Chart{Title: "Predicted and actual", X: chart.Axis{Label: "mean prediction"}, Y: chart.Axis{Label: "mean label"}, Width: 560,
		Height: 420, Lines: []chart.Line{{Name: "perfect", X: ends, Y: ends, Faint: true, Dashed: true},
			{Name: "model", X: said, Y: is, Dots: true}}}
	return section{Title: "Predicted and actual values", Text: "Where the curve is below the diagonal, too much is predicted. Examples of " +
		"one prediction are in one tenth.", Pictures: []template.HTML{picture(&c)}, Tables: []table{t}}
}

// tail is how much of the errors at each end is drawn in the outermost bar.
const tail = 0.005

func (r *Report) errors() section {
	diff, size := curve.ErrorsOf(r.Input, false), curve.ErrorsOf(r.Input, true)
	t := table{Title: "Quantiles of the errors", Head: []string{"share of examples",
		"label less prediction, at most", "size of the error, at most"}}
	for _, q := range []float64{0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1} {
		t.add(q == 0.5, fmt.Sprintf("%g %%", 100*q), number(diff.Quantile(q)), number(size.Quantile(q)))
	}
	h, all := diff.Histogram(barCount, tail), 0.0
	for _, w := range h.Weight[0] {
		all += w
	}
	c := chart.Chart{Title: "Errors", X: chart.Axis{Label: "label less prediction"}, Y: chart.Axis{Label: "share of examples"}, Width: 760,
		Height: 340, Bars: []chart.Bars{bars(h, 0, all, "")}}
	return section{Title: "Errors", Text: fmt.Sprintf("The label less the prediction. The outermost bars have everything beyond them, too: "+
		"%g %% of the examples at each end.", 100*tail), Pictures: []template.HTML{picture(&c)}, Tables: []table{t}}
}
