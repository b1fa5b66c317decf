package tcp

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// localRoom is about how much a connection within one machine lets lie in the system's memory: some large frames.
const localRoom = 4 << 20

// tuneLocal prepares a connection within one machine. There is no network whose bandwidth had to be found out: congestion
// control that paces with timers and small windows (BBR) costs a fifth of the processor time of large frames under way, so the
// simplest is taken. And the buffer that receives begins with room for them, instead of growing to that while they are sent
// again: a low-water mark makes it so large, and leaves it free to grow, which setting its size would not. Nothing depends on
// whether the system agrees.
func tuneLocal(nc net.Conn) {
	tc, ok := nc.(*net.TCPConn)
	if !ok || !tc.RemoteAddr().(*net.TCPAddr).IP.Equal(tc.LocalAddr().(*net.TCPAddr).IP) {
		return
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptString(int(fd), syscall.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
		_ = unix.SetsockoptInt(int(fd), syscall.SOL_SOCKET, unix.SO_RCVLOWAT, localRoom)
		_ = unix.SetsockoptInt(int(fd), syscall.SOL_SOCKET, unix.SO_RCVLOWAT, 1)
	})
}
