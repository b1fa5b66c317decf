//go:build linux && !race

package tcp

import (
	"runtime"
	"syscall"
	"unsafe"
)

const (
	// triesWrites says that writeFD is there, triesReads that readFD is.
	triesWrites, triesReads = true, true
	// sliceLimit is of how many slices a write may be; systems take no more than 1024.
	sliceLimit = 16
)

// writeFD writes to a socket that does not wait. Go's scheduler is not told, as it is by other calls: these take as long as copying a
// frame, some dozen microseconds, and it would have given the processor away meanwhile, to a thread that had to be woken for it.
func writeFD(fd uintptr, vec [][]byte) (int, error) {
	var room [sliceLimit]syscall.Iovec
	iov := room[:0]
	for _, b := range vec {
		iov = append(iov, syscall.Iovec{Base: unsafe.SliceData(b)})
		iov[len(iov)-1].SetLen(len(b))
	}
	n, _, e := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&room)), uintptr(len(iov)))
	runtime.KeepAlive(vec)
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}

// readFD reads from a socket that does not wait, like writeFD.
func readFD(fd uintptr, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	runtime.KeepAlive(b)
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}
