package gbdt

import (
	"math"

	"thole.example/tree"
)

// Where events are rare, a leaf of one second derivative expects one event, and of the many such leaves that could be split off those win
// that have several by chance: trees memorize the events of training, and predict too few for other rows. A leaf of rareMost expects as
// many as chance does not make twice that. Of few rows that is too much for any split, and rows that are predicted well have small second
// derivatives, so MinWeight is raised by at most the share rareShare of those of the whole tree.
const (
	rareMost  = 30
	rareShare = 0.25
)

// Shares of events up to which they are rare, and from which they are not.
const rareUpTo, rareBelow = 0.2, 0.4

// RareWeights are, of each class, the most that Rare raises MinWeight to by the labels of the rows to learn from; 0: it does not.
func (c *Config) RareWeights(y *Labels) []float64 {
	all := make([]float64, c.classes())
	for k := range all {
		share := 0.0
		switch {
		case len(all) > 1: // half, if there are as many of all classes
			share = mean(y, isClass(k))
			share = min(share, 1-share) * float64(len(all)) / 2
		case c.Objective.Link == tree.Logistic:
			share = mean(y, positive)
			share = min(share, 1-share)
		case c.Objective.Link == tree.Exp: // a second derivative is as many events as are expected, however many a row has
			all[k] = rareMost
		}
		if share > 0 {
			all[k] = math.Pow(rareMost, min(max(math.Log(rareBelow/share)/math.Log(rareBelow/rareUpTo), 0), 1))
		}
	}
	return all
}

// isClass counts the rows of a class.
func isClass(k int) func(label float64) float64 {
	return func(label float64) float64 {
		if int(label) == k {
			return 1
		}
		return 0
	}
}

// rareOf is the most that MinWeight is raised to in trees of the class.
func (s *Setup) rareOf(k int) float64 {
	if s.Rare == nil {
		return 0
	}
	return s.Rare[k]
}

// childWeight is what both sides of a split have at least in a tree of so many second derivatives.
func (c *Config) childWeight(rare, second float64) float64 {
	return max(c.MinWeight, min(rare, c.MinWeight+second*rareShare))
}
