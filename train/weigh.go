package train

import (
	"fmt"
	"math"

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
func checkWeights(s *data.Set) error {
	if len(s.Weight) > 0 && len(s.Weight) != s.Len() {
		return fmt.Errorf("train: %d weights of %d examples, want one for each", len(s.Weight), s.Len())
	}
	for i, w := range s.Weight {
		if !(w >= 0) || math.IsInf(float64(w), 1) {
			return fmt.Errorf("train: example %d has weight %v, want a finite number from 0 on", i+1, w)
		}
	}
	if s.Len() > 0 && s.TotalWeight() == 0 {
		return fmt.Errorf("train: the weights of all %d examples are 0, want some above", s.Len())
	}
	return nil
}

// nullLoss is the mean loss of the training examples by the scores that the model begins with where they have no features.
func (o *Options) nullLoss() float64 {
	score := make([]float64, o.Data.Len()*o.Model.Width)
	for i := range score {
		score[i] = o.Model.Start + o.Offset
	}
	return mean(totalLoss(o.Model.Loss, score, o.Data.Label, o.Data.Weight))
}

// shareLoss is the sum of the losses of this task's training examples by their scores, and of their weights.
func (l *loop) shareLoss(score []float64) (sum, weights float64) {
	label, weight := make([]float32, len(l.mine)), []float32(nil)
	for i, row := range l.mine {
		label[i] = l.Data.Label[row]
	}
	if len(l.Data.Weight) > 0 {
		for _, row := range l.mine {
			weight = append(weight, l.Data.Weight[row])
		}
	}
	if l.Offset != 0 {
		for i := range score {
			score[i] += l.Offset
		}
	}
	return totalLoss(l.Model.Loss, score, label, weight)
}
