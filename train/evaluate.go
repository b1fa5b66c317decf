package train

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"

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

// Scores runs the examples forward, some thousand at a time: score[i] is the first output of rows[i] (a margin or a
// value), loss the sum of their losses by the labels. A nil rows means all of b.
func Scores(ctx context.Context, p graph.Params, run *graph.Run, b *data.Batch, rows []int) (score []float64, loss float64, err error) {
	n := b.Len()
	if rows != nil {
		n = len(rows)
	}
	score = make([]float64, 0, n)
	var grad graph.Tensor // the loss wants a place for it
	for lo := 0; lo < n; lo += chunkRows {
		hi := min(lo+chunkRows, n)
		part := b
		if rows != nil {
			part = b.Gather(rows[lo:hi])
		} else {
			part = b.Slice(lo, hi)
		}
		params, err := p.Pull(ctx, run.Wants(part))
		if err != nil {
			return nil, 0, err
		}
		out, err := run.Scores(part, params)
		if err != nil {
			return nil, 0, err
		}
		for i := range hi - lo {
			score = append(score, float64(out.Row(i)[0]))
		}
		grad.Resize(out.Rows, out.Cols)
		loss += run.Model().Loss.Loss(out, part.Label, &grad)
	}
	return score, loss, nil
}

// Measure is the metrics of scores: exact AUC and accuracy of margins for classes, RMSE, MAE and R2 for values, after
// the mean loss under the name of the model's loss.
func Measure(lossName string, loss float64, classify bool, score []float64, label []float32) (Metrics, error) {
	wide := make([]float64, len(label))
	for i, y := range label {
		wide[i] = float64(y)
	}
	m := Metrics{{lossName, loss / float64(len(score))}}
	type measure struct {
		name string
		of   func(score, label []float64) (float64, error)
	}
	todo := []measure{{"rmse", metric.RMSE}, {"mae", metric.MAE}, {"r2", metric.R2}}
	if classify {
		todo = []measure{{"auc", metric.AUC}, {"accuracy", func(s, y []float64) (float64, error) {
			return metric.Accuracy(s, y, 0)
		}}}
	}
	for _, x := range todo {
		v, err := x.of(score, wide)
		if err != nil {
			return nil, err
		}
		m = append(m, Metric{x.name, v})
	}
	return m, nil
}

// evaluate fills in the metrics of the final parameters. Every task scores its share; sums and scores meet on the
// boards.
func (l *loop) evaluate(ctx context.Context, r *Report) error {
	_, sum, err := Scores(ctx, l.s, l.run, l.Data, l.mine)
	if err != nil {
		return err
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("after epoch %d of %d: loss %v: %w", r.Epochs, l.Epochs, sum, graph.ErrDiverged)
	}
	if err := l.pushLoss(l.Epochs, sum, float64(len(l.mine))); err != nil {
		return err
	}
	if l.Valid != nil {
		if err := l.pushScores(ctx); err != nil {
			return err
		}
	}
	if err := l.meet(ctx); err != nil {
		return err
	}
	loss, err := l.readLoss(ctx, l.Epochs)
	if err != nil {
		return err
	}
	r.Train = Metrics{{l.Model.Loss.Name(), loss}}
	if l.Valid != nil {
		r.Valid, err = l.readScores(ctx)
	}
	return err
}

// pushScores scores this task's run of consecutive held-out examples.
func (l *loop) pushScores(ctx context.Context) error {
	n := l.Valid.Len()
	lo, hi := n*l.Task/l.Tasks, n*(l.Task+1)/l.Tasks
	if lo == hi {
		return nil
	}
	score, sum, err := Scores(ctx, l.s, l.run, l.Valid.Slice(lo, hi), nil)
	if err != nil {
		return err
	}
	if err := l.pushLoss(l.Epochs+1, sum, float64(hi-lo)); err != nil {
		return err
	}
	at := matrix.At(0, 1, int64(lo), int64(hi))
	return l.s.Push(validBoard, matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: score}})
}

func (l *loop) readScores(ctx context.Context) (Metrics, error) {
	loss, err := l.readLoss(ctx, l.Epochs+1)
	if err != nil {
		return nil, err
	}
	got, err := l.s.Pull(ctx, []matrix.Want{{Matrix: validBoard}})
	if err != nil {
		return nil, err
	}
	score := got[0].Data.Values().([]float64)
	return Measure(l.Model.Loss.Name(), loss*float64(len(score)), l.Classify, score, l.Valid.Label)
}
