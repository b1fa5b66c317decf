package psf

import (
	"encoding/json"
	"fmt"
)

// Gets is the table of built-in get functions, a new slice on every call; append to it to add functions of your own.
func Gets() []Get { return []Get{sumGet, maxGet, normGet} }

// Updates is the table of built-in update functions, a new slice on every call.
func Updates() []Update { return []Update{fillUpdate, scaleUpdate, thresholdUpdate} }

// Selection is the argument of functions that work on some rows; no row stands for all of them.
type Selection struct {
	Rows []int64 `json:"rows,omitempty"`
}

// has tells whether the row is selected.
func (s Selection) has(row int64) bool {
	for _, r := range s.Rows {
		if r == row {
			return true
		}
	}
	return len(s.Rows) == 0
}

// parse reads the JSON argument of a function; an empty one leaves the zero value.
func parse[A any](arg []byte) (a A, err error) {
	if len(arg) == 0 {
		return a, nil
	}
	if err = json.Unmarshal(arg, &a); err != nil {
		err = fmt.Errorf("argument %.60q: %w", arg, err)
	}
	return a, err
}
