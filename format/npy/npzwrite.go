package npy

import (
	"archive/zip"
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
)

// entry is a member to be written.
type entry struct {
	name  string
	at    int64 // of its local header
	data  int64 // of its first byte
	size  int64
	sum   uint32 // known at once for files, at the end for arrays
	later bool   // sum is not known yet
}

const (
	dosDate    = 0x21 // the first of January 1980, as NumPy writes it: the same matrices are the same bytes
	utf8Flag   = 1 << 11
	zip64Extra = 1      // id of the extra field with 64-bit numbers
	alignExtra = 0xd935 // id of the extra field that only takes room, as Android's tools have it
	alignLen   = 6      // bytes of that field without the zeros
)

// big tells whether a number does not fit the 32 bits of the old fields.
func big(v int64) bool { return v >= math.MaxUint32 }

// version is the one of zip that is needed to read the entry.
func (e *entry) version() uint16 {
	if big(e.size) || big(e.at) {
		return 45
	}
	return 20
}

func (e *entry) flags() uint16 {
	for _, c := range []byte(e.name) {
		if c >= utf8.RuneSelf {
			return utf8Flag
		}
	}
	return 0
}

// fields are those that both headers have, from the version needed to the length of the name. The size in them is the
// mark of 64 bits if it does not fit.
func (e *entry) fields(b []byte) []byte {
	small := uint32(min(e.size, math.MaxUint32))
	b = wire.AppendU16(b, wire.Little, e.version())
	b = wire.AppendU16(b, wire.Little, e.flags())
	b = wire.AppendU16(b, wire.Little, zip.Store)
	b = wire.AppendU16(b, wire.Little, 0) // midnight
	b = wire.AppendU16(b, wire.Little, dosDate)
	for _, v := range []uint32{e.sum, small, small} {
		b = wire.AppendU32(b, wire.Little, v)
	}
	return wire.AppendU16(b, wire.Little, uint16(len(e.name)))
}

// local is the header before the member, with room so that the member begins at a multiple of the alignment.
func (e *entry) local() []byte {
	var extra []byte
	if big(e.size) {
		extra = wire.AppendU16(wire.AppendU16(nil, wire.Little, zip64Extra), wire.Little, 16)
		extra = wire.AppendU64(wire.AppendU64(extra, wire.Little, uint64(e.size)), wire.Little, uint64(e.size))
	}
	end := e.at + localLen + int64(len(e.name)+len(extra)) + alignLen
	pad := int(-end & (alignment - 1))
	extra = wire.AppendU16(wire.AppendU16(extra, wire.Little, alignExtra), wire.Little, uint16(alignLen-4+pad))
	extra = append(wire.AppendU16(extra, wire.Little, alignment), make([]byte, pad)...)
	b := e.fields([]byte(localMagic))
	b = wire.AppendU16(b, wire.Little, uint16(len(extra)))
	return append(append(b, e.name...), extra...)
}

// central is the entry's line of the directory.
func (e *entry) central(b []byte) []byte {
	var extra []byte
	if big(e.size) {
		extra = wire.AppendU64(wire.AppendU64(extra, wire.Little, uint64(e.size)), wire.Little, uint64(e.size))
	}
	if big(e.at) {
		extra = wire.AppendU64(extra, wire.Little, uint64(e.at))
	}
	if len(extra) > 0 {
		extra = append(wire.AppendU16(wire.AppendU16(nil, wire.Little, zip64Extra), wire.Little, uint16(len(extra))), extra...)
	}
	b = append(b, "PK\x01\x02"...)
	b = wire.AppendU16(b, wire.Little, 3<<8|e.version()) // made by a Unix system
	b = e.fields(b)
	b = wire.AppendU16(b, wire.Little, uint16(len(extra)))
	b = append(b, 0, 0, 0, 0, 0, 0)                  // no comment, first disk, no text
	b = wire.AppendU32(b, wire.Little, 0o100600<<16) // a file that its owner may read and write
	b = wire.AppendU32(b, wire.Little, uint32(min(e.at, math.MaxUint32)))
	return append(append(b, e.name...), extra...)
}

// directory is what stands behind the last member, at byte at.
func directory(all []entry, at int64) []byte {
	var b []byte
	for i := range all {
		b = all[i].central(b)
	}
	n, size := len(all), int64(len(b))
	if n >= math.MaxUint16 || big(at) || big(size) {
		b = append(b, "PK\x06\x06"...)
		b = wire.AppendU64(b, wire.Little, 44) // length of what follows of the record
		b = wire.AppendU16(wire.AppendU16(b, wire.Little, 3<<8|45), wire.Little, 45)
		b = append(b, make([]byte, 8)...) // disks
		for _, v := range []int64{int64(n), int64(n), size, at} {
			b = wire.AppendU64(b, wire.Little, uint64(v))
		}
		b = append(b, "PK\x06\x07\x00\x00\x00\x00"...)
		b = wire.AppendU64(b, wire.Little, uint64(at+size))
		b = wire.AppendU32(b, wire.Little, 1) // disks
	}
	b = append(b, "PK\x05\x06\x00\x00\x00\x00"...)
	for range 2 {
		b = wire.AppendU16(b, wire.Little, uint16(min(n, math.MaxUint16)))
	}
	b = wire.AppendU32(b, wire.Little, uint32(min(size, math.MaxUint32)))
	b = wire.AppendU32(b, wire.Little, uint32(min(at, math.MaxUint32)))
	return append(b, 0, 0) // no comment
}

// planArchive decides where everything lies, and asks for what is lost.
func planArchive(ms []matrix.Meta, o *format.Options) (f format.SlabFile, err error) {
	var all []entry
	add := func(name string, size int64) (*entry, error) {
		if !utf8.ValidString(name) || len(name) > math.MaxUint16 {
			return nil, fmt.Errorf("name %.40q, want UTF-8 of at most %d bytes: %w", name, math.MaxUint16, format.ErrLimit)
		}
		if f.Size > math.MaxInt64-size-1<<20 {
			return nil, fmt.Errorf("%d bytes and %d more, want a file below 2^63 bytes: %w", f.Size, size, format.ErrLimit)
		}
		e := entry{name: name, at: f.Size, size: size}
		e.data = e.at + int64(len(e.local()))
		f.Size = e.data + size
		all = append(all, e)
		return &all[len(all)-1], nil
	}
	for i := range ms {
		one, err := plan(&ms[i], o)
		if err != nil {
			return f, err
		}
		e, err := add(ms[i].Name+ending, one.Size)
		if err != nil {
			return f, err
		}
		e.later = true
		one.Slabs[0].Off += e.data
		f.Slabs = append(f.Slabs, one.Slabs[0])
		f.Known = append(f.Known, format.Span{Off: e.at, Bytes: e.local()}, format.Span{Off: e.data, Bytes: one.Known[0].Bytes})
	}
	for _, file := range slices.Sorted(maps.Keys(o.Files)) {
		if strings.HasSuffix(file, ending) {
			o.Drop("file %s: named as an array", file)
			continue
		}
		e, err := add(file, int64(len(o.Files[file])))
		if err != nil {
			return f, err
		}
		e.sum = crc32.ChecksumIEEE(o.Files[file])
		f.Known = append(f.Known, format.Span{Off: e.at, Bytes: e.local()}, format.Span{Off: e.data, Bytes: o.Files[file]})
	}
	at := f.Size
	f.Size += int64(len(directory(all, at)))
	f.Seal = func(ctx context.Context, out format.ReadWriterAt) error { return seal(ctx, out, slices.Clone(all), at) }
	return f, nil
}

// seal adds the checksums and the directory.
func seal(ctx context.Context, out format.ReadWriterAt, all []entry, at int64) error {
	for i := range all {
		e := &all[i]
		if !e.later {
			continue
		}
		sum := crc32.NewIEEE()
		if err := copySum(ctx, sum, offset{out, e.data}, e.size); err != nil {
			return err
		}
		e.sum = sum.Sum32()
		if _, err := out.WriteAt(e.local(), e.at); err != nil {
			return err
		}
	}
	_, err := out.WriteAt(directory(all, at), at)
	return err
}

// offset reads a file from a byte on.
type offset struct {
	format.ReadWriterAt
	from int64
}

// ReadAt implements io.ReaderAt.
func (o offset) ReadAt(p []byte, off int64) (int, error) { return o.ReadWriterAt.ReadAt(p, o.from+off) }
