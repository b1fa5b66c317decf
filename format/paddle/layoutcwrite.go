package paddle

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
	"thole.example/wire"
)

// Files that a model folder gets if nothing else is said.
const (
	topologyFile = "__model__"
	combinedFile = "__params__"
)

// release is the version in topologies that we make only to give names: 1.8.5, the last with files of these names.
const release = 1_008_005

// planStream plans the stream of a matrix that begins at byte start, and gives its bytes before the values.
func planStream(m *matrix.Meta, o *format.Options, start int64) (r record, head []byte, err error) {
	if r, err = plan(m, o, wishes{order: wire.Little}); err != nil {
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
	format.DropFiles(&o)
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
		return o.Lose("the names of %d matrices, which stand in the order of these: a file of streams has none "+
			"(layout=combined writes a topology with them)", len(named))
	case nameOf(path.Base(to)) != ms[0].Name:
		o.Drop("the name %q: the file %s has only its own", ms[0].Name, path.Base(to)) // which the user chose, as in all formats of one matrix
	}
	return nil
}

// createSeparate writes a folder with a file for each matrix, and the small files beside them.
func createSeparate(ctx context.Context, b blob.Bucket, to string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	w := newBundle(b, to, &o)
	for i := range ms {
		if err := w.claim(ms[i].Name); err != nil {
			return nil, err
		}
	}
	for i := range ms {
		if err := w.addOwn(ctx, &ms[i], o); err != nil {
			w.Abort(ctx)
			return nil, err
		}
	}
	return w, nil
}

// addOwn begins the file of one matrix: a stream, or rows if it has not all of them.
func (w *bundle) addOwn(ctx context.Context, m *matrix.Meta, o format.Options) error {
	file := w.stage.Name(m.Name)
	if m.Saved != nil {
		one, err := createRows(ctx, w.stage.Bucket, file, m, o)
		return w.add(one, err, m.Name)
	}
	f, records, err := planStreams([]matrix.Meta{*m}, &o)
	if err != nil {
		return err
	}
	one, err := newWriter(ctx, w.stage.Bucket, file, o, f, records)
	return w.add(one, err, m.Name)
}

// createCombined writes a folder with a topology and one file. The topology is the one among the small files, if it has
// exactly these matrices as parameters; else one is made that declares them and does nothing.
func createCombined(ctx context.Context, b blob.Bucket, to string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	ms = sortedMetas(ms)
	w := newBundle(b, to, &o)
	f, records, err := planStreams(ms, &o)
	if err != nil {
		return nil, err
	}
	vars := make([]program.Var, len(records))
	for i, r := range records {
		if i > 0 && r.name == records[i-1].name {
			return nil, fmt.Errorf("matrix name %q twice, want each once", r.name)
		}
		vars[i] = program.Var{Name: r.name, Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: program.VarType_Type(r.code),
			Dims: r.dims, LoDLevel: len(r.lod), Persistable: true, Parameter: true}
	}
	if err := w.declare(vars); err != nil {
		return nil, err
	}
	one, err := newWriter(ctx, w.stage.Bucket, w.stage.Name(combinedFile), o, f, records)
	var names []string
	for _, r := range records {
		names = append(names, r.name)
	}
	if err := w.add(one, err, names...); err != nil {
		w.Abort(ctx)
		return nil, err
	}
	return w, nil
}

// bundle writes several files of streams as one folder.
type bundle struct {
	stage *format.Stage
	files map[string][]byte // small files to store with them
	inner []format.Writer
	of    map[string]int // the inner writer of a matrix
}

func newBundle(b blob.Bucket, to string, o *format.Options) *bundle {
	w := &bundle{stage: format.NewStage(b, to, o.Stage), files: o.Files, of: map[string]int{}}
	o.Files = nil // they are the folder's, not the single file's
	return w
}

// claim checks that a matrix can have a file of its own.
func (w *bundle) claim(matrixName string) error {
	plain := fs.ValidPath(matrixName) && matrixName != "." && !strings.ContainsAny(matrixName, "\\\x00")
	for part := range strings.SplitSeq(matrixName, "/") {
		plain = plain && !strings.HasPrefix(part, "_tmp.") && !strings.HasPrefix(part, ".")
	}
	_, taken := w.files[matrixName]
	if _, twice := w.of[matrixName]; twice {
		return fmt.Errorf("matrix name %q twice, want each once", matrixName)
	}
	w.of[matrixName] = 0 // for now
	if !plain || taken {
		return fmt.Errorf("matrix name %q cannot be a file name beside the others", matrixName)
	}
	return nil
}

// declare puts a topology to the files that has the variables as its parameters, unless there is such a one.
func (w *bundle) declare(vars []program.Var) error {
	if data, ok := w.files[topologyFile]; ok {
		p, err := program.Decode(data)
		if err == nil && slices.EqualFunc(p.Params(), vars, sameVar) {
			return nil
		}
		return fmt.Errorf("the topology %s says other parameters than the %d matrices to write", topologyFile, len(vars))
	}
	p, err := program.Declare(vars, release)
	if err != nil {
		return err
	}
	data, err := p.Encode()
	if err != nil {
		return err
	}
	files := map[string][]byte{topologyFile: data}
	for file, content := range w.files {
		if ext := path.Ext(file); ext != ".pdmodel" { // a second topology would be ambiguous
			files[file] = content
		}
	}
	w.files = files
	return nil
}

// sameVar tells whether a parameter is what is written.
func sameVar(a, b program.Var) bool {
	fits := func(said, is int64) bool { return said == is || said == -1 }
	return a.Name == b.Name && (!a.Typed || a.Elem == b.Elem && slices.EqualFunc(a.Dims, b.Dims, fits))
}

// add takes over the writer of a file that holds the named matrices, or the error of making it.
func (w *bundle) add(one format.Writer, err error, names ...string) error {
	if err != nil {
		return err
	}
	for _, matrixName := range names {
		w.of[matrixName] = len(w.inner)
	}
	w.inner = append(w.inner, one)
	return nil
}

// Put implements format.Writer. A Part is the number of the file and the Part of its writer.
func (w *bundle) Put(ctx context.Context, matrixName string, b matrix.Block) (format.Part, error) {
	i, ok := w.of[matrixName]
	if !ok {
		return nil, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)
	}
	p, err := w.inner[i].Put(ctx, matrixName, b)
	return append(wire.AppendU32(nil, wire.Little, uint32(i)), p...), err
}

// Commit implements format.Writer.
func (w *bundle) Commit(ctx context.Context, parts []format.Part) error {
	of := make([][]format.Part, len(w.inner))
	for _, p := range parts {
		c := wire.NewCursor(p, 0, wire.Little)
		i := c.U32("file")
		if c.Err() != nil || int(i) >= len(w.inner) {
			return fmt.Errorf("part of %s: no such file: %w", w.stage.Path, format.ErrMatrix)
		}
		of[i] = append(of[i], p[4:])
	}
	for i, one := range w.inner {
		if err := one.Commit(ctx, of[i]); err != nil {
			return err
		}
	}
	for file, data := range w.files {
		if err := blob.WriteAll(ctx, w.stage.Bucket, w.stage.Name(file), data); err != nil {
			return err
		}
	}
	return w.stage.Publish(ctx, "")
}

// Abort implements format.Writer.
func (w *bundle) Abort(ctx context.Context) {
	for _, one := range w.inner {
		one.Abort(ctx)
	}
	w.stage.Abort(ctx)
}
