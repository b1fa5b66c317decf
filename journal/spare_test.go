package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// spareNames are the spare files of a machine.
func spareNames(t *testing.T, files Files) (all []string) {
	t.Helper()
	names, err := files.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, sparePrefix) {
			all = append(all, name)
		}
	}
	return all
}

// TestSpares: segments that are removed are written again, no more files are kept than said, what was in them before is never taken for a
// record, and no end is called torn where only old bytes lie.
func TestSpares(t *testing.T) {
	m := newMachine(1)
	files := m.start("", 0)
	l := open(t, files, Options{Segment: 300, Spares: 2})
	var late *Reader
	var ends []uint64
	for i := range 200 {
		ends = append(ends, add(t, l, 0, strings.Repeat("y", 1+i%40)))
		wait(t, l)
		if i == 100 {
			var err error
			if late, err = l.Read(ends[i-1]); err != nil {
				t.Fatal(err)
			}
			if _, err := late.Next(t.Context()); err != nil { // it has its segment open
				t.Fatal(err)
			}
		}
		if i > 5 {
			if err := l.Truncate(ends[i-5]); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(spareNames(t, files)); n > 3 { // one that is being filled is none yet
			t.Fatalf("%d spare files, want two, and one that is being filled", n)
		}
	}
	if !l.active.used {
		t.Error("the last segment was not written again")
	}
	var err error
	for range 200 {
		if _, err = late.Next(t.Context()); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrGone) {
		t.Errorf("a reader in a segment that was written again ends with %v", err)
	}
	if err := late.Close(); err != nil {
		t.Error(err)
	}
	want := all(t, l, l.First())
	m.kill()
	files = m.start("", 0)
	l = open(t, files, Options{Segment: 300, Spares: 2})
	if got := all(t, l, l.First()); fmt.Sprint(got) != fmt.Sprint(want) || len(want) == 0 {
		t.Errorf("after a kill there are %d records, want the %d that there were", len(got), len(want))
	}
	if l.Cut() != nil {
		t.Errorf("nothing was torn, and cut off was %v", l.Cut())
	}
	if left := spareNames(t, files); left != nil {
		t.Errorf("spare files of the process before: %q", left)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left := spareNames(t, files); left != nil {
		t.Errorf("spare files of a log that is closed: %q", left)
	}
}

// TestTruncateAgain: when anything of a Truncate fails the next one removes the rest, with spare files and without.
func TestTruncateAgain(t *testing.T) {
	for _, spares := range []int{0, 2} {
		for n := 1; n <= 4; n++ {
			m := newMachine(1)
			l := open(t, m.start("", 0), Options{Segment: 100, Spares: spares})
			for range 4 {
				add(t, l, 0, strings.Repeat("y", 70))
				wait(t, l)
			}
			time.Sleep(time.Millisecond)
			m.mu.Lock()
			m.fault, m.faultAt = "eio", m.ops+n
			m.mu.Unlock()
			if err := l.Truncate(l.End()); err == nil {
				t.Errorf("%d spares: operation %d fails, and nobody says so", spares, n)
			}
			if err := l.Truncate(l.End()); err != nil || l.First() != l.segments[len(l.segments)-1].first {
				t.Errorf("%d spares: after operation %d has failed: %v, and the log begins at %d", spares, n, err, l.First())
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestHarden: what is hardened in a log that is not synced is there after a loss of power, in each of its segments.
func TestHarden(t *testing.T) {
	lost := false
	for seed := range uint64(100) {
		m := newMachine(seed)
		l := open(t, m.start("", 0), Options{Segment: 200, NoSync: true})
		for range 9 {
			add(t, l, 0, "before it, there is", fmt.Sprint(seed))
		}
		hard := l.End()
		if err := l.Harden(t.Context(), hard); err != nil {
			t.Fatal(err)
		}
		for range 9 {
			add(t, l, 0, "and after it?")
		}
		wait(t, l)
		end := l.End()
		m.kill()
		m.power()
		l = open(t, m.start("", 0), Options{Segment: 200, NoSync: true})
		if got := l.Durable(); got < hard {
			t.Fatalf("seed %d: the log ends at %d, and was hardened up to %d", seed, got, hard)
		}
		lost = lost || l.Durable() < end
		if n := len(slices.DeleteFunc(all(t, l, 0), func(r string) bool { return !strings.Contains(r, "before") })); n != 9 {
			t.Fatalf("seed %d: %d of 9 records", seed, n)
		}
	}
	if !lost {
		t.Error("no power loss took anything that was not hardened: the test tests nothing")
	}
}
