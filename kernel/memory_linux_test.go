package kernel

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// anonymous is how much memory this process has that is of no file, in bytes.
func anonymous(t *testing.T) int64 { return statusBytes(t, "RssAnon:") }

// statusBytes is an entry of what the system says of this process, in bytes.
func statusBytes(t *testing.T, entry string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), entry)
	n := int64(0)
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Skip(err)
	}
	return n << 10
}

// TestFit: memory that fits takes from the system what was asked for, not whole huge pages.
func TestFit(t *testing.T) {
	const count, size = 32, 3<<20 + 100
	before := anonymous(t)
	var all [count]Memory
	for i := range all {
		m := &all[i]
		defer m.Free()
		if err := m.Fit(size); err != nil {
			t.Fatal(err)
		}
		for k := range m.Data()[:size] {
			if m.Data()[k] != 0 {
				t.Fatalf("byte %d is %d, want 0", k, m.Data()[k])
			}
			m.Data()[k] = 1
		}
		if n := m.Resident(size); n != size {
			t.Fatalf("%d bytes are said to be taken, want %d", n, size)
		}
	}
	if took := anonymous(t) - before; took > count*(size+size/8) {
		t.Errorf("%d bytes taken for %d of %d", took, count, size)
	}
}

// TestReadyCounts: what is prepared is taken, whether it is used or not.
func TestReadyCounts(t *testing.T) {
	var m Memory
	defer m.Free()
	if err := m.Grow(16 << 20); err != nil {
		t.Fatal(err)
	}
	before := anonymous(t)
	m.Ready(hugePage, 8<<20, false)
	m.Await(0, 8<<20)
	if n := m.Resident(100); n != 8<<20 {
		t.Errorf("%d bytes are said to be taken, want 8 MiB", n)
	}
	if took := anonymous(t) - before; took > 8<<20 {
		t.Errorf("%d bytes were taken, want 8 MiB at most", took)
	}
}

// TestReadyInSteps: ranges that follow each other are prepared to the last page, however small they are, in both directions, and
// none of them is missing after Await.
func TestReadyInSteps(t *testing.T) {
	const all, step = 32 << 20, 300 << 10
	for _, fromEnd := range []bool{false, true} {
		var m Memory
		defer m.Free()
		if err := m.Grow(all); err != nil {
			t.Fatal(err)
		}
		before := anonymous(t)
		for n := 0; n < all; n += step {
			from, to := n, min(n+step, all)
			if fromEnd {
				from, to = all-to, all-from
			}
			m.Ready(from, to, fromEnd)
		}
		if n := m.Resident(0); n != all {
			t.Errorf("%d bytes are said to be taken, want %d", n, all)
		}
		m.Await(0, all)
		if m.mapped.pending.Load() {
			t.Error("pages are being prepared after all were waited for")
		}
		if took := anonymous(t) - before; took < all-all/8 {
			t.Errorf("from the end: %t: %d bytes were taken, want %d", fromEnd, took, all)
		}
	}
}
