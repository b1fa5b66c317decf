package feature

import (
	"strings"
	"testing"
	"time"
)

// Texts of dates are found in their format, and read as the time that they say.
func TestFindFormats(t *testing.T) {
	day := "2020-12-31T00:00:00"
	for _, one := range []struct {
		texts, format, want string // of the first text
	}{
		{"31/12/2020|01/02/2020", "%d/%m/%Y", day}, {"12/31/2020|01/02/2020", "%m/%d/%Y", day}, {"31.12.2020", "%d.%m.%Y", day},
		{"1.2.2020", "%d.%m.%Y", "2020-02-01T00:00:00"}, {"31-12-2020", "%d-%m-%Y", day}, {"31/12/99", "%d/%m/%y", "1999-12-31T00:00:00"},
		{"31/12/20|30/12/20", "%d/%m/%y or %y/%m/%d", ""}, {"20.12.31|20.12.30", "%d.%m.%y or %y.%m.%d", ""}, {"99-12-31", "%y-%m-%d", "1999-12-31T00:00:00"},
		{daysOf("02-01-06", 40), "%d-%m-%y", day}, {daysOf("06/01/02", 40), "%y/%m/%d", day}, {daysOf("02.01.06 15:04", 40), "%d.%m.%y %H:%M", day},
		{daysOf("01/02/06", 40), "%m/%d/%y", day}, {daysOf("06-01-02", 15), "%d-%m-%y or %y-%m-%d", ""},
		{monthsOf("02.01.06", 1, 1), "%d.%m.%y or %y.%m.%d", ""}, {monthsOf("02.01.06", 3, 1), "%d.%m.%y or %y.%m.%d", ""},
		{monthsOf("02.01.06", 1, 0), "%d.%m.%y or %y.%m.%d", ""}, {monthsOf("02.01.06", 12, 0), "%d.%m.%y or %y.%m.%d", ""},
		{monthsOf("02/01/06", 1, 1), "%d/%m/%y or %m/%d/%y or %y/%m/%d", ""}, {monthsOf("02/01/06", 3, 0), "%d/%m/%y or %y/%m/%d", ""},
		{monthsOf("02-01-06", 1, 0), "%d-%m-%y or %y-%m-%d", ""}, {monthsOf("06-01-02", 1, 1), "%d-%m-%y or %y-%m-%d", ""},
		{quarters("02.01.06"), "%d.%m.%y or %y.%m.%d", ""}, {daysOf("06-01-02", 1000), "%y-%m-%d", day},
		{daysOf("02.01.06", 800), "%d.%m.%y", day},
		{"Jan 05 2020", "%b %d %Y", "2020-01-05T00:00:00"}, {"05 Jan 2020", "%d %b %Y", "2020-01-05T00:00:00"},
		{"5-Jan-2020", "%d-%b-%Y", "2020-01-05T00:00:00"}, {"January 5, 2020", "%b %d, %Y", "2020-01-05T00:00:00"},
		{"2020-04", "%Y-%m", "2020-04-01T00:00:00"}, {"Apr 2020", "%b %Y", "2020-04-01T00:00:00"}, {"09:00 PM", "%I:%M %p", "1970-01-01T21:00:00"},
		{"12:30 am", "%I:%M %p", "1970-01-01T00:30:00"}, {"13:45", "%H:%M", "1970-01-01T13:45:00"}, {"13:45:59.25", "%H:%M:%S", "1970-01-01T13:45:59"},
		{"2020-W15-3", "%G-W%V-%u", "2020-04-08T00:00:00"}, {"2020-W53-7", "%G-W%V-%u", "2021-01-03T00:00:00"}, {"2020-W15", "%G-W%V", "2020-04-06T00:00:00"},
		{"2020/12/31 23:59", "%Y/%m/%d %H:%M", "2020-12-31T23:59:00"}, {"12/31/2020 11:59:58 PM", "%m/%d/%Y %I:%M:%S %p", "2020-12-31T23:59:58"},
		{"2020-12-31", "%Y-%m-%d", day}, {"2020-12-31 23:59:58.123456", "%Y-%m-%d %H:%M:%S", "2020-12-31T23:59:58"},
		{"2020-12-31T23:59:58Z", "%Y-%m-%dT%H:%M:%S%z", "2020-12-31T23:59:58"}, {"2020-12-31T23:59:58.5+02:00|2020-01-01T00:00:00Z", "%Y-%m-%dT%H:%M:%S%z", "2020-12-31T23:59:58"},
		{"2020-12-31 23:59:58+0200", "%Y-%m-%d %H:%M:%S%z", "2020-12-31T23:59:58"}, {"2020-12-31 23:59:58 UTC", "%Y-%m-%d %H:%M:%S %z", "2020-12-31T23:59:58"},
		{"Thu, 31 Dec 2020 23:59:58 GMT", "%a, %d %b %Y %H:%M:%S %z", "2020-12-31T23:59:58"},
		{"Thu, 31 Dec 2020 23:59:58 -0700", "%a, %d %b %Y %H:%M:%S %z", "2020-12-31T23:59:58"},
		{"31/Dec/2020:23:59:58 +0000", "%d/%b/%Y:%H:%M:%S %z", "2020-12-31T23:59:58"}, {"Thu Dec 31 23:59:58 2020", "%a %b %d %H:%M:%S %Y", "2020-12-31T23:59:58"},
		{"20201231T235958", "%Y%m%dT%H%M%S", "2020-12-31T23:59:58"},
		{"01/02/2020|03/04/2020", "%d/%m/%Y or %m/%d/%Y", ""}, {"05/05/2020", "%d/%m/%Y", "2020-05-05T00:00:00"}, {"1-2-2020", "%d-%m-%Y or %m-%d-%Y", ""},
		{"31/12/2020|12/31/2020", "", ""}, {"1.2.10", "", ""}, {"a|b", "", ""}, {"2021-02-29", "", ""}, {"2020-13-01", "", ""}, {"2021-W53-1", "", ""}, {"", "", ""},
	} {
		texts := strings.Split(one.texts, "|")
		found, _ := findFormats(texts)
		var formats []string
		for _, p := range found {
			formats = append(formats, p.text)
		}
		if got := strings.Join(formats, " or "); got != one.format {
			t.Errorf("%.60s: format %q, want %q", one.texts, got, one.format)
			continue
		}
		if len(found) != 1 {
			continue
		}
		at, ok := (&clock{main: found[0]}).read([]byte(texts[0]), nil)
		if got := at.Format("2006-01-02T15:04:05"); !ok || got != one.want {
			t.Errorf("%s is %s, want %s", texts[0], got, one.want)
		}
		if _, ok := found[0].parse([]byte(found[0].example())); !ok {
			t.Errorf("%s: the example %q is none", found[0].text, found[0].example())
		}
	}
}

// daysOf are so many days up to the end of 2020 in a layout of package time, the last one first.
func daysOf(layout string, n int) string {
	var texts []string
	for i := range n {
		texts = append(texts, time.Date(2020, 12, 31-i, 0, 0, 0, 0, time.UTC).Format(layout))
	}
	return strings.Join(texts, "|")
}

// monthsOf are the dates of every so many months from 2005 to 2024 on a day of the month, with 0 its last one.
func monthsOf(layout string, months, day int) string {
	var texts []string
	for i := 0; i < 240; i += months {
		month := time.Month(i + months)
		if day == 0 {
			month++ // whose day 0 is the last one of the month before
		}
		texts = append(texts, time.Date(2005, month, day, 0, 0, 0, 0, time.UTC).Format(layout))
	}
	return strings.Join(texts, "|")
}

// quarters are the first days of all quarters from 2001 to that of January 2031, which as days are whole months of 2001.
func quarters(layout string) string {
	var texts []string
	for i := range 121 {
		texts = append(texts, time.Date(2001, time.Month(1+3*i), 1, 0, 0, 0, 0, time.UTC).Format(layout))
	}
	return strings.Join(texts, "|")
}

// Dates to split by are read in their format with a message where the rows decide, and refused where they do not.
func TestFindTime(t *testing.T) {
	for _, one := range []struct{ texts, note, err string }{
		{"2020-12-31|2020-01-01", "", ""}, {"1.5|2", "", ""}, {"a|b", "", "neither times of one format nor numbers"},
		{monthsOf("02.01.06", 1, 1), "", `"01.01.05" may be %d.%m.%y or %y.%m.%d`},
		{daysOf("02/01/06", 40), "are read as %d/%m/%y, not as %y/%m/%d", ""},
		{"01/02/2020|03/04/2020", "", "may be %d/%m/%Y or %m/%d/%Y"},
	} {
		texts := strings.Split(one.texts, "|")
		read, note, err := FindTime("when", texts)
		if one.err != "" {
			if err == nil || !strings.Contains(err.Error(), one.err) {
				t.Errorf("%s: %v, want %s", texts[0], err, one.err)
			}
			continue
		}
		if err != nil || (note == "") != (one.note == "") || !strings.Contains(note, one.note) {
			t.Errorf("%s: %q, %v, want %q", texts[0], note, err, one.note)
			continue
		}
		if _, ok := read([]byte(texts[0])); !ok {
			t.Errorf("%s is not read", texts[0])
		}
	}
}

// A format is in the notation of strptime; layouts of Go, which models of older versions have, become such.
func TestDateFormats(t *testing.T) {
	for format, want := range map[string]string{"%": "ends with", "%Q%": "ends with", "%k": "unknown directive %k", "x": "names no part", "": "names no part"} {
		if _, err := compile(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", format, err, want)
		}
	}
	for layout, want := range map[string]string{"02/01/2006": "%d/%m/%Y", "unix": "%s", "unix-ms": "%Q", time.RFC3339Nano: "%Y-%m-%dT%H:%M:%S%z",
		time.RFC1123: "%a, %d %b %Y %H:%M:%S %Z", "Jan 2, 2006 3:04 PM": "%b %d, %Y %I:%M %p", "hello": ""} {
		if got, _ := fromGo(layout); got != want {
			t.Errorf("%s is %q, want %q", layout, got, want)
		}
	}
	for text, want := range map[string]int64{"20201231": 1609372800, "2020-366": 1609372800} {
		p, _ := compile(map[int]string{8: "%Y%m%d"}[len(text)])
		if text == "2020-366" {
			p, _ = compile("%Y-%j")
		}
		if s, ok := p.parse([]byte(text)); !ok || s.wall != want {
			t.Errorf("%s is %d, want %d", text, s.wall, want)
		}
	}
}

// hours are the hours of the times that a plan reads, of one column.
func hoursOf(t *testing.T, p *Plan, texts ...string) (hours []int64) {
	t.Helper()
	e := p.Encoder()
	e.Begin(len(texts))
	if err := e.Texts(func(int) Cells { return block(texts) }); err != nil || e.Faults > 0 {
		t.Fatal(err, e.Bad[:len(texts)])
	}
	first := int64(0)
	if p.open == nil {
		first = p.fields[0].base
	}
	for _, id := range e.Fields[0].ID {
		hours = append(hours, id-first-1)
	}
	return hours
}

// trainedOn is the transformation of a column of times, and what is to be known of them.
func trainedOn(t *testing.T, s *Spec, texts ...string) (*Transform, []string) {
	t.Helper()
	var rows [][]string
	for _, text := range texts {
		rows = append(rows, []string{text})
	}
	p, err := s.Open([]string{"t"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	e := p.Encoder()
	e.Begin(len(texts))
	if err := e.Texts(func(int) Cells { return block(texts) }); err != nil || e.Faults > 0 {
		t.Fatal(err, e.Bad[:len(texts)])
	}
	var part Part
	e.Keep(&part)
	fit := p.Fit([]*Part{&part}, make([]float32, len(texts)), nil)
	tr, _, err := fit.Transform()
	if err != nil {
		t.Fatal(err)
	}
	src, err := tr.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if tr, err = Parse(src); err != nil {
		t.Fatalf("%v: %s", err, src)
	}
	return tr, fit.Hints()
}

// The same instant has the same hour, however it is written.
func TestTimeZones(t *testing.T) {
	same := []string{"2024-07-01T21:30:00+02:00", "2024-07-01 19:30:00Z", "2024-07-01 14:30:00-05:00", "2024-07-01 22:30:00 +0300"}
	for _, one := range []struct {
		name  string
		spec  Spec
		texts []string
		zone  string
		hour  int64 // of same
		hint  string
	}{
		{"offsets of a zone", Spec{}, []string{"2024-01-01T10:00:00+01:00", "2024-07-01T10:00:00+02:00", ""}, "Europe/Berlin", 21, "are those of Europe/Berlin"},
		{"one offset", Spec{}, []string{"2024-07-01T10:00:00+02:00", "2024-07-02T10:00:00+02:00"}, "+02:00", 21, ""},
		{"UTC", Spec{}, []string{"2024-07-01T10:00:00Z", "2024-07-02T10:00:00Z"}, "UTC", 19, ""},
		{"of New York", Spec{}, []string{"2024-01-01 10:00:00-05:00", "2024-07-01 10:00:00-04:00"}, "America/New_York", 15, "America/New_York"},
		{"named", Spec{Timezone: "Asia/Kolkata"}, []string{"2024-07-01T10:00:00Z", "2024-07-02T10:00:00+02:00"}, "Asia/Kolkata", 1, ""},
		{"of the column", Spec{Zones: map[string]string{"t": "Europe/Berlin"}}, []string{"2024-07-01T10:00:00+02:00"}, "Europe/Berlin", 21, ""},
		{"without a zone", Spec{Timezone: "Europe/Berlin"}, []string{"2024-07-01 10:00:00"}, "Europe/Berlin", 21, ""},
	} {
		tr, hints := trainedOn(t, &one.spec, append(one.texts, one.texts...)...)
		if c := tr.Columns[0]; c.Timezone != one.zone || !strings.Contains(strings.Join(hints, "\n"), one.hint) {
			t.Errorf("%s: zone %q, hints %q, want %s and %s", one.name, c.Timezone, hints, one.zone, one.hint)
		}
		p, err := tr.Bind([]string{"t"})
		if err != nil {
			t.Fatal(err)
		}
		for i, hour := range hoursOf(t, p, same...) {
			if hour != one.hour {
				t.Errorf("%s: the hour of %s is %d, want %d", one.name, same[i], hour, one.hour)
			}
		}
	}
	for _, texts := range [][]string{{"2024-07-01T10:00:00Z", "2024-07-01T10:00:00+02:00"}, {"2024-07-01T10:00:00Z", "2024-07-01T10:00:00+09:30"}} {
		if tr, hints := trainedOn(t, &Spec{}, texts...); tr.Columns[0].Timezone != "" || !strings.Contains(strings.Join(hints, "\n"), "--timezone t=NAME") {
			t.Errorf("%q: zone %q, hints %q, want none and --timezone named", texts, tr.Columns[0].Timezone, hints)
		}
	}
}

// A table to score says how its dates are written, and what differs from training is reported.
func TestReadAs(t *testing.T) {
	tr, _ := trainedOn(t, &Spec{}, "2024-01-01T10:00:00+01:00", "2024-07-01T10:00:00+02:00")
	p, _ := tr.Bind([]string{"t"})
	naive := [][]string{{"2024-07-01 10:00:00"}}
	if got := strings.Join(p.Differ(naive), "\n"); !strings.Contains(got, "Europe/Berlin") || !strings.Contains(got, "--timezone") {
		t.Errorf("%q, want that times have no zone", got)
	}
	if err := p.ReadAs(&Spec{Timezone: "UTC", DateFormat: "%d/%m/%Y %H:%M"}); err != nil {
		t.Fatal(err)
	}
	if hours := hoursOf(t, p, "01/07/2024 10:00", "2024-07-01 10:00:00", "2024-07-01T10:00:00Z"); hours[0] != 12 || hours[1] != 12 || hours[2] != 12 {
		t.Errorf("hours %v, want 12", hours)
	}
	if err := p.ReadAs(&Spec{Columns: map[string]Column{"u": {Format: "%s"}}}); err == nil {
		t.Error("a format of a column that is no date was taken")
	}
}

// Midnight of a zone is another day in UTC, and numbers of durations have no unit.
func TestDiffers(t *testing.T) {
	days, _ := trainedOn(t, &Spec{}, "2024-01-01", "2024-07-01")
	spans, _ := trainedOn(t, &Spec{}, "1 days 02:03:04", "2 days 00:00:00")
	for _, c := range []struct {
		tr         *Transform
		cell, want string
	}{
		{days, "2024-06-30T22:00:00Z", "times have a zone, and those of training had none"}, {days, "2024-06-30T22:00:00", ""}, {days, "", ""},
		{spans, "86400000", "numbers such as 86400000 are taken as seconds"}, {spans, "1 days 00:00:00", ""}, {spans, "", ""},
	} {
		p, err := c.tr.Bind([]string{"t"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Differ([][]string{{c.cell}}), "\n"); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: %q, want %q", c.cell, got, c.want)
		}
	}
}

// A model of an older version reads what it read: the hour that is written in texts, that of UTC in tables with types.
func TestOldLayouts(t *testing.T) {
	tr, err := Parse([]byte(`{"version":1,"missing":[""],"columns":[{"name":"t","kind":"date","format":"2006-01-02T15:04:05.999999999Z07:00","parts":["hour"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := tr.Bind([]string{"t"})
	if hours := hoursOf(t, p, "2024-07-01T10:00:00+02:00"); hours[0] != 10 {
		t.Errorf("hour %d, want 10", hours[0])
	}
	p.Zoned(map[string]string{"t": "Europe/Berlin"})
	if hours := hoursOf(t, p, "2024-07-01T10:00:00+02:00", "2024-07-01T10:00:00"); hours[0] != 8 || hours[1] != 10 {
		t.Errorf("hours %v, want 8 and 10", hours)
	}
}

// What cannot be decided is refused, and the flag that decides is named.
func TestDatesRefused(t *testing.T) {
	for text, spec := range map[string]*Spec{
		"01/02/2020": {}, "20201231": {Columns: map[string]Column{"t": {Kind: Date}}}, "33": {Columns: map[string]Column{"t": {Kind: Date}}},
		"2020Q3": {Columns: map[string]Column{"t": {Kind: Date}}},
	} {
		if _, err := spec.Open([]string{"t"}, [][]string{{text}, {text[:len(text)-1] + "3"}}); err == nil || !strings.Contains(err.Error(), "--date-format t=%") &&
			!strings.Contains(err.Error(), "--date-format t=FORMAT") {
			t.Errorf("%s: %v, want --date-format named", text, err)
		}
	}
	p, err := (&Spec{}).Open([]string{"t"}, [][]string{{"2020Q3"}, {"2020Q4"}})
	if err != nil || p.columns[0].Kind != Categorical || !strings.Contains(strings.Join(p.Doubts(), ""), "--date-format t=FORMAT") {
		t.Errorf("%v: doubts %q, want --date-format named", err, p.Doubts())
	}
}

// Texts that look like dates and are read as categories are reported, others are not.
func TestDateLike(t *testing.T) {
	for text, want := range map[string]bool{"2020Q3": true, "2020-196": true, "2020:07:14 16:22:00": true, "2020年07月14日": true, "14-Jul": true, "3 May": true,
		"07-14": true, "14/07": true, "Jul 14": true, "2020-07-14-16.22.00": true, "3 Maya": false, "10 decks": false, "1-2": false, "12345-678": false,
		"A-14": false, "2020x": false} {
		if got := looksLikeDates("t", []string{text}); (got != "") != want {
			t.Errorf("%s: %q, want a message: %v", text, got, want)
		}
	}
}

// Durations and times of day are seconds, as pandas writes them.
func TestDurations(t *testing.T) {
	for nanos, want := range map[int64]string{0: "0 days 00:00:00", 90_061_500_000_000: "1 days 01:01:01.500000", -500_000_000: "-1 days +23:59:59.500000",
		-1 << 63: "-106752 days +00:12:43.145224192"} {
		got := AppendDuration(nil, nanos)
		if string(got) != want {
			t.Errorf("%d ns is %s, want %s", nanos, got, want)
		}
		if seconds, ok := parseDuration(got); !ok || seconds-float64(nanos)/1e9 > 1e-6 || float64(nanos)/1e9-seconds > 1e-6 {
			t.Errorf("%s is %v, want %v", got, seconds, float64(nanos)/1e9)
		}
	}
	for text, want := range map[string]float64{"09:30:00": 34200, "26:00:00.25": 93600.25, "2 days": 172800, "-00:00:01": -1} {
		if got, ok := parseDuration([]byte(text)); !ok || got != want {
			t.Errorf("%s is %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "5", "1:2", "1 dayz", "1 days 1", "1 days 01:00:00x", "-", "1 days +"} {
		if got, ok := parseDuration([]byte(text)); ok {
			t.Errorf("%s is %v, want none", text, got)
		}
	}
	p, err := (&Spec{}).Open([]string{"t"}, [][]string{{"0 days 09:30:00"}, {"1 days 00:00:00"}})
	if err != nil || p.columns[0].Kind != Numeric || p.columns[0].Format != DurationFormat {
		t.Errorf("%+v, %v, want a numeric column of durations", p.columns, err)
	}
}
