package format_test

import (
	"testing"

	"thole.example/format"
	"thole.example/matrix"
)

// TestCheckSlots wants rows behind those that are used only where Angel may have put them.
func TestCheckSlots(t *testing.T) {
	first := func(n int64) []matrix.Range { return []matrix.Range{{Hi: n}} }
	used := func(name string, rows, of int64, saved []matrix.Range) format.Used {
		return format.Used{Meta: matrix.Meta{Name: name, Rows: of, Cols: 5, Saved: saved}, Rows: rows}
	}
	for name, c := range map[string]struct {
		all []format.Used
		ok  bool
	}{
		"none":                      {[]format.Used{used("e_embedding", 8, 8, nil), used("input_weight", 1, 1, nil)}, true},
		"not saved":                 {[]format.Used{used("e_embedding", 8, 24, first(8)), used("input_weight", 1, 4, first(1))}, true},
		"all but the last":          {[]format.Used{used("e_embedding", 8, 24, first(16)), used("input_weight", 1, 4, first(3))}, true},
		"all saved":                 {[]format.Used{used("e_embedding", 8, 24, nil), used("input_weight", 1, 3, nil)}, true},
		"one, all saved":            {[]format.Used{used("input_weight", 1, 3, nil)}, true},
		"one row of a dense input":  {[]format.Used{used("input_weight", 1, 4, first(2)), used("fc_weight", 1, 1, nil)}, true},
		"half the factors":          {[]format.Used{used("e_embedding", 4, 8, nil), used("input_weight", 1, 1, nil)}, false},
		"half the factors, alone":   {[]format.Used{used("e_embedding", 4, 8, nil)}, false},
		"half the factors of slots": {[]format.Used{used("e_embedding", 4, 24, first(8)), used("input_weight", 1, 3, first(1))}, false},
		"part of a group":           {[]format.Used{used("e_embedding", 3, 8, first(3))}, false},
		"too few":                   {[]format.Used{used("e_embedding", 9, 8, nil)}, false},
	} {
		if err := format.CheckSlots(c.all); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
