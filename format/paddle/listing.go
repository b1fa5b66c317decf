package paddle

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// headBytes is how much of a file a layout sees before it says whether the file looks like one of its own.
const headBytes = 512

// layout is a profile that is only read: one walk over a file finds its tensors.
type layout struct {
	name string
	like func(head []byte, size int64) bool
	walk func(l *listing)
}

// listing is what a walk over a file finds. The first error is the scan's.
type listing struct {
	scan     *scan
	file     string   // last element of the path: the name of a tensor that has no name
	variable string   // the name of the only tensor, where the file is not called so
	layouts  []string // of the files of a folder
	tensors  []stored
	named    map[string]int // index in tensors
	notes    []string
	files    map[string][]byte // beside the tensors
	refused  error             // the file is sound, but holds what no matrix can
	brief    bool              // only to tell what the file is: values need not be looked at
}

// stored is one tensor: what is known of it, and its values within a place, in blocks.
type stored struct {
	meta   matrix.Meta
	code   byte  // of its element type
	rows   int64 // of them that the file holds, if it holds some
	values int64 // place of the first value in the file
	blocks func(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error]
	view   viewer // nil: the values do not lie in the file as they are
}

// viewer shows values as format.Viewer does.
type viewer func(ctx context.Context, look func(matrix.Block) error) (ok bool, err error)

// viewSlab shows the values of a slab.
func viewSlab(from io.ReaderAt, slab format.ElementSlab) viewer {
	return func(ctx context.Context, look func(matrix.Block) error) (ok bool, err error) {
		obj, ok := from.(blob.Object)
		if !ok {
			return false, nil
		}
		return slab.View(ctx, obj, look)
	}
}

// refuse remembers the first thing that no matrix can hold.
func (l *listing) refuse(off int64, err error) {
	if l.refused == nil {
		l.refused = &wire.At{Off: off, Err: err}
	}
}

// note says something of the file to the user.
func (l *listing) note(text string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(text, args...))
}

// head begins a part of an explanation.
func (l *listing) head(text string, args ...any) {
	if l.scan.print != nil && l.scan.err == nil {
		l.scan.print.Head(text, args...)
	}
}

// add appends a tensor that begins at byte off.
func (l *listing) add(off int64, t stored) {
	if _, twice := l.named[t.meta.Name]; twice {
		l.scan.fault(FaultName, off, "a second tensor named %q, want each name once", t.meta.Name)
	}
	if l.scan.err == nil {
		l.named[t.meta.Name] = len(l.tensors)
		l.tensors = append(l.tensors, t)
	}
}

// addRecord appends the tensor of a record.
func (l *listing) addRecord(r *record) {
	if l.scan.err == nil {
		slab := r.slab(l.scan)
		l.add(r.start, stored{meta: r.meta(), code: r.code, values: r.values, blocks: slabBlocks(l.scan.r, slab), view: viewSlab(l.scan.r, slab)})
	}
}

// slabBlocks reads the values of a slab.
func slabBlocks(from io.ReaderAt, slab format.ElementSlab) func(context.Context, matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		return slab.Blocks(ctx, from, want)
	}
}

// end reports bytes behind what the file holds.
func (l *listing) end(what string) {
	if s := l.scan; s.off < s.size {
		s.fault(FaultTrailing, s.off, "%d bytes after %s, want none", s.size-s.off, what)
	}
}

// list walks over the object.
func (y layout) list(obj blob.Object, file string, p *dump.Printer, brief bool) (*listing, error) {
	l := &listing{scan: &scan{r: obj, size: obj.Size(), order: wire.Little, print: p}, named: map[string]int{}}
	l.file, l.brief = blob.Base(file), brief
	y.walk(l)
	return l, l.scan.err
}

// Name implements profile.
func (y layout) Name() string { return y.name }

// Looks implements profile.
func (y layout) Looks(ctx context.Context, b blob.Bucket, path string) bool {
	obj, err := b.Open(ctx, path)
	if err != nil {
		return false
	}
	defer obj.Close()
	head := make([]byte, min(headBytes, obj.Size()))
	return readAt(obj, head, 0) == nil && y.like(head, obj.Size())
}

// Sniff implements profile. It claims only files that make sense to their last byte.
func (y layout) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	infos, err := b.List(ctx, path)
	if err != nil || len(infos) != 1 || infos[0].Name != path || !y.Looks(ctx, b, path) {
		return "", err
	}
	obj, err := b.Open(ctx, path)
	if format.Missing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer obj.Close()
	l, err := y.list(obj, path, nil, true)
	if err != nil {
		return "", nil // not of this layout, or damaged: Open says which
	}
	return y.dialect(l), nil
}

// dialect names the layout and counts the tensors.
func (y layout) dialect(l *listing) string {
	text := fmt.Sprintf("%s, %d tensors", y.name, len(l.tensors))
	if len(l.tensors) == 1 {
		text = y.name + ", 1 tensor"
	}
	if l.refused != nil {
		text += ", with an element type that cannot be read"
	}
	return text
}

// Open implements profile.
func (y layout) Open(ctx context.Context, b blob.Bucket, path string, _ format.Options) (format.Reader, error) {
	obj, err := b.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	l, err := y.list(obj, path, nil, false)
	if err == nil {
		err = l.refused
	}
	if err != nil {
		obj.Close()
		return nil, err
	}
	l.notes = append([]string{y.dialect(l)}, l.notes...)
	return &listReader{l, obj, path}, nil
}

// Explain implements profile.
func (y layout) Explain(ctx context.Context, b blob.Bucket, path string, p *dump.Printer) error {
	obj, err := b.Open(ctx, path)
	if err != nil {
		return err
	}
	defer obj.Close()
	if _, err := y.list(obj, path, p, false); err != nil {
		return err
	}
	return p.Err()
}

// Create implements profile.
func (y layout) Create(context.Context, blob.Bucket, string, []matrix.Meta, format.Options) (format.Writer, error) {
	return nil, fmt.Errorf("layout %s is only read: %w", y.name, format.ErrOption)
}

// listReader reads the tensors of a listing.
type listReader struct {
	l    *listing
	obj  blob.Object
	path string
}

// Matrices implements format.Reader.
func (r *listReader) Matrices() []matrix.Meta {
	ms := make([]matrix.Meta, len(r.l.tensors))
	for i := range ms {
		ms[i] = r.l.tensors[i].meta
	}
	return ms
}

// Notes implements format.Reader.
func (r *listReader) Notes() []string {
	return append(slices.Clip(r.l.notes), format.OriginNotes(r.Matrices())...)
}

// Files implements format.Reader.
func (r *listReader) Files() map[string][]byte { return r.l.files }

// View implements format.Viewer.
func (r *listReader) View(ctx context.Context, matrixName string, look func(matrix.Block) error) (ok bool, err error) {
	i, ok := r.l.named[matrixName]
	if !ok {
		return false, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix))
	}
	view := r.l.tensors[i].view
	if view == nil {
		return false, nil
	}
	ok, err = view(ctx, look)
	return ok, format.Wrap(name, r.path, err)
}

// Close implements format.Reader.
func (r *listReader) Close() error { return r.obj.Close() }

// Blocks implements format.Reader.
func (r *listReader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		i, ok := r.l.named[matrixName]
		if !ok {
			yield(matrix.Block{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		for b, err := range r.l.tensors[i].blocks(ctx, want) {
			if !yield(b, format.Wrap(name, r.path, err)) {
				return
			}
		}
	}
}
