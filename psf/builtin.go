package psf

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Gets is the table of built-in get functions, a new slice on every call; append to it to add functions of your own.
func Gets() []Get { return []Get{sumGet, maxGet, normGet} }

// Updates is the table of built-in update functions, a new slice on every call.
func Updates() []Update { return []Update{fillUpdate, scaleUpdate, thresholdUpdate} }

// selection is the argument "rows" of functions that work on some rows; no row stands for all of them.
type selection []int64

// pick sorts the rows for has, and refuses rows that the matrix does not have.
func (s selection) pick(v View) error {
	rows := v.Meta().Rows
	for _, r := range s {
		if r < 0 || r >= rows {
			return fmt.Errorf("row %d, want one in [0,%d)", r, rows)
		}
	}
	slices.Sort(s)
	return nil
}

// has reports whether the row is selected.
func (s selection) has(row int64) bool {
	_, found := slices.BinarySearch(s, row)
	return found || len(s) == 0
}

// parse reads the JSON argument of a function: each name's value into what the name stands for. An empty argument
// changes nothing. A name that the function does not have is an error: a mistyped "rows" would change all of them.
func parse(arg []byte, into map[string]any) error {
	if len(arg) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(arg, &fields); err != nil {
		return fmt.Errorf("argument %.60q: %w", arg, err)
	}
	for name, value := range fields {
		to, ok := into[name]
		if !ok {
			return fmt.Errorf("argument %.60q: %q, want one of %q", arg, name, slices.Sorted(maps.Keys(into)))
		}
		if err := json.Unmarshal(value, to); err != nil {
			return fmt.Errorf("argument %.60q: %s: %w", arg, name, err)
		}
	}
	return nil
}
