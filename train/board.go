package train

import (
	"context"

	"thole.example/matrix"
)

// Tasks tell each other numbers through matrices like any other, which the servers add up: exact sums of what each task
// wrote to its own place, or sums in the order of tasks. Nothing else passes between tasks.
const (
	// lossBoard has sum of losses and number of examples: in column e of epoch e+1, in the column after them of the
	// training examples with the final parameters.
	lossBoard  = "train.loss"
	validBoard = "valid.scores" // scores of every held-out example
)

// boards are the matrices that tasks talk through.
func (l *loop) boards() []matrix.Meta {
	ms := []matrix.Meta{
		board(lossBoard, 2, int64(l.Epochs)+1),
	}
	if l.Valid != nil {
		ms = append(ms, board(validBoard, 1, int64(l.Valid.Len()*l.Model.Width)))
	}
	return ms
}

func board(name string, rows, cols int64) matrix.Meta {
	return matrix.Meta{Name: name, Rows: rows, Cols: cols, DType: matrix.F64}
}

func (l *loop) pushLoss(epoch int, sum, rows float64) error {
	at := matrix.At(0, 2, int64(epoch), int64(epoch)+1)
	return l.s.Push(lossBoard, matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: []float64{sum, rows}}})
}

// lookupLoss is the column of the epoch: however many epochs there may be, no more than that travels.
func lookupLoss(epoch int) []matrix.Lookup {
	return []matrix.Lookup{{Matrix: lossBoard, Cols: []int64{int64(epoch)}}}
}

// readLoss is the mean loss of the epoch over all tasks. Every task reads the same.
func (l *loop) readLoss(ctx context.Context, epoch int) (float64, error) {
	got, err := l.s.Pull(ctx, lookupLoss(epoch))
	if err != nil {
		return 0, err
	}
	return meanLoss(got[0]), nil
}

// meanLoss is that of the column.
func meanLoss(column matrix.Block) float64 {
	val := column.Data.Values().([]float64)
	return val[0] / max(1, val[1])
}
