package paddle

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// settings are the options of writing.
type settings struct {
	order         wire.Order
	digest, align bool
}

func newSettings(o *format.Options) (w settings, err error) {
	info := Codec.Info()
	switch v := o.Get(info, "endian"); v {
	case "little":
		w.order = wire.Little
	case "big":
		w.order = wire.Big
	default:
		return w, fmt.Errorf("endian %q, want little or big: %w", v, format.ErrOption)
	}
	for _, flag := range []struct {
		name string
		to   *bool
	}{{"digest", &w.digest}, {"align", &w.align}} {
		v := o.Get(info, flag.name)
		if *flag.to, err = strconv.ParseBool(v); err != nil {
			return w, fmt.Errorf("%s %q, want true or false: %w", flag.name, v, format.ErrOption)
		}
	}
	return w, nil
}

// Create implements profile.
func (seed) Create(ctx context.Context, b blob.Bucket, path string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	w, err := newSettings(&o)
	if err != nil {
		return nil, err
	}
	if err := format.LoseFiles(&o); err != nil {
		return nil, err
	}
	f := format.SlabFile{Size: headerLen}
	records := make([]record, 0, len(ms))
	for i := range ms {
		r, err := plan(&ms[i], &o, w)
		if err != nil {
			return nil, err
		}
		head := place(&r, f.Size, w)
		if r.end, err = format.PlaceSlab(&ms[i], r.dtype, r.values); err != nil {
			return nil, err
		}
		f.Known = append(f.Known, format.Span{Off: f.Size, Bytes: head})
		f.Slabs = append(f.Slabs, r.target(&ms[i], w.order))
		f.Size = r.next()
		records = append(records, r)
	}
	f.Known = append(f.Known, format.Span{Bytes: header(w.order)})
	f.Seal = func(_ context.Context, file format.ReadWriterAt) error { return seal(file, records, f.Size, w.order) }
	return newWriter(ctx, b, path, o, f, records)
}

// plan decides how a matrix becomes a record, and asks for what is lost.
func plan(m *matrix.Meta, o *format.Options, w settings) (record, error) {
	r := record{name: m.Name, dims: m.Dims, lod: m.LoD, rows: m.Rows, cols: m.Cols}
	if len(m.Name) > maxName || !utf8.ValidString(m.Name) || strings.Contains(m.Name, "\x00") {
		return r, fmt.Errorf("matrix name %.80q of %d bytes, want UTF-8 of at most %d bytes without NUL: %w",
			m.Name, len(m.Name), maxName, format.ErrLimit)
	}
	if err := m.Check(); err != nil {
		return r, err
	}
	if err := format.LoseToDense(m, o); err != nil {
		return r, err
	}
	if err := r.choose(m, o); err != nil {
		return r, err
	}
	if len(r.dims) > maxRank {
		if err := o.Lose(format.Shapes, m.Name, "shape of %d dimensions, of which %d fit", len(r.dims), maxRank); err != nil {
			return r, err
		}
		r.dims = nil
	}
	if r.dims == nil {
		r.dims = []int64{m.Rows, m.Cols}
	}
	if err := checkLoD(r.lod, r.dims); err != nil {
		return r, fmt.Errorf("matrix %q: %w", m.Name, err)
	}
	r.flags = flagsOf(&r, w)
	return r, nil
}

// choose decides the element type.
func (r *record) choose(m *matrix.Meta, o *format.Options) error {
	if code, dims, ok := adopt(m, r.dims); ok {
		e := elements[code]
		r.code, r.dtype, r.origin, r.dims = code, e.DType, e.Origin, dims
		return nil
	}
	r.code, r.dtype = codeOf(m.DType)
	if m.Origin != "" {
		return o.Lose(format.Meanings, m.Name, "element type %s, whose form the matrix has no more; stored as %v", m.Origin, r.dtype)
	}
	if r.dtype != m.DType {
		return o.Lose(format.Types, m.Name, "element type %v, stored as %v", m.DType, r.dtype)
	}
	return nil
}

// target is where the values of the matrix go, whose type is cast if the record has another.
func (r *record) target(m *matrix.Meta, order wire.Order) format.Target {
	t := r.element().Target(m, format.Slab{Order: order, Off: r.values})
	t.Cast = t.Cast || r.origin == "" && r.dtype != m.DType
	return t
}

// flagsOf are the flags that the record needs, and those that were asked for.
func flagsOf(r *record, w settings) byte {
	var flags byte
	if len(r.lod) > 0 {
		flags |= flagLoD
	}
	if r.code != codeF32 {
		flags |= flagDType
	}
	for _, sizes := range append([][]int64{r.dims}, r.lod...) {
		for _, n := range sizes {
			if n > math.MaxInt32 {
				flags |= flagWide
			}
		}
	}
	if w.digest {
		flags |= flagDigest
	}
	if w.align {
		flags |= flagAlign
	}
	return flags
}

// place puts the record at start and gives its bytes before the values.
func place(r *record, start int64, w settings) []byte {
	o := w.order
	sizes := func(b []byte, of []int64) []byte {
		for _, n := range of {
			if r.flags&flagWide != 0 {
				b = wire.AppendU64(b, o, uint64(n))
			} else {
				b = wire.AppendU32(b, o, uint32(n))
			}
		}
		return b
	}
	b := wire.AppendString([]byte{r.flags}, o, r.name)
	b = sizes(wire.AppendU32(b, o, uint32(len(r.dims))), r.dims)
	if r.flags&flagDType != 0 {
		b = append(b, r.code)
	}
	if r.flags&flagLoD != 0 {
		b = wire.AppendU32(b, o, uint32(len(r.lod)))
		for _, level := range r.lod {
			b = sizes(wire.AppendU32(b, o, uint32(len(level))), level)
		}
	}
	if r.flags&flagAlign != 0 {
		p := (alignment - (start+int64(len(b))+1)%alignment) % alignment
		b = append(append(b, byte(p)), make([]byte, p)...)
	}
	r.start, r.values = start, start+int64(len(b))
	return b
}

// header is the file's first bytes with no checksum yet.
func header(o wire.Order) []byte {
	endian := uint32(0)
	if o == wire.Little {
		endian = 1
	}
	b := wire.AppendU32(nil, o, endian)
	b = wire.AppendU32(b, o, defaultVersion)
	return wire.AppendU32(b, o, 0)
}

// seal adds the digests of the records, then the checksum of the file.
func seal(f format.ReadWriterAt, records []record, size int64, o wire.Order) error {
	with := slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.flags&flagDigest == 0 })
	i := 0
	for sum, err := range digests(f, with) {
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(sum[:], with[i].end); err != nil {
			return err
		}
		i++
	}
	sum, err := digest(f, span{headerLen, size})
	if err != nil {
		return err
	}
	_, err = f.WriteAt(wire.AppendU32(nil, o, short(sum)), 8)
	return err
}
