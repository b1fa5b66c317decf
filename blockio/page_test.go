package blockio_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

// TestPage holds the examples of the page to the code.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/format/block.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []matrix.Block{
		{At: matrix.At(3, 4, 4, 6), Data: &matrix.Dense[uint8]{Val: []uint8{7, 255}}},
		{At: matrix.At(0, 1, math.MinInt64, math.MaxInt64), Data: &matrix.Cols[float32]{Idx: []int64{5, 9}, Val: []float32{1, 2}}},
	}
	examples := strings.Split(string(page), "```hex\n")[1:]
	if len(examples) != len(want) {
		t.Fatalf("%d examples, want %d", len(examples), len(want))
	}
	for i, text := range examples {
		text, _, _ = strings.Cut(text, "```")
		bytes := ""
		for line := range strings.Lines(text) {
			left, _, _ := strings.Cut(line, "   ")
			bytes += left
		}
		b, err := blockio.Read(wire.NewCursor(unhex(t, bytes), 0, wire.Little))
		if err != nil {
			t.Fatal(err)
		}
		sameBlock(t, b, want[i])
		enc, err := blockio.Append(nil, want[i])
		if err != nil || string(enc) != string(unhex(t, bytes)) {
			t.Errorf("written as %x, %v, the page says %s", enc, err, bytes)
		}
	}
}
