package zipfile_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"testing"

	"thole.example/internal/zipfile"
)

// TestLarge checks the headers of members and archives beyond 4 GiB against Go's reader.
func TestLarge(t *testing.T) {
	const far = 5 << 30
	all := []zipfile.Member{{Name: "a.npy", Size: 3, Sum: 7, Mode: 0o100600}, {Name: "ü.npy", Size: far, Sum: 9}, {Name: "b", Size: 1<<32 - 1},
		{Name: "c", Size: 1<<32 - 2}, {Name: "d", Size: 1}}
	o, end := sparse{at: map[int64][]byte{}}, int64(0)
	for i := range all {
		end = all[i].Place(end)
		o.at[all[i].At] = all[i].Local()
	}
	o.at[end] = zipfile.Directory(all, end)
	o.size = end + int64(len(o.at[end]))
	z, err := zip.NewReader(o, o.size)
	if err != nil || len(z.File) != len(all) {
		t.Fatalf("%v, want %d members", err, len(all))
	}
	for i, f := range z.File {
		off, err := f.DataOffset()
		m := all[i]
		if err != nil || off != m.Data || off%zipfile.Alignment != 0 || f.Name != m.Name || int64(f.UncompressedSize64) != m.Size ||
			f.CRC32 != m.Sum || f.NonUTF8 || f.Method != zip.Store || f.ExternalAttrs != m.Mode<<16 {
			t.Errorf("%+v at %d, %v, want %+v", f.FileHeader, off, err, m)
		}
	}
}

// TestMany has more members than 16 bits count.
func TestMany(t *testing.T) {
	many := make([]zipfile.Member, 70_000)
	for i := range many {
		many[i].Name = fmt.Sprint(i)
	}
	data := zipfile.Directory(many, 0)
	if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err != nil || len(z.File) != len(many) {
		t.Errorf("%v, want %d members", err, len(many))
	}
}

// sparse is a file with bytes at some places, zero elsewhere.
type sparse struct {
	at   map[int64][]byte
	size int64
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for at, b := range s.at {
		if lo, hi := max(off, at), min(off+int64(len(p)), at+int64(len(b))); lo < hi {
			copy(p[lo-off:hi-off], b[lo-at:])
		}
	}
	if left := s.size - off; left < int64(len(p)) {
		return int(max(0, left)), io.EOF
	}
	return len(p), nil
}
