//go:build !amd64

package kernel

func activateOn(level, activation, []float32, []float32, []float32) int { return 0 }
