package angel

import (
	"bytes"
	"fmt"

	"thole.example/wire"
)

// lines are the whole lines of the input, which a reader may parse without asking where the bytes end.
func (in *input) lines() []byte {
	if in.last {
		return in.b
	}
	return in.b[:bytes.LastIndexByte(in.b, '\n')+1]
}

// bad is the error for the line that begins at b[at].
func (in *input) bad(at int, want string) error {
	line := in.b[at:]
	if end := bytes.IndexAny(line[:min(len(line), 80)], "\r\n"); end >= 0 {
		line = line[:end]
	}
	return &wire.At{Off: in.base + int64(at), Err: fmt.Errorf("line %q, want %s", line[:min(len(line), 60)], want)}
}

// lineEnd is the place behind the line end at b[i]: LF, CRLF, CR, or the end of the input.
func lineEnd(b []byte, i int) (next int, ok bool) {
	switch {
	case i >= len(b):
		return i, i == len(b)
	case b[i] == '\n':
		return i + 1, true
	case b[i] != '\r':
		return i, false
	case i+1 < len(b) && b[i+1] == '\n':
		return i + 2, true
	}
	return i + 1, true
}

// field reads an integer and the separator behind it; next is 0 if that is not what stands at b[i].
func (in *input) field(b []byte, i int) (v int64, next int) {
	if i >= len(b) {
		return 0, 0
	}
	v, n := parseInt(b[i:])
	if n == 0 {
		return 0, 0
	}
	return v, in.behind(b, i+n)
}

// behind is the place behind the separator at b[i], 0 if there is none.
func (s *style) behind(b []byte, i int) int { return passed(s.sep, b, i) }

// between is the place behind what stands between two values, at b[i], 0 if that does not stand there.
func (s *style) between(b []byte, i int) int {
	if s.inner != "" {
		return passed(s.inner, b, i)
	}
	return passed(s.sep, b, i)
}

func passed(sep string, b []byte, i int) int {
	if i >= len(b) || b[i] != sep[0] {
		return 0
	}
	if len(sep) > 1 {
		if len(b)-i < len(sep) || string(b[i:i+len(sep)]) != sep {
			return 0
		}
	}
	return i + len(sep)
}
