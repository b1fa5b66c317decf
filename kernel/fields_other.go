//go:build !amd64

package kernel

func fieldPairsOn(level, *fieldCall, int) (sums [8]float32, ok bool) { return sums, false }

func fieldPairsGradOn(level, *fieldCall, int) bool { return false }
