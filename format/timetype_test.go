package format

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
)

func TestParseTimeType(t *testing.T) {
	for text, want := range map[string]matrix.DType{
		"date32[day]": matrix.I32, "date64[ms]": matrix.I64, "time32[s]": matrix.I32, "time64[ns]": matrix.I64, "timestamp[us]": matrix.I64,
		"timestamp[ns, tz=UTC]": matrix.I64, "timestamp[s, tz=a], tz=[b]": matrix.I64, "duration[ms]": matrix.I64,
	} {
		when, ok := ParseTimeType(text)
		if !ok || when.DType() != want || when.String() != text {
			t.Errorf("%s: %#v, %v, of %v", text, when, ok, when.DType())
		}
	}
	for _, text := range []string{"", "date32", "date32[ms]", "time32[us]", "time64[s]", "duration[s, tz=UTC]", "timestamp[s", "timestamp[s, tz=]", "fp8_e5m2"} {
		if when, ok := ParseTimeType(text); ok {
			t.Errorf("%q: %#v", text, when)
		}
	}
}

// TestColTimes asks about times that the format does not have, and those that the element type contradicts.
func TestColTimes(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 1, Cols: 4, ColLo: 3, DType: matrix.I64, ColOrigins: []string{"duration[s]", "", "date32[day]", "timestamp[s]"}}
	var lost []string
	o := Options{Lossy: true, Lost: func(what string) { lost = append(lost, what) }}
	times, err := ColTimes(&m, &o, func(w TimeType) bool { return w.Kind != "duration" })
	want := []string{`matrix "m": what numbers stand for: column 3 is duration[s], stored as i64`, `matrix "m": what numbers stand for: column 5 is date32[day], stored as i64`}
	if err != nil || !slices.Equal(lost, want) || !slices.Equal(times, []TimeType{3: {Kind: "timestamp", Unit: "s"}}) {
		t.Errorf("%v, %v, lost %q", times, err, lost)
	}
	if _, err := ColTimes(&m, &Options{}, func(TimeType) bool { return true }); !errors.Is(err, ErrLossy) || !strings.Contains(err.Error(), "column 5") {
		t.Errorf("not lossy: %v", err)
	}
	if notes := ColOriginNotes(&m); len(notes) != 1 || !strings.HasSuffix(notes[0], ": column 3 is duration[s], column 5 is date32[day], column 6 is timestamp[s]") {
		t.Errorf("%q", notes)
	}
}
