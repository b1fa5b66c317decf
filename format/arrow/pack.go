package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	kzstd "github.com/klauspost/compress/zstd"
	plz4 "github.com/pierrec/lz4/v4"

	"thole.example/format"
	"thole.example/wire"
)

const (
	lz4Most   = 255       // bytes that one byte of LZ4 unpacks to at most
	zstdBlock = 128 << 10 // bytes that the four bytes of the shortest block of ZSTD unpack to at most
	window    = 128 << 20 // bytes that ZSTD may look back
)

// unpacker keeps what unpacks ZSTD, for any number of goroutines.
type unpacker struct {
	once sync.Once
	zstd *kzstd.Decoder
	err  error
}

func (u *unpacker) decoder() (*kzstd.Decoder, error) {
	u.once.Do(func() {
		u.zstd, u.err = kzstd.NewReader(nil, kzstd.WithDecoderConcurrency(0), kzstd.WithDecoderMaxWindow(window),
			kzstd.WithDecodeAllCapLimit(true))
	})
	return u.zstd, u.err
}

// close lets go of the memory; nothing is unpacked afterwards.
func (u *unpacker) close() {
	u.once.Do(func() {})
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// packedBuffer is a compressed buffer of a file whose header was checked.
type packedBuffer struct {
	from    io.ReaderAt
	off, n  int64 // of the bytes behind the header
	packing int8  // plain if it would not have become shorter
	size    int64 // of the unpacked bytes
}

// header reads the header of a compressed buffer of n bytes, of which want are needed. The length that it states is held to what so many
// bytes can unpack to before anything is allocated.
func header(o io.ReaderAt, off, n int64, packing int8, want int64) (p packedBuffer, err error) {
	if n < 8 {
		return p, fmt.Errorf("compressed buffer of %d bytes, want 8 at least: %w", n, format.ErrCorrupt)
	}
	var head [8]byte
	if err := wire.ReadAt(o, head[:], off); err != nil {
		return p, err
	}
	p = packedBuffer{from: o, off: off + 8, n: n - 8, packing: packing, size: int64(binary.LittleEndian.Uint64(head[:]))}
	if p.size == -1 {
		p.size, p.packing = p.n, plain
	}
	if p.size < want {
		return p, fmt.Errorf("%s: buffer of %d bytes, want %d: %w", packings[p.packing], p.size, want, format.ErrCorrupt)
	}
	if p.size > unpackLimit {
		return p, fmt.Errorf("%s: buffer of %d bytes, want at most %d: %w", packings[p.packing], p.size, unpackLimit, format.ErrLimit)
	}
	most := p.n * lz4Most
	switch p.packing {
	case plain:
		return p, nil
	case zstd:
		most = (p.n/4 + 1) * zstdBlock
	}
	if p.size > most {
		return p, fmt.Errorf("%s: buffer of %d bytes in %d, want at most %d: %w", packings[p.packing], p.size, p.n, most,
			format.ErrCorrupt)
	}
	return p, nil
}

// unpacked gives the first want bytes of the buffer to read. No more than whole bytes are unpacked at once: a larger buffer is unpacked while
// it is read. held is about how much memory it takes.
func (u *unpacker) unpacked(p packedBuffer, want, whole int64) (b buffer, held int64, err error) {
	if p.packing == plain {
		return buffer{p.from, p.off}, 0, nil
	}
	s := &unpackStream{from: p.from, off: p.off, n: p.n, packing: p.packing, want: want, size: p.size}
	if want > whole {
		return buffer{s, 0}, s.held(), nil
	}
	if p.size-want >= padLimit {
		raw := make([]byte, want)
		_, err = s.ReadAt(raw, 0)
		return buffer{bytes.NewReader(raw), 0}, want, err
	}
	raw, err := u.whole(p)
	return buffer{bytes.NewReader(raw), 0}, p.size, err
}

// whole gives all bytes of a buffer.
func (u *unpacker) whole(p packedBuffer) ([]byte, error) {
	raw := make([]byte, p.n)
	if err := wire.ReadAt(p.from, raw, p.off); err != nil || p.packing == plain {
		return raw, err
	}
	out, err := u.all(p.packing, raw, int(p.size))
	if err != nil {
		return nil, fmt.Errorf("%s: %v: %w", packings[p.packing], err, format.ErrCorrupt)
	}
	return out, nil
}

// all gives exactly size bytes.
func (u *unpacker) all(packing int8, raw []byte, size int) ([]byte, error) {
	var out []byte
	if packing == zstd {
		d, err := u.decoder()
		if err != nil {
			return nil, err
		}
		if out, err = d.DecodeAll(raw, make([]byte, 0, size)); err != nil {
			return nil, err
		}
	} else {
		in := bytes.NewReader(raw)
		if err := lz4Frame(in); err != nil {
			return nil, err
		}
		out = make([]byte, size)
		r := plz4.NewReader(in)
		n, err := io.ReadFull(r, out)
		if err != nil {
			return nil, fmt.Errorf("%d bytes: %w", n, err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			return nil, fmt.Errorf("more than %d bytes, or %v behind them", size, err)
		}
	}
	if len(out) != size {
		return nil, fmt.Errorf("%d bytes, want %d", len(out), size)
	}
	return out, nil
}

// packer compresses buffers; the same bytes become the same each time.
type packer struct {
	packing int8
	zstd    *kzstd.Encoder
}

func newPacker(packing int8) (p *packer, err error) {
	p = &packer{packing: packing}
	if packing == zstd {
		p.zstd, err = kzstd.NewWriter(nil, kzstd.WithEncoderConcurrency(1))
	}
	return p, err
}

// pack appends the buffer, or the buffer as it is if it would not become shorter.
func (p *packer) pack(dst, raw []byte) ([]byte, error) {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(raw)))
	if p.packing == zstd {
		dst = p.zstd.EncodeAll(raw, dst)
	} else {
		var out bytes.Buffer
		w := plz4.NewWriter(&out)
		if err := w.Apply(plz4.ConcurrencyOption(1), plz4.SizeOption(uint64(len(raw)))); err != nil {
			return nil, err
		}
		if _, err := w.Write(raw); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		dst = append(dst, out.Bytes()...)
	}
	if len(dst)-start-8 >= len(raw) {
		dst = binary.LittleEndian.AppendUint64(dst[:start], ^uint64(0))
		dst = append(dst, raw...)
	}
	return dst, nil
}
