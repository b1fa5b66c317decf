package arrow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// blockBytes is about how many bytes of values a block has.
const blockBytes = 16 << 20

// reader reads one table.
type reader struct {
	obj   blob.Object
	path  string
	src   *source
	some  []*field // of numbers
	nulls nulls
	m     matrix.Meta
	fits  bool
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return []matrix.Meta{r.m} }

// Notes implements format.Reader.
func (r *reader) Notes() []string {
	notes := []string{r.src.String()}
	var others, exts, odd []string
	for _, f := range r.src.fields {
		if f.raw == matrix.Invalid {
			others = append(others, fmt.Sprintf("%s (%s)", f.name, f.text))
		}
		if f.ext != "" {
			exts = append(exts, fmt.Sprintf("%s (%s)", f.name, f.ext))
			if why := meaningLost(&f); why != "" {
				odd = append(odd, fmt.Sprintf("%s (%s: %s)", f.name, f.ext, why))
			}
		}
	}
	add := func(text string, names []string) {
		if len(names) > 0 {
			notes = append(notes, text+": "+strings.Join(names, ", "))
		}
	}
	notes = append(notes, format.ColOriginNotes(&r.m)...)
	add(format.Warning("columns left out"), others)
	add("columns read as what their extension type is stored as", exts)
	add(format.Warning("columns whose numbers mean something else than they are"), odd)
	if len(r.some) == 1 && r.some[0].list {
		notes = append(notes, fmt.Sprintf("the columns are the numbers of the lists in %q", r.some[0].name))
	}
	add("metadata that is not kept", r.src.keys)
	if !r.fits {
		notes = append(notes, fmt.Sprintf("the metadata %q is about another table and was left out", ownKey))
	}
	if r.src.more > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes in buffers behind the last value, not read", r.src.more))
	}
	if r.src.stream && r.src.open {
		notes = append(notes, format.Warning("the stream has no mark at its end: rows may be missing"))
	}
	return notes
}

// extBool8 is the extension type of truth values in bytes.
const extBool8 = "arrow.bool8"

// meaningLost says what the stored numbers of an extension type mean in another way than they are read; "" of most.
func meaningLost(f *field) string {
	switch {
	case f.raw == matrix.Invalid:
	case f.ext == extBool8:
		return "every number but 0 is true"
	case f.ext == "arrow.fixed_shape_tensor" && strings.Contains(f.extMeta, `"permutation"`):
		return "values stay in the order of storage, and the type permutes the dimensions"
	}
	return ""
}

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (r *reader) Close() error {
	r.src.close()
	return r.obj.Close()
}

// View implements format.Viewer for tables of a single column, of numbers or lists, that has no nulls.
func (r *reader) View(ctx context.Context, matrixName string, look func(matrix.Block) error) (ok bool, err error) {
	if matrixName != r.m.Name {
		return false, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix))
	}
	if len(r.some) != 1 {
		return false, nil
	}
	var slabs []format.Slab
	for _, b := range r.src.batches {
		off, bare := r.bare(b)
		s := format.Slab{At: matrix.Rect{Rows: b.rows, Cols: r.m.Rect().Cols}, DType: r.m.DType, Order: r.src.order, Off: off}
		if !bare || !s.Viewable() {
			return false, nil
		}
		slabs = append(slabs, s)
	}
	for i := range slabs {
		if ok, err = slabs[i].View(ctx, r.obj, look); !ok || err != nil {
			break
		}
	}
	return ok, format.Wrap(name, r.path, err)
}

// bare is the place of the values of the only column in a batch, if they lie there as in memory.
func (r *reader) bare(b *batch) (off int64, ok bool) {
	f := r.some[0]
	for i := f.buffer; i < f.values(); i++ {
		if _, size := b.buffer(i); size > 0 {
			return 0, false
		}
	}
	off, _ = b.buffer(f.values())
	return off, b.packing == plain && f.raw == r.m.DType && f.raw != matrix.Bool
}

// Blocks implements format.Reader. A block is some rows of one record batch by some columns of one type.
func (r *reader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if matrixName != r.m.Name {
			yield(matrix.Block{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		emit := func(b matrix.Block) error {
			if !yield(b, nil) {
				return errStop
			}
			return nil
		}
		if err := r.walk(ctx, want, emit); err != nil && err != errStop {
			yield(matrix.Block{}, format.Wrap(name, r.path, err))
		}
	}
}

// errStop ends a walk without being an error.
var errStop = errors.New("stop")

func (r *reader) walk(ctx context.Context, want matrix.Rect, emit func(matrix.Block) error) error {
	lanes := format.Lanes(&r.m)
	for _, b := range r.src.batches {
		w := batchWalk{r: r, b: b, seen: make([]int64, r.src.nodes), emit: emit}
		for _, l := range lanes {
			at := matrix.Rect{Rows: b.rows, Cols: l.Cols}.Intersect(want)
			if at.Empty() {
				continue
			}
			if err := w.lane(ctx, &l, at); err != nil {
				return w.placed(err)
			}
		}
		if b.rows.Intersect(want.Rows) == b.rows {
			if err := w.count(want.Cols); err != nil {
				return w.placed(err)
			}
		}
	}
	return nil
}

// batchWalk reads from one record batch.
type batchWalk struct {
	r    *reader
	b    *batch
	seen []int64
	emit func(matrix.Block) error
}

// placed gives an error the place of the batch if it has none.
func (w *batchWalk) placed(err error) error {
	var at *wire.At
	if err == errStop || errors.As(err, &at) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &wire.At{Off: w.b.body, Err: err}
}

// count checks that as many nulls were met as the batch says.
func (w *batchWalk) count(cols matrix.Range) error {
	for _, f := range w.r.some {
		if f.cols.Intersect(cols) != f.cols || f.cols.Len() == 0 {
			continue
		}
		l := loaded{f: f, b: w.b, seen: w.seen}
		for node := f.node; node < f.node+f.nodes; node++ {
			if w.seen[node] != w.b.nulls(node) {
				return l.disagree(node)
			}
		}
	}
	return nil
}

// fields are the columns of the table that have some of the columns of the matrix.
func (r *reader) fields(cols matrix.Range) []*field {
	lo, _ := slices.BinarySearchFunc(r.some, cols.Lo, func(f *field, c int64) int {
		if f.cols.Hi <= c {
			return -1
		}
		return 1
	})
	hi := lo
	for hi < len(r.some) && r.some[hi].cols.Lo < cols.Hi {
		hi++
	}
	return r.some[lo:hi]
}

// lane reads columns of one type. What is compressed is unpacked once, so that its blocks have all rows of the batch if
// they are not too many.
func (w *batchWalk) lane(ctx context.Context, l *format.Lane, at matrix.Rect) error {
	cells := blockBytes / int64(max(l.DType.Size(), storedAs(l.DType).Size()))
	if w.b.packing == plain {
		for band := range format.Bands(at, cells) {
			if err := w.block(ctx, l, band, nil); err != nil {
				return err
			}
		}
		return nil
	}
	group := matrix.Rect{Rows: at.Rows, Cols: matrix.Range{Lo: at.Cols.Lo, Hi: at.Cols.Lo}}
	flush := func() error {
		if group.Empty() {
			return nil
		}
		err := w.block(ctx, l, group, nil)
		group.Cols.Lo = group.Cols.Hi
		return err
	}
	for _, f := range w.r.fields(at.Cols) {
		cols := f.cols.Intersect(at.Cols)
		if (group.Cols.Len()+cols.Len())*at.Rows.Len() > cells {
			if err := flush(); err != nil {
				return err
			}
		}
		if cols.Len()*at.Rows.Len() > cells {
			if err := w.tall(ctx, l, f, matrix.Rect{Rows: at.Rows, Cols: cols}, cells); err != nil {
				return err
			}
			group.Cols = matrix.Range{Lo: cols.Hi, Hi: cols.Hi}
			continue
		}
		group.Cols.Hi = cols.Hi
	}
	return flush()
}

// tall reads a column that is larger than a block.
func (w *batchWalk) tall(ctx context.Context, l *format.Lane, f *field, at matrix.Rect, cells int64) error {
	held, err := newLoaded(w.r.obj, w.r.src, w.b, f, w.r.nulls, w.seen)
	if err != nil {
		return err
	}
	for band := range format.Bands(at, cells) {
		if err := w.block(ctx, l, band, held); err != nil {
			return err
		}
	}
	return nil
}

// block reads one block; held is its column if there is only one and it is loaded.
func (w *batchWalk) block(ctx context.Context, l *format.Lane, at matrix.Rect, held *loaded) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var pieces []piece
	for _, f := range w.r.fields(at.Cols) {
		p := piece{at: matrix.Rect{Rows: at.Rows, Cols: at.Cols.Intersect(f.cols)}, from: held}
		if p.at.Empty() {
			continue
		}
		if held == nil {
			var err error
			if p.from, err = newLoaded(w.r.obj, w.r.src, w.b, f, w.r.nulls, w.seen); err != nil {
				return err
			}
		}
		pieces = append(pieces, p)
	}
	b := matrix.NewDense(storedAs(l.DType), at)
	if err := fill(ctx, b, pieces); err != nil {
		return err
	}
	b, exact := b.Cast(l.DType)
	if !exact {
		return fmt.Errorf("columns %v: a value that %v does not hold", at.Cols, l.DType)
	}
	return w.emit(b)
}
