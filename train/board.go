package train

import (
	"context"
	"strings"

	"thole.example/matrix"
)

// Tasks tell each other numbers through matrices like any other, which the servers add up: exact sums of what each task
// wrote to its own place, or sums in the order of tasks. Nothing else passes between tasks.
const (
	// lossBoard has sum of losses and sum of weights of the examples of each epoch, the first one in column 0. It goes on with a training that
	// is continued, and tells it how far it has come. From column penaltyColumn on it has the penalties of the weights that the pace judges.
	lossBoard  = "train.loss"
	finalBoard = "train.final"  // the same of the training examples with the final parameters
	validBoard = "valid.scores" // scores of every held-out example
)

// Board reports whether the name is that of a matrix that tasks of a training talk through, and not one of its model.
func Board(name string) bool {
	return strings.HasPrefix(name, "train.") || strings.HasPrefix(name, "valid.")
}

// epochLimit is how many columns lossBoard has: half of them for the epochs that a training may have, with those before it.
const epochLimit = 1 << 40

const penaltyColumn = epochLimit / 2

// losses is the matrix lossBoard, which is the same however many epochs there are.
func losses() matrix.Meta {
	m := board(lossBoard, 2, epochLimit)
	m.Layout = matrix.RowSparse
	return m
}

// boards are the matrices besides that tasks talk through.
func (l *loop) boards() []matrix.Meta {
	tries := 1 // each without one more task
	if l.Optional {
		tries = l.Tasks
	}
	ms := []matrix.Meta{board(finalBoard, 2, int64(tries))}
	if l.Measured {
		ms = append(ms, board(calibrationBoard, int64(2*l.Model.Width+2), int64(l.rounds())))
	}
	if l.Balance {
		ms = append(ms, board(startBoard, int64(2*l.Model.Width+2), int64(l.rounds())))
	}
	if l.Valid != nil {
		ms = append(ms, board(validBoard, 1, int64(len(l.held().Label)*l.Model.Width)))
	}
	return ms
}

func board(name string, rows, cols int64) matrix.Meta {
	return matrix.Meta{Name: name, Rows: rows, Cols: cols, DType: matrix.F64}
}

func (l *loop) pushLoss(board string, column int, sum, weights float64) error {
	at := matrix.At(0, 2, int64(column), int64(column)+1)
	return l.s.Push(board, matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: []float64{sum, weights}}})
}

// past is the mean losses of the epochs that were made before this training went on with them.
func (l *loop) past(ctx context.Context) (means []float64, err error) {
	const some = 256
	for {
		look := matrix.Lookup{Matrix: lossBoard}
		for i := range some {
			look.Cols = append(look.Cols, int64(len(means)+i))
		}
		got, err := l.s.Pull(ctx, []matrix.Lookup{look})
		if err != nil {
			return nil, err
		}
		val := got[0].Data.Values().([]float64)
		for ; len(val) > 0; val = val[2:] { // a column after the other
			if val[1] == 0 {
				return means, nil
			}
			means = append(means, val[0]/val[1])
		}
	}
}

// readLosses replaces the mean losses of the epochs of this training by those over all tasks: some were read before all tasks had pushed.
// It follows a barrier.
func (l *loop) readLosses(ctx context.Context, losses []float64) error {
	if l.Tasks == 1 || len(losses) == 0 {
		return nil
	}
	all, err := l.past(ctx)
	if err == nil && len(all) >= l.before+len(losses) { // else an epoch of examples without weight ends the list
		copy(losses, all[l.before:])
	}
	return err
}

// lookupLoss is the column of the epoch: however many epochs there may be, no more than that travels.
func lookupLoss(epoch int) []matrix.Lookup {
	return []matrix.Lookup{{Matrix: lossBoard, Cols: []int64{int64(epoch)}}}
}

// readLoss is the mean loss in a column of a board over all tasks. Every task reads the same.
func (l *loop) readLoss(ctx context.Context, board string, column int) (float64, error) {
	got, err := l.s.Pull(ctx, []matrix.Lookup{{Matrix: board, Cols: []int64{int64(column)}}})
	if err != nil {
		return 0, err
	}
	return meanLoss(got[0]), nil
}

// meanLoss is that of the column.
func meanLoss(column matrix.Block) float64 {
	val := column.Data.Values().([]float64)
	return mean(val[0], val[1])
}
