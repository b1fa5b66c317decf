package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// FieldLimit is how many fields there may be. Real sets have some tens; models have weights for each, or for each two.
const FieldLimit = 1 << 16

// Fields says of which field a value is. The zero value leaves that to the source: lines of libffm say it, others have no fields.
// One of the two may be set.
type Fields struct {
	// Number: every line has so many values, one of each field in their order, whatever the columns are, such as hashes. Of
	// libffm, whose lines say of which field a value is, it is the number of fields: those at or above it are errors.
	Number int
	// Sorted: with Number, the values of a line are put into the order of their columns before they get their fields.
	Sorted bool
	// First are the first columns of the fields, ascending from 0, counted from 0 whatever the file counts from. A field ends
	// where the next begins, the last one at Options.Dim. A row may have no value of a field, or several.
	First []int64
	// End is where the last field ends: columns from there on are errors. 0: that is not known.
	End int64
}

// FieldRanges are fields of the columns from the first to the second of each pair, which have to touch one another.
func FieldRanges(pairs [][2]int64) (f Fields, err error) {
	for i, p := range pairs {
		switch {
		case p[0] < 0 || p[1] < p[0] || p[1] == math.MaxInt64:
			return Fields{}, fmt.Errorf("columns %d to %d, want a first and a last one", p[0], p[1])
		case p[0] > f.End && i == 0:
			return Fields{}, fmt.Errorf("the first field begins at column %d, want 0: columns count from 0", p[0])
		case p[0] > f.End:
			return Fields{}, fmt.Errorf("columns %d to %d are in no field, want ranges that touch one another", f.End, p[0]-1)
		case p[0] < f.End:
			return Fields{}, fmt.Errorf("columns %d to %d are in two fields, want ranges that touch one another", p[0], min(f.End-1, p[1]))
		}
		f.First, f.End = append(f.First, p[0]), p[1]+1
	}
	return f, f.Check(0)
}

// Ranges are the pairs of FieldRanges, nil if the fields are no such ranges.
func (f Fields) Ranges() (pairs [][2]int64) {
	for i, first := range f.First {
		switch {
		case f.End == 0:
			return nil
		case i+1 < len(f.First):
			pairs = append(pairs, [2]int64{first, f.First[i+1] - 1})
		default:
			pairs = append(pairs, [2]int64{first, f.End - 1})
		}
	}
	return pairs
}

// parseRanges reads the first and the last columns of fields, "0-8,9-17".
func parseRanges(text string) (Fields, error) {
	var pairs [][2]int64
	for part := range strings.SplitSeq(text, ",") {
		first, last, _ := strings.Cut(part, "-")
		var p [2]int64
		for i, one := range []string{first, last} {
			v, err := strconv.ParseInt(one, 10, 64)
			if err != nil {
				return Fields{}, fmt.Errorf("%q, want the first and the last column, such as 0-8", part)
			}
			p[i] = v
		}
		pairs = append(pairs, p)
	}
	return FieldRanges(pairs)
}

// ParseFields reads the number of fields, "39", their first columns, "0,9,18,34", or their first and last ones, "0-8,9-17". Empty is the
// zero value.
func ParseFields(text string) (f Fields, err error) {
	if text == "" {
		return f, nil
	}
	if strings.Contains(text[1:], "-") {
		if f, err = parseRanges(text); err != nil {
			err = fmt.Errorf("data: fields %q: %w: %w", text, err, ErrOption)
		}
		return f, err
	}
	var list []int64
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil || v < 0 {
			return f, fmt.Errorf("data: fields %q, want how many there are, such as 39, their first columns, such as 0,9,18, or "+
				"ranges of columns, such as 0-8,9-17: %w", text, ErrOption)
		}
		list = append(list, v)
	}
	switch {
	case len(list) > 1:
		f.First = list
	case list[0] == 0: // the zero value says something else
		return f, fmt.Errorf("data: 0 fields, want 1 to %d: %w", FieldLimit, ErrOption)
	default:
		f.Number = int(min(list[0], math.MaxInt32))
	}
	if err = f.Check(0); err != nil {
		err = fmt.Errorf("data: fields %q: %w: %w", text, err, ErrOption)
	}
	return f, err
}

// Check reports what cannot be fields of dim columns; 0 columns: their number is not known.
func (f Fields) Check(dim int64) error {
	n := len(f.First)
	switch {
	case f.Number < 0 || f.Number > FieldLimit:
		return fmt.Errorf("%d fields, want 1 to %d", f.Number, FieldLimit)
	case n > FieldLimit:
		return fmt.Errorf("%d fields, want up to %d", n, FieldLimit)
	case f.Number > 0 && n > 0:
		return fmt.Errorf("%d fields by number and %d by columns, want one of the two", f.Number, n)
	case n > 0 && f.First[0] != 0:
		return fmt.Errorf("the first field begins at column %d, want 0: columns count from 0", f.First[0])
	case n > 0 && dim > 0 && f.First[n-1] >= dim:
		return fmt.Errorf("the last field begins at column %d, want one below the %d columns", f.First[n-1], dim)
	}
	switch {
	case f.End == 0:
	case n == 0:
		return fmt.Errorf("fields end before column %d, and nothing says where they begin", f.End)
	case f.End <= f.First[n-1]:
		return fmt.Errorf("the last field begins at column %d and ends before %d", f.First[n-1], f.End)
	case dim > f.End:
		return fmt.Errorf("columns %d to %d of %d are in no field", f.End, dim-1, dim)
	}
	for i := 1; i < n; i++ {
		if f.First[i] <= f.First[i-1] {
			return fmt.Errorf("a field begins at column %d after one at %d, want ascending ones", f.First[i], f.First[i-1])
		}
	}
	return nil
}

// fielded reports whether values of the input have fields.
func (s *settings) fielded() bool {
	return s.named || s.table || s.Fields.Number > 0 || s.Fields.First != nil
}

// count is how many fields the rows have, in which the highest one and one more is top.
func (f Fields) count(top int) int {
	switch {
	case f.Number > 0:
		return f.Number
	case f.First != nil:
		return len(f.First)
	}
	return top
}

// finish sorts the values of a line, which begin at idx[from], unless they are sorted already, and gives them their fields.
func (c *chunk) finish(s *settings, from int, sorted bool) error {
	if n := len(c.idx) - from; s.Fields.Number > 0 { // they stay as they are
		if s.Fields.Sorted && !sorted {
			if err := c.order(s, from); err != nil {
				return err
			}
		}
		if n != s.Fields.Number {
			return errCount(n, s.Fields.Number)
		}
		for i := range n {
			c.field = append(c.field, int32(i))
		}
		return nil
	}
	if !sorted {
		if err := c.order(s, from); err != nil {
			return err
		}
	}
	if first := s.Fields.First; first != nil {
		f := 0
		for _, col := range c.idx[from:] {
			if f+1 < len(first) && col >= first[f+1] {
				at, found := slices.BinarySearch(first, col)
				if f = at; !found {
					f--
				}
			}
			c.field = append(c.field, int32(f))
		}
		if n := len(c.idx); s.Fields.End > 0 && n > from && c.idx[n-1] >= s.Fields.End {
			return fmt.Errorf("column %d is in no field, want columns up to %d", c.idx[n-1], s.Fields.End-1)
		}
	}
	return nil
}

// errCount explains why the values of a line are not one of each field.
func errCount(found, want int) error {
	return fmt.Errorf("%d values, want %d, one of each field (where some are missing or come several times, --fields 0,9,18 gives fields "+
		"by their first columns, and lines of libffm name them)", found, want)
}

// errField explains why the number is not that of a field.
func (s *settings) errField(field int64) error {
	return fmt.Errorf("field %d, want 0 to %d for %d fields", field, s.fieldLimit-1, s.fieldLimit)
}

// errMixed is that of inputs of which only some have fields.
var errMixed = fmt.Errorf("values with fields in some inputs and without in others, want one of the two (--fields 39 gives all of them "+
	"some): %w", ErrOption)
