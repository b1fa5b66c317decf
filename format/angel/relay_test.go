package angel

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// TestRelay checks that pieces are put in order, that the first error in that order counts, and that take and put are
// alone.
func TestRelay(t *testing.T) {
	bad := errors.New("bad")
	for _, workers := range []int{1, 2, 5} {
		for fail := range 12 { // 10 and more: nothing fails
			var alone atomic.Int32
			next, got := 0, []int{}
			err := relay(workers, func(j *int) (bool, error) {
				if alone.Add(1) != 1 {
					t.Error("two at once")
				}
				defer alone.Add(-1)
				*j = next
				next++
				return *j < 10, nil
			}, func(j *int) error {
				if *j >= fail && *j%2 == fail%2 {
					return bad
				}
				return nil
			}, func(j *int) error {
				got = append(got, *j)
				if *j >= fail {
					return bad
				}
				return nil
			})
			want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}[:min(fail, 10)]
			if fail < 10 != (err == bad) || !slices.Equal(got, want) {
				t.Errorf("%d workers, fail at %d: put %v, %v", workers, fail, got, err)
			}
		}
	}
}
