package report

import (
	"fmt"
	"html/template"

	"thole.example/chart"
	"thole.example/metric"
	"thole.example/metric/curve"
)

// Sizes of a page.
const (
	pointLimit = 200 // of a curve
	tenths     = 10  // parts of tables of lift and of values
	cutCount   = 20  // thresholds
	barCount   = 40
)

// twoClasses is how scores part two classes.
func (r *Report) twoClasses() []section {
	ranks := r.Input.Ranks()
	positive, negative := ranks.Totals()
	all := []section{r.decided()}
	switch {
	case positive == 0 || negative == 0:
		return append(all, section{Title: "Curves", Text: "All examples are of one class: there is nothing to tell apart."})
	case ranks.Probability == nil:
		all = append(all, section{Title: "Calibration", Text: "The model gives scores and no probabilities, which could be compared with how " +
			"often examples are positive."})
	default:
		all = append(all, calibration(ranks))
	}
	return append(all, curves(ranks), lift(ranks), r.spread(ranks), thresholds(ranks))
}

// decided is what becomes of the examples at the threshold of the model.
func (r *Report) decided() section {
	in := metric.Input{Classes: 2, Score: make([]float64, len(r.Input.Label)), Label: make([]float64, len(r.Input.Label)),
		Weight: r.Input.Weight}
	for i := range in.Label {
		if r.Input.Score[i] > r.Input.Threshold {
			in.Score[i] = 1
		}
		if r.Input.Label[i] > 0 {
			in.Label[i] = 1
		}
	}
	s := r.confused(&in)
	s.Text = fmt.Sprintf("An example is predicted %s if its %s.", r.class(1), r.above())
	return s
}

// above is when an example is predicted positive: by its probability, where there is one.
func (r *Report) above() string {
	score := "score is above " + number(r.Input.Threshold)
	if r.Input.Probability == nil {
		return score
	}
	low, high := 0.0, 1.0 // the probabilities next to the threshold
	for i, p := range r.Input.Probability {
		if r.Input.Score[i] > r.Input.Threshold {
			high = min(high, p)
		} else {
			low = max(low, p)
		}
	}
	if low <= even && even <= high {
		low = even
	}
	return fmt.Sprintf("predicted probability is above %s (%s)", number(low), score)
}

// even is the probability at which both classes are as likely.
const even = 0.5

func calibration(r *metric.Ranks) section {
	bins := r.Bins(metric.Bins)
	t := table{Title: "Bins of about equal counts", Head: []string{"bin", "examples", "mean prediction", "share of positives", "difference"}}
	var said, is []float64
	low, high := 1.0, 0.0
	for i := len(bins) - 1; i >= 0; i-- { // the lowest first, as in the picture
		b := bins[i]
		p, y := b.Predicted/b.Weight, b.Positive/b.Weight
		said, is = append(said, p), append(is, y)
		low, high = min(low, p, y), max(high, p, y)
		t.add(false, fmt.Sprint(len(bins)-i), amount(b.Weight), number(p), number(y), number(p-y))
	}
	c := chart.Chart{Title: "Calibration", X: chart.Axis{Label: "mean prediction"}, Y: chart.Axis{Label: "share of positives"},
		Width: 560, Height: 420, Lines: []chart.Line{
			{Name: "perfect", X: []float64{low, high}, Y: []float64{low, high}, Faint: true, Dashed: true},
			{Name: "model", X: said, Y: is, Dots: true}}}
	return section{Title: "Calibration", Text: "Examples in bins by their prediction: where the curve is below the diagonal, too much is " +
		"predicted. Examples of one prediction are in one bin.", Pictures: []template.HTML{picture(&c)}, Tables: []table{t}}
}

func curves(r *metric.Ranks) section {
	positive, negative := r.Totals()
	unit, base := []float64{0, 1}, positive/(positive+negative)
	whole := func(label string) chart.Axis { return chart.Axis{Label: label, Lo: 0, Hi: 1} }
	roc, pr := curve.ROC(r, pointLimit), curve.PrecisionRecall(r, pointLimit)
	a := chart.Chart{Title: "ROC", X: whole("false positive rate"), Y: whole("true positive rate"), Width: 560, Height: 420,
		Lines: []chart.Line{{Name: "chance", X: unit, Y: unit, Faint: true, Dashed: true}, {Name: "model", X: roc.X, Y: roc.Y}}}
	b := chart.Chart{Title: "Precision and recall", X: whole("recall"), Y: whole("precision"), Width: 560, Height: 420,
		Lines: []chart.Line{{Name: "chance", X: unit, Y: []float64{base, base}, Faint: true, Dashed: true}, {Name: "model", X: pr.X, Y: pr.Y}}}
	return section{Title: "Curves over all thresholds", Text: fmt.Sprintf("The area under the ROC curve is %s, the average precision %s; "+
		"chance has 0.5 and %s.", number(r.AUC()), number(r.AveragePrecision()), number(base)),
		Pictures: []template.HTML{picture(&a), picture(&b)}}
}

func lift(r *metric.Ranks) section {
	t := table{Title: "Tenths by score, the highest first", Head: []string{"tenth", "score from", "to", "examples", "positives",
		"share of positives", "lift", "gain", "lift so far"}}
	for i, p := range curve.Lift(r, tenths) {
		t.add(false, fmt.Sprint(i+1), number(p.High), number(p.Low), amount(p.Weight), amount(p.Positive), percent(p.Rate), number(p.Lift),
			percent(p.Gain), number(p.AllLift))
	}
	g := curve.Gain(r, pointLimit)
	positive, negative := r.Totals()
	base := positive / (positive + negative)
	axis := func(label string) chart.Axis { return chart.Axis{Label: label, Lo: 0, Hi: 1} }
	c := chart.Chart{Title: "Cumulative gain", X: axis("share of examples, highest scores first"), Y: axis("share of positives"), Width: 560,
		Height: 420, Lines: []chart.Line{{Name: "chance", X: []float64{0, 1}, Y: []float64{0, 1}, Faint: true, Dashed: true},
			{Name: "best possible", X: []float64{0, base, 1}, Y: []float64{0, 1, 1}, Faint: true}, {Name: "model", X: g.X, Y: g.Y}}}
	return section{Title: "Lift and gain", Text: "Lift is how many times more positive examples a tenth has than all together; gain is " +
		"the share of all positive examples in it and those before. Examples of one score are in one tenth.",
		Pictures: []template.HTML{picture(&c)}, Tables: []table{t}}
}

// spread is where predictions of both classes lie.
func (r *Report) spread(ranks *metric.Ranks) section {
	h, label := curve.Predictions(ranks, barCount), "predicted probability"
	if ranks.Probability == nil {
		label = "score"
	}
	positive, negative := ranks.Totals()
	c := chart.Chart{Title: "Predictions by class", X: chart.Axis{Label: label}, Y: chart.Axis{Label: "share of the class"},
		Width: 760, Height: 340, Bars: []chart.Bars{bars(h, 0, negative, r.class(0)), bars(h, 1, positive, r.class(1))}}
	return section{Title: "Predictions", Text: "Each class by itself, as shares of its examples.", Pictures: []template.HTML{picture(&c)}}
}

// bars is one kind of a histogram as shares of the total.
func bars(h *curve.Histogram, kind int, total float64, name string) chart.Bars {
	n := len(h.Weight[kind])
	b := chart.Bars{Name: name, Lo: h.Edge[:n], Hi: h.Edge[1:]}
	for _, w := range h.Weight[kind] {
		b.Y = append(b.Y, w/total)
	}
	return b
}

func thresholds(r *metric.Ranks) section {
	t := table{Head: []string{"score", "probability", "precision", "recall", "f1", "accuracy", "predicted positive"}}
	for _, x := range curve.Thresholds(r, cutCount) {
		t.add(x.Best, number(x.At), number(x.Probability), number(x.Precision), number(x.Recall), number(x.F1), number(x.Accuracy),
			percent(x.Predicted))
	}
	return section{Title: "Thresholds", Text: "What becomes of the examples if those of a score and above it are predicted positive. The " +
		"row of the best f1 is marked; it was chosen by these examples, and others have another.", Tables: []table{t}}
}
