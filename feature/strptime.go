package feature

import (
	"fmt"
	"strings"
	"time"
)

// pattern is a format of times in the notation of strptime, ready for parsing. Any number of goroutines may use it.
type pattern struct {
	text string
	ops  []op
	// What a format has: a date, a time of day, a zone.
	dated, timed, zoned bool
}

// op is one step of a pattern: a directive, or with directive 0 a literal byte.
type op struct{ directive, literal byte }

// stamp is a time as it was written.
type stamp struct {
	wall   int64 // seconds since 1970-01-01 on the clock that was written
	nanos  int32
	offset int32 // seconds east of UTC, if zoned
	zoned  bool
}

// directives are those of a format, and what each reads.
const directives = "%Y %y %m %d %e %j %b %B %h %a %A %H %I %M %S %f %p %z %Z %G %V %u %s %Q %F %T %R %D"

// compile reads a format.
func compile(text string) (*pattern, error) {
	p := &pattern{text: text}
	expanded := strings.NewReplacer("%%", "%%", "%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%R", "%H:%M", "%D", "%m/%d/%y", "%e", "%d", "%B", "%b",
		"%h", "%b", "%A", "%a").Replace(text)
	for i := 0; i < len(expanded); i++ {
		c := expanded[i]
		if c != '%' {
			p.ops = append(p.ops, op{0, c})
			continue
		}
		if i++; i == len(expanded) {
			return nil, wrong("date format %q ends with %%, want a letter after it", text)
		}
		switch d := expanded[i]; d {
		case '%':
			p.ops = append(p.ops, op{0, '%'})
			continue
		case 'Y', 'y', 'm', 'd', 'j', 'b', 'a', 'G', 'V', 'u':
			p.dated = p.dated || d != 'a'
		case 's', 'Q':
			p.dated, p.timed = true, true
		case 'H', 'I', 'M', 'S', 'f', 'p':
			p.timed = true
		case 'z', 'Z':
			p.zoned = true
		default:
			return nil, wrong("date format %q: unknown directive %%%c, want one of %s", text, d, directives)
		}
		p.ops = append(p.ops, op{directive: expanded[i]})
	}
	if !p.dated && !p.timed {
		return nil, wrong("date format %q names no part of a time, want strptime notation such as %%d/%%m/%%Y", text)
	}
	return p, nil
}

// clockParts are the parts of a time while it is parsed.
type clockParts struct {
	year, month, day, yday, week, weekday int
	hour, minute, second                  int
	half                                  int // of the day: 0 not said, 1 am, 2 pm
	twelve, isoYear                       bool
	unix                                  bool
	stamp
}

// parse reads a text that is all of the format. A second may have a fraction.
func (p *pattern) parse(text []byte) (s stamp, ok bool) {
	c := clockParts{year: 1970, month: 1, day: 1, weekday: 1}
	for k, o := range p.ops {
		switch {
		case o.directive != 0:
			text, ok = c.read(o.directive, text, k+1 < len(p.ops) && p.ops[k+1].directive == 'f')
		case o.literal == ' ':
			n := 0
			for n < len(text) && text[n] == ' ' {
				n++
			}
			text, ok = text[n:], n > 0
		default:
			if ok = len(text) > 0 && text[0] == o.literal; ok {
				text = text[1:]
			}
		}
		if !ok {
			return s, false
		}
	}
	if len(text) > 0 {
		return s, false
	}
	return c.done()
}

// read reads what a directive stands for, and answers with the rest of the text.
func (c *clockParts) read(directive byte, text []byte, fraction bool) (rest []byte, ok bool) {
	switch directive {
	case 'Y':
		return digitsOf(text, 4, 4, &c.year, 0, 9999)
	case 'G':
		c.isoYear = true
		return digitsOf(text, 4, 4, &c.year, 0, 9999)
	case 'y':
		if rest, ok = digitsOf(text, 2, 2, &c.year, 0, 99); c.year < 69 {
			c.year += 100
		}
		c.year += 1900
		return rest, ok
	case 'm':
		return digitsOf(text, 1, 2, &c.month, 1, 12)
	case 'd':
		if len(text) > 1 && text[0] == ' ' {
			text = text[1:]
		}
		return digitsOf(text, 1, 2, &c.day, 1, 31)
	case 'j':
		return digitsOf(text, 1, 3, &c.yday, 1, 366)
	case 'b':
		return nameOf(text, func(i int) string { return time.Month(i + 1).String() }, 12, &c.month)
	case 'a':
		return nameOf(text, func(i int) string { return time.Weekday(i).String() }, 7, new(int))
	case 'H':
		return digitsOf(text, 1, 2, &c.hour, 0, 23)
	case 'I':
		c.twelve = true
		return digitsOf(text, 1, 2, &c.hour, 1, 12)
	case 'M':
		return digitsOf(text, 2, 2, &c.minute, 0, 59)
	case 'S':
		if rest, ok = digitsOf(text, 1, 2, &c.second, 0, 60); ok && !fraction && len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
			return c.fraction(rest[1:])
		}
		return rest, ok
	case 'f':
		return c.fraction(text)
	case 'p':
		return c.halfOfDay(text)
	case 'z', 'Z':
		return c.zone(text)
	case 'V':
		return digitsOf(text, 2, 2, &c.week, 1, 53)
	case 'u':
		return digitsOf(text, 1, 1, &c.weekday, 1, 7)
	default:
		return c.sinceEpoch(directive, text)
	}
}

// digitsOf reads a number of least to most digits between lo and hi.
func digitsOf(text []byte, least, most int, to *int, lo, hi int) (rest []byte, ok bool) {
	n, v := 0, 0
	for n < len(text) && n < most && text[n]-'0' <= 9 {
		v = v*10 + int(text[n]-'0')
		n++
	}
	*to = v
	return text[n:], n >= least && v >= lo && v <= hi
}

// nameOf reads one of n names, in any case, or the first three letters of it (or Sept); the number is its place counted from 1.
func nameOf(text []byte, name func(i int) string, n int, to *int) (rest []byte, ok bool) {
	end := 0
	for end < len(text) && (text[end]|0x20)-'a' < 26 {
		end++
	}
	if end < 3 {
		return text, false
	}
	word := string(text[:end])
	for i := range n {
		whole := name(i)
		if strings.EqualFold(word, whole) || strings.EqualFold(word, whole[:3]) || whole == "September" && strings.EqualFold(word, "sept") {
			*to = i + 1
			return text[end:], true
		}
	}
	return text, false
}

// fraction reads digits after a point; those beyond a nanosecond count nothing.
func (c *clockParts) fraction(text []byte) (rest []byte, ok bool) {
	n, v, unit := 0, 0, 100_000_000
	for n < len(text) && text[n]-'0' <= 9 {
		v += int(text[n]-'0') * unit
		unit /= 10
		n++
	}
	c.nanos = int32(v)
	return text[n:], n > 0
}

func (c *clockParts) halfOfDay(text []byte) (rest []byte, ok bool) {
	for i, names := range [][]string{{"am", "a.m."}, {"pm", "p.m."}} {
		for _, name := range names {
			if len(text) >= len(name) && strings.EqualFold(string(text[:len(name)]), name) {
				c.half = i + 1
				return text[len(name):], true
			}
		}
	}
	return text, false
}

// zoneNames are names of zones that mean one offset, in hours: those of RFC 822.
var zoneNames = []struct {
	name  string
	hours int32
}{
	{"UTC", 0}, {"GMT", 0}, {"EST", -5}, {"EDT", -4}, {"CST", -6}, {"CDT", -5}, {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7}, {"Z", 0},
	{"z", 0},
}

// zone reads Z, the name of a zone, or an offset such as +02:00, +0200 and +02.
func (c *clockParts) zone(text []byte) (rest []byte, ok bool) {
	c.zoned = true
	if len(text) == 0 {
		return text, false
	}
	if text[0] != '+' && text[0] != '-' {
		for _, z := range zoneNames {
			if rest, ok := strings.CutPrefix(string(text), z.name); ok {
				c.offset = z.hours * 3600
				return text[len(text)-len(rest):], true
			}
		}
		return text, false
	}
	h, m := 0, 0
	if rest, ok = digitsOf(text[1:], 2, 2, &h, 0, 23); !ok {
		return text, false
	}
	tail := rest
	if len(tail) > 0 && tail[0] == ':' {
		tail = tail[1:]
	}
	if minutes, ok := digitsOf(tail, 2, 2, &m, 0, 59); ok {
		rest = minutes
	} else {
		m = 0
	}
	if c.offset = int32(h*3600 + m*60); text[0] == '-' {
		c.offset = -c.offset
	}
	return rest, true
}

// sinceEpoch reads seconds (%s) or milliseconds (%Q) since 1970, which may have a fraction.
func (c *clockParts) sinceEpoch(directive byte, text []byte) (rest []byte, ok bool) {
	end := 0
	for end < len(text) && (text[end]-'0' <= 9 || strings.IndexByte("+-.eE", text[end]) >= 0) {
		end++
	}
	layout := unixSeconds
	if directive == 'Q' {
		layout = unixMillis
	}
	t, ok := parseGoTime(layout, text[:end])
	c.unix, c.wall, c.nanos, c.zoned, c.offset = true, t.Unix(), int32(t.Nanosecond()), true, 0
	return text[end:], ok
}

// done is the time of the parts, if there is one.
func (c *clockParts) done() (s stamp, ok bool) {
	if c.unix {
		return c.stamp, true
	}
	if c.twelve && c.half > 0 {
		c.hour %= 12
		if c.half == 2 {
			c.hour += 12
		}
	}
	var date int64
	switch {
	case c.isoYear || c.week > 0:
		if c.week == 0 {
			c.week = 1
		}
		fourth := dayNumber(c.year, 1, 4) // which is in the first week
		monday := fourth - floorMod(fourth+3, 7)
		if monday += int64(7 * (c.week - 1)); monday+3 >= dayNumber(c.year+1, 1, 1) { // a week is of the year of its Thursday
			return s, false
		}
		date = monday + int64(c.weekday-1)
	case c.yday > 0:
		if c.yday == 366 && !leap(c.year) {
			return s, false
		}
		date = dayNumber(c.year, 1, 1) + int64(c.yday-1)
	default:
		if c.day > monthDays(c.year, c.month) {
			return s, false
		}
		date = dayNumber(c.year, c.month, c.day)
	}
	c.wall = date*secondsOfDay + int64(c.hour*3600+c.minute*60+c.second)
	return c.stamp, true
}

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func monthDays(year, month int) int {
	switch month {
	case 2:
		if leap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func floorMod(a, b int64) int64 { return (a%b + b) % b }

// dayNumber is a date in days since 1970-01-01, of the Gregorian calendar.
func dayNumber(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y, m = y-1, m+12
	}
	era := (y - floorMod(y, 400)) / 400
	ofEra := floorMod(y, 400)
	ofYear := (153*(m-3)+2)/5 + int64(day) - 1
	return era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468
}

// example is a time in the format.
func (p *pattern) example() string {
	t := time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)
	if p.text == "%s" || p.text == "%Q" {
		unit := map[string]string{"%s": "1700000000 (seconds since 1970)", "%Q": "1700000000000 (milliseconds since 1970)"}
		return unit[p.text]
	}
	var b strings.Builder
	for _, o := range p.ops {
		switch o.directive {
		case 0:
			b.WriteByte(o.literal)
		case 'G', 'V':
			y, w := t.ISOWeek()
			fmt.Fprintf(&b, "%02d", map[byte]int{'G': y, 'V': w}[o.directive])
		case 'u':
			b.WriteByte('6')
		case 's', 'Q':
			b.WriteString("1700000000")
		default:
			layout := map[byte]string{'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'j': "002", 'b': "Jan", 'a': "Mon", 'H': "15", 'I': "03",
				'M': "04", 'S': "05", 'p': "PM", 'z': "-07:00", 'Z': "MST"}[o.directive]
			if o.directive == 'f' {
				b.WriteString("000000")
			}
			b.WriteString(t.Format(layout))
		}
	}
	return b.String()
}

// fromGo is a layout of Go's package time in the notation of strptime; ok is false if some of it has none.
func fromGo(layout string) (format string, ok bool) {
	switch layout {
	case unixSeconds:
		return "%s", true
	case unixMillis:
		return "%Q", true
	}
	format = strings.NewReplacer("2006", "%Y", "January", "%b", "Jan", "%b", "Monday", "%a", "Mon", "%a", "MST", "%Z", "Z07:00", "%z",
		"Z0700", "%z", "-07:00", "%z", "-0700", "%z", ".999999999", "", ".000000000", "", ".999999", "", ".000000", "", ".999", "", ".000", "",
		"002", "%j", "01", "%m", "02", "%d", "_2", "%d", "15", "%H", "03", "%I", "04", "%M", "05", "%S", "06", "%y", "PM", "%p", "pm", "%p",
		"1", "%m", "2", "%d", "3", "%I").Replace(layout)
	p, err := compile(format)
	if err != nil {
		return "", false
	}
	for _, o := range p.ops {
		if o.directive == 0 && (o.literal-'0' <= 9 || (o.literal|0x20)-'a' < 26 && o.literal != 'T') {
			return "", false
		}
	}
	return format, true
}
