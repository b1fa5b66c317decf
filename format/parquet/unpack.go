package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/parquet-go/parquet-go/compress/snappy"
	pf "github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"thole.example/format"
)

const (
	snappyMost = 22  // bytes that one byte of snappy unpacks to at most: three copy 64
	lz4Most    = 255 // and of LZ4
)

// unpack gives the size bytes that src is compressed from. Nothing larger is made on the way, but by zstd, whose blocks
// may say less than they hold: at most maxPage.
func (c *cursor) unpack(codec pf.CompressionCodec, src []byte, size int) (out []byte, err error) {
	switch codec {
	case pf.Uncompressed:
		out = src
	case pf.Snappy:
		if n, k := binary.Uvarint(src); k <= 0 || n != uint64(size) {
			return nil, fmt.Errorf("snappy of %d bytes, want %d", n, size)
		}
		if out, err = c.room(size, len(src), snappyMost); err == nil {
			out, err = (&snappy.Codec{}).Decode(out, src)
		}
	case pf.Lz4Raw:
		if size == 0 { // for which the decoder wants memory
			if len(src) > 1 || len(src) == 1 && src[0] != 0 {
				return nil, fmt.Errorf("%v: %d bytes, want none or a zero of which nothing is unpacked: %w", codec, len(src), format.ErrCorrupt)
			}
			return nil, nil
		}
		if out, err = c.room(size, len(src), lz4Most); err == nil {
			var n int
			n, err = lz4.UncompressBlock(src, out)
			out = out[:max(0, n)]
		}
	case pf.Gzip:
		var r io.Reader
		if r, err = gzip.NewReader(bytes.NewReader(src)); err == nil {
			out, err = c.drain(r, size)
		}
	case pf.Brotli:
		out, err = c.drain(brotli.NewReader(bytes.NewReader(src)), size)
	case pf.Zstd:
		if err := checkZstd(src, size); err != nil {
			return nil, err
		}
		out, err = c.zstd.Decode(c.unpacked, src)
		c.unpacked = out[:cap(out)]
	default:
		return nil, fmt.Errorf("compression %v: %w", codec, format.ErrVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %v: %w", codec, err, format.ErrCorrupt)
	}
	if len(out) != size {
		return nil, fmt.Errorf("%v: a page of %d bytes, want %d", codec, len(out), size)
	}
	return out, nil
}

// room is memory for size bytes, which some bytes of which each unpacks to at most most are packed from.
func (c *cursor) room(size, packed, most int) ([]byte, error) {
	if size > (packed+1)*most {
		return nil, fmt.Errorf("%d bytes in %d, want at most %d", size, packed, (packed+1)*most)
	}
	c.unpacked = grown(c.unpacked, size)
	return c.unpacked, nil
}

// drain reads what should be size bytes, and at most one more.
func (c *cursor) drain(r io.Reader, size int) ([]byte, error) {
	out := bytes.NewBuffer(c.unpacked[:0])
	_, err := io.Copy(out, io.LimitReader(r, int64(size)+1))
	c.unpacked = out.Bytes()
	return c.unpacked, err
}

// zstdBlock is the most that one block of a zstd frame holds.
const zstdBlock = 128 << 10

// checkZstd adds up what the blocks of the frames can hold at most.
func checkZstd(src []byte, size int) error {
	most := uint64(0)
	for len(src) > 0 {
		head, sum, err := zstdHead(src, size)
		if err != nil {
			return err
		}
		src = src[head:]
		for last := false; !last; {
			if len(src) < 3 {
				return fmt.Errorf("zstd: a block without a head")
			}
			block := uint64(src[0]) | uint64(src[1])<<8 | uint64(src[2])<<16
			src = src[3:]
			last = block&1 == 1
			kind, n := block>>1&3, block>>3
			held, stored := n, n
			switch kind {
			case 1: // one byte, n times
				stored = 1
			case 2:
				held = zstdBlock
			case 3:
				return fmt.Errorf("zstd: block of kind 3")
			}
			if most += held; most > maxPage && most > uint64(size)+zstdBlock || stored > uint64(len(src)) {
				return fmt.Errorf("zstd: blocks of up to %d bytes, want %d in all", most, size)
			}
			src = src[stored:]
		}
		if sum {
			if len(src) < 4 {
				return fmt.Errorf("zstd: no checksum")
			}
			src = src[4:]
		}
	}
	return nil
}

// zstdHead is the length of the head of a frame, and whether a checksum follows the blocks.
func zstdHead(src []byte, size int) (n int, sum bool, err error) {
	const zstdMagic = 0xfd2fb528
	if len(src) < 5 || binary.LittleEndian.Uint32(src) != zstdMagic {
		return 0, false, fmt.Errorf("zstd: no frame")
	}
	flags := src[4]
	single, sum := flags>>5&1 == 1, flags>>2&1 == 1
	n = 5 + [4]int{0, 1, 2, 4}[flags&3]
	if !single {
		n++ // the window
	}
	content := [4]int{0, 2, 4, 8}[flags>>6]
	if single && content == 0 {
		content = 1
	}
	if len(src) < n+content {
		return 0, false, fmt.Errorf("zstd: a head without its end")
	}
	var raw [8]byte
	copy(raw[:], src[n:n+content])
	held := binary.LittleEndian.Uint64(raw[:])
	if content == 2 {
		held += 256
	}
	if content > 0 && held > uint64(size) {
		return 0, false, fmt.Errorf("zstd: a frame of %d bytes, want %d in all", held, size)
	}
	return n + content, sum, nil
}
