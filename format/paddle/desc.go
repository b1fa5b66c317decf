package paddle

import (
	"errors"
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// maxDesc is the largest TensorDesc that we read, in bytes. One of 9 dimensions has at most 101.
const maxDesc = 1024

// tensorDesc is what a TensorDesc message says, and in layout P a LoDTensorProto.
type tensorDesc struct {
	code  int64 // of the element type
	dims  []int64
	lod   [][]int64
	depth int64 // how many levels the message says there are
	odd   []protoField
}

// UnheldError says that values have a type that Paddle knows but no matrix here can hold. It wraps format.ErrVersion.
type UnheldError struct {
	Type string // as NumPy calls it
}

// Error implements error.
func (e *UnheldError) Error() string {
	return fmt.Sprintf("element type %s, which no matrix can hold", e.Type)
}

// Unwrap gives format.ErrVersion.
func (e *UnheldError) Unwrap() error { return format.ErrVersion }

// parseDesc reads a message of n bytes that s has taken last. In a plain TensorDesc only the fields 1 and 2 exist; a
// LoDTensorProto has LoD and others too.
func parseDesc(s *scan, b []byte, lodProto bool) (d tensorDesc) {
	if s.err != nil {
		return d
	}
	base := s.off - int64(len(b))
	typed := false
	err := eachField(b, base, func(f protoField) (err error) {
		switch {
		case f.number == 1 && f.wire == wireVarint:
			if typed {
				return fmt.Errorf("a second element type, want one")
			}
			typed, d.code = true, int64(f.value)
		case f.number == 2:
			d.dims, err = f.numbers(d.dims, maxRank)
		case lodProto && f.number == 3 && f.wire == wireBytes:
			return d.level(f)
		case lodProto && f.number == 4 && f.wire == wireVarint:
			d.depth = int64(f.value)
		case lodProto && f.number > 4 && f.wire == wireVarint:
			if len(d.odd) > maxLevels {
				return fmt.Errorf("more than %d fields that are not known", maxLevels)
			}
			d.odd = append(d.odd, f)
		default:
			return fmt.Errorf("field %d of wire type %d, want none such in a description", f.number, f.wire)
		}
		return err
	})
	if err == nil && !typed {
		err = &wire.At{Off: base, Err: fmt.Errorf("description of %d bytes without an element type", len(b))}
	}
	if at := (&wire.At{}); errors.As(err, &at) {
		s.err = &wire.At{Off: at.Off, Err: &FaultError{FaultDesc, at.Err}}
	} else if err != nil {
		s.fault(FaultDesc, base, "%w", err)
	}
	return d
}

// settleFault tells an element type from a shape that is wrong.
func settleFault(err error) Fault {
	if errors.Is(err, format.ErrVersion) {
		return FaultType
	}
	return FaultDims
}

// level adds a LoDInfo message.
func (d *tensorDesc) level(f protoField) error {
	if len(d.lod) == maxLevels {
		return fmt.Errorf("more than %d LoD levels", maxLevels)
	}
	var level []int64
	err := eachField(f.body, f.at, func(in protoField) (err error) {
		if in.number != 1 {
			return fmt.Errorf("field %d of a LoD level, want only field 1", in.number)
		}
		level, err = in.numbers(level, len(f.body))
		return err
	})
	d.lod = append(d.lod, level)
	return err
}

// record makes a record of the description, without place and name, and gives the size of its values in bytes. at is the
// place of the description.
func (l *listing) record(d *tensorDesc, at int64) (r record, size int64) {
	s := l.scan
	r = record{start: at, dims: d.dims, lod: d.lod, code: byte(d.code)}
	if r.dims == nil {
		r.dims = []int64{}
	}
	if s.err != nil {
		return r, 0
	}
	if err := r.settle(d.code); err != nil {
		s.fault(settleFault(err), at, "%w", err)
		return r, 0
	}
	cells, _ := matrix.Cells(r.rows, r.cols) // Shape has checked the product
	n, ok := matrix.Cells(cells, int64(r.dtype.Size()))
	if !ok {
		s.fault(FaultDims, at, "%v values of %d bytes: beyond 2^63 bytes", r.dims, r.dtype.Size())
	}
	return r, n
}

// readBare walks over a tensor as layouts B and T and SelectedRows hold it: version, description, values.
func (l *listing) readBare(name string) record {
	s := l.scan
	if v := s.u32("tensor version"); v != 0 {
		s.fault(FaultVersion, s.off-4, "tensor version %d, want 0: %w", v, format.ErrVersion)
	}
	s.means("tensor version 0")
	n := s.count(maxDesc, "size of the description")
	s.means("description of %d bytes", n)
	b := s.take(n, "description")
	at := s.off - n
	d := parseDesc(s, b, false)
	s.means("element type %d (%s), dimensions %v", d.code, typeText(d.code), d.dims)
	r, size := l.record(&d, at)
	r.name = name
	l.readValues(&r, size)
	return r
}

// readValues passes over the values of the record.
func (l *listing) readValues(r *record, size int64) {
	s := l.scan
	r.values = s.off
	s.skip(size, "values")
	r.end = s.off
	if s.print != nil && s.err == nil && size > 0 {
		printValues(s, r)
	}
}
