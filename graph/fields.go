package graph

import (
	"encoding/json"
	"fmt"
	"strings"

	"thole.example/data"
)

// Fields are data.Fields as the grammar has them: their number, the list of their first columns, or that of their first and last ones.
type Fields struct{ data.Fields }

// UnmarshalJSON implements json.Unmarshaler.
func (f *Fields) UnmarshalJSON(src []byte) error {
	*f = Fields{}
	var number int
	var first []int64
	var ranges [][]int64
	var err error
	switch {
	case json.Unmarshal(src, &number) == nil && number != 0:
		f.Number = number
	case json.Unmarshal(src, &first) == nil && len(first) > 0:
		f.First = first
	case json.Unmarshal(src, &ranges) == nil && len(ranges) > 0:
		f.Fields, err = touching(ranges)
	default:
		err = fmt.Errorf("want a number of fields, the first column of each, or the first and the last one, such as [[0,8],[9,17]]")
	}
	if err == nil {
		err = f.Check(0)
	}
	if err != nil {
		return &settingError{src, err.Error()}
	}
	return nil
}

// touching are the fields of ranges of columns.
func touching(ranges [][]int64) (data.Fields, error) {
	pairs := make([][2]int64, len(ranges))
	for i, r := range ranges {
		if len(r) != 2 {
			return data.Fields{}, fmt.Errorf("%d columns in field %d, want the first and the last one", len(r), i)
		}
		pairs[i] = [2]int64(r)
	}
	return data.FieldRanges(pairs)
}

// MarshalJSON implements json.Marshaler.
func (f Fields) MarshalJSON() ([]byte, error) {
	switch {
	case f.End > 0:
		return json.Marshal(f.Ranges())
	case f.First != nil:
		return json.Marshal(f.First)
	}
	return json.Marshal(f.Number)
}

// String is the fields as data.ParseFields reads them.
func (f Fields) String() string {
	var all []string
	switch {
	case f.End > 0:
		for _, p := range f.Ranges() {
			all = append(all, fmt.Sprintf("%d-%d", p[0], p[1]))
		}
	case f.First != nil:
		for _, first := range f.First {
			all = append(all, fmt.Sprint(first))
		}
	default:
		return fmt.Sprint(f.Number)
	}
	return strings.Join(all, ",")
}
