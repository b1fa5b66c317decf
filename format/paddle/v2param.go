package paddle

import (
	"encoding/binary"
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const rawHeader = 16 // bytes

// v2Param is a parameter of the first two API versions, one in one file that has its name:
//
//	0    u32   format: 0 as it is, 1 in the order of a library (mkldnn OI)
//	4    u32   size of a value in bytes, 4 or 8
//	8    u64   number n of values
//	16   n     values, f32 or f64
//
// All numbers are little-endian. The shape is not in the file: the matrix is one row.
var v2Param = layout{name: "v2", like: likeV2, walk: walkV2}

// likeV2 accepts any format where the length is exact, so that one that we do not read is named.
func likeV2(head []byte, size int64) bool {
	if len(head) < rawHeader {
		return false
	}
	n := binary.LittleEndian.Uint64(head[8:])
	form, width := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
	if width != 4 && width != 8 || n >= 1<<48 {
		return false
	}
	return form <= 1 || form < 256 && uint64(size) == rawHeader+n*uint64(width)
}

func walkV2(l *listing) {
	l.head("parameter")
	r := l.readRaw(l.ownName(), nil)
	l.addUnnamed(r)
	l.end("the values")
}

// readRaw walks over a parameter with its header. Its shape is one row if dims is nil.
func (l *listing) readRaw(name string, dims []int64) record {
	s := l.scan
	r := record{name: name, dims: dims, start: s.off}
	form := s.u32("format")
	if form > 1 {
		s.fault(FaultVersion, s.off-4, "format %d, want 0 or 1: %w", form, format.ErrVersion)
	}
	s.means("format %d", form)
	if form == 1 {
		l.note("%q: format 1, values in the order of mkldnn: weights may be turned", name)
	}
	switch width := s.u32("size of a value"); {
	case width == 4:
		r.dtype = matrix.F32
	case width == 8:
		r.dtype = matrix.F64
	default:
		s.fault(FaultType, s.off-4, "values of %d bytes, want 4 or 8: %w", width, format.ErrVersion)
		return r
	}
	s.means("values of %d bytes (%v)", r.dtype.Size(), r.dtype)
	n := s.number((s.size-s.off-8)/int64(r.dtype.Size()), "number of values")
	s.means("%d values", n)
	if r.dims == nil {
		r.dims = []int64{n}
	}
	r.rows, r.cols, _ = matrix.Shape(r.dims)
	if r.rows*r.cols != n {
		s.fault(FaultDims, s.off-8, "%d values, want %d for dimensions %v", n, r.rows*r.cols, r.dims)
	}
	l.readValues(&r, n*int64(r.dtype.Size()))
	return r
}

// paramConfig is what we need of a ParameterConfig message.
type paramConfig struct {
	name string
	size uint64
	dims []int64
}

// parseConfig reads a ParameterConfig message that begins at byte base.
func parseConfig(b []byte, base int64) (c paramConfig, err error) {
	var named, sized bool
	err = eachField(b, base, func(f protoField) (err error) {
		switch {
		case f.number == 1 && f.wire == wireBytes:
			named, c.name = true, string(f.body)
		case f.number == 2 && f.wire == wireVarint:
			sized, c.size = true, f.value
		case f.number == 9:
			c.dims, err = f.numbers(c.dims, maxRank)
		case f.number <= 2:
			return fmt.Errorf("wire type %d of field %d", f.wire, f.number)
		}
		return err
	})
	if err != nil {
		return c, err
	}
	if !named || !sized {
		return c, &wire.At{Off: base, Err: fmt.Errorf("a parameter's configuration without name or size")}
	}
	if c.dims == nil && c.size < 1<<63 {
		c.dims = []int64{1, int64(c.size)}
	}
	rows, cols, err := matrix.Shape(c.dims)
	if err == nil && uint64(rows*cols) != c.size {
		err = fmt.Errorf("size %d, want %d for dimensions %v", c.size, rows*cols, c.dims)
	}
	if err != nil {
		return c, &wire.At{Off: base, Err: err}
	}
	return c, nil
}
