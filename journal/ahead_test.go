package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReadAhead: a reader that reads ahead gives the records that one gives which does not, each valid until the next, follows the end of the
// log, finds the same damage, and ends when it is closed, whatever it was doing.
func TestReadAhead(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		m := newMachine(seed)
		files := m.start("", 0)
		l := open(t, files, Options{Segment: 1 << (16 + rng.IntN(8)), NoSync: true})
		long := strings.Repeat("0123456789abcdef", 200_000)
		some := func(n int) {
			for range n {
				size := rng.IntN(300)
				if rng.IntN(10) == 0 {
					size = rng.IntN(len(long))
				}
				at := rng.IntN(len(long) - size + 1)
				add(t, l, rng.Uint32(), long[at:at+size])
			}
			wait(t, l)
		}
		some(100)
		want := all(t, l, 0)
		r, err := l.Read(0)
		if err != nil {
			t.Fatal(err)
		}
		r.ReadAhead()
		next := func() {
			rec, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if rng.IntN(10) == 0 {
				time.Sleep(time.Millisecond) // the other goroutine reads what it can
			}
			if got := fmt.Sprintf("%d:%d:%s", rec.Position, rec.Kind, rec.Body); got != want[0] || r.Position() != rec.End {
				t.Fatalf("record %.40q, want %.40q", got, want[0])
			}
			want = want[1:]
		}
		for len(want) > 0 {
			next()
		}
		from := r.Position()
		some(50)
		for want = all(t, l, from); len(want) > rng.IntN(50); {
			next()
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReadAheadDamaged: what cannot be read is told after what can be.
func TestReadAheadDamaged(t *testing.T) {
	m := newMachine(1)
	files := m.start("", 0)
	l := open(t, files, Options{Segment: 1 << 16, NoSync: true})
	for i := range 100 {
		add(t, l, 0, fmt.Sprint(i), strings.Repeat("y", i))
	}
	wait(t, l)
	f, err := files.Open("00000000000000000000.log")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteVec([][]byte{{1, 2, 3}}, segmentHead+3000); err != nil {
		t.Fatal(err)
	}
	var found [2][]string
	for i := range found {
		r, err := l.Read(0)
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			r.ReadAhead()
		}
		for {
			rec, err := r.Next(t.Context())
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Error(err)
				}
				found[i] = append(found[i], err.Error())
				break
			}
			found[i] = append(found[i], string(rec.Body))
		}
		if _, err := r.Next(t.Context()); !errors.Is(err, ErrDamaged) {
			t.Errorf("asked again: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(found[0]) < 20 || !slices.Equal(found[0], found[1]) {
		t.Errorf("%d and %d records: %q and %q", len(found[0]), len(found[1]), found[0], found[1])
	}
}
