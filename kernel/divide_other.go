//go:build !amd64

package kernel

func divideRowsOn(level, []uint32, []uint32, *Codes, int, bool, []uint8) (int, bool) { return 0, false }
