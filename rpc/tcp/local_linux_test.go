package tcp

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTuneLocal: both ends of a connection within this machine are without a network's congestion control, have a large buffer,
// and hear a single byte.
func TestTuneLocal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, nc := range []net.Conn{nc, other} {
		tuneLocal(nc)
		raw, err := nc.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) {
			if name, err := unix.GetsockoptString(int(fd), syscall.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil || name != "reno" {
				t.Errorf("congestion control %q, %v; want reno", name, err)
			}
			if n, err := unix.GetsockoptInt(int(fd), syscall.SOL_SOCKET, unix.SO_RCVLOWAT); err != nil || n != 1 {
				t.Errorf("%d bytes wake a reader, %v; want 1", n, err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	tuneLocal(&net.UDPConn{}) // not one of TCP: left alone
}
