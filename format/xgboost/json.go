package xgboost

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"thole.example/internal/number"
)

// textReader reads JSON from memory: the numbers of an array go straight into a slice, so that a model takes little more than its file.
// Numbers may be NaN, Infinity and -Infinity, which XGBoost writes.
type textReader struct {
	trail
	b   []byte
	pos int
}

func newTextReader(b []byte) *textReader { return &textReader{b: b} }

func (r *textReader) off() int64 {
	r.space()
	return int64(r.pos)
}

func (r *textReader) space() {
	for r.pos < len(r.b) {
		switch r.b[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek is the next byte that is no space; 0 at the end.
func (r *textReader) peek() byte {
	if r.space(); r.err != nil || r.pos == len(r.b) {
		return 0
	}
	return r.b[r.pos]
}

// expect takes the byte that has to come next; false says that another one does, or that reading failed before.
func (r *textReader) expect(c byte, instead string) bool {
	if r.peek() != c || r.err != nil {
		r.wrong(instead)
		return false
	}
	r.pos++
	return true
}

// wrong says that something else was to come.
func (r *textReader) wrong(want string) {
	if r.space(); r.pos == len(r.b) {
		r.fail(int64(r.pos), "", "the file ends, want %s", want)
		return
	}
	r.fail(int64(r.pos), "", "found %.20q, want %s", r.b[r.pos:min(len(r.b), r.pos+20)], want)
}

func (r *textReader) next() byte {
	switch c := r.peek(); c {
	case '{', '[', '"', 'n', 0:
		return c
	case 't', 'f':
		return 't'
	default:
		return '0'
	}
}

func (r *textReader) object(member func(string)) {
	if !r.expect('{', "an object") || !r.enter(int64(r.pos)) {
		return
	}
	defer r.leave()
	if r.peek() == '}' {
		r.pos++
		return
	}
	for r.err == nil {
		key := r.text()
		if !r.expect(':', "a colon behind a key") {
			return
		}
		r.member(key, member)
		if r.peek() == '}' {
			r.pos++
			return
		}
		r.expect(',', "a comma or } behind a value")
	}
}

func (r *textReader) array(element func(int)) {
	r.list(func(i int) { r.element(i, element) })
}

func (r *textReader) list(element func(int)) {
	if !r.expect('[', "a list") || !r.enter(int64(r.pos)) {
		return
	}
	defer r.leave()
	if r.peek() == ']' {
		r.pos++
		return
	}
	for i := 0; r.err == nil; i++ {
		element(i)
		if r.peek() == ']' {
			r.pos++
			return
		}
		r.expect(',', "a comma or ] behind a value")
	}
}

func (r *textReader) text() (s string) {
	if r.peek() != '"' {
		r.wrong("a text")
		return ""
	}
	start := r.pos
	for i := start + 1; i < len(r.b); i++ {
		switch r.b[i] {
		case '\\':
			i++
		case '"':
			r.pos = i + 1
			if raw := r.b[start:r.pos]; json.Unmarshal(raw, &s) != nil {
				r.fail(int64(start), "", "%.40q, want a text as JSON writes it", raw)
			}
			return s
		}
	}
	r.fail(int64(start), "", "a text that does not end")
	return ""
}

// token is the number or word that comes next.
func (r *textReader) token() []byte {
	r.space()
	start := r.pos
	for r.pos < len(r.b) {
		c := r.b[r.pos]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '+' && c != '.' {
			break
		}
		r.pos++
	}
	return r.b[start:r.pos]
}

func (r *textReader) number() float64 {
	if v, ok := r.flag(); ok {
		return float64(v)
	}
	return numberOf(r, -1, number.ParseFloat64)
}

// flag reads true or false, if that comes.
func (r *textReader) flag() (v int64, ok bool) {
	if r.err != nil || r.next() != 't' {
		return 0, false
	}
	at := r.pos
	switch string(r.token()) {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	r.pos = at
	return 0, false
}

func (r *textReader) flags(to []int64) []int64 {
	r.list(func(i int) {
		v, ok := r.flag()
		if at := r.off(); !ok {
			if v = r.whole(i); r.err == nil && v != 0 && v != 1 {
				r.path = append(r.path, inList(i)...)
				r.fail(at, "", "found %d, want 0 or 1", v)
			}
		}
		to = append(to, v)
	})
	return to
}

// isNumber reports whether a word is a number as JSON writes it, or NaN or an infinity as XGBoost does.
func isNumber(word []byte) bool {
	switch string(word) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	digits := func() int {
		n := 0
		for n < len(word) && word[n] >= '0' && word[n] <= '9' {
			n++
		}
		word = word[n:]
		return n
	}
	if len(word) > 0 && word[0] == '-' {
		word = word[1:]
	}
	zero := len(word) > 0 && word[0] == '0'
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if len(word) > 0 && word[0] == '.' {
		if word = word[1:]; digits() == 0 {
			return false
		}
	}
	if len(word) > 0 && (word[0] == 'e' || word[0] == 'E') {
		if word = word[1:]; len(word) > 0 && (word[0] == '+' || word[0] == '-') {
			word = word[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return len(word) == 0
}

// numberOf reads a number; i is its place in a list, -1 for none.
func numberOf[T float32 | float64](r *textReader, i int, parse func([]byte) (T, int)) T {
	if r.err != nil {
		return 0
	}
	at := int(r.off())
	word := r.token()
	v, n := parse(r.b[at:]) // faster where there is room behind the number
	if n == 0 || n != len(word) || !isNumber(word) {
		r.pos = at
		r.path = append(r.path, inList(i)...)
		r.wrong("a number")
		return 0
	}
	return v
}

// inList is the step to the element, none for -1.
func inList(i int) []step {
	if i < 0 {
		return nil
	}
	return []step{{at: i}}
}

func (r *textReader) floats(to []float32) []float32 {
	r.list(func(i int) { to = append(to, numberOf(r, i, number.ParseFloat32)) })
	return to
}

func (r *textReader) doubles(to []float64) []float64 {
	r.list(func(i int) { to = append(to, numberOf(r, i, number.ParseFloat64)) })
	return to
}

func (r *textReader) wholes(to []int64) []int64 {
	r.list(func(i int) { to = append(to, r.whole(i)) })
	return to
}

func (r *textReader) spellings(to []string) []string {
	r.list(func(i int) {
		start := r.pos
		word := r.token()
		r.pos = start
		v := numberOf(r, i, number.ParseFloat64) // which checks the word
		if bytes.ContainsAny(word, ".eENI") {
			word = strconv.AppendFloat(nil, v, 'g', -1, 64)
		}
		to = append(to, string(word))
	})
	return to
}

func (r *textReader) whole(i int) int64 {
	at, start := r.off(), r.pos
	word := r.token()
	if v, n, ok := number.ParseInt64(word); ok && n == len(word) && isNumber(word) {
		return v
	}
	r.pos = start
	v := numberOf(r, i, number.ParseFloat64)
	if r.err == nil && (v != math.Trunc(v) || math.Abs(v) > 1<<53) {
		r.path = append(r.path, inList(i)...)
		r.fail(at, "", "found %v, want a whole number", v)
	}
	return int64(v)
}

func (r *textReader) skip() {
	switch r.next() {
	case '{':
		r.object(func(string) { r.skip() })
	case '[':
		r.list(func(int) { r.skip() })
	case '"':
		r.text()
	case 'n':
		if at := r.pos; string(r.token()) != "null" {
			r.pos = at
			r.wrong("a value")
		}
	default:
		r.number()
	}
}

func (r *textReader) end() {
	if r.peek() != 0 && r.err == nil || r.err == nil && r.pos < len(r.b) {
		r.fail(int64(r.pos), "", "%d bytes after the end of the model", len(r.b)-r.pos)
	}
}
