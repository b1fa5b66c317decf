package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/metric"
)

// Metric is a named measure of quality.
type Metric struct {
	Name  string
	Value float64
}

// Metrics are measures in the order in which people read them.
type Metrics []Metric

// Get is the measure of that name, NaN if there is none.
func (m Metrics) Get(name string) float64 {
	for _, x := range m {
		if x.Name == name {
			return x.Value
		}
	}
	return math.NaN()
}

func (m Metrics) has(name string) bool {
	return slices.ContainsFunc(m, func(x Metric) bool { return x.Name == name })
}

// names are the names of the measures.
func (m Metrics) names() []string {
	all := make([]string, len(m))
	for i, x := range m {
		all[i] = x.Name
	}
	return all
}

// String is "name value" pairs with six significant digits.
func (m Metrics) String() string {
	var b bytes.Buffer
	for i, x := range m {
		if i > 0 {
			b.WriteString("  ")
		}
		fmt.Fprintf(&b, "%s %.6g", x.Name, x.Value)
	}
	return b.String()
}

// MarshalJSON is an object in the same order; a measure that is not defined is null.
func (m Metrics) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(jsonName(x.Name)) // a string always can be
		b.Write(append(name, ':'))
		if v, err := json.Marshal(x.Value); err == nil {
			b.Write(v)
		} else {
			b.WriteString("null")
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// jsonName is the name of a metric as a key: calibrationError of calibration-error.
func jsonName(name string) string {
	words := strings.Split(name, "-")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// Scored is labelled examples with what a model says of them.
type Scored struct {
	Loss   graph.Loss // of the model
	Score  []float64  // its margins or values, as many for each label as the model has outputs
	Label  []float32
	Weight []float32 // how many examples each stands for; nil: 1
	Group  []int64   // of which user or request each is, for gauc and rankings; nil: none
}

// Measure is the metrics of scored examples: the mean loss under the name of the loss, the usual ones of the table metric.Metrics for
// the task, and others by name, in the order of the table; those that the table does not have, such as ndcg@7, come last. The loss of a
// ranking is 1 less NDCG. The same scores give the same metrics, to the last bit. What
// is not defined, such as the AUC of one class, is NaN. A label that the loss does not take is an error, and so is a name that
// MetricNames does not have.
func Measure(s *Scored, more ...string) (Metrics, error) {
	if err := s.Loss.Check(s.Label, len(s.Score)/max(1, len(s.Label))); err != nil {
		return nil, err
	}
	if err := checkNames(s.Loss, more); err != nil {
		return nil, err
	}
	if several, ok := s.Loss.(graph.Several); ok {
		return s.measureOutputs(several), nil
	}
	chosen := slices.DeleteFunc(fitting(s.Loss), func(x metric.Metric) bool {
		usual := x.Usual && (!x.Groups || s.Loss.Task() == graph.Ranking)
		return !usual && !slices.Contains(more, x.Name)
	})
	for _, name := range more { // the table has some numbers of places only
		have := slices.ContainsFunc(chosen, func(x metric.Metric) bool { return x.Name == name })
		if x, err := metric.Find(name); err == nil && !have && name != s.Loss.Name() {
			chosen = append(chosen, *x)
		}
	}
	in, err := s.input(slices.ContainsFunc(chosen, func(x metric.Metric) bool { return x.Probability }))
	if err != nil {
		return nil, err
	}
	loss, _ := s.meanLoss(in)
	m := Metrics{{s.Loss.Name(), loss}}
	for _, x := range chosen {
		m = append(m, Metric{x.Name, x.Of(in)})
	}
	return m, nil
}

// measureOutputs is the mean loss of all outputs, and of each of them.
func (s *Scored) measureOutputs(loss graph.Several) Metrics {
	mean, weight := s.meanLoss(nil)
	m := Metrics{{loss.Name(), mean}}
	names := loss.Outputs()
	for k, name := range names {
		sum := 0.0
		for i, y := range s.Label {
			l := loss.OutputLoss(k, s.Score[i*len(names):(i+1)*len(names)], y)
			if len(s.Weight) > 0 {
				l = float64(float64(s.Weight[i]) * l)
			}
			sum += l
		}
		m = append(m, Metric{loss.Name() + "_" + name, sum / weight})
	}
	return m
}

// MeasureOne is one of the metrics of Measure, without the others.
func MeasureOne(s *Scored, name string) (float64, error) {
	if name == s.Loss.Name() {
		return s.MeanLoss()
	}
	if err := s.Loss.Check(s.Label, len(s.Score)/max(1, len(s.Label))); err != nil {
		return 0, err
	}
	if err := checkNames(s.Loss, []string{name}); err != nil {
		return 0, err
	}
	m, err := metric.Find(name)
	if err != nil {
		return 0, err
	}
	in, err := s.input(m.Probability)
	if err != nil {
		return 0, err
	}
	return m.Of(in), nil
}

// Names are the names of the metrics that Measure has a value for: without groups those that need some are left out, and of numbers that
// are no grades those of rankings.
func (s *Scored) Names() []string {
	names := []string{s.Loss.Name()}
	ungraded := s.Loss.Task() == graph.Regression && slices.ContainsFunc(s.Label, func(y float32) bool {
		return y < 0 || y > metric.GradeLimit || y != float32(int(y))
	})
	for _, x := range fitting(s.Loss) {
		if !x.Groups || len(s.Group) > 0 && !ungraded {
			names = append(names, x.Name)
		}
	}
	return names
}

// Input is the examples as metrics take them, with probabilities where the loss predicts some.
func (s *Scored) Input() (*metric.Input, error) { return s.input(true) }

// input leaves out probabilities that nobody needs: they take as much memory as the scores.
func (s *Scored) input(probabilities bool) (*metric.Input, error) {
	in := &metric.Input{Score: s.Score, Label: make([]float64, len(s.Label)), Threshold: s.Loss.Threshold()}
	if len(s.Weight) > 0 {
		in.Weight = s.Weight
	}
	if len(s.Group) > 0 {
		in.Group = s.Group
	}
	for i, y := range s.Label {
		in.Label[i] = float64(y)
	}
	switch width := len(s.Score) / max(1, len(s.Label)); s.Loss.Task() {
	case graph.Classification:
		if probabilities && predictsProbabilities(s.Loss) {
			in.Probability, _ = predictions(s.Loss, s.Score, len(s.Label), false)
		}
	case graph.Multiclass:
		in.Classes = width
		in.Score, in.Probability = predictions(s.Loss, s.Score, len(s.Label), probabilities)
		if len(in.Probability) != len(s.Score) { // a loss of somebody else's may predict the class alone
			in.Probability = nil
		}
	default:
		in.Score, _ = predictions(s.Loss, s.Score, len(s.Label), false)
	}
	return in, in.Check()
}

// MeanLoss is the first of the metrics, by itself.
func (s *Scored) MeanLoss() (float64, error) {
	loss, _, err := s.WeighedLoss()
	return loss, err
}

// WeighedLoss is MeanLoss and the weight that it has in a mean over several sets of examples: the sum of theirs, or of rankings that of
// their groups, none of which may be in two sets. A weight of 0 says that there is nothing to take a mean of.
func (s *Scored) WeighedLoss() (loss, weight float64, err error) {
	if err := s.Loss.Check(s.Label, len(s.Score)/max(1, len(s.Label))); err != nil {
		return 0, 0, err
	}
	var in *metric.Input
	if s.Loss.Task() == graph.Ranking {
		if in, err = s.input(false); err != nil {
			return 0, 0, err
		}
	}
	loss, weight = s.meanLoss(in)
	return loss, weight, nil
}

// meanLoss is the mean of the losses, each times its weight, and the sum of the weights; in is what rankings are measured by.
func (s *Scored) meanLoss(in *metric.Input) (loss, weight float64) {
	if s.Loss.Task() == graph.Ranking {
		ndcg, weight := metric.NDCG(in)
		return 1 - ndcg, weight
	}
	sum, weight := totalLoss(s.Loss, s.Score, s.Label, s.Weight)
	return mean(sum, weight), weight
}

// predictsProbabilities reports whether what a loss of two classes predicts is the probability of the positive one: at the score
// where it decides between them, both are equal.
func predictsProbabilities(loss graph.Loss) bool {
	return loss.Task() == graph.Classification && loss.Predict(nil, []float32{float32(loss.Threshold())})[0] == 0.5
}

// fitting are the metrics of the table that a model with the loss can be measured by, beside the loss.
func fitting(loss graph.Loss) []metric.Metric {
	if _, ok := loss.(graph.Several); ok {
		return nil // others compare one prediction with the label
	}
	without := loss.Task() == graph.Classification && !predictsProbabilities(loss)
	return slices.DeleteFunc(metric.Metrics(), func(m metric.Metric) bool {
		return !m.For(metric.Task(loss.Task())) || m.Name == loss.Name() || m.Probability && without
	})
}

// MetricNames are the names of all metrics that a model with the loss can be measured by, the loss first.
func MetricNames(loss graph.Loss) []string {
	names := []string{loss.Name()}
	for _, x := range fitting(loss) {
		names = append(names, x.Name)
	}
	return names
}

// HasMetric reports whether a model with the loss can be measured by the metric: by one of MetricNames, or by one of those of any number
// of places, such as ndcg@7.
func HasMetric(loss graph.Loss, name string) bool {
	if slices.Contains(MetricNames(loss), name) {
		return true
	}
	m, err := metric.Find(name)
	return err == nil && strings.Contains(name, "@") && m.For(metric.Task(loss.Task()))
}

// checkNames refuses names of metrics that do not fit the loss.
func checkNames(loss graph.Loss, names []string) error {
	known := MetricNames(loss)
	for _, name := range names {
		if !HasMetric(loss, name) {
			return spell.Unknown("metric of "+loss.Name(), name, known)
		}
	}
	return nil
}

// predictions are what the loss predicts for each of the rows, and where asked what stands behind it: the
// probabilities of all classes.
func predictions(loss graph.Loss, score []float64, rows int, all bool) (first, others []float64) {
	first = make([]float64, rows)
	if all {
		others = make([]float64, 0, len(score))
	}
	width, to := len(score)/max(1, rows), []float64(nil)
	for i := range first {
		to = graph.PredictWide(loss, to[:0], score[i*width:(i+1)*width])
		if first[i] = to[0]; all {
			others = append(others, to[1:]...)
		}
	}
	return first, others
}
