//go:build !amd64

package kernel

func fastSparse() []sparseTable { return nil }

func largestOn(_ level, at []uint32) uint32 { return largest(at) }
