package feature

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/internal/number"
)

// part is a part of a time: a number of 0 to values-1, or, with values 0, days as a number.
type part struct {
	name   string
	values int
	of     func(t time.Time) int
	text   func(v int) string // of a value
}

// parts is the table of them. Days are counted from 1970-01-01.
func parts() []part {
	return []part{
		{"hour", 24, time.Time.Hour, strconv.Itoa},
		{"weekday", 7, func(t time.Time) int { return int(t.Weekday()) }, func(v int) string { return time.Weekday(v).String() }},
		{"day", 31, func(t time.Time) int { return t.Day() - 1 }, func(v int) string { return strconv.Itoa(v + 1) }},
		{"month", 12, func(t time.Time) int { return int(t.Month()) - 1 }, func(v int) string { return time.Month(v + 1).String() }},
		{"days", 0, nil, nil},
	}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

func partOf(name string) *part {
	for _, p := range parts() {
		if p.name == name {
			return &p
		}
	}
	return nil
}

// Formats that numbers of seconds and milliseconds since 1970 have in models of older versions; now %s and %Q.
const (
	unixSeconds = "unix"
	unixMillis  = "unix-ms"
)

// goLayouts are those of package time that models of older versions have, those of ISO 8601 first.
func goLayouts() []string {
	return []string{
		time.DateOnly, time.DateTime, time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04", "2006/01/02", "2006/01/02 15:04:05", "02.01.2006", "02.01.2006 15:04:05", "02-Jan-2006", "Jan 2, 2006",
		time.RFC1123, time.RFC1123Z,
	}
}

// parseGoTime reads a time in a layout of package time. Times without a zone are of UTC, and so are those with the name of one (CET) but
// no difference: names are not the same everywhere.
func parseGoTime(format string, text []byte) (t time.Time, ok bool) {
	switch format {
	case unixSeconds, unixMillis:
		v, n := number.ParseFloat64(text)
		second := 1.0
		if format == unixMillis {
			second = 1000
		}
		if n == 0 || n != len(text) || !(v > -second*(1<<40) && v < second*(1<<40)) {
			return t, false
		}
		whole := math.Floor(v / second)
		micros := math.Round((v - whole*second) * (1e6 / second)) // which is what such a number can tell
		return time.Unix(int64(whole), int64(micros)*1000).UTC(), true
	case time.DateOnly:
		if t, ok := quickDate(text); ok {
			return t, true
		}
	}
	t, err := time.ParseInLocation(format, string(text), time.UTC) // names of zones mean nothing, on every machine
	return t, err == nil && t.Year() > -10000 && t.Year() < 100000
}

// readGoTime reads a time in a layout of package time, or, if that is one of ISO 8601, in another of them: the same column has more or
// fewer parts elsewhere,
// as where a table of CSV comes as Parquet.
func readGoTime(format string, text []byte) (t time.Time, ok bool) {
	if t, ok = parseGoTime(format, text); ok || !strings.HasPrefix(format, time.DateOnly) {
		return t, ok
	}
	for _, other := range goLayouts() {
		if !strings.HasPrefix(other, time.DateOnly) {
			break
		}
		if t, ok = parseGoTime(other, text); ok {
			return t, true
		}
	}
	return t, false
}

// quickDate reads 2006-01-02 without a string.
func quickDate(b []byte) (t time.Time, ok bool) {
	if len(b) != 10 || b[4] != '-' || b[7] != '-' {
		return t, false
	}
	number := func(b []byte) (v int) {
		for _, c := range b {
			if c-'0' > 9 {
				return -1 << 20
			}
			v = v*10 + int(c-'0')
		}
		return v
	}
	y, m, d := number(b[:4]), number(b[5:7]), number(b[8:])
	if y < 0 || m < 1 || m > 12 || d < 1 || d > 28 { // days at the end of a month are left to package time
		return t, false
	}
	return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC), true
}

const secondsOfDay = 24 * 60 * 60

// days is the time in days since 1970.
func days(t time.Time) float64 { return float64(t.Unix()) / secondsOfDay }

// FindTime finds a function that reads texts such as those of the sample of a column as times: an increasing number for each, of seconds
// since 1970 where they are dates, else the number that the text is. The note is what a user should know of the format, "" for nothing.
func FindTime(column string, sample []string) (read func(text []byte) (at float64, ok bool), note string, err error) {
	found, unlikely := findFormats(sample)
	switch {
	case len(found) > 1:
		return nil, "", fmt.Errorf("dates such as %q may be %s, as no row of the sample decides; want them in one format, such as 2020-12-31",
			sample[0], formatNames(found))
	case len(found) == 1:
		if len(unlikely) > 0 {
			note = daysAsYears(column, sample[0], found[0], unlikely[0])
		}
		r := clock{main: found[0]}
		return func(text []byte) (float64, bool) {
			s, ok := r.stamp(text)
			return float64(s.wall-int64(s.offset)) + float64(s.nanos)/1e9, ok
		}, note, nil
	}
	read = func(text []byte) (float64, bool) {
		v, n := number.ParseFloat64(text)
		return v, n == len(text) && n > 0 && v-v == 0
	}
	if len(sample) == 0 || slices.ContainsFunc(sample, func(text string) bool {
		_, ok := read([]byte(text))
		return !ok
	}) {
		return nil, "", fmt.Errorf("the first %s have neither times of one format nor numbers, want one in every row",
			number.Of(len(sample), "row"))
	}
	return read, "", nil
}
