package graph

import (
	"encoding/json"
	"fmt"
	"strings"

	"thole.example/data"
)

// Fields are data.Fields as the grammar has them: their number, or the list of their first columns.
type Fields struct{ data.Fields }

// UnmarshalJSON implements json.Unmarshaler.
func (f *Fields) UnmarshalJSON(src []byte) error {
	*f = Fields{}
	if json.Unmarshal(src, &f.Number) != nil && json.Unmarshal(src, &f.First) != nil || f.Number == 0 && len(f.First) == 0 {
		return &settingError{src, "want a number of fields or the first column of each"}
	}
	if err := f.Check(0); err != nil {
		return &settingError{src, err.Error()}
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (f Fields) MarshalJSON() ([]byte, error) {
	if f.First != nil {
		return json.Marshal(f.First)
	}
	return json.Marshal(f.Number)
}

// String is the fields as data.ParseFields reads them.
func (f Fields) String() string {
	if f.First == nil {
		return fmt.Sprint(f.Number)
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(f.First), " ", ","), "[]")
}
