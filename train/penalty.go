package train

import (
	"context"
	"fmt"
	"math"

	"thole.example/matrix"
)

// penalized reports whether the pace judges the loss with the penalty of the weights.
func (l *loop) penalized() bool { return l.Pace != nil && l.Pace.Penalized }

// penalty is what the settings l1 and l2 of the rules add to the mean loss, by the dense weights that there are now.
func (l *loop) penalty(ctx context.Context) (sum float64, err error) {
	for _, m := range l.Model.Params() {
		l1, l2 := m.Hyper["l1"], m.Hyper["l2"]
		if l1 == 0 && l2 == 0 || m.Layout != matrix.RowDense {
			continue
		}
		got, err := l.s.Pull(ctx, []matrix.Lookup{{Matrix: m.Name}})
		if err != nil {
			return 0, err
		}
		val, ok := got[0].Data.Values().([]float32)
		if !ok {
			return 0, fmt.Errorf("train: weights %s are %T, want f32", m.Name, got[0].Data.Values())
		}
		for _, w := range val {
			sum += float64(l1*math.Abs(float64(w))) + float64(l2/2*float64(w)*float64(w))
		}
	}
	return sum, nil
}

// pushPenalty has the first task write the penalty of the weights before the last step of an epoch, for all tasks to read the same.
func (l *loop) pushPenalty(ctx context.Context, epoch int) error {
	if l.Task != 0 || !l.penalized() {
		return nil
	}
	penalty, err := l.penalty(ctx)
	if err != nil {
		return err
	}
	return l.pushLoss(lossBoard, penaltyColumn+epoch-1, penalty, 1)
}

// readPenalty is that of an epoch, counted from 1; 0 if the pace does not judge it, or the training that made the epoch did not.
func (l *loop) readPenalty(ctx context.Context, epoch int) (float64, error) {
	if !l.penalized() {
		return 0, nil
	}
	return l.readLoss(ctx, lossBoard, penaltyColumn+epoch-1)
}
