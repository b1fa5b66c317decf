package train

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/metric"
)

// chunkRows is how many examples are scored with one pull.
const chunkRows = 4096

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
		name, _ := json.Marshal(x.Name) // a string always can be
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

// Scores runs examples of the set forward, some thousand at a time. They are the scores of rows[0] (margins or values, as many as
// the model has), then those of rows[1] and so on.
func Scores(ctx context.Context, p graph.Params, run *graph.Run, s *data.Set, rows []int) ([]float64, error) {
	score := make([]float64, 0, len(rows)*run.Model().Width)
	var gather data.Gatherer
	for part := range slices.Chunk(rows, chunkRows) {
		out, err := run.Predict(ctx, p, gather.Gather(s, part))
		if err != nil {
			return nil, err
		}
		for _, s := range out.Val {
			score = append(score, float64(s))
		}
	}
	return score, nil
}

// totalLoss is the sum of the losses of scores by the labels, summed in their order: whoever has the same scores has the same
// sum, to the last bit, whichever way they came.
func totalLoss(loss graph.Loss, score []float64, label []float32) (sum float64) {
	var out, grad graph.Tensor // the loss needs a place for the gradient
	width := len(score) / max(1, len(label))
	for lo := 0; lo < len(label); lo += chunkRows {
		hi := min(lo+chunkRows, len(label))
		out.Resize(hi-lo, width)
		grad.Resize(hi-lo, width)
		for i, s := range score[lo*width : hi*width] {
			out.Val[i] = float32(s)
		}
		sum += loss.Loss(&out, label[lo:hi], &grad)
	}
	return sum
}

// Measure is the metrics of scores, as many for each label: the mean loss under the name of the loss (of several classes, the
// multi-class log loss), and after it exact AUC and accuracy of two classes, accuracy of several, RMSE, MAE and R2 of
// predicted values. The same scores give the same metrics, to the last bit. A label that the loss does not take is an error.
func Measure(loss graph.Loss, score []float64, label []float32) (Metrics, error) {
	if err := loss.Check(label, len(score)/max(1, len(label))); err != nil {
		return nil, err
	}
	wide := make([]float64, len(label))
	for i, y := range label {
		wide[i] = float64(y)
	}
	m := Metrics{{loss.Name(), totalLoss(loss, score, label) / float64(len(label))}}
	if loss.Task() != graph.Classification {
		score = predictions(loss, score, len(label))
	}
	for _, x := range measures(loss) {
		v, err := x.of(score, wide)
		if err != nil {
			return nil, err
		}
		m = append(m, Metric{x.name, v})
	}
	return m, nil
}

// measure is a metric beside the loss.
type measure struct {
	name string
	of   func(score, label []float64) (float64, error) // of two classes from scores, else from what is predicted
}

func measures(loss graph.Loss) []measure {
	switch loss.Task() {
	case graph.Classification:
		return []measure{{"auc", metric.AUC}, {"accuracy", func(s, y []float64) (float64, error) {
			return metric.Accuracy(s, y, loss.Threshold())
		}}}
	case graph.Multiclass:
		return []measure{{"accuracy", metric.Matches}}
	}
	return []measure{{"rmse", metric.RMSE}, {"mae", metric.MAE}, {"r2", metric.R2}}
}

// MetricNames are the names of what Measure gives, in its order.
func MetricNames(loss graph.Loss) []string {
	names := []string{loss.Name()}
	for _, x := range measures(loss) {
		names = append(names, x.name)
	}
	return names
}

// predictions are what the loss predicts for each of the rows.
func predictions(loss graph.Loss, score []float64, rows int) []float64 {
	out := make([]float64, rows)
	row, to := make([]float32, len(score)/max(1, rows)), []float64(nil)
	for i := range out {
		for k := range row {
			row[k] = float32(score[i*len(row)+k])
		}
		to = loss.Predict(to[:0], row)
		out[i] = to[0]
	}
	return out
}

// evaluate fills in the metrics of the final parameters. Every task scores its share; sums and scores meet on the
// boards.
func (l *loop) evaluate(ctx context.Context, r *Report) error {
	score, err := Scores(ctx, l.s, l.run, l.Data, l.mine)
	if err != nil {
		return err
	}
	sum, weights := l.shareLoss(score)
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("after epoch %d of %d, step %d of %d: loss %v: %w", l.before+r.Epochs, l.Epochs, l.steps, l.steps, sum,
			graph.ErrDiverged)
	}
	if err := l.pushLoss(finalBoard, 0, sum, weights); err != nil {
		return err
	}
	last := l.Valid != nil && !l.watches() // else they are measured already
	if last {
		if err := l.pushScores(ctx); err != nil {
			return err
		}
	}
	if err := l.meet(ctx); err != nil {
		return err
	}
	loss, err := l.readLoss(ctx, finalBoard, 0)
	if err != nil {
		return err
	}
	r.Train = Metrics{{l.Model.Loss.Name(), loss}}
	if last {
		r.Valid, err = l.readScores(ctx)
	}
	return err
}

// pushScores scores this task's held-out examples.
func (l *loop) pushScores(ctx context.Context) error {
	lo, hi := l.held()
	if lo == hi {
		return nil
	}
	rows := make([]int, hi-lo)
	for i := range rows {
		rows[i] = lo + i
	}
	score, err := Scores(ctx, l.s, l.run, l.Valid, rows)
	if err != nil {
		return err
	}
	for i, s := range score { // the servers may be told to leave such values out, and zeros would be in their place
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return fmt.Errorf("train: held-out example %d has score %v, want a finite number", lo+i/l.Model.Width, s)
		}
	}
	l.shown = score
	return l.showScores()
}

// held is which of the held-out examples are this task's to score: a run of consecutive ones.
func (l *loop) held() (lo, hi int) {
	n := l.Valid.Len()
	return n * l.Task / l.Tasks, n * (l.Task + 1) / l.Tasks
}

// showScores adds the scores of this task to the board.
func (l *loop) showScores() error {
	lo, hi := l.held()
	width := l.Model.Width
	at := matrix.At(0, 1, int64(lo*width), int64(hi*width))
	return l.s.Push(validBoard, matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: slices.Clone(l.shown)}})
}

func (l *loop) readScores(ctx context.Context) (Metrics, error) {
	got, err := l.s.Pull(ctx, []matrix.Lookup{{Matrix: validBoard}})
	if err != nil {
		return nil, err
	}
	return Measure(l.Model.Loss, got[0].Data.Values().([]float64), l.Valid.Label)
}
