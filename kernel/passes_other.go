//go:build !amd64

package kernel

func combineOn[T Number](level, Op, []T, []T, []T) int { return 0 }

func applyOn[T Number](level, change, []T, []T) int { return 0 }

func affineOn[T Number](level, []T, []T, T, T) int { return 0 }

func fillOn[T Number](level, []T, T) (lo, hi int) { return 0, 0 }

const pastCache = 4 << 20
