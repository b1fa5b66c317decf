package xgboost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"thole.example/wire"
)

// depthLimit is how deep values lie within others: a model has them 9 deep.
const depthLimit = 64

// values reads a file from its begin to its end. After the first error everything is zero and empty, so that a whole record can be read
// before err is asked. JSON and UBJSON are read by it alike.
type values interface {
	// next is what kind of value comes: '{', '[', '"' (text), '0' (number), 't' (true or false), 'n' (null); 0 after an error.
	next() byte
	// object reads an object; member is called for each key and reads its value.
	object(member func(key string))
	// array reads an array; element is called for each and reads it.
	array(element func(i int))
	text() string
	// number reads one number, or true or false as 1 and 0.
	number() float64
	// floats, doubles and wholes append an array of numbers, none of them true or false.
	floats(to []float32) []float32
	doubles(to []float64) []float64
	wholes(to []int64) []int64
	// spellings appends an array of numbers as texts: integers with all their digits, others with the fewest that read back as the same.
	spellings(to []string) []string
	// flags appends an array of true and false, or 1 and 0.
	flags(to []int64) []int64
	skip()
	// off is the byte at which the next value begins.
	off() int64
	// fail records an error about the value that begins there; within names a place in the value.
	fail(off int64, within string, text string, args ...any)
	failed() error
	end()
}

// trail knows where in the tree of values a reader is.
type trail struct {
	path []step
	deep int
	err  error
}

// step is a key, or if that is "" a number of an array.
type step struct {
	key string
	at  int
}

func (t *trail) failed() error { return t.err }

func (t *trail) fail(off int64, within, text string, args ...any) {
	if t.err == nil {
		t.err = &wire.At{Off: off, Err: fmt.Errorf("%s%w", t.where(within), fmt.Errorf(text, args...))}
	}
}

// where is the path as people write it, with a colon behind it.
func (t *trail) where(within string) string {
	var s strings.Builder
	for _, p := range t.path {
		switch {
		case p.key == "":
			s.WriteString("[" + strconv.Itoa(p.at) + "]")
		case s.Len() > 0:
			s.WriteString("." + p.key)
		default:
			s.WriteString(p.key)
		}
	}
	if s.WriteString(within); s.Len() == 0 {
		return ""
	}
	return s.String() + ": "
}

// enter goes a value deeper, if that is allowed.
func (t *trail) enter(off int64) bool {
	if t.deep++; t.deep > depthLimit {
		t.fail(off, "", "values lie more than %d deep", depthLimit)
	}
	return t.err == nil
}

func (t *trail) leave() { t.deep-- }

// element makes a value of an array.
func (t *trail) element(i int, read func(int)) {
	t.path = append(t.path, step{at: i})
	read(i)
	t.path = t.path[:len(t.path)-1]
}

// member reads a value of an object.
func (t *trail) member(key string, read func(string)) {
	t.path = append(t.path, step{key: key})
	read(key)
	t.path = t.path[:len(t.path)-1]
}

// fields reads an object of which these keys are understood, and each may come once. All others are passed over.
func fields(v values, of map[string]func()) {
	had := map[string]bool{}
	v.object(func(key string) {
		read, ok := of[key]
		if !ok {
			v.skip()
			return
		}
		if had[key] {
			v.fail(v.off(), "", "comes a second time")
			return
		}
		had[key] = true
		read()
	})
}

// anything reads a value of any kind, as package encoding/json has it.
func anything(v values) any {
	switch v.next() {
	case '{':
		all := map[string]any{}
		v.object(func(key string) { all[key] = anything(v) })
		return all
	case '[':
		all := []any{}
		v.array(func(int) { all = append(all, anything(v)) })
		return all
	case '"':
		return v.text()
	case '0':
		return v.number()
	case 't':
		return v.number() != 0
	}
	v.skip()
	return nil
}

// spelled reads a setting, which XGBoost writes as a text even if it is a number.
func spelled(v values) string {
	if v.next() == '"' {
		return v.text()
	}
	return strconv.FormatFloat(v.number(), 'g', -1, 64)
}

// setting reads a whole number of at most limit that is written as a text.
func setting(v values, to *int, limit int) func() {
	return func() {
		at, text := v.off(), spelled(v)
		n, err := strconv.Atoi(text)
		if v.failed() == nil && (err != nil || n < 0 || n > limit) {
			v.fail(at, "", "%.40q, want a whole number of 0 to %d", text, limit)
			return
		}
		*to = n
	}
}

// texts reads a list of texts.
func texts(v values, to *[]string) func() {
	return func() { v.array(func(int) { *to = append(*to, v.text()) }) }
}

// compact is a value as JSON on one line, its keys in order.
func compact(value any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(value) != nil { // numbers that are none
		return ""
	}
	return strings.TrimSuffix(out.String(), "\n")
}
