package main

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// overheard counts the bodies that one side of a connection sends, with a checksum and without.
type overheard struct{ with, without int }

// hear reads what one side sends: docs/format/wire.md has the layouts.
func (o *overheard) hear(from io.Reader) {
	greeting := make([]byte, 32)
	if _, err := io.ReadFull(from, greeting); err != nil {
		return
	}
	rest := int64(binary.LittleEndian.Uint16(greeting[14:]))
	head := make([]byte, 24)
	for {
		if _, err := io.CopyN(io.Discard, from, rest); err != nil {
			return
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		rest = int64(binary.LittleEndian.Uint32(head))
		switch sum := head[5]&1 > 0; {
		case sum:
			o.with++
		case rest > 0:
			o.without++
		}
	}
}

// between passes on the connection of one worker to a server; done waits until it has ended, and says what both sent.
func between(t *testing.T, server string) (addr string, done func() (up, down overheard)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var up, down overheard
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			worker, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				t.Error(err)
				worker.Close()
				return
			}
			pass := func(from, to net.Conn, o *overheard) {
				defer to.Close()
				o.hear(io.TeeReader(from, to))
			}
			var both sync.WaitGroup
			both.Go(func() { pass(worker, to, &up) })
			both.Go(func() { pass(to, worker, &down) })
			both.Wait()
		}
	})
	return l.Addr().String(), func() (overheard, overheard) {
		l.Close()
		wait.Wait()
		return up, down
	}
}

// TestNoChecksum: each end leaves checksums out if it is told to, whatever the other does, and they work together.
func TestNoChecksum(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	for name, none := range map[string][2]bool{"neither": {}, "worker": {true, false}, "server": {false, true}, "both": {true, true}} {
		t.Run(name, func(t *testing.T) {
			flags := map[bool][]string{true: {"--no-checksum"}}
			_, server := startServer(t, dir, flags[none[1]]...)
			addr, done := between(t, server)
			w := newProcess(t, dir, append([]string{"worker", "--servers", addr, "--data", file, "--format", "dummy", "--epochs", "3"},
				flags[none[0]]...)...)
			if err := w.Run(); err != nil {
				t.Errorf("%v: %s", err, &w.err)
			}
			up, down := done()
			for i, o := range []overheard{up, down} {
				if none[i] != (o.without > 0) || none[i] != (o.with == 0) {
					t.Errorf("%s sends %+v bodies, want them without a checksum: %v", []string{"the worker", "the server"}[i], o, none[i])
				}
			}
		})
	}
}
