package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"iter"

	"thole.example/format"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// Reader reads a stream, or the part of one that begins and ends with frames. It is for one goroutine. Errors are *wire.At, with
// the byte of the stream: format.Wrap makes them name the file and count as damage.
type Reader struct {
	src      io.ReaderAt
	off, end int64
	body     []byte // of the last frame
	heads    hash.Hash
	ahead    *ahead // nil: frames are read when they are asked for
}

// NewReader reads a stream of size bytes.
func NewReader(src io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{src: src, end: size, heads: sha256.New()}
	b, err := r.take(int64(len(magic)), "begin of a stream")
	if err != nil {
		return nil, err
	}
	if string(b[:len(magic)-1]) != magic[:len(magic)-1] {
		return nil, at(0, "%q, want %q", b[:len(magic)-1], magic[:len(magic)-1])
	}
	if b[len(magic)-1] != Version {
		return nil, &wire.At{Off: int64(len(magic)) - 1, Err: fmt.Errorf("version %d, want %d: %w", b[len(magic)-1], Version, format.ErrVersion)}
	}
	return r, nil
}

// Section reads n bytes of the stream from off on, where a frame begins.
func (r *Reader) Section(off, n int64) (*Reader, error) {
	if off < int64(len(magic)) || n < 0 || off > r.end || n > r.end-off {
		return nil, at(off, "%d bytes of frames, want some between %d and %d", n, len(magic), r.end)
	}
	return &Reader{src: r.src, off: off, end: off + n, heads: sha256.New()}, nil
}

// Rest reads the stream from off on.
func (r *Reader) Rest(off int64) (*Reader, error) { return r.Section(off, r.end-off) }

// at is an error at a byte.
func at(off int64, text string, args ...any) error {
	return &wire.At{Off: off, Err: fmt.Errorf(text, args...)}
}

// take reads n bytes; they are valid until the next frame.
func (r *Reader) take(n int64, what string) ([]byte, error) {
	if n > r.end-r.off {
		return nil, at(r.off, "%s needs %d bytes, %d remain: %w", what, n, r.end-r.off, wire.ErrTruncated)
	}
	if int64(cap(r.body)) < n {
		r.body = make([]byte, n) // no more than the stream has
	}
	b := r.body[:n]
	if err := wire.ReadAt(r.src, b, r.off); err != nil {
		return nil, err
	}
	r.off += n
	return b, nil
}

// wantSum wants what was read to be all of it, and its frames to have the heads of that digest, if it is known.
func (r *Reader) wantSum(begin int64, sum, what string) error {
	if r.More() {
		return at(r.off, "%d bytes after the end of %s", r.end-r.off, what)
	}
	if found := hex.EncodeToString(r.heads.Sum(nil)); sum != "" && found != sum {
		return at(begin, "%s has the digest %.12s, want %.12s: it is of another checkpoint, or was changed", what, found, sum)
	}
	return nil
}

// More reports whether something follows.
func (r *Reader) More() bool { return r.off < r.end }

// next reads a frame, whose body begins at the byte off and is valid until the next one.
func (r *Reader) next(what string) (k kind, body []byte, off int64, err error) {
	if r.ahead != nil {
		if f, ok := r.ahead.next(); ok {
			r.off = f.end
			return f.kind, f.body, f.off, f.err
		}
	}
	begin := r.off
	b, err := r.take(frameHead, what)
	if err != nil {
		return 0, nil, 0, err
	}
	head := [frameHead]byte(b)
	r.heads.Write(head[:])
	n := wire.Little.Uint64(head[8:])
	if n > uint64(r.end-r.off) {
		return 0, nil, 0, at(begin+8, "body of %d bytes, %d remain: %w", n, r.end-r.off, wire.ErrTruncated)
	}
	if err := kind(wire.Little.Uint32(head[:])).check(n); err != nil {
		return 0, nil, 0, &wire.At{Off: begin + 8, Err: err}
	}
	off = r.off
	padded, err := r.take(int64(n)+(-int64(n)&7), what)
	if err != nil {
		return 0, nil, 0, err
	}
	body = padded[:n]
	sum := kernel.CRC32C(kernel.CRC32C(0, head[:4]), head[8:])
	if sum = kernel.CRC32C(sum, body); sum != wire.Little.Uint32(head[4:]) {
		return 0, nil, 0, at(begin, "frame with checksum %08x, want %08x", sum, wire.Little.Uint32(head[4:]))
	}
	for _, b := range padded[n:] {
		if b != 0 {
			return 0, nil, 0, at(off+int64(n), "pad byte %#02x, want 0", b)
		}
	}
	return kind(wire.Little.Uint32(head[:])), body, off, nil
}

// json reads a frame of JSON.
func (r *Reader) json(k kind, v any) (off int64, err error) {
	begin := r.off
	got, body, off, err := r.next(k.String())
	switch {
	case err != nil:
		return off, err
	case got != k:
		return off, at(begin, "frame of %v, want %v", got, k)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return off, at(off, "%v: %w", k, err)
	}
	return off, nil
}

// Partition reads the head of the next record; Bands reads the rest.
func (r *Reader) Partition() (Partition, error) {
	var j partitionJSON
	off, err := r.json(kindPartition, &j)
	if err != nil {
		return Partition{}, err
	}
	p := Partition{
		Matrix: j.Matrix, ID: j.Partition, At: matrix.At(j.Rows[0], j.Rows[1], j.Cols[0], j.Cols[1]), Sparse: j.Sparse,
		Bits: j.Bits, Slots: j.Slots, Steps: j.Steps, Aged: j.Aged, Stale: j.Stale, Ranked: j.Ranked, Partial: j.Partial,
	}
	if p.DType, err = typeOf(j.Type); err == nil {
		p.Absent = string(j.Absent)
		err = p.check()
	}
	if err == nil {
		p.Absent = string(swapped(j.Absent, p.DType))
	}
	if err != nil {
		return Partition{}, at(off, "%w", err)
	}
	return p, nil
}

// Bands reads the record that begins with p, up to its end. The walk ends with the first error. A band is valid until the next.
func (r *Reader) Bands(p *Partition) iter.Seq2[Band, error] {
	return func(yield func(Band, error) bool) {
		rec := &record{p: p, last: -1}
		for {
			begin := r.off
			k, body, off, err := r.next("record")
			if err != nil {
				yield(Band{}, err)
				return
			}
			switch {
			case k == kindEnd:
				if err := rec.end(body, off); err != nil {
					yield(Band{}, err)
				}
				return
			case k == kindCandidates && p.Sparse && rec.removed == 0:
				b, err := rec.candidates(wire.NewCursor(body, off, wire.Little))
				if !yield(b, err) || err != nil {
					return
				}
				continue
			case k == kindRemoved && p.Sparse && p.Partial:
				b, err := rec.gone(wire.NewCursor(body, off, wire.Little))
				if !yield(b, err) || err != nil {
					return
				}
				continue
			case k == kindRates && p.Stale && rec.count == 0 && rec.waiting == 0 && rec.rates+rec.removed == 0:
				b, err := rec.past(wire.NewCursor(body, off, wire.Little))
				if !yield(b, err) || err != nil {
					return
				}
				continue
			case k != kindColumns && k != kindCells || p.Sparse != (k == kindColumns) || rec.waiting+rec.removed > 0:
				yield(Band{}, at(begin, "frame of %v in the record of partition %d of matrix %q", k, p.ID, p.Matrix))
				return
			}
			b, err := rec.band(wire.NewCursor(body, off, wire.Little))
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}
