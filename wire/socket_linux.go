package wire

import (
	"runtime"
	"syscall"
	"unsafe"
)

// SocketSlices is of how many slices WriteSocket takes at most.
const SocketSlices = 16

// WriteSocket writes the slices, one after the other, to a socket that does not wait, and ReadSocket reads from it; both give what the
// system says. Go's scheduler is not told, as it is by other calls: these take as long as copying a frame, some dozen microseconds,
// and it would have given the processor away meanwhile, to a thread that had to be woken for it.
func WriteSocket(fd uintptr, vec [][]byte) (int, error) {
	var room [SocketSlices]syscall.Iovec
	for i, b := range vec {
		room[i].Base = unsafe.SliceData(b)
		room[i].SetLen(len(b))
	}
	n, _, e := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&room)), uintptr(len(vec)))
	runtime.KeepAlive(vec)
	return came(n, e)
}

// ReadSocket is the way back of [WriteSocket].
func ReadSocket(fd uintptr, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	runtime.KeepAlive(b)
	return came(n, e)
}

func came(n uintptr, e syscall.Errno) (int, error) {
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}
