package feature

import (
	"bytes"
	"iter"
	"math"
	"time"

	"thole.example/internal/number"
)

// Comparison is how the categories of a column are compared: which cells are the same category.
type Comparison string

// The comparisons. Blanks at the ends of a cell never count.
const (
	AsFound    Comparison = ""         // found out: AsNumbers, AsBooleans or AsTimes where all categories are those, else AsTexts
	AsTexts    Comparison = "texts"    // each text is a category: 01, 1 and 1.0 are three
	AsNumbers  Comparison = "numbers"  // by value: 1, 1.0 and 1e0 are one
	AsBooleans Comparison = "booleans" // true, True, TRUE and 1 are one
	AsTimes    Comparison = "times"    // by instant: 2020-01-31 and 2020-01-31T00:00:00 are one
)

// trimmed is a cell without the blanks at its ends: fixed-width text of databases is padded with them.
func trimmed(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

// blanks are what does not count at the ends of a cell.
const blanks = " \t"

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// truth reads a boolean as programs write it: 0 or 1; ok is false if the text is none.
func truth(text []byte) (v int, ok bool) {
	switch string(text) {
	case "true", "True", "TRUE":
		return 1, true
	case "false", "False", "FALSE":
		return 0, true
	}
	return 0, false
}

// comparisonOf finds out how categories are compared. words reports whether some of them are words for booleans.
func comparisonOf(categories iter.Seq[[]byte]) (c Comparison, words bool) {
	var room [64]byte
	if areTimes(categories) {
		return AsTimes, false
	}
	found, binary := false, true
	for text := range categories {
		text = trimmed(text)
		if len(text) == 0 {
			continue
		}
		found = true
		if _, ok := truth(text); ok {
			words = true
			continue
		}
		plain, ok := number.Plain(room[:0], text)
		if !ok {
			return AsTexts, false
		}
		binary = binary && len(plain) == 1 && plain[0]|1 == '1'
	}
	switch {
	case !found, words && !binary:
		return AsTexts, false
	case binary:
		return AsBooleans, words
	}
	return AsNumbers, false
}

// areTimes reports whether there are categories, all of them times of ISO 8601.
func areTimes(categories iter.Seq[[]byte]) (all bool) {
	for text := range categories {
		if text = trimmed(text); len(text) == 0 {
			continue
		}
		if _, all = timeKey(nil, text); !all {
			return false
		}
	}
	return all
}

// timeKey is the text that all spellings of a time share: 2020-01-31 or 2020-01-31 15:04:05.5, and of one with a zone the instant in UTC,
// 2020-01-31 14:04:05.5Z. ok is false if the text is no time of ISO 8601.
func timeKey(room, text []byte) (key []byte, ok bool) {
	if len(text) < len(time.DateOnly) || text[4] != '-' {
		return nil, false
	}
	for _, p := range isoPatterns {
		s, ok := p.parse(text)
		if !ok {
			continue
		}
		at := time.Unix(s.wall-int64(s.offset), int64(s.nanos)).UTC()
		switch {
		case s.zoned:
			return at.AppendFormat(room[:0], time.DateTime+".999999999Z"), true
		case s.wall%secondsOfDay == 0 && s.nanos == 0:
			return at.AppendFormat(room[:0], time.DateOnly), true
		}
		return at.AppendFormat(room[:0], time.DateTime+".999999999"), true
	}
	return nil, false
}

// key is the text that all cells of a category share. It is a part of text, or in the memory of room.
func (c Comparison) key(room, text []byte) []byte {
	text = trimmed(text)
	switch c {
	case AsBooleans:
		if v, ok := truth(text); ok {
			return append(room[:0], byte('0'+v))
		}
	case AsNumbers:
	case AsTimes:
		if at, ok := timeKey(room, text); ok {
			return at
		}
		return text
	default:
		return text
	}
	plain, _ := number.Plain(room, text)
	return plain
}

// Canonical is the text that all spellings of a cell share, whatever else is in its column: numbers, booleans and times have the same for
// the same value, other texts without the blanks at their ends. It is a part of text, or in the memory of room.
func Canonical(room, text []byte) []byte {
	if at, ok := timeKey(room, trimmed(text)); ok {
		return at
	}
	return AsBooleans.key(room, text)
}

// canonical is the spelling of a category that is stored and shown: its key, or a word of a boolean.
func (c Comparison) canonical(room, text []byte, words bool) []byte {
	key := c.key(room, text)
	if c == AsBooleans && words && len(key) == 1 {
		switch key[0] {
		case '0':
			return append(key[:0:0], "false"...)
		case '1':
			return append(key[:0:0], "true"...)
		}
	}
	return key
}

// settled is a dictionary in which each category has one code, of one in which each spelling has one.
type settled struct {
	*dictionary
	counts []int   // by code
	code   []int32 // of each code of the dictionary of spellings; nil: the same
	words  bool
	as     Comparison
}

// settle makes spellings of the same category one. How they are compared is found out from those that at least so many examples have,
// or else from all. Spellings of missing values, if missing is not nil, get code 0.
func settle(d *dictionary, counts []int, as Comparison, least int, missing map[string]bool) settled {
	s := settled{dictionary: d, counts: counts, as: as}
	if as == AsFound || as == AsBooleans {
		found, words := comparisonOf(d.frequent(counts, max(1, least)))
		if found == AsTexts && least > 1 && !d.some(counts, least) {
			found, words = comparisonOf(d.frequent(counts, 1))
		}
		if s.words = words; as == AsFound {
			s.as = found
		}
	}
	var room [64]byte
	one := true
	for code := 1; code < len(counts) && one; code++ {
		text := d.bytes(int32(code))
		key := s.as.canonical(room[:0], text, s.words)
		one = bytes.Equal(key, text) && !missing[string(key)]
	}
	if one {
		return s
	}
	s.dictionary, s.counts, s.code = newDictionary(), []int{0}, make([]int32, len(counts))
	s.counts[0] = counts[0]
	for code := 1; code < len(counts); code++ {
		key := s.as.canonical(room[:0], d.bytes(int32(code)), s.words)
		if len(key) == 0 && missing != nil || missing[string(key)] {
			s.counts[0] += counts[code]
			continue
		}
		to, _ := s.dictionary.code(hashText(key), key) // which has no more codes than d
		if s.code[code] = to; int(to) == len(s.counts) {
			s.counts = append(s.counts, 0)
		}
		s.counts[to] += counts[code]
	}
	return s
}

// frequent are the categories that at least so many examples have, the missing one left out.
func (d *dictionary) frequent(counts []int, least int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for code := 1; code < len(counts); code++ {
			if counts[code] >= least && !yield(d.bytes(int32(code))) {
				return
			}
		}
	}
}

// some reports whether at least so many examples have some category.
func (d *dictionary) some(counts []int, least int) bool {
	for range d.frequent(counts, least) {
		return true
	}
	return false
}

// of is the code of a spelling's category.
func (s *settled) of(code int) int32 {
	if s.code == nil {
		return int32(code)
	}
	return s.code[code]
}

// alias lets all spellings of categories be found, of which code from is the first: a cell that is none of the texts is looked up by its
// key. Texts as they are stored go first, so that models in which 1 and 1.0 are two categories keep them.
func (l *levels) alias(texts []string, from int, as Comparison) {
	if l.as = as; as == AsFound {
		l.as, _ = comparisonOf(func(yield func([]byte) bool) {
			for _, text := range texts {
				if !yield([]byte(text)) {
					return
				}
			}
		})
	}
	var room [64]byte
	for n, text := range texts {
		if text == "" {
			continue
		}
		key := AsNumbers // also of a text among others: 1.0 of a file of text is 1 of one of numbers
		if l.as == AsBooleans || l.as == AsTimes || as == AsTexts {
			key = l.as
		}
		alias := key.key(room[:0], []byte(text))
		if string(alias) == text {
			continue
		}
		if h := hashText(alias); l.find(h) < 0 {
			l.set(h, int32(n+from))
		}
	}
	if l.as != AsTexts && l.as != AsTimes {
		l.aliasSingles(texts, from)
	}
}

// aliasSingles lets fractions of float32 be found by either of their spellings: 0.1, as tables and CSV files have them, and
// 0.10000000149011612, all digits of the float64 that it is, as LightGBM and Python write them. Categories of all digits have to be float32
// without exception.
func (l *levels) aliasSingles(texts []string, from int) {
	var room [64]byte
	all := areSingles(texts)
	for n, text := range texts {
		v, _ := number.ParseFloat64([]byte(text))
		if text == "" || v == math.Trunc(v) || math.Abs(v) > math.MaxFloat32 {
			continue
		}
		short, _ := number.ParseFloat64(number.AppendPlain32(room[:0], float32(v)))
		other := short
		switch {
		case short == v:
			other = float64(float32(v))
		case !all:
			continue
		}
		if h := hashText(number.AppendPlain(room[:0], other)); l.find(h) < 0 {
			l.set(h, int32(n+from))
		}
	}
}

// areSingles reports whether all categories are numbers of float32, some of them with the digits of float64: 0.10000000149011612, as
// LightGBM writes the category 0.1 of float32, which tables hold as 0.1.
func areSingles(texts []string) (long bool) {
	var room [64]byte
	for _, text := range texts {
		v, n := number.ParseFloat64([]byte(text))
		switch {
		case text == "":
		case n != len(text) || float64(float32(v)) != v:
			return false
		default:
			plain := number.AppendPlain(room[:0], v)
			long = long || len(number.AppendPlain32(nil, float32(v))) < len(plain)
		}
	}
	return long
}

// sameText reports whether two texts spell the same one of some categories.
func sameText(of []string, a, b string) bool {
	l := newLevels(0)
	l.alias(of, 0, AsFound)
	return a == b || string(l.as.key(nil, []byte(a))) == string(l.as.key(nil, []byte(b)))
}

// met is the code of the category that a cell spells in another way than it is stored; -1: it is none.
func (l *levels) met(text []byte) int32 {
	var room [64]byte
	key := l.as.key(room[:0], text)
	if bytes.Equal(key, text) {
		return -1
	}
	return l.find(hashText(key))
}
