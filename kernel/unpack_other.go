//go:build !amd64

package kernel

func unpackOn(level, []int64, []float32, []int32, []uint32, []uint32) (done, used int) { return 0, 0 }
