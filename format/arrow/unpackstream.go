package arrow

import (
	"errors"
	"fmt"
	"io"
	"sync"

	kzstd "github.com/klauspost/compress/zstd"
	plz4 "github.com/pierrec/lz4/v4"

	"thole.example/format"
	"thole.example/wire"
)

const (
	// streamTail is how far back a reader of an unpackStream may go without starting again: bitmaps and offsets of two neighbouring
	// bands share an element.
	streamTail = 64
	// lz4Held is about how much memory a reader of LZ4 takes: two blocks of the largest size.
	lz4Held = 8 << 20
)

// unpackStream unpacks a compressed buffer while it is read, forward, so that it takes the memory of the decoder's window and not of
// its values. Reading further back than streamTail starts it again.
type unpackStream struct {
	from    io.ReaderAt // the file
	off, n  int64       // of the compressed bytes
	packing int8
	want    int64 // bytes that may be read
	size    int64 // bytes that the buffer says it has

	mu   sync.Mutex
	in   io.Reader
	pos  int64
	tail []byte // the bytes before pos
}

// ReadAt implements io.ReaderAt within the first want bytes.
func (u *unpackStream) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > u.want || int64(len(p)) > u.want-off {
		return 0, io.ErrUnexpectedEOF
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	back := u.pos - off
	if u.in == nil || back > int64(len(u.tail)) {
		if err := u.restart(); err != nil {
			return 0, u.fault(err)
		}
		back = -off
	}
	n := 0
	if back > 0 {
		n = copy(p, u.tail[int64(len(u.tail))-back:])
	} else if err := u.skip(-back); err != nil {
		return 0, u.fault(err)
	}
	if err := u.read(p[n:]); err != nil {
		return 0, u.fault(err)
	}
	if u.pos == u.want {
		return len(p), u.fault(u.finish())
	}
	return len(p), nil
}

func (u *unpackStream) restart() error {
	raw := io.NewSectionReader(u.from, u.off, u.n)
	u.pos, u.tail = 0, u.tail[:0]
	if u.packing == zstd {
		d, err := kzstd.NewReader(raw, kzstd.WithDecoderConcurrency(1), kzstd.WithDecoderMaxWindow(window), kzstd.WithDecoderLowmem(true))
		u.in = d
		return err
	}
	if err := lz4Frame(raw); err != nil {
		return err
	}
	u.in = plz4.NewReader(raw)
	return nil
}

// lz4Frame checks that a frame of LZ4 begins at the start of the bytes.
func lz4Frame(raw io.ReaderAt) error {
	var mark [4]byte
	if _, err := raw.ReadAt(mark[:], 0); err != nil || string(mark[:]) != "\x04\x22\x4d\x18" {
		return errors.New("no frame")
	}
	return nil
}

func (u *unpackStream) skip(n int64) error {
	scratch := make([]byte, min(n, 64<<10))
	for n > 0 {
		some := scratch[:min(n, int64(len(scratch)))]
		if err := u.read(some); err != nil {
			return err
		}
		n -= int64(len(some))
	}
	return nil
}

// read fills p with the next bytes.
func (u *unpackStream) read(p []byte) error {
	n, err := io.ReadFull(u.in, p)
	u.pos += int64(n)
	if err != nil {
		return fmt.Errorf("%d bytes: %w", u.pos, err)
	}
	if len(p) >= streamTail {
		u.tail = append(u.tail[:0], p[len(p)-streamTail:]...)
		return nil
	}
	u.tail = append(u.tail, p...)
	if more := len(u.tail) - streamTail; more > 0 {
		u.tail = append(u.tail[:0], u.tail[more:]...)
	}
	return nil
}

// finish checks that the buffer has the bytes that it says, and ends the decoder.
func (u *unpackStream) finish() error {
	rest, err := io.Copy(io.Discard, io.LimitReader(u.in, u.size-u.want+1))
	u.in = nil
	if got := u.want + rest; err != nil || got != u.size {
		if err == nil {
			err = fmt.Errorf("%d bytes or more", got)
			if got < u.size {
				err = fmt.Errorf("%d bytes", got)
			}
		}
		return fmt.Errorf("%w, want %d", err, u.size)
	}
	return nil
}

func (u *unpackStream) fault(err error) error {
	if err == nil {
		return nil
	}
	return &wire.At{Off: u.off, Err: fmt.Errorf("%s: %v: %w", packings[u.packing], err, format.ErrCorrupt)}
}

// held is about how much memory the decoder takes while it is read.
func (u *unpackStream) held() int64 {
	if u.packing != zstd {
		return lz4Held
	}
	head := make([]byte, min(u.n, kzstd.HeaderMaxSize))
	var h kzstd.Header
	if _, err := u.from.ReadAt(head, u.off); err != nil && err != io.EOF || h.Decode(head) != nil {
		return window // reading it says what is wrong
	}
	return int64(min(h.WindowSize, window)) + 2*zstdBlock
}
