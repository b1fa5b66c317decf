package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
)

// chunkRows is how many examples are scored with one pull.
const chunkRows = 4096

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

// lossSum is the sum of the losses of scores by their labels, each times its weight, and the sum of the weights. It is summed in the
// order of the examples, chunkRows at a time: whoever has the same scores has the same sum, to the last bit, whichever way they came.
type lossSum struct {
	loss         graph.Loss
	sum, weights float64
	out, grad    graph.Tensor // the loss needs a place for the gradient
}

// add adds those of at most chunkRows examples, as many but for the last ones; no weights: all are 1.
func (s *lossSum) add(score []float64, label, weight []float32) {
	width := len(score) / max(1, len(label))
	if len(weight) == 0 {
		s.weights += float64(len(label))
		weight = nil
	}
	for _, w := range weight {
		s.weights += float64(w)
	}
	if wide, ok := s.loss.(graph.Wide); ok {
		for i, y := range label {
			l := wide.LossWide(score[i*width:(i+1)*width], y)
			if weight != nil {
				l = float64(float64(weight[i]) * l)
			}
			s.sum += l
		}
		return
	}
	s.out.Resize(len(label), width)
	s.grad.Resize(len(label), width)
	for i, x := range score {
		s.out.Val[i] = float32(x)
	}
	s.sum += graph.Weighted(s.loss, &s.out, label, weight, &s.grad)
}

// totalLoss is the lossSum of all scores at once.
func totalLoss(loss graph.Loss, score []float64, label, weight []float32) (sum, weights float64) {
	s := lossSum{loss: loss}
	width := len(score) / max(1, len(label))
	for lo := 0; lo < len(label); lo += chunkRows {
		hi := min(lo+chunkRows, len(label))
		s.add(score[lo*width:hi*width], label[lo:hi], part(weight, lo, hi))
	}
	return s.sum, s.weights
}

// evaluate fills in the metrics of the final parameters. Every task scores its share; sums and scores meet on the boards. If a task is
// lost meanwhile the others share its examples.
func (l *loop) evaluate(ctx context.Context, r *Report) (err error) {
	epoch := l.before + r.Epochs
	moved := r.Calibration.Moved != nil
	last := l.Valid != nil && (r.Valid == nil || moved)
	if last && !moved && l.watches() { // they were before the training was interrupted
		last = false
		if r.Best > 0 && r.Best < r.Epochs { // whose scores came back with its parameters
			r.Valid, err = l.readScores(ctx)
		} else {
			r.Valid, err = l.watch(ctx, epoch)
		}
		if err != nil {
			return err
		}
		r.Others = l.others
	}
	column := 0
	for changed := true; changed; column++ {
		if err := l.showLoss(ctx, column, epoch); err != nil {
			return err
		}
		if last {
			if err := l.showScores(ctx); err != nil {
				return err
			}
		}
		if changed, err = l.assemble(ctx, epoch); err != nil {
			return err
		}
	}
	loss, err := l.readLoss(ctx, finalBoard, column-1)
	if err != nil {
		return err
	}
	r.Train = Metrics{{l.Model.Loss.Name(), loss}}
	if last {
		r.Valid, err = l.readScores(ctx)
		r.Others = l.others
	}
	return err
}

// showLoss adds the losses of this task's examples with the final parameters to a column of the board.
func (l *loop) showLoss(ctx context.Context, column, epoch int) error {
	share, err := l.shareLoss(ctx)
	if err != nil {
		return err
	}
	sum, weights := share.sum, share.weights
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("after epoch %d of %d, step %d of %d: loss %v: %w", epoch, l.Epochs, l.steps, l.steps, sum, graph.ErrDiverged)
	}
	return l.pushLoss(finalBoard, column, sum, weights)
}

// showScores scores this task's held-out examples, and puts the scores on the board.
func (l *loop) showScores(ctx context.Context) error {
	if l.rank < 0 {
		return nil
	}
	lo, hi := heldOf(len(l.held().Label), l.rank, len(l.present))
	if lo == hi {
		return nil
	}
	width := l.Model.Width
	score, at := make([]float64, 0, (hi-lo)*width), l.heldAt(lo)
	err := walk(l.Valid, at, at+hi-lo, 1, func(s *data.Set, rows []int) error {
		more, err := Scores(ctx, l.s, l.run, s, rows)
		score = append(score, more...)
		return err
	})
	if err != nil {
		return err
	}
	for i, s := range score { // the servers may be told to leave such values out, and others would be in their place
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return fmt.Errorf("train: held-out example %d has score %v, want a finite number", lo+i/width, s)
		}
	}
	cells := matrix.At(0, 1, int64(lo*width), int64(hi*width))
	return l.s.Assign(validBoard, matrix.Block{At: cells, Data: &matrix.Dense[float64]{Val: score}})
}

// readScores measures the scores on the board: those of the first set, and beside them those of the others.
func (l *loop) readScores(ctx context.Context) (Metrics, error) {
	got, err := l.s.Pull(ctx, []matrix.Lookup{{Matrix: validBoard}})
	if err != nil {
		return nil, err
	}
	names := l.Metrics
	if l.Early != nil && l.Early.Metric != "" {
		names = append(slices.Clip(names), l.Early.Metric)
	}
	score, sets := got[0].Data.Values().([]float64), l.Sets
	held := l.held()
	if sets == nil {
		sets = []HeldOut{{Rows: len(held.Label)}}
	}
	l.others = nil
	var first Metrics
	for i, lo := 0, 0; i < len(sets); i++ {
		hi := lo + sets[i].Rows
		m, err := Measure(&Scored{Loss: l.Model.Loss, Score: score[lo*l.Model.Width : hi*l.Model.Width], Label: held.Label[lo:hi],
			Weight: part(held.Weight, lo, hi), Group: part(held.Group, lo, hi)}, names...)
		if err != nil {
			return nil, err
		}
		if lo = hi; i == 0 {
			first = m
		} else {
			l.others = append(l.others, Other{sets[i].Name, m})
		}
	}
	return first, nil
}

// part is some of what each example has, nil if none has it.
func part[T any](all []T, lo, hi int) []T {
	if len(all) == 0 {
		return nil
	}
	return all[lo:hi]
}
