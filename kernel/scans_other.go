//go:build !amd64

package kernel

func extremesOn[T Number](level, *extremes[T], []T, bool) int { return 0 }

func zerosOn[T Number](level, []T) (zeros, n int) { return 0, 0 }

func notAboveOn[T Number](_ level, v []T, _ T, _ bool) (n, block int) { return 0, len(v) }

func differentOn[T Number](level, []T, []T, T) (differ, n int) { return 0, 0 }

func addIntsOn[T int64 | int32](level, *Exact, []T) int { return 0 }
