package paddle

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/program"
)

// streams is the profile of what Paddle has written since release 0.12, layout C: a stream for each variable,
//
//	0    u32   LoDTensor version, 0
//	4    u64   number of LoD levels, 0..16
//	           each level: u64 size in bytes, a multiple of 8, and so many offsets, u64 each
//	     u32   tensor version, 0
//	     i32   size s of the description
//	     s     TensorDesc: field 1 element type, field 2 dimensions
//	     …     values, row-major
//
// all little-endian, in one of three places: a file of its own that has the variable's name; a combined file (X.pdiparams,
// __params__), streams behind each other, without names; a folder of a topology and either of these. The names of a
// combined file are those of the topology beside it (package program), sorted; their shapes and types must be those of
// the streams. Without a topology the tensors of a combined file are numbered.
//
// Paddle checks neither the LoD nor the end of the last values; we do.
type streams struct{}

// streamsName is what the profile is called in dialects.
const streamsName = "stream"

// likeStream reports whether the bytes may begin a stream.
func likeStream(head []byte, size int64) bool {
	if len(head) < 16 || binary.LittleEndian.Uint32(head) != 0 {
		return false
	}
	levels := binary.LittleEndian.Uint64(head[4:])
	if levels == 0 {
		return likeBare(head[12:], size-12)
	}
	first := uint64(0)
	if len(head) >= 20 {
		first = binary.LittleEndian.Uint64(head[12:])
	}
	return levels <= maxLevels && first%8 == 0 && first <= uint64(size)
}

// Name implements profile.
func (streams) Name() string { return streamsName }

// Looks implements profile.
func (streams) Looks(ctx context.Context, b blob.Bucket, file string) bool {
	if infos, err := b.List(ctx, file); err == nil && len(infos) > 0 && infos[0].Name != file {
		return true // no other profile is a folder
	}
	return layout{like: likeStream}.Looks(ctx, b, file)
}

// walkStream walks over one stream.
func walkStream(l *listing, name string) record {
	s, start := l.scan, l.scan.off
	if v := s.u32("LoDTensor version"); v != 0 {
		s.fault(FaultVersion, s.off-4, "LoDTensor version %d, want 0: %w", v, format.ErrVersion)
	}
	s.means("LoDTensor version 0")
	at := s.off
	lod := readLevels(s)
	r := l.readBare(name)
	r.start, r.lod = start, lod
	if s.err == nil {
		if err := checkLoD(lod, r.dims); err != nil {
			s.fault(FaultLoD, at+16, "%w", err) // the first offset
		}
	}
	return r
}

// walkStreams walks over streams to the end of the file. vars are the variables that the file holds; nil: not known.
func walkStreams(l *listing, vars []program.Var) {
	s := l.scan
	if vars != nil {
		for i := range vars {
			l.head("variable %q", vars[i].Name)
			walkVar(l, &vars[i])
		}
		l.end(fmt.Sprintf("the %d variables of the topology", len(vars)))
		return
	}
	var found []record
	for s.err == nil && (len(found) == 0 || s.off < s.size) {
		l.head("stream %d", len(found))
		found = append(found, walkStream(l, ""))
	}
	l.addUnnamed(found...)
}

// walkVar walks over one variable of a combined file: a stream, or rows if the topology says so.
func walkVar(l *listing, v *program.Var) {
	start, n := l.scan.off, len(l.tensors)
	if v.Kind == program.VarType_SELECTED_ROWS {
		walkSomeRows(l, v.Name, false)
	} else {
		r := walkStream(l, v.Name)
		l.addRecord(&r)
	}
	if len(l.tensors) > n {
		l.checkVar(v, &l.tensors[n], start)
	}
}

// checkVar holds a tensor that begins at byte off to what the topology says of it.
func (l *listing) checkVar(v *program.Var, t *stored, off int64) {
	if l.scan.err != nil {
		return
	}
	dims, rows := t.meta.Dims, int64(-1)
	if e, err := elementOf(int64(t.code)); err == nil && e.Pair() {
		dims = dims[:len(dims)-1]
	}
	if t.meta.Saved != nil {
		rows = t.rows
	}
	if what := misfit(v, int64(t.code), dims, rows); what != "" {
		l.scan.fault(FaultShape, off, "variable %q has %s as its topology says", v.Name, what)
	}
}

// misfit says in what a tensor is not what the topology says of it; "" in nothing. Of rows the first dimension may be the
// height, or the number of them, which is below 0 for a whole tensor.
func misfit(v *program.Var, code int64, dims []int64, rows int64) string {
	if !v.Typed {
		return ""
	}
	fits := len(v.Dims) == len(dims)
	for i := 0; fits && i < len(dims); i++ {
		fits = v.Dims[i] == -1 || v.Dims[i] == dims[i] || i == 0 && v.Dims[i] == rows
	}
	switch {
	case !fits:
		return fmt.Sprintf("shape %v, want %v", dims, v.Dims)
	case int64(v.Elem) != code:
		return fmt.Sprintf("element type %s, want %s", typeText(code), typeText(int64(v.Elem)))
	}
	return ""
}

// listStreams walks over a file. The topology beside it gives the names, unless it does not fit and the file does not
// have the name of a combined one.
func listStreams(ctx context.Context, b blob.Bucket, file string, obj blob.Object, p *dump.Printer) (*listing, error) {
	m, err := program.Beside(ctx, b, file)
	if err != nil {
		return nil, err
	}
	fresh := func(p *dump.Printer) *listing { return newListing(obj, file, p) }
	if m != nil {
		l := fresh(nil)
		walkStreams(l, params(m.Program))
		if l.scan.err == nil || program.Combined(file) {
			if p != nil {
				l = fresh(p)
				walkStreams(l, params(m.Program))
			}
			l.note("names from %s, %s", m.Path, m.Program.VersionText())
			return l, l.scan.err
		}
	}
	l := fresh(p)
	walkStreams(l, nil)
	switch {
	case l.scan.err == nil && m != nil:
		l.note("%s beside it is not its topology", m.Path)
	case l.scan.err == nil && len(l.tensors) > 1:
		l.note("no topology beside it: variables are numbered, in their order")
	}
	return l, l.scan.err
}

// params are the variables of a combined file, never nil.
func params(p *program.Program) []program.Var { return slices.Concat([]program.Var{}, p.Params()) }

// Sniff implements profile.
func (streams) Sniff(ctx context.Context, b blob.Bucket, file string) (string, error) {
	infos, err := b.List(ctx, file)
	if err != nil || len(infos) == 0 {
		return "", err
	}
	if infos[0].Name != file {
		return sniffModel(ctx, b, file)
	}
	if !(streams{}).Looks(ctx, b, file) {
		return "", nil
	}
	obj, err := b.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer obj.Close()
	l, err := listStreams(ctx, b, file, obj, nil)
	if err != nil {
		return "", nil // not of this profile, or damaged: Open says which
	}
	return streamsDialect(l), nil
}

func streamsDialect(l *listing) string {
	if len(l.layouts) == 0 {
		return layout{name: streamsName}.dialect(l)
	}
	return layout{name: strings.Join(l.layouts, " and ")}.dialect(l)
}

// Open implements profile.
func (streams) Open(ctx context.Context, b blob.Bucket, file string, _ format.Options) (format.Reader, error) {
	infos, err := b.List(ctx, file)
	if err != nil {
		return nil, err
	}
	if len(infos) > 0 && infos[0].Name != file {
		return openModel(ctx, b, file)
	}
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	l, err := listStreams(ctx, b, file, obj, nil)
	if err == nil {
		err = l.refused
	}
	if err != nil {
		obj.Close()
		return nil, err
	}
	l.notes = append([]string{streamsDialect(l)}, l.notes...)
	return &listReader{l, obj, file}, nil
}

// Explain implements profile.
func (streams) Explain(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) error {
	infos, err := b.List(ctx, file)
	if err != nil {
		return err
	}
	for _, i := range infos {
		if err := explainFile(ctx, b, i.Name, i.Name == file, p); err != nil {
			return format.Wrap(name, i.Name, err)
		}
	}
	if len(infos) > 0 && infos[0].Name != file {
		r, err := openModel(ctx, b, file) // what is wrong with the whole
		if err != nil {
			return err
		}
		r.Close()
	}
	return p.Err()
}

// explainFile prints a file of streams, or of a folder each that holds variables.
func explainFile(ctx context.Context, b blob.Bucket, file string, alone bool, p *dump.Printer) error {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer obj.Close()
	if alone {
		_, err = listStreams(ctx, b, file, obj, p)
		return err
	}
	if _, err := listOwn(file, obj, "", nil, nil); err == nil {
		p.Head("file %s", file)
		_, err = listOwn(file, obj, "", nil, p)
		return err
	}
	if !(streams{}).Looks(ctx, b, file) {
		return explainTopology(ctx, b, file, p)
	}
	p.Head("file %s", file)
	_, err = listStreams(ctx, b, file, obj, p)
	return err
}
