package state

import (
	"encoding/json"
	"iter"

	"thole.example/wire"
)

// Place is where a record lies in a stream, and what its end frame says that it has.
type Place struct {
	Off, Size int64 // bytes from its partition frame to its end frame
	count     endJSON
}

// Columns is how many columns the record of a sparse partition says that it has, and how many candidates: no more than it has room for.
func (p Place) Columns() (columns, candidates int64) {
	most := p.Size / 8 // a key each
	return min(max(0, p.count.Count), most), min(max(0, p.count.Candidates), most)
}

// Places finds the records from here to the end of the stream by the heads of their frames, without reading their bodies, so that several
// goroutines can read them at the same time, each through [Reader.Section]. It does not move the reader. Bodies, and the checksums that
// cover both, are checked when the records are read: until then what a Place says is only a hint.
func (r *Reader) Places() iter.Seq2[Place, error] {
	return func(yield func(Place, error) bool) {
		scan, err := r.Rest(r.off)
		for err == nil && scan.More() {
			var p Place
			if p, err = scan.place(); err == nil && !yield(p, nil) {
				return
			}
		}
		if err != nil {
			yield(Place{}, err)
		}
	}
}

// place finds the end of the record that begins here.
func (r *Reader) place() (p Place, err error) {
	p.Off = r.off
	for {
		begin := r.off
		k, n, err := r.peek()
		switch {
		case err != nil:
			return p, err
		case (k == kindPartition) != (begin == p.Off):
			return p, at(begin, "frame of %v, want records that begin with a frame of %v and end with one of %v", k, kindPartition, kindEnd)
		case k != kindEnd:
			r.off += frameHead + n
			continue
		}
		_, body, off, err := r.next("end")
		if err != nil {
			return p, err
		}
		if err := json.Unmarshal(body, &p.count); err != nil {
			return p, at(off, "end: %w", err)
		}
		p.Size = r.off - p.Off
		return p, nil
	}
}

// peek reads the head of the next frame and checks the length of its body, which it gives with the padding, against what remains.
func (r *Reader) peek() (k kind, padded int64, err error) {
	begin := r.off
	head, err := r.take(frameHead, "record")
	if err != nil {
		return 0, 0, err
	}
	k, n := kind(wire.Little.Uint32(head)), wire.Little.Uint64(head[8:])
	left := uint64(r.end - r.off)
	r.off = begin
	if n > left || n+(-n&7) > left {
		return 0, 0, at(begin+8, "body of %d bytes, %d remain: %w", n, left, wire.ErrTruncated)
	}
	return k, int64(n + (-n & 7)), nil
}
