package paddle

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"sync"

	"thole.example/format"
	"thole.example/wire"
)

// hashBytes is how much of a file is hashed at a time.
const hashBytes = 1 << 20

// ChecksumError says that bytes are not those that a checksum was computed of. It wraps format.ErrCorrupt.
type ChecksumError struct {
	What        string // the file, or a record
	Off         int64  // of the checksum
	Found, Want []byte // what is stored, and what was computed
}

// Error implements error.
func (e *ChecksumError) Error() string {
	return fmt.Sprintf("checksum of the %s is %x, want %x, the MD5 of its bytes", e.What, e.Found, e.Want)
}

// Unwrap gives format.ErrCorrupt.
func (e *ChecksumError) Unwrap() error { return format.ErrCorrupt }

func readAt(r io.ReaderAt, buf []byte, off int64) error { return wire.ReadAt(r, buf, off) }

// span is the bytes of a file from off to end.
type span struct{ off, end int64 }

// digest is the MD5 of the bytes of the spans, one behind the other.
func digest(r io.ReaderAt, spans ...span) (sum [md5.Size]byte, err error) {
	h := md5.New()
	var spare sync.Pool
	for _, s := range spans {
		for b, err := range format.Ahead(chunks(r, s.off, s.end, &spare)) { // MD5 has to wait for nothing but itself
			if err != nil {
				return sum, err
			}
			h.Write(*b)
			spare.Put(b)
		}
	}
	return [md5.Size]byte(h.Sum(nil)), nil
}

// chunks are jobs that read the bytes from off to end, piece by piece, into buffers that are spare.
func chunks(r io.ReaderAt, off, end int64, spare *sync.Pool) iter.Seq[func() (*[]byte, error)] {
	return func(yield func(func() (*[]byte, error)) bool) {
		for ; off < end; off += hashBytes {
			at, n := off, min(hashBytes, end-off)
			more := yield(func() (*[]byte, error) {
				b, ok := spare.Get().(*[]byte)
				if !ok {
					room := make([]byte, n)
					b = &room
				}
				*b = (*b)[:min(n, int64(cap(*b)))]
				if int64(len(*b)) < n {
					*b = make([]byte, n)
				}
				return b, readAt(r, *b, at)
			})
			if !more {
				return
			}
		}
	}
}

// digests are the MD5s of the records that have one, several at a time, in their order.
func digests(r io.ReaderAt, records []record) iter.Seq2[[md5.Size]byte, error] {
	return format.Ahead(func(yield func(func() ([md5.Size]byte, error)) bool) {
		for i := range records {
			whole := span{records[i].start, records[i].end}
			if records[i].flags&flagDigest != 0 && !yield(func() ([md5.Size]byte, error) { return digest(r, whole) }) {
				return
			}
		}
	})
}

// short is what the header keeps of a digest: its first 8 hex digits as a number.
func short(sum [md5.Size]byte) uint32 { return binary.BigEndian.Uint32(sum[:]) }

// scope is a reading of what the document calls "Tensors" in "md5checksum of Tensors".
type scope struct {
	what  string
	spans func(f *seedFile) []span
}

// scopes are the readings that are tried; the first is ours.
func scopes() []scope {
	return []scope{
		{"the bytes behind it", func(f *seedFile) []span { return []span{{headerLen, f.scan.size}} }},
		{"the values alone", func(f *seedFile) (all []span) {
			for _, r := range f.records {
				all = append(all, span{r.values, r.end})
			}
			return all
		}},
	}
}

// excerpt is a reading of how an MD5 fits into 32 bits.
type excerpt struct {
	what string
	of   func(sum [md5.Size]byte) uint32
}

// excerpts are the readings that are tried; the first is ours.
func excerpts(order wire.Order) []excerpt {
	return []excerpt{
		{"the first 8 hex digits", short},
		{"the first 4 bytes as they are", func(sum [md5.Size]byte) uint32 { return order.Uint32(sum[:]) }},
	}
}

// verify compares the checksum of the header with the bytes behind it, in every reading of the document. reading says which
// of them fits, if it is not ours.
func (f *seedFile) verify() (reading string, err error) {
	var first [md5.Size]byte
	for i, s := range scopes() {
		sum, err := digest(f.obj, s.spans(f)...)
		if err != nil {
			return "", err
		}
		for k, x := range excerpts(f.order) {
			switch fits := x.of(sum) == f.checksum; {
			case fits && i+k == 0:
				return "", nil
			case fits:
				return fmt.Sprintf("the checksum is %s of the MD5 of %s, one way to read the document", x.what, s.what), nil
			}
		}
		if i == 0 {
			first = sum
		}
	}
	found := binary.BigEndian.AppendUint32(nil, f.checksum)
	return "", &wire.At{Off: 8, Err: &ChecksumError{What: "file", Off: 8, Found: found, Want: first[:4]}}
}

// verifyRecord compares the digest of a record that has one with its bytes.
func (f *seedFile) verifyRecord(r *record) error {
	sum, err := digest(f.obj, span{r.start, r.end})
	if err != nil {
		return err
	}
	return f.compare(r, sum)
}

// compare holds the digest of a record to the MD5 of its bytes.
func (f *seedFile) compare(r *record, sum [md5.Size]byte) error {
	want := make([]byte, digestLen)
	if err := readAt(f.obj, want, r.end); err != nil {
		return err
	}
	if !bytes.Equal(sum[:], want) {
		return &wire.At{Off: r.end, Err: &ChecksumError{What: fmt.Sprintf("record %q", r.name), Off: r.end, Found: want, Want: sum[:]}}
	}
	return nil
}
