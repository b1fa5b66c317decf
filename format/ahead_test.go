package format_test

import (
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"thole.example/format"
)

// squares are n jobs; the one at bad fails. running counts those that have begun and not ended.
func squares(n, bad int, running *atomic.Int64) iter.Seq[func() (int, error)] {
	return func(yield func(func() (int, error)) bool) {
		for i := range n {
			if !yield(func() (int, error) {
				running.Add(1)
				defer running.Add(-1)
				if i == bad {
					return 0, errors.New("bad")
				}
				return i * i, nil
			}) {
				return
			}
		}
	}
}

func TestAhead(t *testing.T) {
	for _, c := range []struct {
		n, bad, stop int
		want         string
	}{
		{0, -1, 99, "[] <nil>"},
		{1, -1, 99, "[0] <nil>"},
		{9, -1, 99, "[0 1 4 9 16 25 36 49 64] <nil>"},
		{9, 3, 99, "[0 1 4] bad"},
		{9, 0, 99, "[] bad"},
		{99, -1, 4, "[0 1 4 9] <nil>"},
	} {
		var running atomic.Int64
		got, failed := []int{}, error(nil)
		for v, err := range format.Ahead(squares(c.n, c.bad, &running)) {
			if failed = err; err != nil {
				continue // the walk must end by itself
			}
			if got = append(got, v); len(got) == c.stop {
				break
			}
		}
		if text := fmt.Sprint(got, failed); text != c.want {
			t.Errorf("%d jobs, %d fails: %s, want %s", c.n, c.bad, text, c.want)
		}
		if n := running.Load(); n != 0 {
			t.Errorf("%d jobs, %d fails: %d run on", c.n, c.bad, n)
		}
	}
}
