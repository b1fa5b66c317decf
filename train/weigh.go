package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thole.example/data"
)

// mean is that of numbers with the given sum of weights; of nothing it is 0.
func mean(sum, weights float64) float64 {
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// checkWeights refuses weights that no mean can be taken by.
func checkWeights(s Marks) error {
	if len(s.Weight) > 0 && len(s.Weight) != len(s.Label) {
		return fmt.Errorf("train: %d weights of %d examples, want one for each", len(s.Weight), len(s.Label))
	}
	for i, w := range s.Weight {
		if !(w >= 0) || math.IsInf(float64(w), 1) {
			return fmt.Errorf("train: example %d has weight %v, want a finite number from 0 on", i+1, w)
		}
	}
	if len(s.Weight) > 0 && slices.Max(s.Weight) == 0 {
		return fmt.Errorf("train: the weights of all %d examples are 0, want some above", len(s.Label))
	}
	return nil
}

// nullLoss is the mean loss of the training examples by the scores that the model begins with where they have no features.
func (o *Options) nullLoss() float64 {
	if o.Own != nil {
		return o.Own.Null
	}
	all, sum := marks(o.Data), lossSum{loss: o.Model.Loss}
	start := make([]float64, o.Model.Width)
	copy(start, o.Model.Start)
	for k := range start {
		start[k] += o.Offset
	}
	score := slices.Repeat(start, min(chunkRows, len(all.Label)))
	for lo := 0; lo < len(all.Label); lo += chunkRows {
		hi := min(lo+chunkRows, len(all.Label))
		sum.add(score[:(hi-lo)*o.Model.Width], all.Label[lo:hi], part(all.Weight, lo, hi))
	}
	return mean(sum.sum, sum.weights)
}

// finalScores is the largest number of scores that a task keeps from the calibration to the final loss. With more scores the calibration
// reads a sample, which costs little next to an epoch.
const finalScores = 1 << 20

// keepScores scores this task's examples with the current parameters, unless that gives too many scores.
func (l *loop) keepScores(ctx context.Context) error {
	width := l.Model.Width
	if l.final = nil; l.order.count > finalScores/width || l.Data.Spilled() {
		return nil
	}
	all := make([]float64, l.order.count*width)
	err := l.order.walk(func(s *data.Set, rows []int) error {
		score, err := Scores(ctx, l.s, l.run, s, rows)
		for i, row := range rows[:len(score)/width] {
			copy(all[l.order.number(row)*width:][:width], score[i*width:])
		}
		return err
	})
	if err == nil {
		l.final = all
	}
	return err
}

// scores are those of some of this task's examples: the kept ones, or else by the current parameters.
func (l *loop) scores(ctx context.Context, s *data.Set, rows []int) ([]float64, error) {
	if l.final == nil {
		return Scores(ctx, l.s, l.run, s, rows)
	}
	width := l.Model.Width
	score := make([]float64, 0, len(rows)*width)
	for _, row := range rows {
		score = append(score, l.final[l.order.number(row)*width:][:width]...)
	}
	return score, nil
}

// shareLoss is the sum of the losses of this task's training examples, and of their weights.
func (l *loop) shareLoss(ctx context.Context) (*lossSum, error) {
	sum, label, weight := &lossSum{loss: l.Model.Loss}, make([]float32, 0, chunkRows), []float32(nil)
	return sum, l.order.walk(func(s *data.Set, rows []int) error {
		score, err := l.scores(ctx, s, rows)
		if err != nil {
			return err
		}
		label, weight = label[:0], weight[:0]
		for _, row := range rows {
			label = append(label, s.Label[row])
			if len(s.Weight) > 0 {
				weight = append(weight, s.Weight[row])
			}
		}
		if l.Offset != 0 {
			for i := range score {
				score[i] += l.Offset
			}
		}
		sum.add(score, label, weight)
		return nil
	})
}
