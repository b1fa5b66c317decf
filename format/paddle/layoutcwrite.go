package paddle

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// planStream plans the stream of a matrix that begins at byte start, and gives its bytes before the values.
func planStream(m *matrix.Meta, o *format.Options, start int64) (r record, head []byte, err error) {
	if r, err = plan(m, o, settings{order: wire.Little}); err != nil {
		return r, nil, err
	}
	b := wire.AppendU64(wire.AppendU32(nil, wire.Little, 0), wire.Little, uint64(len(r.lod)))
	for _, level := range r.lod {
		b = wire.AppendU64(b, wire.Little, uint64(len(level))*8)
		for _, n := range level {
			b = wire.AppendU64(b, wire.Little, uint64(n))
		}
	}
	b = appendBare(b, &r)
	r.start, r.values = start, start+int64(len(b))
	r.end, err = format.PlaceSlab(m, r.dtype, r.values)
	return r, b, err
}

// appendBare appends what stands before the values of a tensor: version and description.
func appendBare(b []byte, r *record) []byte {
	desc := protoVarint(protoVarint(nil, 1<<3|wireVarint), uint64(r.code))
	for _, d := range r.dims {
		desc = protoVarint(protoVarint(desc, 2<<3|wireVarint), uint64(d))
	}
	b = wire.AppendU32(wire.AppendU32(b, wire.Little, 0), wire.Little, uint32(len(desc)))
	return append(b, desc...)
}

// protoVarint appends a number as protobuf does.
func protoVarint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// planStreams plans a file of streams in the order of the matrices.
func planStreams(ms []matrix.Meta, o *format.Options) (f format.SlabFile, records []record, err error) {
	for i := range ms {
		r, head, err := planStream(&ms[i], o, f.Size)
		if err != nil {
			return f, nil, err
		}
		f.Known = append(f.Known, format.Span{Off: r.start, Bytes: head})
		f.Slabs = append(f.Slabs, r.target(&ms[i], wire.Little))
		f.Size = r.end
		records = append(records, r)
	}
	return f, records, nil
}

// inOrder are the matrices as a file without names holds them: as Paddle does, in the order of their names; where none of
// them has a name of its own, in the order in which they are.
func inOrder(ms []matrix.Meta) []matrix.Meta {
	if slices.ContainsFunc(ms, func(m matrix.Meta) bool { return !m.Unnamed }) {
		return sortedMetas(ms)
	}
	return ms
}

// sortedMetas are the matrices as combined files hold them.
func sortedMetas(ms []matrix.Meta) []matrix.Meta {
	sorted := slices.Clone(ms)
	slices.SortFunc(sorted, func(a, b matrix.Meta) int { return cmp.Compare(a.Name, b.Name) })
	return sorted
}

// streamLayouts are the names of layouts that the profile writes: one file, a folder with a file for each matrix, and a
// folder with a topology and a combined file.
func streamLayouts() []string { return []string{streamsName, "separate", "combined"} }

// Create implements profile, for the layouts stream, separate and combined.
func (streams) Create(ctx context.Context, b blob.Bucket, to string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	switch o.Get(Codec.Info(), "layout") {
	case "separate":
		return createSeparate(ctx, b, strings.TrimSuffix(to, "/"), ms, o)
	case "combined":
		return createCombined(ctx, b, strings.TrimSuffix(to, "/"), ms, o)
	}
	return createStream(ctx, b, to, ms, o)
}

// createStream writes one file, which has no names but its own.
func createStream(ctx context.Context, b blob.Bucket, to string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if err := loseNames(to, ms, &o); err != nil {
		return nil, err
	}
	if err := format.LoseFiles(&o); err != nil {
		return nil, err
	}
	f, records, err := planStreams(inOrder(ms), &o)
	if err != nil {
		return nil, err
	}
	return newWriter(ctx, b, to, o, f, records)
}

// loseNames asks for the loss of names in a file that has only its own. Those that are stored nowhere are none.
func loseNames(to string, ms []matrix.Meta, o *format.Options) error {
	named := slices.DeleteFunc(slices.Clone(ms), func(m matrix.Meta) bool { return m.Unnamed })
	switch {
	case len(named) == 0:
	case len(ms) > 1:
		return o.Lose(format.Names, "", "the names of %d matrices, which stand in the order of these: a file of streams has none "+
			"(layout=combined writes a topology with them)", len(named))
	case nameOf(blob.Base(to)) != ms[0].Name:
		// which the user chose, as in all formats of one matrix
		o.Drop(format.Names, "", "the name %q: the file %s has only its own", ms[0].Name, blob.Base(to))
	}
	return nil
}
