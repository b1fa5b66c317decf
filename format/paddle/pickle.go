package paddle

import (
	"bytes"
	"strings"

	"thole.example/format"
)

// Limits of the pickle machine. A state dictionary of 20 000 tensors needs about a fifth of them.
const (
	maxStack   = 1 << 16 // values
	maxObjects = 1 << 20 // made by a pickle, and remembered by it
	maxHeld    = 1 << 16 // bytes of a text that is kept, such as a name
	maxLine    = 1 << 10 // bytes of a module or a name in it
)

// pickle is a machine that knows only the operations and globals of the tables here. It builds values, and calls nothing.
type pickle struct {
	s       *scan
	l       *listing
	proto   int64
	stack   []any
	marks   []int // places in the stack
	memo    []any
	objects int
	said    string // what the last operation was about, for explanations
	done    bool
}

// The values besides nil, bool, int64 and float64.
type (
	// global is the name of an allowed global. No two of them differ in their module alone.
	global struct{ module, name string }
	// text is a text or bytes within the file. held is its content if it is short.
	text struct {
		off, n  int64
		unicode bool
		held    string
		kept    bool
	}
	// tuple and list are sequences. A tuple is never changed once it is made.
	tuple struct{ items []any }
	list  struct{ items []any }
	// dict is a dictionary in the order in which it was filled.
	dict struct {
		items  []pair
		names  map[string]int
		digits int // of the longest key that is a number
	}
	pair struct {
		key    string
		number bool // that is not below 0
		value  any
	}
	// hole stands in the memo for what was never put there.
	hole struct{}
)

// run executes the pickle to its end and gives what it built.
func (m *pickle) run() any {
	s := m.s
	for s.err == nil && !m.done {
		m.step()
	}
	if s.err != nil {
		return nil
	}
	if len(m.stack) != 1 || len(m.marks) != 0 {
		s.failAt(s.off-1, "%d values at the end of the pickle, want 1", len(m.stack))
		return nil
	}
	return m.stack[0]
}

// step executes one operation.
func (m *pickle) step() {
	s, start := m.s, m.s.off
	code := byte(s.u8("operation"))
	if s.err != nil {
		return
	}
	op := &operations[code]
	switch {
	case start == 0 && code != 0x80:
		s.failAt(start, "operation %#02x, want a pickle to begin with PROTO", code)
		return
	case op.name == "":
		s.failAt(start, "operation %#02x, want one of pickle protocol 2 to 5", code)
		return
	case op.do == nil:
		s.failAt(start, "operation %s, want only what arrays and dictionaries need", op.name)
		return
	}
	m.said = ""
	op.do(m)
	if s.err == nil && m.objects > maxObjects {
		s.failAt(start, "more than %d objects: %w", maxObjects, format.ErrLimit)
	}
	if s.print != nil && s.err == nil {
		m.show(start, op.name)
	}
}

// show prints an operation with its argument.
func (m *pickle) show(start int64, name string) {
	s := m.s
	raw := make([]byte, min(shownValues, s.off-start))
	if s.err = readAt(s.r, raw, start); s.err != nil {
		return
	}
	s.print.Field(start, raw, "%s", strings.TrimSpace(name+" "+m.said))
	if rest := s.off - start - int64(len(raw)); rest > 0 {
		s.print.Gap(start+int64(len(raw)), rest, "more of it")
	}
}

func (m *pickle) push(v any) {
	if len(m.stack) == maxStack {
		m.fail("more than %d values on the stack: %w", maxStack, format.ErrLimit)
		return
	}
	m.stack = append(m.stack, v)
}

// fail reports an error of the operation that was read last.
func (m *pickle) fail(text string, args ...any) { m.s.failAt(m.s.off-1, text, args...) }

// pop takes the topmost value, which must lie above the last mark.
func (m *pickle) pop() any {
	floor := 0
	if n := len(m.marks); n > 0 {
		floor = m.marks[n-1]
	}
	n := len(m.stack)
	if n <= floor {
		m.fail("no value on the stack, want one")
		return nil
	}
	v := m.stack[n-1]
	m.stack = m.stack[:n-1]
	return v
}

// popMark takes the values above the last mark, and the mark. The slice is the caller's.
func (m *pickle) popMark() []any {
	n := len(m.marks)
	if n == 0 {
		m.fail("no mark on the stack, want one")
		return nil
	}
	at := m.marks[n-1]
	v := append([]any(nil), m.stack[at:]...)
	m.stack, m.marks = m.stack[:at], m.marks[:n-1]
	m.objects += len(v)
	return v
}

// peek is the topmost value.
func (m *pickle) peek() any {
	v := m.pop()
	if m.s.err == nil {
		m.stack = m.stack[:len(m.stack)+1]
	}
	return v
}

// top is the topmost value, of type T.
func top[T any](m *pickle) T {
	v := m.peek()
	is, ok := v.(T)
	if !ok {
		m.fail("%s on the stack, want %s", kindOf(v), kindOf(is))
	}
	return is
}

// kindOf names the kind of a value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a truth value"
	case int64, float64:
		return "a number"
	case *text:
		return "a text"
	case *tuple:
		return "a tuple"
	case *list:
		return "a list"
	case *dict:
		return "a dictionary"
	case global:
		return "global " + v.name
	case *ndarray:
		return "an array"
	case *numpyType:
		return "an element type"
	case payload:
		return "bytes"
	}
	return "nothing"
}

// word is the content of a short text.
func word(v any) (string, bool) {
	t, ok := v.(*text)
	if !ok || !t.kept {
		return "", false
	}
	return t.held, true
}

// line reads up to a line feed.
func (m *pickle) line(what string) string {
	s := m.s
	b := s.take(min(maxLine, s.size-s.off), what)
	if s.err != nil {
		return ""
	}
	n := bytes.IndexByte(b, '\n')
	if n < 0 {
		s.failAt(s.off-int64(len(b)), "%s of %d bytes or more, want a line feed behind it", what, len(b))
		return ""
	}
	s.off -= int64(len(b) - n - 1)
	return string(b[:n])
}
