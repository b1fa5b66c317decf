package paddle

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"thole.example/format"
	"thole.example/matrix"
)

// The bits of a record's flags. All but flagLoD are our extension.
const (
	flagLoD    = 1 << iota // LoD block present
	flagDType              // element type present
	flagWide               // dimensions and offsets are u64
	flagDigest             // MD5 of the record behind the values
	flagAlign              // padding before the values
	flagsKnown = 1<<iota - 1
)

const (
	maxName   = 65535 // bytes
	maxRank   = 9     // Paddle's own limit
	alignment = 64    // bytes
	digestLen = 16    // bytes
)

// record is one tensor of the file: its description, and where its bytes are.
type record struct {
	flags      byte
	name       string
	unnamed    bool // the name is stored nowhere
	dims       []int64
	lod        [][]int64
	code       byte         // of its element type
	dtype      matrix.DType // how its values are read
	origin     string       // Paddle's name of an element type that is none of ours
	start      int64        // of the flags
	values     int64        // of the first value
	end        int64        // behind the last value
	rows, cols int64
}

// next is where the record after this one begins.
func (r *record) next() int64 {
	if r.flags&flagDigest != 0 {
		return r.end + digestLen
	}
	return r.end
}

// readRecord walks over one record, not over its values.
func readRecord(s *scan) record {
	r := record{start: s.off, code: codeF32, dtype: matrix.F32}
	r.flags = byte(s.u8("flags"))
	if r.flags&^flagsKnown != 0 {
		s.fault(FaultFlags, r.start, "flags %#02x, want none but %#02x", r.flags, flagsKnown)
	}
	s.means("flags %#02x: %s", r.flags, flagText(r.flags))
	r.name = readName(s)
	rank := s.count(maxRank, "number of dimensions")
	s.means("%d dimensions", rank)
	at := s.off
	r.dims = s.sizes(rank, r.flags&flagWide != 0, "dimension")
	s.means("dimensions %v", r.dims)
	if r.flags&flagDType != 0 {
		r.code = byte(s.u8("element type"))
		if _, err := elementOf(int64(r.code)); err != nil {
			s.fault(FaultType, s.off-1, "%w", err)
		}
		s.means("element type %d (%s)", r.code, typeText(int64(r.code)))
	}
	if err := r.settle(int64(r.code)); err != nil {
		s.fault(settleFault(err), at, "%w", err)
	}
	if r.flags&flagLoD != 0 {
		r.lod = readLoD(s, &r)
	}
	if r.flags&flagAlign != 0 {
		readPadding(s)
	}
	readValues(s, &r)
	return r
}

func flagText(flags byte) string {
	words := []string{"tensor"}
	if flags&flagLoD != 0 {
		words[0] = "LoDTensor"
	}
	for i, word := range []string{"dtype", "64-bit dimensions", "digest", "aligned"} {
		if flags&(flagDType<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

func readName(s *scan) string {
	n := s.count(maxName, "length of the name")
	s.means("name of %d bytes", n)
	b := s.take(n, "name")
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		s.fault(FaultName, s.off-n, "name %q, want UTF-8 without NUL", b)
	}
	s.means("name %q", b)
	return string(b)
}

func readLoD(s *scan, r *record) [][]int64 {
	levels := s.count(maxLevels, "number of LoD levels")
	s.means("%d LoD levels", levels)
	lod := make([][]int64, 0, levels)
	at := s.off
	for i := range levels {
		n := s.count(1<<31-1, "number of offsets")
		s.means("level %d: %d offsets", i, n)
		lod = append(lod, s.sizes(n, r.flags&flagWide != 0, "offset"))
		s.means("offsets of level %d", i)
	}
	if s.err == nil {
		if err := checkLoD(lod, r.dims); err != nil {
			s.fault(FaultLoD, at, "%w", err)
		}
	}
	return lod
}

func readPadding(s *scan) {
	n := s.u8("length of the padding")
	if n >= alignment {
		s.fault(FaultFlags, s.off-1, "padding of %d bytes, want fewer than %d", n, alignment)
	}
	s.means("padding of %d bytes", n)
	for i, b := range s.take(n, "padding") {
		if b != 0 {
			s.fault(FaultFlags, s.off-n+int64(i), "padding byte %#02x, want 0", b)
		}
	}
	if s.err == nil && s.off%alignment != 0 {
		s.fault(FaultFlags, s.off, "values begin here, want a multiple of %d", alignment)
	}
	if n > 0 {
		s.means("padding")
	}
}

func readValues(s *scan, r *record) {
	r.values = s.off
	cells, _ := matrix.Cells(r.rows, r.cols) // Shape has checked the product
	n, ok := matrix.Cells(cells, int64(r.dtype.Size()))
	if !ok && s.err == nil {
		s.fault(FaultDims, s.off, "%v values of %v: beyond 2^63 bytes", r.dims, r.dtype)
	}
	s.skip(n, "values")
	r.end = s.off
	if s.print != nil && s.err == nil {
		printValues(s, r)
	}
	if r.flags&flagDigest != 0 {
		s.take(digestLen, "digest")
		s.means("MD5 of the record")
	}
}

// settle takes over an element type and sees the dimensions as a matrix.
func (r *record) settle(code int64) error {
	e, err := elementOf(code)
	if err != nil {
		return err
	}
	r.code, r.dtype, r.origin = byte(code), e.DType, e.Origin
	r.rows, r.cols, err = matrix.Shape(e.Shape(r.dims))
	return err
}

// element is the type of the values.
func (r *record) element() element { return element{DType: r.dtype, Origin: r.origin} }

// slab is where the values are.
func (r *record) slab(s *scan) format.ElementSlab {
	at := matrix.At(0, r.rows, 0, r.cols)
	return format.ElementSlab{Slab: format.Slab{Name: r.name, At: at, DType: r.dtype, Order: s.order, Off: r.values}, Origin: r.origin}
}

// meta describes the tensor as a matrix.
func (r *record) meta() matrix.Meta {
	e := r.element()
	return matrix.Meta{Name: r.name, Unnamed: r.unnamed, Rows: r.rows, Cols: r.cols, DType: e.Held(), Origin: r.origin,
		Dims: e.Shape(r.dims), LoD: r.lod}
}
