package paddle

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"io"

	"thole/format"
	"thole/internal/wire"
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

// digest is the MD5 of the bytes from off to end.
func digest(r io.ReaderAt, off, end int64) (sum [md5.Size]byte, err error) {
	h := md5.New()
	buf := make([]byte, min(hashBytes, end-off))
	for off < end {
		b := buf[:min(int64(len(buf)), end-off)]
		if err := readAt(r, b, off); err != nil {
			return sum, err
		}
		h.Write(b)
		off += int64(len(b))
	}
	return [md5.Size]byte(h.Sum(nil)), nil
}

// short is what the header keeps of a digest: its first 8 hex digits as a number.
func short(sum [md5.Size]byte) uint32 { return binary.BigEndian.Uint32(sum[:]) }

// verify compares the checksum of the header with the bytes behind it.
func (f *seedFile) verify() error {
	sum, err := digest(f.obj, headerLen, f.scan.size)
	if err != nil {
		return err
	}
	if short(sum) != f.checksum {
		found := binary.BigEndian.AppendUint32(nil, f.checksum)
		return &wire.At{Off: 8, Err: &ChecksumError{What: "file", Off: 8, Found: found, Want: sum[:4]}}
	}
	return nil
}

// verifyRecord compares the digest of a record that has one with its bytes.
func (f *seedFile) verifyRecord(r *record) error {
	want := make([]byte, digestLen)
	if err := readAt(f.obj, want, r.end); err != nil {
		return err
	}
	sum, err := digest(f.obj, r.start, r.end)
	if err != nil {
		return err
	}
	if !bytes.Equal(sum[:], want) {
		return &wire.At{Off: r.end, Err: &ChecksumError{What: fmt.Sprintf("record %q", r.name), Off: r.end, Found: want, Want: sum[:]}}
	}
	return nil
}
