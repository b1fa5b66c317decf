package arrow

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/matrix"
)

// timesOrigins are the columns of times.arrow, which pyarrow 26 wrote: five rows in two batches, the number of a row times 1000
// in every column (times 86400000 in the column date).
var timesOrigins = []string{"date32[day]", "date64[ms]", "time32[s]", "time32[ms]", "time64[us]", "time64[ns]", "timestamp[us]",
	"timestamp[ns, tz=UTC]", "timestamp[ms, tz=Europe/Berlin]", "timestamp[s]", "duration[ms]", ""}

// TestTimes reads columns that stand for times, and writes them again as what they were.
func TestTimes(t *testing.T) {
	data := stored(t, "times.arrow")
	m, cells, err := load(data, nil, nil)
	if err != nil || !slices.Equal(m.ColOrigins, timesOrigins) {
		t.Fatalf("read %q, %v", m.ColOrigins, err)
	}
	var want []string
	for r := range 5 {
		for c := range timesOrigins {
			want = append(want, fmt.Sprint(r*map[bool]int{true: 86400000, false: 1000}[c == 1]))
		}
	}
	if !slices.Equal(cells, want) {
		t.Errorf("read %v, want %v", cells, want)
	}
	blk := matrix.NewDense(matrix.I64, m.Rect())
	for i := range blk.Data.(*matrix.Dense[int64]).Val {
		fmt.Sscan(cells[i], &blk.Data.(*matrix.Dense[int64]).Val[i])
	}
	for _, layout := range []string{"file", "stream"} {
		again, err := save(m, blk, map[string]string{"layout": layout})
		if err != nil {
			t.Fatal(err)
		}
		n, got, err := load(again, nil, nil)
		if err != nil || !slices.Equal(n.ColOrigins, timesOrigins) || !slices.Equal(got, cells) || !slices.Equal(n.ColTypes, m.ColTypes) {
			t.Errorf("%s: again %v %q, %v", layout, n.ColTypes, n.ColOrigins, err)
		}
	}
}

// TestTimesOfLists keeps what the numbers of lists stand for, if it is the same for all, and asks else.
func TestTimesOfLists(t *testing.T) {
	m := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.I64, ColOrigins: []string{"duration[s]", "duration[s]"}}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.Dense[int64]{Val: []int64{1, 2, 3, 4}}}
	data, err := save(m, blk, map[string]string{"rows": "list"})
	if err != nil {
		t.Fatal(err)
	}
	if n, got, err := load(data, nil, nil); err != nil || !slices.Equal(n.ColOrigins, m.ColOrigins) || strings.Join(got, " ") != "1 2 3 4" {
		t.Errorf("read %+v %v, %v", n, got, err)
	}
	m.ColOrigins = []string{"duration[s]", ""}
	if _, err := save(m, blk, map[string]string{"rows": "list"}); !errors.Is(err, format.ErrLossy) {
		t.Errorf("lists of durations and numbers: %v", err)
	}
	m.ColOrigins = []string{"date32[day]", ""} // of i64
	if _, err := save(m, blk, nil); !errors.Is(err, format.ErrLossy) || !strings.Contains(err.Error(), "column 0 is date32[day], stored as i64") {
		t.Errorf("dates of another type: %v", err)
	}
}

// withNull is a column of numbers in one batch of five rows, of which the second is null whatever its bytes are.
func withNull(d matrix.DType, values []byte) []byte {
	body := append([]byte{0b11101, 0, 0, 0, 0, 0, 0, 0}, values...)
	head := []val{{slot: 0, v: int64(5)}, {slot: 1, each: 2, v: []int64{5, 1}}, {slot: 2, each: 2, v: []int64{0, 1, 8, int64(len(values))}}}
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	return stream(0, [][]val{newNumber("x", d)}, head, body)
}

// TestNullsOfWholeNumbers are NaN of f64, if all values are those of f64.
func TestNullsOfWholeNumbers(t *testing.T) {
	longs := func(v ...uint64) (b []byte) {
		for _, x := range v {
			for range 8 {
				b, x = append(b, byte(x)), x>>8
			}
		}
		return b
	}
	nan := map[string]string{"nulls": "nan"}
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"i8":                      {withNull(matrix.I8, []byte{1, 2, 3, 0xff, 5}), "1 NaN 3 -1 5"},
		"bool":                    {withNull(matrix.Bool, []byte{0b01011}), "1 NaN 0 1 0"},
		"i64":                     {withNull(matrix.I64, longs(1, 2, 3, math.MaxUint64, 1<<53)), "1 NaN 3 -1 9.007199254740992e+15"},
		"i64, anything in a null": {withNull(matrix.I64, longs(1, 1<<53+1, 3, 4, 5)), "1 NaN 3 4 5"},
	} {
		m, got, err := load(c.data, nan, nil)
		if err != nil || m.DType != matrix.F64 || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v %v, %v, want %s", what, m.DType, got, err, c.want)
		}
		if m, _, err := load(c.data, map[string]string{"nulls": "0"}, nil); err != nil || m.DType == matrix.F64 {
			t.Errorf("%s: zeros of %v, %v", what, m.DType, err)
		}
	}
	if _, _, err := load(withNull(matrix.I64, longs(1, 2, 3, 4, 1<<53+1)), nan, nil); err == nil || !strings.Contains(err.Error(), "does not hold") {
		t.Errorf("a number beyond 2^53: %v", err)
	}
}

// TestSchemaTimes reads the message of a schema that was made, and no cut one.
func TestSchemaTimes(t *testing.T) {
	times := []format.TimeType{{}, {Kind: "duration", Unit: "ns"}, {Kind: "timestamp", Unit: "s", Zone: "UTC"}}
	labels := []string{"x", "d", ""}
	b := AppendSchema(nil, labels, []matrix.DType{matrix.Bool, matrix.I64, matrix.I64}, times)
	got, when, err := SchemaTimes(b)
	if err != nil || !slices.Equal(got, labels) || !slices.Equal(when, times) {
		t.Errorf("%q %v, %v", got, when, err)
	}
	for n := range b {
		if _, _, err := SchemaTimes(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are read", n, len(b))
		}
	}
}
