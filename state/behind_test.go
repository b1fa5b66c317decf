package state

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
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
