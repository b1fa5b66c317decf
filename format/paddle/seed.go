package paddle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/wire"
)

const (
	headerLen      = 12 // bytes
	defaultVersion = 110
	maxVersion     = 65535
)

// seed is the profile of the model format document.
type seed struct{}

// seedFile is an open file of the profile, walked over to its end.
type seedFile struct {
	obj      blob.Object
	order    wire.Order
	version  uint32
	checksum uint32
	records  []record
	names    map[string]int
	scan     *scan
}

// orderOf tells the byte order from the first 8 bytes. Other layouts of Paddle begin with four zero bytes too; none of
// them has a small number other than 0 in big-endian order behind them.
func orderOf(head []byte) (wire.Order, bool) {
	if len(head) < 8 {
		return nil, false
	}
	var o wire.Order
	switch {
	case bytes.Equal(head[:4], []byte{1, 0, 0, 0}):
		o = wire.Little
	case bytes.Equal(head[:4], []byte{0, 0, 0, 0}):
		o = wire.Big
	default:
		return nil, false
	}
	v := o.Uint32(head[4:])
	return o, v >= 1 && v <= maxVersion
}

func orderText(o wire.Order) string {
	if o == wire.Big {
		return "big-endian"
	}
	return "little-endian"
}

// Name implements profile.
func (seed) Name() string { return "seed004" }

// Looks implements profile.
func (seed) Looks(ctx context.Context, b blob.Bucket, path string) bool {
	obj, err := b.Open(ctx, path)
	if err != nil {
		return false
	}
	defer obj.Close()
	head := make([]byte, min(8, obj.Size()))
	if err := readAt(obj, head, 0); err != nil {
		return false
	}
	_, ok := orderOf(head)
	return ok
}

// Sniff implements profile. It claims only files whose records end exactly at the end of the file.
func (p seed) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	infos, err := b.List(ctx, path)
	if err != nil || len(infos) != 1 || infos[0].Name != path {
		return "", err
	}
	obj, err := b.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer obj.Close()
	f, err := walk(obj, nil)
	if err != nil {
		return "", nil // not of this profile, or damaged: Open says which
	}
	return f.dialect(), nil
}

// dialect names the profile, the byte order, the version and the number of tensors.
func (f *seedFile) dialect() string {
	profile := "seed004"
	for _, r := range f.records {
		if r.flags&^flagLoD != 0 {
			profile = "seed004-ext"
		}
	}
	tensors := "1 tensor"
	if n := len(f.records); n != 1 {
		tensors = fmt.Sprintf("%d tensors", n)
	}
	return fmt.Sprintf("%s, %s, version %d, %s", profile, orderText(f.order), f.version, tensors)
}

// walk reads the header and the records up to the end of the file, but no value. Errors are *wire.At. What was read
// before an error is returned with it.
func walk(obj blob.Object, p *dump.Printer) (*seedFile, error) {
	s := &scan{r: obj, size: obj.Size(), order: wire.Little, print: p}
	f := &seedFile{obj: obj, names: map[string]int{}, scan: s}
	f.header()
	for s.err == nil && (s.off < s.size || len(f.records) == 0) {
		if p != nil {
			p.Head("record %d", len(f.records))
		}
		r := readRecord(s)
		if s.err != nil {
			break
		}
		if _, twice := f.names[r.name]; twice {
			s.fault(FaultName, r.start, "a second record named %q, want each name once", r.name)
			break
		}
		f.names[r.name] = len(f.records)
		f.records = append(f.records, r)
	}
	return f, s.err
}

func (f *seedFile) header() {
	s := f.scan
	if s.print != nil {
		s.print.Head("header")
	}
	endian := s.take(4, "byte order")
	switch {
	case s.err != nil:
	case bytes.Equal(endian, []byte{1, 0, 0, 0}):
		s.order = wire.Little
	case bytes.Equal(endian, []byte{0, 0, 0, 0}):
		s.order = wire.Big
	default:
		s.fault(FaultForeign, 0, "byte order % x, want 01 00 00 00 or 00 00 00 00", endian)
	}
	s.means("byte order: %s", orderText(s.order))
	f.order = s.order
	f.version = s.u32("version")
	if s.err == nil && (f.version < 1 || f.version > maxVersion) {
		s.fault(FaultVersion, 4, "version %d, want 1..%d", f.version, maxVersion)
	}
	s.means("version %d", f.version)
	f.checksum = s.u32("checksum")
	s.means("checksum %08x: first digits of the MD5 of the rest; 0: not computed", f.checksum)
}

// Explain implements profile.
func (seed) Explain(ctx context.Context, b blob.Bucket, path string, p *dump.Printer) error {
	obj, err := b.Open(ctx, path)
	if err != nil {
		return err
	}
	defer obj.Close()
	if _, err := walk(obj, p); err != nil {
		return err
	}
	return p.Err()
}
