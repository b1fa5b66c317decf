package npy

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"thole.example/format"
	"thole.example/internal/zipfile"
	"thole.example/matrix"
)

// private is the mode of the members: files that their owner may read and write, as NumPy's.
const private = 0o100600

// planArchive decides where everything lies, and asks for what is lost.
func planArchive(ms []matrix.Meta, o *format.Options) (f format.SlabFile, err error) {
	var all []zipfile.Member
	add := func(name string, size int64) (*zipfile.Member, error) {
		if !utf8.ValidString(name) || len(name) > math.MaxUint16 {
			return nil, fmt.Errorf("name %.40q, want UTF-8 of at most %d bytes: %w", name, math.MaxUint16, format.ErrLimit)
		}
		if f.Size > math.MaxInt64-size-1<<20 {
			return nil, fmt.Errorf("%d bytes and %d more, want a file below 2^63 bytes: %w", f.Size, size, format.ErrLimit)
		}
		e := zipfile.Member{Name: name, Size: size, Mode: private}
		f.Size = e.Place(f.Size)
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
		one.Slabs[0].Off += e.Data
		f.Slabs = append(f.Slabs, one.Slabs[0])
		f.Known = append(f.Known, format.Span{Off: e.At, Bytes: e.Local()}, format.Span{Off: e.Data, Bytes: one.Known[0].Bytes})
	}
	for _, file := range slices.Sorted(maps.Keys(o.Files)) {
		n, why := len(o.Files[file]), format.TooLong(file, int64(len(o.Files[file])))
		if strings.HasSuffix(file, ending) {
			why = "named as an array"
		}
		if why != "" {
			if err := o.Lose(format.Files, "", "file %s: %s", file, why); err != nil {
				return f, err
			}
			continue
		}
		e, err := add(file, int64(n))
		if err != nil {
			return f, err
		}
		e.Sum = crc32.ChecksumIEEE(o.Files[file])
		f.Known = append(f.Known, format.Span{Off: e.At, Bytes: e.Local()}, format.Span{Off: e.Data, Bytes: o.Files[file]})
	}
	at := f.Size
	f.Size += int64(len(zipfile.Directory(all, at)))
	f.Seal = func(ctx context.Context, out format.ReadWriterAt) error {
		return seal(ctx, out, slices.Clone(all), len(ms), at)
	}
	return f, nil
}

// seal adds the directory, and the checksums of the arrays, which are the first members.
func seal(ctx context.Context, out format.ReadWriterAt, all []zipfile.Member, arrays int, at int64) error {
	for i := range arrays {
		e := &all[i]
		sum := crc32.NewIEEE()
		if err := copySum(ctx, sum, offset{out, e.Data}, e.Size); err != nil {
			return err
		}
		e.Sum = sum.Sum32()
		if _, err := out.WriteAt(e.Local(), e.At); err != nil {
			return err
		}
	}
	_, err := out.WriteAt(zipfile.Directory(all, at), at)
	return err
}

// offset reads a file from a byte on.
type offset struct {
	format.ReadWriterAt
	from int64
}

// ReadAt implements io.ReaderAt.
func (o offset) ReadAt(p []byte, off int64) (int, error) { return o.ReadWriterAt.ReadAt(p, o.from+off) }
