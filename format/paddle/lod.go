package paddle

import (
	"fmt"

	"thole.example/format"
)

// maxLevels is the largest number of LoD levels that we read or write.
const maxLevels = 16

// checkLevel checks one LoD level against what its offsets index: n sequences of the next level, or rows.
func checkLevel(level []int64, n int64) error {
	if len(level) == 0 || level[0] != 0 {
		return fmt.Errorf("offsets %v, want them to begin with 0", level[:min(len(level), 4)])
	}
	for i := 1; i < len(level); i++ {
		if level[i] < level[i-1] {
			return fmt.Errorf("offset %d after %d, want none smaller than the one before", level[i], level[i-1])
		}
	}
	if last := level[len(level)-1]; last != n {
		return fmt.Errorf("last offset %d, want %d, the number of elements below", last, n)
	}
	return nil
}

// checkLoD checks that every level ends where the next one does, and the last one at the first dimension.
func checkLoD(lod [][]int64, dims []int64) error {
	if len(lod) == 0 {
		return nil
	}
	if len(lod) > maxLevels {
		return fmt.Errorf("%d LoD levels, want at most %d: %w", len(lod), maxLevels, format.ErrLimit)
	}
	if len(dims) == 0 {
		return fmt.Errorf("LoD of a tensor of rank 0, want at least one dimension")
	}
	for i, level := range lod {
		n := dims[0]
		if i+1 < len(lod) {
			n = int64(len(lod[i+1])) - 1
		}
		if err := checkLevel(level, n); err != nil {
			return fmt.Errorf("LoD level %d: %w", i, err)
		}
	}
	return nil
}
