//go:build !amd64

package kernel

func bestLevel() level { return plain }

func locateOn(_ level, s *Spread, _ []Line, keys []int64, at []uint32) { locate(s, keys, at) }

func findOn(_ level, lines []Line, keys []int64, at, rows []uint32, s *Stamp) int {
	return find(lines, keys, at, rows, s)
}

func findNextOn(_ level, _, _ int64, _ []int64, _ []uint32) int { return 0 }

func fetchOn(level, []byte, int, int, []uint32) {}

func gatherOn(_ level, dst, slab []byte, stride, size int, rows []uint32) {
	gather(dst, slab, stride, size, rows)
}

func fastTables() []table[float32] { return nil }
