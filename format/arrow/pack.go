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
)

const (
	lz4Magic  = 0x184d2204
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

// unpack gives the bytes of a compressed buffer, of which want are needed. The length that it states is held to what so
// many bytes can unpack to before anything is allocated.
func (u *unpacker) unpack(packing int8, raw []byte, want int64) ([]byte, error) {
	if len(raw) < 8 {
		return nil, fmt.Errorf("compressed buffer of %d bytes, want 8 at least: %w", len(raw), format.ErrCorrupt)
	}
	size, raw := int64(binary.LittleEndian.Uint64(raw)), raw[8:]
	if size == -1 { // it would not have become shorter
		size, packing = int64(len(raw)), plain
	}
	if size < want {
		return nil, fmt.Errorf("%s: buffer of %d bytes, want %d: %w", packings[packing], size, want, format.ErrCorrupt)
	}
	if size > unpackLimit {
		return nil, fmt.Errorf("%s: buffer of %d bytes, want at most %d: %w", packings[packing], size, unpackLimit, format.ErrLimit)
	}
	if packing == plain {
		return raw, nil
	}
	most := int64(len(raw)) * lz4Most
	if packing == zstd {
		most = (int64(len(raw))/4 + 1) * zstdBlock
	}
	if size > most {
		return nil, fmt.Errorf("%s: buffer of %d bytes in %d, want at most %d: %w", packings[packing], size, len(raw), most, format.ErrCorrupt)
	}
	out, err := u.all(packing, raw, int(size))
	if err != nil {
		return nil, fmt.Errorf("%s: %v: %w", packings[packing], err, format.ErrCorrupt)
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
		if len(raw) < 4 || binary.LittleEndian.Uint32(raw) != lz4Magic {
			return nil, fmt.Errorf("no frame")
		}
		out = make([]byte, size)
		r := plz4.NewReader(bytes.NewReader(raw))
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
