package feature

import (
	"slices"
	"strconv"
)

// DurationFormat is the Format of a numeric column of durations such as 1 days 02:03:04.5, or of times of day: the numbers are seconds.
const DurationFormat = "duration"

// AppendDuration appends a duration of nanoseconds as pandas writes it: -1 days +23:59:59.5, of which the part of a day is never
// negative.
func AppendDuration(text []byte, nanos int64) []byte {
	const day = secondsOfDay * 1_000_000_000
	rest := floorMod(nanos, day)
	days := nanos / day // the remainder is taken from it, which may overflow
	if nanos%day < 0 {
		days--
	}
	text = append(strconv.AppendInt(text, days, 10), " days "...)
	if days < 0 {
		text = append(text, '+')
	}
	return AppendTimeOfDay(text, rest)
}

// AppendTimeOfDay appends a time of day, in nanoseconds since midnight.
func AppendTimeOfDay(text []byte, nanos int64) []byte {
	for i, v := range []int64{nanos / 3_600_000_000_000, nanos / 60_000_000_000 % 60, nanos / 1_000_000_000 % 60} {
		if i > 0 {
			text = append(text, ':')
		}
		if v < 10 {
			text = append(text, '0')
		}
		text = strconv.AppendInt(text, v, 10)
	}
	if part := nanos % 1_000_000_000; part > 0 {
		digits := strconv.Itoa(int(1_000_000_000 + part))[1:]
		if part%1000 == 0 {
			digits = digits[:6]
		}
		text = append(append(text, '.'), digits...)
	}
	return text
}

// durationOf reads a duration as seconds, and answers how many bytes it took: all of the text, or 0.
func durationOf(text []byte) (seconds float64, n int) {
	v, ok := parseDuration(text)
	if !ok {
		return 0, 0
	}
	return v, len(text)
}

// parseDuration reads [-]D day[s] [+]HH:MM:SS[.f], D day[s], or [-]HH:MM:SS[.f] of any number of hours.
func parseDuration(text []byte) (seconds float64, ok bool) {
	rest, sign := text, 1.0
	if len(rest) > 0 && rest[0] == '-' {
		sign, rest = -1, rest[1:]
	}
	first := 0
	if rest, ok = digitsOf(rest, 1, 9, &first, 0, 1<<30); !ok || len(rest) == 0 {
		return 0, false
	}
	if rest[0] == ' ' {
		for _, word := range []string{" days", " day"} {
			if len(rest) >= len(word) && string(rest[:len(word)]) == word {
				rest, ok = rest[len(word):], true
				break
			}
			ok = false
		}
		seconds = sign * secondsOfDay * float64(first)
		if !ok || len(rest) == 0 {
			return seconds, ok
		}
		if rest = rest[1:]; len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			sign = map[byte]float64{'+': 1, '-': -1}[rest[0]]
			rest = rest[1:]
		} else {
			sign = 1
		}
		if rest, ok = digitsOf(rest, 1, 9, &first, 0, 23); !ok {
			return 0, false
		}
	}
	var c clockParts
	for _, to := range []*int{&c.minute, &c.second} {
		if len(rest) == 0 || rest[0] != ':' {
			return 0, false
		}
		if rest, ok = digitsOf(rest[1:], 2, 2, to, 0, 59); !ok {
			return 0, false
		}
	}
	if len(rest) > 0 {
		if rest[0] != '.' {
			return 0, false
		}
		if rest, ok = c.fraction(rest[1:]); !ok || len(rest) > 0 {
			return 0, false
		}
	}
	return seconds + sign*(float64(first)*3600+float64(c.minute*60+c.second)+float64(c.nanos)/1e9), true
}

// durations reports whether texts that are no numbers are durations with days, and all texts are such or hours beyond a day.
func durations(others, there []string) bool {
	return len(others) > 0 && len(others) == len(there) && timesOfDay(others) && slices.ContainsFunc(others, func(text string) bool {
		return !slices.ContainsFunc(dayPatterns, func(p *pattern) bool { return ok(p, text) })
	})
}

// timesOfDay reports whether all texts are durations or times of day.
func timesOfDay(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		_, ok := parseDuration([]byte(text))
		return !ok
	})
}
