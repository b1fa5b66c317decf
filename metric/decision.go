package metric

var accuracy = Metric{Name: "accuracy", Help: "share of examples whose predicted class is the true one",
	Tasks: []Task{Classification, Multiclass}, Better: Larger, Usual: true, Of: func(in *Input) float64 {
		if in.Classes > 0 {
			return in.mean(func(i int) float64 { return truth(in.Score[i] == in.Label[i]) })
		}
		d := in.decided()
		return (d.truePositive + d.trueNegative) / (d.truePositive + d.trueNegative + d.falsePositive + d.falseNegative)
	}}

var precision = Metric{Name: "precision", Help: "share of positive examples among those predicted positive",
	Tasks: []Task{Classification}, Better: Larger, Of: func(in *Input) float64 {
		d := in.decided()
		return d.truePositive / (d.truePositive + d.falsePositive)
	}}

var recall = Metric{Name: "recall", Help: "share of the positive examples that are predicted positive",
	Tasks: []Task{Classification}, Better: Larger, Of: func(in *Input) float64 {
		d := in.decided()
		return d.truePositive / (d.truePositive + d.falseNegative)
	}}

var f1 = Metric{Name: "f1", Help: "harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN)",
	Tasks: []Task{Classification}, Better: Larger, Of: func(in *Input) float64 {
		d := in.decided()
		return 2 * d.truePositive / (2*d.truePositive + d.falsePositive + d.falseNegative)
	}}

// decision is what becomes of two classes at the threshold, in weights.
type decision struct{ truePositive, falsePositive, trueNegative, falseNegative float64 }

// decided is the decision of the examples, made once.
func (in *Input) decided() *decision {
	if in.decision != nil {
		return in.decision
	}
	d := sums(len(in.Label), func(d *decision, lo, hi int) {
		for i := lo; i < hi; i++ {
			w := in.weight(i)
			switch yes := in.Score[i] > in.Threshold; {
			case yes && in.Label[i] > 0:
				d.truePositive += w
			case yes:
				d.falsePositive += w
			case in.Label[i] > 0:
				d.falseNegative += w
			default:
				d.trueNegative += w
			}
		}
	}, func(to, d *decision) {
		to.truePositive += d.truePositive
		to.falsePositive += d.falsePositive
		to.trueNegative += d.trueNegative
		to.falseNegative += d.falseNegative
	})
	in.decision = &d
	return &d
}

// Accuracy is the part of examples whose score is above the threshold exactly if the label is positive. The threshold
// belongs to the scores: 0 for margins, 0.5 for probabilities.
func Accuracy(score, label []float64, threshold float64) (float64, error) {
	return plain(&accuracy, &Input{Score: score, Label: label, Threshold: threshold})
}

// Matches is the part of examples whose score equals the label: the accuracy of predicted classes.
func Matches(class, label []float64) (float64, error) {
	return plain(&accuracy, &Input{Score: class, Label: label, Classes: 1})
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
