//go:build !amd64

package kernel

func widenRowsOn(level, *NarrowRows, []float32, []uint32, int, int) (done int) { return 0 }

func ditherRowsOn(level, *NarrowRows, []float32, []uint32, []uint32, uint32) (done int) { return 0 }
