// Package count is counted by the tests of the tool.
package count

import "errors"

// Limit is the greatest count.
const Limit = 3

var errMany = errors.New("too many")

// Odd counts the odd ones of xs; more than Limit are an error.
func Odd(xs []int) (n int, err error) {
	for _, x := range xs {
		if x%2 == 0 {
			continue
		}
		n++
	}
	if n > Limit {
		return 0, errMany
	}
	return n, nil
}

// Until counts up to n.
func Until(n int) int {
	i := 0
	for i < n {
		i++
	}
	return i
}

// Both is tested by those who use it.
func Both(a, b bool) bool { return a && !b }

func unused() bool { return true }
