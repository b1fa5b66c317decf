//go:build !amd64

package kernel

func pairDotsOn(level, []float32, []float32, int, int) bool { return false }

func pairDotsGradOn(level, []float32, []float32, []float32, int, int) bool { return false }
