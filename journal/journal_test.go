package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a log that the test closes, with small segments if it does not say how large.
func open(t testing.TB, files Files, o Options) *Log {
	t.Helper()
	if o.Segment == 0 {
		o.Segment = 4096
	}
	l, err := Open(files, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func add(t testing.TB, l *Log, kind uint32, body ...string) uint64 {
	t.Helper()
	var vec [][]byte
	for _, b := range body {
		vec = append(vec, []byte(b))
	}
	end, err := l.Append(t.Context(), vec, kind)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// all reads what is durable from a position on.
func all(t testing.TB, l *Log, from uint64) (out []string) {
	t.Helper()
	r, err := l.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Position() < l.Durable() {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d:%d:%s", rec.Position, rec.Kind, rec.Body))
	}
	return out
}

func wait(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Wait(t.Context(), l.End()); err != nil {
		t.Fatal(err)
	}
}

// On a real disk: what is appended is read, by the same process and the next, and the file has its own length after a clean close.
func TestDisk(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "a", "b"))
	l, err := Open(dir, Options{Segment: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("opened twice: %v", err)
	}
	long := strings.Repeat("x", copyLimit+1)
	add(t, l, 1, "one")
	add(t, l, 2)
	add(t, l, 3, "a", long, "b", long, "c")
	want := []string{"0:1:one", "40:2:", "72:3:a" + long + "b" + long + "c"}
	for range 3 {
		wait(t, l)
		if got := all(t, l, 0); !slices.Equal(got, want) {
			t.Fatalf("read %.200q, want %.200q", got, want)
		}
		want = append(want, fmt.Sprintf("%d:4:more", l.End()))
		end := add(t, l, 4, "more")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(string(dir), "00000000000000000000.log")); err != nil || info.Size() != segmentHead+int64(end) {
			t.Fatalf("a file of %v bytes, %v, want %d", info.Size(), err, segmentHead+end)
		}
		if l, err = Open(dir, Options{Identity: l.Identity()}); err != nil {
			t.Fatal(err)
		}
		if l.Cut() != nil {
			t.Errorf("cut off after a clean close: %v", l.Cut())
		}
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
}

// Many slices of which the system takes not all at once.
func TestDiskManySlices(t *testing.T) {
	l := open(t, Dir(t.TempDir()), Options{NoSync: true})
	var vec [][]byte
	for i := range 3000 {
		vec = append(vec, bytes.Repeat([]byte{byte(i)}, copyLimit+1+i%3))
	}
	if _, err := l.Append(t.Context(), vec, 7); err != nil {
		t.Fatal(err)
	}
	wait(t, l)
	if got := all(t, l, 0); len(got) != 1 || got[0] != "0:7:"+string(bytes.Join(vec, nil)) {
		t.Errorf("%d records, want one with all slices", len(got))
	}
}

func TestSegmentsAndTruncate(t *testing.T) {
	m := newMachine(1)
	l := open(t, m.start("", 0), Options{Segment: 100})
	var ends []uint64
	for i := range 10 {
		ends = append(ends, add(t, l, 0, strings.Repeat("y", 20+i)))
		wait(t, l)
	}
	late, err := l.Read(ends[1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Next(t.Context()); err != nil { // it has its segment open
		t.Fatal(err)
	}
	n := len(m.names)
	if err := l.Truncate(ends[0] - 1); err != nil || len(m.names) != n || l.First() != 0 {
		t.Fatalf("%v, %d of %d files, from %d: want none removed whose records are not all before", err, len(m.names), n, l.First())
	}
	if err := l.Truncate(ends[6]); err != nil {
		t.Fatal(err)
	}
	if f := l.First(); f == 0 || f > ends[6] || len(m.names) >= n {
		t.Errorf("from %d in %d files, want less", f, len(m.names))
	}
	if _, err := l.Read(0); !errors.Is(err, ErrGone) {
		t.Errorf("reading what was removed: %v", err)
	}
	for err = nil; err == nil; _, err = late.Next(t.Context()) {
	}
	if !errors.Is(err, ErrGone) {
		t.Errorf("a reader in a removed segment ends with %v", err)
	}
	if err := late.Close(); err != nil {
		t.Error(err)
	}
	if got := all(t, l, ends[6]); len(got) != 3 {
		t.Errorf("%d records after those removed, want 3", len(got))
	}
	if err := l.Truncate(l.End()); err != nil || len(l.segments) != 1 {
		t.Errorf("%v, %d segments, want the last one kept", err, len(l.segments))
	}
	add(t, l, 0, "and on")
	wait(t, l)
}

// With a sync each, several appenders share one; what Append says of room is held.
func TestGroupsAndRoom(t *testing.T) {
	m := newMachine(1)
	files := &slow{Files: m.start("", 0), gate: make(chan struct{})}
	l := open(t, files, Options{Queue: 200})
	t.Cleanup(func() { close(files.gate) })
	before := m.syncs
	add(t, l, 0, "first")
	<-files.came() // its sync goes on
	for range 3 {
		add(t, l, 0, "0123456789")
	}
	if n := l.End() - l.Durable(); n != 40+3*48 || n > 200 {
		t.Fatalf("%d bytes wait", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := l.Append(ctx, [][]byte{make([]byte, 64)}, 0); done <- err }()
	go func() { _, err := l.Append(ctx, [][]byte{make([]byte, 64)}, 0); done <- err }()
	cancel()
	for range 2 {
		if err := <-done; err != context.Canceled {
			t.Errorf("without room: %v, want it to wait", err)
		}
	}
	if end := l.End(); end != 184 {
		t.Errorf("the log ends at %d, want nothing of what was not appended", end)
	}
	files.gate <- struct{}{}
	<-files.came()
	files.gate <- struct{}{}
	wait(t, l)
	if n := m.syncs - before; n != 2 {
		t.Errorf("%d syncs for a record and three that came meanwhile, want 2", n)
	}
	big := make(chan uint64)
	go func() { big <- add(t, l, 0, strings.Repeat("z", 1000)) }() // larger than the queue: alone
	<-big
	<-files.came()
	files.gate <- struct{}{}
	wait(t, l)
}

// Who came first for room has it first: small records do not pass a large one that waits.
func TestRoomInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &slow{Files: newMachine(1).start("", 0), gate: make(chan struct{})}
		l := open(t, files, Options{Queue: 100})
		add(t, l, 0, "first")
		<-files.came()
		ends := make(chan uint64, 2)
		for _, n := range []int{64, 0} {
			go func() { ends <- add(t, l, 0, strings.Repeat("x", n)) }()
			synctest.Wait()
		}
		if end := l.End(); end != 40 {
			t.Errorf("the log ends at %d, want 40: the small record passed the large one", end)
		}
		close(files.gate)
		if a, b := <-ends, <-ends; a+b != 136+168 || l.End() != 168 {
			t.Errorf("records up to %d and %d, want 136 and 168", a, b)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// slow is files whose syncs wait to be let go.
type slow struct {
	Files
	gate  chan struct{}
	mu    sync.Mutex
	waits chan struct{}
}

func (s *slow) came() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits == nil {
		s.waits = make(chan struct{}, 100)
	}
	return s.waits
}

func (s *slow) Create(name string) (File, error) {
	f, err := s.Files.Create(name)
	return &slowFile{File: f, s: s}, err
}

type slowFile struct {
	File
	s    *slow
	made bool
}

func (f *slowFile) Sync() error {
	if f.made {
		f.s.came() <- struct{}{}
		<-f.s.gate
	}
	f.made = true // the first one is that of the head
	return f.File.Sync()
}

// After a write or a sync that failed nothing is tried again, and everything says why; the next process goes on with what was durable.
func TestPoison(t *testing.T) {
	for fault, want := range map[string]error{"full": syscall.ENOSPC, "eio": syscall.EIO} {
		m := newMachine(3)
		var last error
		l := open(t, m.start("", 0), Options{Notify: func(_ uint64, err error) { last = err }})
		end := add(t, l, 1, "durable")
		wait(t, l)
		m.mu.Lock()
		m.fault, m.faultAt = fault, m.ops+1
		m.mu.Unlock()
		lost := add(t, l, 2, "lost")
		err := l.Wait(t.Context(), lost)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "nothing from position 40 on is durable") {
			t.Errorf("%s: wait: %v", fault, err)
		}
		if _, err := l.Append(t.Context(), nil, 3); !errors.Is(err, want) {
			t.Errorf("%s: append: %v", fault, err)
		}
		if err := l.Wait(t.Context(), end); err != nil {
			t.Errorf("%s: what was durable: %v", fault, err)
		}
		syncs := m.syncs
		if err := l.Close(); !errors.Is(err, want) || m.syncs != syncs || !errors.Is(last, want) {
			t.Errorf("%s: close: %v after %d syncs more, notified of %v", fault, err, m.syncs-syncs, last)
		}
		again := open(t, m.start("", 0), Options{})
		if got := all(t, again, 0); got[0] != "0:1:durable" {
			t.Errorf("%s: the next process reads %q", fault, got)
		}
	}
}

func TestClosed(t *testing.T) {
	l := open(t, newMachine(1).start("", 0), Options{})
	end := add(t, l, 0, "last")
	r, err := l.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), nil, 0); err != ErrClosed {
		t.Errorf("append: %v", err)
	}
	if err := l.Wait(t.Context(), end); err != nil {
		t.Errorf("what was appended before: %v", err)
	}
	if rec, err := r.Next(t.Context()); err != nil || string(rec.Body) != "last" {
		t.Errorf("reading it: %q, %v", rec.Body, err)
	}
	if _, err := r.Next(t.Context()); err != ErrClosed {
		t.Errorf("reading on: %v", err)
	}
}

// A group waits for more records for the delay, and no longer when somebody waits for room or the log is closed.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, newMachine(1).start("", 0), Options{Delay: time.Minute, Queue: 100})
		start := time.Now()
		wait(t, l)
		add(t, l, 0, "one")
		time.Sleep(59 * time.Second)
		if synctest.Wait(); l.Durable() != 0 {
			t.Error("durable before the delay")
		}
		wait(t, l)
		if d := time.Since(start); d != time.Minute {
			t.Errorf("durable after %v, want a minute", d)
		}
		synctest.Wait() // what comes next is in another group, with a delay of its own
		add(t, l, 0, "two")
		synctest.Wait()
		add(t, l, 0, strings.Repeat("x", 60)) // no room
		if d := time.Since(start); d != time.Minute {
			t.Errorf("waited for room for %v", d-time.Minute)
		}
		if err := l.Close(); err != nil || time.Since(start) != time.Minute {
			t.Errorf("closed after %v: %v", time.Since(start), err)
		}
	})
}

func TestRefusals(t *testing.T) {
	files := newMachine(1).start("", 0)
	l := open(t, files, Options{Identity: "mine"})
	add(t, l, 0, "x")
	for _, c := range []struct {
		want string
		try  func() error
	}{
		{"the log ends at 40", func() error { return l.Wait(t.Context(), 41) }},
		{"want at most the end of the log, 40", func() error { _, err := l.Read(48); return err }},
		{"write several", func() error {
			_, err := l.Append(t.Context(), slices.Repeat([][]byte{make([]byte, 1<<20)}, 1025), 0)
			return err
		}},
		{"identity of 57 bytes, want at most 56", func() error { _, err := Open(files, Options{Identity: strings.Repeat("i", 57)}); return err }},
		{`the identity "a\x00", want a text`, func() error { _, err := Open(files, Options{Identity: "a\x00"}); return err }},
		{"at byte 112: a record of position 1, want 8", func() error { return readAt(l, 8) }},
		{`at byte 40: the identity is "mine", want "another"`, func() error { return errors.Join(l.Close(), foreign(files)) }},
	} {
		if err := c.try(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func readAt(l *Log, position uint64) error {
	r, err := l.Read(position)
	if err != nil {
		return err
	}
	_, err = r.Next(context.Background())
	return errors.Join(err, r.Close())
}

func foreign(files Files) error {
	_, err := Open(files, Options{Identity: "another"})
	if !errors.Is(err, ErrForeign) {
		return fmt.Errorf("not foreign: %w", err)
	}
	return err
}

// In the steady state a record costs no memory.
func TestAppendAllocates(t *testing.T) {
	l := open(t, Dir(t.TempDir()), Options{NoSync: true, Segment: 1 << 20})
	vec := [][]byte{make([]byte, 100), make([]byte, 2*copyLimit)}
	ctx := context.Background()
	one := func() {
		end, err := l.Append(ctx, vec, 1)
		if err == nil {
			err = l.Wait(ctx, end)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		one()
	}
	if n := testing.AllocsPerRun(50, one); n > 0 {
		t.Errorf("%v allocations for a record, want none", n)
	}
}

// TestBeginsAt begins a log at a position, as one does that continues another, and opens it again there.
func TestBeginsAt(t *testing.T) {
	files := Dir(t.TempDir())
	l := open(t, files, Options{First: 4096})
	if l.First() != 4096 || l.End() != 4096 || l.Durable() != 4096 {
		t.Fatalf("a new log from position 4096 has %d to %d, durable up to %d", l.First(), l.End(), l.Durable())
	}
	end := add(t, l, 1, "a")
	if err := l.Wait(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, files, Options{First: 8}) // of new logs alone
	if got := all(t, l, 4096); l.First() != 4096 || l.End() != end || !slices.Equal(got, []string{"4096:1:a"}) {
		t.Errorf("opened again from %d to %d with %q", l.First(), l.End(), got)
	}
	if _, err := l.Read(0); !errors.Is(err, ErrGone) {
		t.Errorf("what is before is read with %v", err)
	}
	if _, err := Open(Dir(t.TempDir()), Options{First: 12}); err == nil {
		t.Error("a log begins at a position where no record can")
	}
}
