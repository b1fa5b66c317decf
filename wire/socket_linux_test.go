package wire

import (
	"bytes"
	"syscall"
	"testing"
)

// What is written to a socket comes out of the other one, in the order of the slices, empty ones among them; an empty socket has
// nothing yet, and a closed one has its end.
func TestSocket(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	in, out := uintptr(fds[0]), uintptr(fds[1])
	b := make([]byte, 100)
	if n, err := ReadSocket(out, b); n >= 0 || err != syscall.EAGAIN {
		t.Errorf("reading nothing gives %d, %v", n, err)
	}
	vec := [][]byte{[]byte("one "), {}, []byte("two"), nil}
	for len(vec) < SocketSlices {
		vec = append(vec, []byte{'.'})
	}
	whole := bytes.Join(vec, nil)
	if n, err := WriteSocket(in, vec); n != len(whole) || err != nil {
		t.Fatalf("%d bytes written, %v", n, err)
	}
	if n, err := ReadSocket(out, b); err != nil || string(b[:n]) != string(whole) {
		t.Errorf("read %q, %v", b[:max(n, 0)], err)
	}
	if err := syscall.Close(fds[0]); err != nil {
		t.Fatal(err)
	}
	if n, err := ReadSocket(out, b); n != 0 || err != nil {
		t.Errorf("reading the end gives %d, %v", n, err)
	}
	if n, err := WriteSocket(out, vec[:1]); n >= 0 || err != syscall.EPIPE {
		t.Errorf("writing to nobody gives %d, %v", n, err)
	}
	if err := syscall.Close(fds[1]); err != nil {
		t.Fatal(err)
	}
}
