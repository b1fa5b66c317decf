//go:build !amd64

package kernel

// eight is how many numbers are worth going through together.
const eight = 8

func narrowOn[H Half, T Float](level, []H, []T) int { return 0 }

func widenOn[H Half, T Float](level, []T, []H) int { return 0 }

func widenInputsOn[H Half, T Float](level, []T, []H, int, []Input, uint32) int { return 0 }

func roundHalvesOn[H Half, T Float](level, []T, []T, int, []uint32) bool { return false }

func roundRunsOn[T Float](level, []T, []T, int, []uint32) bool { return false }

func narrowRunsOn[T Float](level, []byte, []T, int) bool { return false }

func widenRunsOn[T Float](level, []T, []byte, int) int { return 0 }
