package program

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// saved reads a model that Paddle saved.
func saved(t *testing.T, file string) (*Program, []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(data)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p, data
}

// TestRegions reads blocks within operators as both forms have them: which operators run them, and what they get.
func TestRegions(t *testing.T) {
	for file, want := range map[string][]string{
		"loops.json":       {"0 pd_op.while [1] [%-1 %-2 %-3]", "1 pd_op.while [2] [%-4 %-5]", "0 pd_op.while [3] [%-6]"},
		"loops.pdmodel":    {"0 while [1] []", "0 while [3] []", "1 while [2] []"},
		"branches.json":    {"0 pd_op.while [1] [%-1]", "0 pd_op.if [4 5] []", "1 pd_op.if [2 3] []"},
		"branches.pdmodel": {"0 while [1] []", "0 conditional_block [4] []", "0 conditional_block [5] []", "1 conditional_block [2] []", "1 conditional_block [3] []"},
		"norm.json":        nil,
		"tower.pdmodel":    nil,
	} {
		p, data := saved(t, file)
		var got []string
		for i, b := range p.Blocks {
			for k := range b.Ops {
				within := b.Ops[k].Blocks()
				if within == nil {
					continue
				}
				args := p.Blocks[within[0]].Args
				got = append(got, fmt.Sprint(i, " ", b.Ops[k].Type, " ", within, " ", args))
				if p.Blocks[within[0]].Parent != i {
					t.Errorf("%s: block %d has parent %d, want %d", file, within[0], p.Blocks[within[0]].Parent, i)
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		if again, err := p.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: not the same bytes again: %v", file, err)
		}
	}
}

// TestUnknownDims reads dimensions that an operator made by multiplying unknown ones.
func TestUnknownDims(t *testing.T) {
	for _, file := range []string{"norm.json", "norm.pdmodel"} {
		p, _ := saved(t, file)
		below := 0
		for _, v := range p.Blocks[0].Vars {
			if slices.Equal(v.Dims, []int64{-3}) {
				below++
				if n, ok := v.Elems(); ok {
					t.Errorf("%s: %s has %d elements, want an unknown number", file, v.Name, n)
				}
			}
		}
		if below != 2 {
			t.Errorf("%s: %d variables of shape [-3], want 2", file, below)
		}
	}
}
