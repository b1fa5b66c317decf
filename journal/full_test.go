package journal

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// quota is the files of a machine, of which none can be made, or written, while there is no room.
type quota struct {
	Files
	mu   sync.Mutex
	full bool
	cut  int64 // bytes of a write for which there is room nevertheless
}

func (q *quota) set(full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.full = full
}

func (q *quota) check() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full {
		return syscall.ENOSPC
	}
	return nil
}

func (q *quota) Create(name string) (File, error) {
	f, err := q.Files.Create(name)
	return &quotaFile{f, q}, err
}

// quotaFile is a file of those.
type quotaFile struct {
	File
	q *quota
}

func (f *quotaFile) Allocate(size int64) error {
	return errors.Join(f.q.check(), f.File.Allocate(size))
}

func (f *quotaFile) WriteVec(vec [][]byte, off int64) (int64, error) {
	if err := f.q.check(); err != nil {
		n, _ := f.File.WriteVec([][]byte{vec[0][:min(f.q.cut, int64(len(vec[0])))]}, off)
		clear(vec) // as it may
		return n, err
	}
	return f.File.WriteVec(vec, off)
}

// TestFull: while the disk is full nothing is durable and nothing is lost; when there is room in time the log goes on, with all that was
// appended, and else it fails, and says that the disk was full.
func TestFull(t *testing.T) {
	for _, c := range []struct {
		name           string
		patience, wait time.Duration
		cut            int64
		fails          bool
	}{
		{"room in time", time.Minute, 20 * time.Second, 0, false},
		{"after a part of a write", time.Minute, 20 * time.Second, 11, false},
		{"room too late", 10 * time.Second, 20 * time.Second, 0, true},
		{"no patience", 0, time.Second, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &quota{Files: newMachine(1).start("", 0), cut: c.cut}
				var said []bool
				l := open(t, q, Options{Segment: 300, Patience: c.patience, Full: func(err error) { said = append(said, err != nil) }})
				add(t, l, 0, "before")
				wait(t, l)
				q.set(true)
				for i := range 20 {
					body := [][]byte{[]byte(fmt.Sprint(i)), []byte(strings.Repeat("x", 30))}
					if _, err := l.Append(t.Context(), body, 1); err != nil && !(c.fails && errors.Is(err, ErrFull)) {
						t.Fatal(err)
					}
				}
				time.Sleep(c.wait / 2)
				if len(all(t, l, 0)) != 1 {
					t.Error("something is durable on a full disk")
				}
				time.Sleep(c.wait)
				q.set(false)
				err := l.Wait(t.Context(), l.End())
				if failed := errors.Is(err, ErrFull) && errors.Is(err, syscall.ENOSPC); failed != c.fails || !failed && err != nil {
					t.Fatalf("%v", err)
				}
				if want := fmt.Sprint([]bool{true, false}); !c.fails && fmt.Sprint(said) != want {
					t.Errorf("told of a full disk %v, want %v", said, want)
				}
				if c.fails {
					return
				}
				if got := all(t, l, 0); len(got) != 21 || !strings.Contains(got[20], "19") {
					t.Errorf("read %q", got)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				again := open(t, q, Options{})
				if got := all(t, again, 0); len(got) != 21 || again.Cut() != nil {
					t.Errorf("after a restart %q, and cut %v", got, again.Cut())
				}
			})
		})
	}
}

// TestFullClose: a log that waits for room is closed at once, and a new one on a full disk is refused as such and leaves nothing that takes room.
func TestFullClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quota{Files: newMachine(1).start("", 0)}
		l := open(t, q, Options{Patience: time.Hour})
		q.set(true)
		add(t, l, 0, "never")
		time.Sleep(time.Minute)
		began := time.Now()
		if err := l.Close(); !errors.Is(err, ErrFull) || time.Since(began) > time.Second {
			t.Errorf("closed after %v with %v", time.Since(began), err)
		}
		other := &quota{Files: newMachine(2).start("", 0), full: true}
		if _, err := Open(other, Options{Patience: time.Hour}); !errors.Is(err, ErrFull) {
			t.Errorf("a new log on a full disk: %v", err)
		}
		if names, err := other.List(); err != nil || len(names) > 0 {
			t.Errorf("it leaves %q, %v", names, err)
		}
	})
}
