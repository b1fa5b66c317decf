package graph

import (
	"encoding/json"
	"fmt"
)

// Fields says which values of a row belong to which field: by their place in rows that all have Count values, or by their
// columns, Starts being the first column of each field, ascending.
type Fields struct {
	Count  int
	Starts []int64
}

// UnmarshalJSON implements json.Unmarshaler: a number of fields, or the list of their first columns.
func (f *Fields) UnmarshalJSON(src []byte) error {
	*f = Fields{}
	if json.Unmarshal(src, &f.Count) == nil && f.Count > 0 {
		return nil
	}
	if json.Unmarshal(src, &f.Starts) != nil || len(f.Starts) == 0 {
		return &settingError{src, "want a number of fields or the first column of each"}
	}
	for i, lo := range f.Starts {
		if lo < 0 || i > 0 && lo <= f.Starts[i-1] {
			return &settingError{src, fmt.Sprintf("field %d begins at column %d, want ascending columns from 0 on", i, lo)}
		}
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (f Fields) MarshalJSON() ([]byte, error) {
	if f.Starts != nil {
		return json.Marshal(f.Starts)
	}
	return json.Marshal(f.Count)
}
