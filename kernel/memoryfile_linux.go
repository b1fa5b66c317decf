package kernel

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A file grows by a share of it, by fileStep at least: one that grew by what is asked for would be mapped for every row.
const (
	fileStep  = 4 << 20
	fileShare = 16
)

// CanBack is whether memory can be that of a file on this system.
const CanBack = true

// Back moves the first n bytes into a file, where memory has its place from then on; the others are zero. The file has to be empty and
// open for reading and writing, is best one that has no name any more, and is the memory's, which closes it. A full disk is an error of
// Back or Grow, never a fault when bytes are written. After an error the memory is what it was, and the file is closed.
func (m *Memory) Back(f *os.File, n int) error {
	if m.file != nil {
		return errors.Join(errors.New("kernel: memory of a file, want some that is in none"), f.Close())
	}
	next := Memory{file: f, plain: true}
	if err := next.growFile(max(1, n)); err != nil {
		next.Free()
		return err
	}
	for from := 0; from < min(n, len(m.data)); from += fileStep { // which are not in memory twice
		to := min(from+fileStep, n, len(m.data))
		copy(next.data[from:to], m.data[from:to])
		next.Release(from, to)
	}
	m.mapped.free()
	m.mapped.base, m.mapped.room = next.mapped.base, next.mapped.room
	m.data, m.file, m.plain, m.fit, m.ahead = next.data, f, true, false, struct{ from, to int }{}
	m.direct, _ = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY|unix.O_DIRECT, 0) // not every file system has it
	return nil
}

// growFile is Grow for memory of a file.
func (m *Memory) growFile(n int) error {
	have := len(m.data)
	size := pages(max(n, have+max(fileStep, have/fileShare)))
	if err := extend(m.file, have, size); err != nil {
		if size = pages(n); extend(m.file, have, size) != nil {
			return fmt.Errorf("%s, which has %d bytes of memory, by %d more: %w", m.file.Name(), have, n-have, err)
		}
	}
	base, room, from := m.mapped.base, m.mapped.room, have
	if size > room {
		room, from = max(firstRoom, moreRoom*size), 0
		to, err := reserve(room)
		if err != nil { // a system that counts addresses
			room = size
			if to, err = reserve(room); err != nil {
				return err
			}
		}
		base = to
	}
	const flags = unix.MAP_SHARED | unix.MAP_FIXED
	at := unsafe.Add(base, from)
	if _, err := unix.MmapPtr(int(m.file.Fd()), int64(from), at, uintptr(size-from), unix.PROT_READ|unix.PROT_WRITE, flags); err != nil {
		if base != m.mapped.base {
			_ = unix.MunmapPtr(base, uintptr(room))
		}
		return os.NewSyscallError("mmap", err)
	}
	if was := m.mapped.base; was != nil && was != base {
		_ = unix.MunmapPtr(was, uintptr(m.mapped.room))
	}
	m.mapped.base, m.mapped.room = base, room
	m.data = unsafe.Slice((*byte)(base), size)
	return nil
}

// bounces are places that a disk reads to, which wants them and what it reads to be of whole blocks.
var bounces = sync.Pool{New: func() any { return new([]byte) }}

// directBlock is what is read directly is a multiple of, on any disk.
const directBlock = 4096

// readFile reads past what the system keeps of files: a process that fills its control group pays for each page that is kept with one that
// has to be found to give up, and waits for it wherever it takes memory. What is large is read once in an epoch, and never in order.
func (m *Memory) readFile(to []byte, off int) error {
	from, end := off&^(directBlock-1), (off+len(to)+directBlock-1)&^(directBlock-1)
	place := bounces.Get().(*[]byte)
	defer bounces.Put(place)
	if len(*place) < end-from {
		*place = onPage(end - from)
	}
	if _, err := m.direct.ReadAt((*place)[:end-from], int64(from)); err == nil {
		copy(to, (*place)[off-from:])
		return nil
	}
	_, err := m.file.ReadAt(to, int64(off)) // which says what is wrong, if it is not the way of reading
	return err
}

// onPage is a slice that begins with a block.
func onPage(n int) []byte {
	b := make([]byte, n+directBlock)
	from := -uintptr(unsafe.Pointer(&b[0])) & (directBlock - 1)
	return b[from : from+uintptr(n) : from+uintptr(n)]
}

// extend gives the file room on the disk up to size bytes, which are zero.
func extend(f *os.File, have, size int) error {
	err := unix.EINTR
	for err == unix.EINTR {
		err = asErrno(unix.Fallocate(int(f.Fd()), 0, int64(have), int64(size-have)))
	}
	switch err {
	case 0:
		return nil
	case unix.EOPNOTSUPP, unix.ENOSYS: // a file system that only knows what is written
		zeros := make([]byte, 1<<20)
		for at := have; at < size; at += len(zeros) {
			if _, err := f.WriteAt(zeros[:min(len(zeros), size-at)], int64(at)); err != nil {
				return err
			}
		}
		return nil
	}
	return os.NewSyscallError("fallocate", err)
}

func asErrno(err error) unix.Errno {
	var number unix.Errno
	if err != nil && !errors.As(err, &number) {
		return unix.EIO
	}
	return number
}

// Release tells the system that the bytes [from, to) of a file are not needed soon, nor the rest of the pages that they begin and end in.
// They stay; other memory does nothing.
func (m *Memory) Release(from, to int) {
	from, to = from&^(os.Getpagesize()-1), min(pages(to), len(m.data))
	if m.file != nil && from < to {
		_ = unix.Madvise(m.data[from:to], unix.MADV_DONTNEED) // it is advice
	}
}

// pages is n, up to the end of its last page.
func pages(n int) int { return (n + os.Getpagesize() - 1) &^ (os.Getpagesize() - 1) }
