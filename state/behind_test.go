package state

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/matrix"
)

// TestBehind: what is written and lent arrives, in order, whatever the sizes and while it yields or not; what is lent may change after
// its turns, and what is written at once.
func TestBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want bytes.Buffer
		got := &taker{}
		b := newBehind(rapid.SampledFrom([]io.Writer{got, &got.Buffer}).Draw(t, "to"))
		var rooms [Lent][]byte
		for turn := range rapid.IntRange(0, 3*Lent).Draw(t, "turns") {
			b.Yield(rapid.Bool().Draw(t, "yields"))
			room := &rooms[turn%Lent]
			clear(*room) // that was its turn
			*room = (*room)[:0]
			for range rapid.IntRange(0, 3).Draw(t, "in the turn") {
				n := rapid.SampledFrom([]int{0, 1, 7, 4096, 100_000, chunkBytes/2 + 5, chunkBytes - 1, chunkBytes, chunkBytes + 1}).Draw(t, "n")
				p := bytes.Repeat([]byte{byte(want.Len()%250) + 1}, n)
				want.Write(p)
				if rapid.Bool().Draw(t, "lent") {
					*room = append(*room, p...) // may move what was lent before, which stays where it was
					if err := b.Lend((*room)[len(*room)-n:]); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if k, err := b.Write(p); k != n || err != nil {
					t.Fatal(k, err)
				}
				clear(p) // it is the caller's again
			}
			b.Turn()
		}
		if err := errors.Join(b.end(), b.end()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("%d bytes, want %d", got.Len(), want.Len())
		}
	})
}

// taker is a Writer of all kinds. Nothing else is asked of it.
type taker struct {
	blob.Writer
	bytes.Buffer
	yields bool
	all    []written
}

// written is a write.
type written struct {
	yields, vec bool
	at, n       int
}

func (t *taker) Yield(yes bool) { t.yields = yes }

func (t *taker) Write(p []byte) (int, error) {
	t.all = append(t.all, written{t.yields, false, t.Len(), len(p)})
	return t.Buffer.Write(p)
}

func (t *taker) WriteVec(vec [][]byte) (int64, error) {
	at := t.Len()
	for _, p := range vec {
		t.Buffer.Write(p)
	}
	clear(vec)
	t.all = append(t.all, written{false, true, at, t.Len() - at})
	return int64(t.Len() - at), nil
}

type full struct{ left int }

var errFull = errors.New("the disk is full")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestBehindFails: the first error is told by a later write, and at the end, and nobody waits.
func TestBehindFails(t *testing.T) {
	for _, n := range []int{0, chunkBytes, 5 * chunkBytes} {
		f := &full{left: n}
		b := newBehind(f)
		var err error
		for i := 0; err == nil && i < 100; i++ {
			if _, err = b.Write(make([]byte, chunkBytes/2+1)); err == nil && i%2 == 0 {
				err = b.Lend(make([]byte, chunkBytes/2+1))
			}
			b.Turn()
		}
		if !errors.Is(err, errFull) || !errors.Is(b.end(), errFull) {
			t.Errorf("after %d bytes: %v and %v", n, err, b.end())
		}
		if f.left > 0 || f.left < -chunkBytes {
			t.Errorf("%d bytes are left: it went on after an error", f.left)
		}
	}
}

// TestBehindChunks: whatever the sizes of bands are, chunks are written from a multiple of their size on: where they lie, or as one slice
// that a disk can take while the writer of the stream says that it is to leave more to others.
func TestBehindChunks(t *testing.T) {
	to := &taker{}
	b := newBehind(to)
	w := NewWriter(b)
	band := Band{Values: []matrix.Block{matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 65000))}}
	for _, yes := range []bool{false, true, false} {
		w.Yield(yes)
		for range 5 * Lent {
			if err := w.Lend(band); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	counts := map[bool]int{}
	for _, w := range to.all {
		if w.yields && w.vec {
			t.Errorf("%+v: a disk may be asked to take slices of any bytes", w)
		}
		if end := w.at + w.n; w.at/chunkBytes != (end-1)/chunkBytes {
			t.Errorf("%d bytes at %d are of two chunks", w.n, w.at)
		}
		if w.n == chunkBytes {
			counts[w.vec]++
		}
	}
	if counts[true] < 5 || counts[false] < 10 {
		t.Errorf("%v chunks of %d writes", counts, len(to.all))
	}
}

// TestLend: a band that is lent is the same bytes as one that is not.
func TestLend(t *testing.T) {
	m, bands := large(4<<20, true)
	p := Partition{Matrix: m.Name, At: m.Rect(), Sparse: true, DType: m.DType, Slots: 1}
	var got, want bytes.Buffer
	b := newBehind(&got)
	for _, w := range []*Writer{NewWriter(b), NewWriter(&want)} {
		if err := w.Begin(p); err != nil {
			t.Fatal(err)
		}
		for _, band := range bands {
			if err := w.Lend(band); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.end(); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%v: %d bytes, want %d", err, got.Len(), want.Len())
	}
}

// TestSaveError: an error of a file that is being written speaks of what it will be.
func TestSaveError(t *testing.T) {
	s, err := Create(t.Context(), fullDisk{&blob.Mem{}}, "ck/0004", "", blob.Nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Abort(t.Context())
	_, err = s.File(t.Context(), 0, nil, nil)
	if want := "checkpoint: ck/0004/server.0: write /disk/ck/0004/server.0: " + errFull.Error(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// fullDisk is a folder on one.
type fullDisk struct{ blob.Bucket }

func (fullDisk) Create(_ context.Context, name string) (blob.Writer, error) {
	return nil, &fs.PathError{Op: "write", Path: "/disk/" + name, Err: errFull}
}
