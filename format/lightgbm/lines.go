package lightgbm

import (
	"bytes"
	"fmt"
	"math"

	"thole.example/internal/number"
)

// lines goes through the lines of a text.
type lines struct {
	src   []byte
	after int
	off   int // of the line that next gave last
	line  int // its number, from 1 on
}

// next gives the next line without its end, which belongs to src.
func (s *lines) next() (line []byte, ok bool) {
	if s.after >= len(s.src) {
		return nil, false
	}
	s.off, s.line = s.after, s.line+1
	line = s.src[s.off:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line, s.after = line[:end], s.off+end+1
	} else {
		s.after = len(s.src)
	}
	return bytes.TrimSuffix(line, []byte("\r")), true
}

// lineError is an error about a line.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

func (e *lineError) Unwrap() error { return e.err }

func fail(line int, text string, args ...any) error {
	return &lineError{line, fmt.Errorf(text, args...)}
}

// entry is the value of a key, and its line.
type entry struct {
	key  string
	text []byte
	line int
}

func (v *entry) fail(text string, args ...any) error {
	return fail(v.line, "%s %w", v.key, fmt.Errorf(text, args...))
}

// entries are lines "key=value" by their key.
type entries map[string]entry

// add takes a line; the last one of a key counts.
func (all entries) add(line []byte, at int) {
	key, value, _ := bytes.Cut(line, []byte("="))
	if k := string(key); len(value) > 0 || all[k].text == nil {
		all[k] = entry{k, value, at}
	}
}

// shown is how much of a value stands in an error.
const shown = 40

func cut(text []byte) []byte { return text[:min(len(text), shown)] }

// whole reads one number, which is fallback if there is no line of the key.
func (all entries) whole(key string, fallback, least, most int64) (int64, error) {
	v, ok := all[key]
	if !ok {
		return fallback, nil
	}
	n, read, in := number.ParseInt64(v.text)
	if read != len(v.text) || !in || n < least || n > most {
		return 0, v.fail("is %q, want a whole number from %d to %d", cut(v.text), least, most)
	}
	return n, nil
}

// split calls f for each word. Several blanks count as one.
func (v *entry) split(f func(word []byte) error) error {
	rest := words(v.text)
	for word := rest.next(); word != nil; word = rest.next() {
		if err := f(word); err != nil {
			return err
		}
	}
	return nil
}

// words are what is left of a value.
type words []byte

// next is the first word of what is left; nil: there is none.
func (w *words) next() []byte {
	for len(*w) > 0 {
		word, rest, _ := bytes.Cut(*w, []byte{' '})
		if *w = rest; len(word) > 0 {
			return word
		}
	}
	return nil
}

// list reads n values of a key; without a line of it they are zero, unless the key is wanted. Memory is taken only for what is
// there.
func list[T any](all entries, key string, n int, wanted bool, parse func(word []byte) (v T, ok bool)) ([]T, error) {
	e, ok := all[key]
	if !ok {
		if wanted && n > 0 {
			return nil, fmt.Errorf("no line %s=, want one of %d values", key, n)
		}
		return make([]T, n), nil
	}
	values := make([]T, 0, min(n, len(e.text)/2+1))
	err := e.split(func(word []byte) error {
		v, ok := parse(word)
		switch {
		case !ok:
			return e.fail("has %q as value %d, want a number", cut(word), len(values))
		case len(values) == n:
			return e.fail("has more than %d values", n)
		}
		values = append(values, v)
		return nil
	})
	if err == nil && len(values) == 0 && !wanted && n > 0 {
		return make([]T, n), nil // LightGBM writes an empty line for what a single leaf does not have
	}
	if err == nil && len(values) != n {
		err = e.fail("has %d values, want %d", len(values), n)
	}
	return values, err
}

func float(word []byte) (float64, bool) {
	v, n := number.ParseFloat64(word)
	return v, n == len(word)
}

// integer reads a whole number; counts of large data may be written as floating point numbers.
func integer(word []byte) (int64, bool) {
	v, n, ok := number.ParseInt64(word)
	if ok && n == len(word) {
		return v, true
	}
	f, ok := float(word)
	return int64(f), ok && f == math.Trunc(f) && math.Abs(f) < 1<<53
}

func narrow(word []byte) (int32, bool) {
	v, n, ok := number.ParseInt64(word)
	return int32(v), ok && n == len(word) && v >= math.MinInt32 && v <= math.MaxInt32
}

func unsigned(word []byte) (uint32, bool) {
	v, n, ok := number.ParseUint64(word)
	return uint32(v), ok && n == len(word) && v <= math.MaxUint32
}
