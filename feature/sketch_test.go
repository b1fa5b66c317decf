package feature

import (
	"math"
	"strconv"
	"testing"
)

// Estimates are right to some per cent, whatever the order and however often texts come.
func TestSketch(t *testing.T) {
	for _, n := range []int{300_000, 2_000_000} {
		var once, twice sketch
		for i := range n {
			once.add(strconv.AppendInt(nil, int64(i), 10))
		}
		for i := range 2 * n {
			twice.add(strconv.AppendInt(nil, int64(n-1-i%n), 10))
		}
		if got := once.estimate(); math.Abs(float64(got)/float64(n)-1) > 0.03 {
			t.Errorf("%d of %d", got, n)
		}
		if once != twice {
			t.Errorf("%d texts: another estimate in another order", n)
		}
	}
}
