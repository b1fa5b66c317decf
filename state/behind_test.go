package state

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/matrix"
)

// TestBehind: what is written and lent arrives, in order, whatever the sizes and while it yields or not; what is lent may change after
// its turns, and what is written at once.
func TestBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got, want bytes.Buffer
		b := newBehind(&got)
		var rooms [Lent][]byte
		for turn := range rapid.IntRange(0, 3*Lent).Draw(t, "turns") {
			b.Yield(rapid.Bool().Draw(t, "yields"))
			room := &rooms[turn%Lent]
			clear(*room) // that was its turn
			*room = (*room)[:0]
			for range rapid.IntRange(0, 3).Draw(t, "in the turn") {
				n := rapid.SampledFrom([]int{0, 1, 7, 4096, aloneBytes - 1, aloneBytes, chunkBytes - 1, chunkBytes, chunkBytes + 1}).Draw(t, "n")
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

// yielder notes of each write how much, where, and whether it was to yield. Nothing else of a blob.Writer is asked of it.
type yielder struct {
	blob.Writer
	yields bool
	at     int
	all    []written
}

type written struct {
	yields bool
	at, n  int
}

func (y *yielder) Yield(yes bool) { y.yields = yes }

func (y *yielder) Write(p []byte) (int, error) {
	y.all = append(y.all, written{y.yields, y.at, len(p)})
	y.at += len(p)
	return len(p), nil
}

// TestBehindYields: a writer of a stream tells who writes the object whether to leave more to others. Then it gets large parts of whole
// pages, which a disk can take from where they lie, whatever the sizes of bands are.
func TestBehindYields(t *testing.T) {
	y := &yielder{}
	b := newBehind(y)
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
	if err := b.end(); err != nil || y.all[0].yields || y.all[len(y.all)-1].yields {
		t.Errorf("%v, %v", err, y.all)
	}
	large := 0
	for _, w := range y.all {
		if w.yields && w.n == chunkBytes {
			if large++; w.at%pageBytes != 0 {
				t.Errorf("%d bytes at %d, want whole pages", w.n, w.at)
			}
		}
	}
	if large < 3 {
		t.Errorf("%d large writes of %d while it yielded", large, len(y.all))
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
