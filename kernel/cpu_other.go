//go:build !amd64

package kernel

func bestLevel() level { return plain }

func locateOn(_ level, s *Spread, keys []int64, at []uint32) { locate(s, keys, at) }

func hashOn(level, []uint64, []int64) int { return 0 }

func withinOn(level, []int64, int64, uint64, int, uint64) int { return 0 }

type finding struct{}

func newFinding(*Stamp, []byte, int, int) finding { return finding{} }

func (f *Finder) find(_ level, lines []Line, keys []int64, at, rows, _ []uint32) int {
	return find(lines, keys, at, rows, f.stamp)
}

func findNextOn(_ level, _, _ int64, _ []int64, _ []uint32) int { return 0 }

func fetchOn(level, []byte, int, int, []uint32) {}

func gatherOn(_ level, dst, slab []byte, stride, size int, rows []uint32) {
	gather(dst, slab, stride, size, rows)
}

func fastTables() []table[float32] { return nil }
