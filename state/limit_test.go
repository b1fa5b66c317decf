package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// endless is an object that begins with some bytes, has zeros up to its size, and counts how many were read of it.
type endless struct {
	begin []byte
	size  int64
	read  int64
	err   error // of reading behind the beginning
}

func (e *endless) ReadAt(b []byte, off int64) (int, error) {
	if e.err != nil && off+int64(len(b)) > int64(len(e.begin)) {
		return 0, e.err
	}
	clear(b)
	if off < int64(len(e.begin)) {
		copy(b, e.begin[off:])
	}
	e.read += int64(len(b))
	return len(b), nil
}

func (e *endless) Size() int64  { return e.size }
func (e *endless) Close() error { return nil }

// holding is a bucket in which each object is the same.
type holding struct {
	blob.Bucket
	object *endless
}

func (h holding) Open(context.Context, string) (blob.Object, error) { return h.object, nil }

// TestLimit: JSON that is too long is refused by its length, before it is read, and is not written either.
func TestLimit(t *testing.T) {
	record := hostile(func(w *Writer) {
		if err := w.Begin(Partition{Matrix: "w", At: matrix.At(0, 1, 0, 9), Sparse: true, DType: matrix.F64}); err != nil {
			t.Fatal(err)
		}
	})
	empty := hostile(func(w *Writer) { _ = w.frame(kindNote) })[:len(magic)]
	for _, c := range []struct {
		kind  kind
		begin []byte // before the frame
		read  func(r *Reader) error
	}{
		{kindPartition, empty, func(r *Reader) error { _, err := r.Partition(); return err }},
		{kindJob, empty, func(r *Reader) error { _, err := r.Job(); return err }},
		{kindCheckpoint, empty, func(r *Reader) error { _, err := readCheckpoint(r); return err }},
		{kindEnd, record, func(r *Reader) error {
			p, err := r.Partition()
			for _, e := range r.Bands(&p) {
				err = e
			}
			return err
		}},
	} {
		head := wire.AppendU64(wire.AppendU64(slices.Clone(c.begin), wire.Little, uint64(c.kind)), wire.Little, jsonLimit+1)
		src := &endless{begin: head, size: 1 << 40}
		r, err := NewReader(src, src.size)
		if err != nil {
			t.Fatal(err)
		}
		err = format.Wrap(codec, "x", c.read(r))
		want := fmt.Sprintf("at byte %d: %v of %d bytes, want at most %d", len(c.begin)+8, c.kind, jsonLimit+1, jsonLimit)
		if !errors.Is(err, format.ErrLimit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", c.kind, err, want)
		}
		if src.read > int64(len(head)) {
			t.Errorf("%v: %d bytes were read, want %d", c.kind, src.read, len(head))
		}
		large := slices.Repeat([][]byte{make([]byte, 1<<20)}, jsonLimit>>20)
		if err := NewWriter(io.Discard).frame(c.kind, append(large, []byte{0})...); !errors.Is(err, format.ErrLimit) {
			t.Errorf("%v: written: %v", c.kind, err)
		}
	}
}

// TestRuinedLarge: whether a head is damaged is found out without reading more than a head can have, and a disk that fails is no damage.
func TestRuinedLarge(t *testing.T) {
	failed := errors.New("the disk fails")
	long := wire.AppendU64(wire.AppendU64([]byte(magic), wire.Little, uint64(kindCheckpoint)), wire.Little, jsonLimit+1)
	for _, c := range []struct {
		name   string
		object *endless
		ruined bool
		err    error
	}{
		{"no head", &endless{size: math.MaxInt64}, true, nil},
		{"a long head", &endless{begin: long, size: 1 << 40}, false, nil},
		{"a head that ends", &endless{begin: long[:len(magic)], size: 1 << 40}, true, nil},
		{"a disk that fails", &endless{begin: long[:len(magic)], size: 1 << 40, err: failed}, false, failed},
	} {
		ruined, err := Ruined(t.Context(), holding{object: c.object}, "run/000000000420")
		if ruined != c.ruined || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, ruined, err, c.ruined, c.err)
		}
		if c.object.read > 100 {
			t.Errorf("%s: %d bytes were read", c.name, c.object.read)
		}
	}
}
