package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptReading stops a command that waits for the rest of its standard input: status 130, nothing left behind.
func TestInterruptReading(t *testing.T) {
	p := newProcess(t, t.TempDir(), "cat", "-")
	scratch := t.TempDir()
	p.Env = append(os.Environ(), "TMPDIR="+scratch)
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(make([]byte, 1<<20)); err != nil { // more than a pipe holds: the process reads
		t.Fatal(err)
	}
	p.Process.Signal(os.Interrupt)
	p.Wait()
	if code := p.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("status %d and %q, want %d", code, &p.err, exitInterrupted)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSocket: a socket is written to, and stays.
func TestSocket(t *testing.T) {
	t.Chdir(t.TempDir()) // paths of sockets are short
	l, err := net.Listen("unix", "sock")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	got := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- nil
			return
		}
		all, _ := io.ReadAll(c)
		got <- all
	}()
	thole(t, "data", "clicks", "--rows", "100", "--out", "sock")
	if want := thole(t, "data", "clicks", "--rows", "100"); string(<-got) != want {
		t.Errorf("the socket did not get %d bytes of examples", len(want))
	}
	if info, err := os.Lstat("sock"); err != nil || info.Mode()&os.ModeSocket == 0 {
		t.Errorf("the socket is gone: %v", err)
	}
}

// narrowWriter takes so many bytes, and then fails.
type narrowWriter struct {
	bytes.Buffer
	room int
	err  error
}

func (w *narrowWriter) Write(p []byte) (int, error) {
	n, _ := w.Buffer.Write(p[:min(len(p), w.room)])
	w.room -= n
	if n < len(p) {
		return n, &os.PathError{Op: "write", Path: "/dev/stdout", Err: w.err}
	}
	return n, nil
}

// TestStandardOutputFails: wherever in the text the error falls, the command fails with it, once, and does not write on.
func TestStandardOutputFails(t *testing.T) {
	whole := thole(t, "formats")
	for room := 0; room < len(whole); room += 61 {
		for _, c := range []struct {
			err  error
			code int
			said string
		}{
			{syscall.ENOSPC, exitError, "thole: standard output: no space left on device\n"},
			{syscall.EPIPE, 0, ""},
		} {
			out, said := &narrowWriter{room: room, err: c.err}, &strings.Builder{}
			code := Main([]string{"formats"}, &env{in: strings.NewReader(""), out: out, err: said})
			if code != c.code || said.String() != c.said || out.String() != whole[:room] {
				t.Fatalf("%v after %d bytes: status %d, %q, %d bytes written", c.err, room, code, said, out.Len())
			}
		}
	}
}

// TestChecked: each write says how many of its bytes were taken, and there are none after the first error.
func TestChecked(t *testing.T) {
	to := &narrowWriter{room: 5, err: syscall.ENOSPC}
	c := &checked{w: to, name: "FILE"}
	for i, want := range []int{3, 2, 0, 0} {
		if n, err := c.Write([]byte("abc")); n != want || (err == nil) != (i == 0) || err != nil && err.Error() != "FILE: no space left on device" {
			t.Errorf("write %d: %d bytes, %v, want %d", i, n, err, want)
		}
		to.room += i // somebody makes room again
	}
	if to.String() != "abcab" {
		t.Errorf("%q was written", to)
	}
}

// TestLogErrors: a log that fails keeps whole lines, and says so at the end as often as it is asked.
func TestLogErrors(t *testing.T) {
	e := &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	path := filepath.Join(t.TempDir(), "log")
	s, err := e.sink(path, false)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.lines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.append(map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	l.w = io.MultiWriter(&narrowWriter{room: 3, err: syscall.ENOSPC}, l.file)
	l.file.WriteString(`{"b"`) // what a full disk took of the line
	for range 2 {
		if err := l.append(map[string]int{"b": 2}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("append: %v, want no space", err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{\"a\":1}\n" {
		t.Errorf("the log holds %q, %v", text, err)
	}
	if err := l.close(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "--log "+path+": ") {
		t.Errorf("close: %v, want no space", err)
	}
	if _, err := s.lines(t.Context()); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second log at the path: %v", err)
	}
}
