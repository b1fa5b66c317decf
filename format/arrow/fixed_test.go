package arrow

import (
	"fmt"
	"strings"
	"testing"

	"thole.example/matrix"
)

// TestFixedTexts reads texts of fixed size: alone with a null, in lists, and in a dictionary.
func TestFixedTexts(t *testing.T) {
	table := openSample(t, "fixed")
	var got strings.Builder
	for b, err := range table.Batches(t.Context(), []int{0, 1, 2}, matrix.Range{Lo: 0, Hi: 4}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Cells {
			c := &b.Cells[i]
			n := b.Rows
			if len(c.End) > 0 {
				n = int(c.End[len(c.End)-1])
			}
			for k := range n {
				fmt.Fprintf(&got, "%q ", c.TextAt(k))
			}
		}
	}
	want := `"abcd" "" "wx\x00z" "    " "ab" "cd" "" "abcd" "" "wx\x00z" "    " `
	if got.String() != want {
		t.Errorf("cells %s, want %s", got.String(), want)
	}
}
