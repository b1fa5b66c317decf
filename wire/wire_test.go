package wire

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

var orders = map[string]Order{"little": Little, "big": Big}

func TestCursorReadsWhatWasAppended(t *testing.T) {
	for name, o := range orders {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			a, b, c := rapid.Uint16().Draw(t, "u16"), rapid.Uint32().Draw(t, "u32"), rapid.Uint64().Draw(t, "u64")
			s, base := rapid.String().Draw(t, "string"), rapid.Int64Range(0, 1<<40).Draw(t, "base")
			buf := append([]byte{200}, AppendU16(nil, o, a)...)
			buf = AppendString(AppendU64(AppendU32(buf, o, b), o, c), o, s)
			buf = AppendU64(AppendU32(AppendU64(buf, o, math.Float64bits(-0.5)), o, b), o, c)

			r := NewCursor(buf, base, o)
			if r.Len() != len(buf) || r.Off() != base {
				t.Fatalf("%d bytes at %d", r.Len(), r.Off())
			}
			if r.U8("") != 200 || r.U16("") != a || r.U32("") != b || r.U64("") != c || r.String(1<<20, "") != s {
				t.Fatalf("read back other values, %v", r.Err())
			}
			if r.F64("") != -0.5 || r.I32("") != int32(b) || r.I64("") != int64(c) || r.Off() != base+int64(len(buf)) {
				t.Fatalf("read back other values, %v", r.Err())
			}
			if r.End("record"); r.Err() != nil || r.Len() != 0 {
				t.Fatalf("%d bytes left, %v", r.Len(), r.Err())
			}
		}))
	}
}

func TestCursorSetOrder(t *testing.T) {
	r := NewCursor([]byte{1, 0, 1, 0}, 0, Little)
	little := r.U16("")
	r.SetOrder(Big)
	if big := r.U16(""); little != 1 || big != 256 {
		t.Errorf("%d and %d, want 1 and 256", little, big)
	}
}

// Every way to read beyond the end says where it was, and everything after it reads as zero.
func TestCursorTruncated(t *testing.T) {
	full := []byte{9, 9, 9}
	for name, read := range map[string]func(*Cursor) bool{
		"u32":    func(c *Cursor) bool { return c.U32("field") == 0 },
		"u64":    func(c *Cursor) bool { return c.U64("field") == 0 },
		"i32":    func(c *Cursor) bool { return c.I32("field") == 0 },
		"i64":    func(c *Cursor) bool { return c.I64("field") == 0 },
		"f64":    func(c *Cursor) bool { return c.F64("field") == 0 },
		"bytes":  func(c *Cursor) bool { return c.Bytes(4, "field") == nil },
		"below":  func(c *Cursor) bool { return c.Bytes(-1, "field") == nil },
		"skip":   func(c *Cursor) bool { c.Skip(4, "field"); return true },
		"string": func(c *Cursor) bool { return c.String(10, "field") == "" },
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCursor(full, 100, Little)
			zero := read(c)
			var at *At
			if !errors.Is(c.Err(), ErrTruncated) || !errors.As(c.Err(), &at) || at.Off != 100 {
				t.Fatalf("%v, want truncation at byte 100", c.Err())
			}
			if !strings.HasPrefix(c.Err().Error(), "at byte 100: field") {
				t.Errorf("%q does not name place and field", c.Err())
			}
			first := c.Err()
			if !zero || c.U8("") != 0 || c.U16("") != 0 || c.Bytes(0, "") != nil || c.Count(1, 1, 9, "") != 0 || c.Len() != 3 {
				t.Error("reads something after the error")
			}
			if c.Fail("later"); c.Err() != first {
				t.Errorf("%v replaced the first error", c.Err())
			}
			if c.End(""); c.Err() != first {
				t.Errorf("%v replaced the first error", c.Err())
			}
		})
	}
	c := NewCursor(nil, 0, Big)
	if c.U8("byte"); !errors.Is(c.Err(), ErrTruncated) {
		t.Errorf("no input: %v", c.Err())
	}
}

func TestCursorBytesCannotGrowIntoInput(t *testing.T) {
	input := []byte{1, 2, 3}
	c := NewCursor(input, 0, Little)
	_ = append(c.Bytes(1, "first"), 77)
	if input[1] != 2 {
		t.Error("appending to a view changed the input")
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n     int64
		size  int
		limit int64
		want  int
		err   string
	}{
		{0, 8, 10, 0, ""},
		{2, 8, 10, 2, ""},
		{16, 1, 16, 16, ""},
		{100, 0, 100, 100, ""}, // elements that take no bytes: only the limit holds
		{3, 8, 10, 0, "is 3, of 8 bytes each, but 16 bytes remain"},
		{17, 1, 100, 0, "is 17, of 1 bytes each, but 16 bytes remain"},
		{-1, 8, 10, 0, "is -1, want 0..10"},
		{11, 1, 10, 0, "is 11, want 0..10"},
		{math.MaxInt64, 8, math.MaxInt64, 0, "16 bytes remain"}, // n times size is beyond int64
		{1 << 61, 8, math.MaxInt64, 0, "16 bytes remain"},
		{math.MinInt64, 1, 10, 0, "want 0..10"},
	} {
		r := NewCursor(make([]byte, 16), 7, Little)
		got := r.Count(c.n, c.size, c.limit, "count")
		if c.err == "" && (r.Err() != nil || got != c.want) || c.err != "" &&
			(got != 0 || r.Err() == nil || !strings.Contains(r.Err().Error(), c.err) || !strings.Contains(r.Err().Error(), "at byte 7")) {
			t.Errorf("%d of %d bytes: %d, %v; want %d, %q", c.n, c.size, got, r.Err(), c.want, c.err)
		}
		if wrong := errors.Is(r.Err(), ErrTruncated); wrong != strings.Contains(c.err, "remain") {
			t.Errorf("%d of %d bytes: %v", c.n, c.size, r.Err())
		}
	}
}

func TestStringLimit(t *testing.T) {
	buf := AppendString(nil, Little, "abcdef")
	if c := NewCursor(buf, 0, Little); c.String(5, "name") != "" || !strings.Contains(c.Err().Error(), "name length is 6, want 0..5") {
		t.Error(c.Err())
	}
	if c := NewCursor(buf[:8], 0, Little); c.String(6, "name") != "" || !errors.Is(c.Err(), ErrTruncated) {
		t.Error(c.Err())
	}
}

func TestEnd(t *testing.T) {
	c := NewCursor([]byte{1, 2}, 10, Little)
	c.U8("")
	if c.End("the header"); c.Err() == nil || c.Err().Error() != "at byte 11: 1 bytes after the end of the header" {
		t.Error(c.Err())
	}
}

func TestReadAt(t *testing.T) {
	r := strings.NewReader("0123456789")
	buf := make([]byte, 4)
	if err := ReadAt(r, buf, 6); err != nil || string(buf) != "6789" {
		t.Errorf("%q, %v", buf, err)
	}
	if err := ReadAt(r, nil, 10); err != nil {
		t.Error(err)
	}
	var at *At
	if err := ReadAt(r, buf, 8); !errors.Is(err, ErrTruncated) || !errors.As(err, &at) || at.Off != 10 {
		t.Errorf("%v, want truncation at byte 10", err)
	}
	broken := errors.New("broken disk")
	if err := ReadAt(readerAt{iotest.ErrReader(broken)}, buf, 3); !errors.Is(err, broken) || !errors.Is(err, ErrUnread) || errors.Is(err, ErrTruncated) {
		t.Error(err)
	}
}

type readerAt struct{ io.Reader }

func (r readerAt) ReadAt(p []byte, _ int64) (int, error) { return r.Read(p) }

// FuzzCursor reads random input by a random program: it must not panic, and the place never leaves the input.
func FuzzCursor(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, []byte{0, 1, 2, 3, 4})
	f.Add(AppendString(nil, Little, "name"), []byte{6, 0})
	f.Add([]byte{255, 255, 255, 255}, []byte{6, 5, 5})
	f.Fuzz(func(t *testing.T, input, program []byte) {
		c := NewCursor(bytes.Clone(input), 5, Little)
		for _, op := range program {
			before, failed := c.Off(), c.Err()
			switch op % 7 {
			case 0:
				c.U8("u8")
			case 1:
				c.U16("u16")
			case 2:
				c.U32("u32")
			case 3:
				c.U64("u64")
			case 4:
				c.Bytes(int(int8(op)), "bytes")
			case 5:
				if n := c.Count(c.I64("count"), int(op), math.MaxInt64, "count"); op > 0 && n*int(op) > c.Len() {
					t.Fatalf("%d of %d bytes, but %d remain", n, op, c.Len())
				}
			case 6:
				c.String(1<<20, "string")
			}
			if c.Off() < before || c.Off() > 5+int64(len(input)) || failed != nil && (c.Off() != before || c.Err() != failed) {
				t.Fatalf("from byte %d to %d of %d, %v after %v", before, c.Off(), len(input), c.Err(), failed)
			}
		}
	})
}
