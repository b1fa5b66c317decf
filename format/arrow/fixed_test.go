package arrow

import (
	"fmt"
	"strings"
	"testing"

	"thole.example/format"
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

// TestBool8 reads truth values in bytes, of which every number but 0 is true.
func TestBool8(t *testing.T) {
	table := openSample(t, "bool8")
	if c := table.Columns()[0]; c.Kind != format.Truth || c.Type != "bool8" {
		t.Errorf("column %+v, want truth values of bool8", c)
	}
	for b, err := range table.Batches(t.Context(), []int{0}, matrix.Range{Lo: 0, Hi: 6}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(b.Cells[0].Int, b.Cells[0].Null); got != "[0 1 1 0 1 1] [false false false true false false]" {
			t.Errorf("cells %s", got)
		}
	}
}

// TestBool8Lists reads truth values in lists as those alone.
func TestBool8Lists(t *testing.T) {
	table := openSample(t, "bool8_lists")
	if c := table.Columns()[0]; c.Kind != format.Truth || c.Type != "list of bool8" {
		t.Errorf("column %+v, want lists of bool8", c)
	}
	for b, err := range table.Batches(t.Context(), []int{0}, matrix.Range{Lo: 0, Hi: 4}) {
		if err != nil {
			t.Fatal(err)
		}
		c := &b.Cells[0]
		if got := fmt.Sprint(c.Int, c.Null, c.End, c.NoList); got != "[0 1 1 0] [false false false true] [2 4 4 4] [false false true false]" {
			t.Errorf("cells %s", got)
		}
	}
}
