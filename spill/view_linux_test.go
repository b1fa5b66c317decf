package spill

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"thole.example/matrix"
)

// fromFiles is how many bytes of mapped files are in this process's memory.
func fromFiles(t *testing.T) (total int64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		n := int64(0)
		for _, name := range []string{"RssFile:", "RssShmem:"} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				if _, err := fmt.Sscan(rest, &n); err != nil {
					t.Fatal(err)
				}
				total += n << 10
			}
		}
	}
	return total
}

// TestViewsTakeNoMemory: blocks that were looked at where the file is mapped do not stay in the process's memory.
func TestViewsTakeNoMemory(t *testing.T) {
	const blocks, size = 64, 1 << 20
	s, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range int64(blocks) {
		at := matrix.At(i, i+1, 0, size)
		if err := s.Put(Key{"b", at}, matrix.Block{At: at, Data: &matrix.Dense[uint8]{Val: make([]uint8, size)}}); err != nil {
			t.Fatal(err)
		}
	}
	before, during := fromFiles(t), int64(0)
	for i := range int64(blocks) {
		err := s.View(Key{"b", matrix.At(i, i+1, 0, size)}, func(matrix.Block) error {
			during = max(during, fromFiles(t))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if during < before+size/2 {
		t.Skipf("views of %d bytes took %d: the files are not mapped", size, during-before)
	}
	if after := fromFiles(t); after > before+blocks*size/4 {
		t.Errorf("%d bytes of mapped files are in memory after views of %d, want them to leave", after-before, blocks*size)
	}
}
