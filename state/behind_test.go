package state

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
)

// TestBehind: what is written arrives, in order, whatever the sizes.
func TestBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got, want bytes.Buffer
		b := newBehind(&got)
		for range rapid.IntRange(0, 6).Draw(t, "writes") {
			n := rapid.SampledFrom([]int{0, 1, 7, 4096, chunkBytes - 1, chunkBytes, chunkBytes + 1}).Draw(t, "n")
			p := bytes.Repeat([]byte{byte(want.Len() % 251)}, n)
			if k, err := b.Write(p); k != n || err != nil {
				t.Fatal(k, err)
			}
			want.Write(p)
			clear(p) // it is the caller's again
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
			_, err = b.Write(make([]byte, chunkBytes/2+1))
		}
		if !errors.Is(err, errFull) || !errors.Is(b.end(), errFull) {
			t.Errorf("after %d bytes: %v and %v", n, err, b.end())
		}
		if f.left > 0 || f.left < -chunkBytes {
			t.Errorf("%d bytes are left: it went on after an error", f.left)
		}
	}
}

// yielder notes for each write whether it was to yield. Nothing else of a blob.Writer is asked of it.
type yielder struct {
	blob.Writer
	yields bool
	all    []bool
}

func (y *yielder) Yield(yes bool) { y.yields = yes }

func (y *yielder) Write(p []byte) (int, error) {
	y.all = append(y.all, y.yields)
	return len(p), nil
}

// TestBehindYields: a writer of a stream tells who writes the object whether to leave more to others.
func TestBehindYields(t *testing.T) {
	y := &yielder{}
	b := newBehind(y)
	w := NewWriter(b)
	for _, yes := range []bool{true, false} {
		w.Yield(yes)
		if w.write(make([]byte, 3*chunks*chunkBytes)); w.err != nil {
			t.Fatal(w.err)
		}
	}
	if err := b.end(); err != nil || !y.all[0] || y.all[len(y.all)-1] {
		t.Errorf("%v, %v", err, y.all)
	}
}
