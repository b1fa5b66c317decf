package export

import (
	"context"
	"fmt"
	"iter"

	"thole.example/format"
	"thole.example/matrix"
)

// bandCells is how many values of a parameter are in memory at a time, 64 MiB of them.
const bandCells = 1 << 24

// Reader gives the parameters as stored matrices, read from the saved ones as they are asked for. Beside them are the
// topology, as a file of the given name, and KeysFile if ids are numbers. Values that are no float32 are an error that
// wraps format.ErrLossy, unless they may be rounded. Closing it does nothing.
func (m *Model) Reader(topology string) (format.Reader, error) {
	data, err := m.Program.Encode()
	if err != nil {
		return nil, err
	}
	r := &reader{m: m, notes: m.Notes, files: map[string][]byte{topology: data}, of: map[string]*tensor{}, rounded: map[string]bool{}}
	if m.Keys != nil {
		r.files[KeysFile] = keysText(m.Keys)
		r.notes = append([]string{fmt.Sprintf("ids are numbers of lines of %s, counted from 0; %d is for features that are not in it",
			KeysFile, len(m.Keys))}, m.Notes...)
	}
	for i := range m.tensors {
		t := &m.tensors[i]
		r.metas = append(r.metas, t.meta())
		r.of[t.name] = t
	}
	return r, nil
}

// reader reads parameters. One goroutine uses it.
type reader struct {
	m       *Model
	metas   []matrix.Meta
	notes   []string
	of      map[string]*tensor
	files   map[string][]byte
	rounded map[string]bool // matrices of which was said that they are rounded
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return r.metas }

// Notes implements format.Reader.
func (r *reader) Notes() []string { return r.notes }

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return r.files }

// Close implements format.Reader.
func (r *reader) Close() error { return nil }

// Blocks implements format.Reader.
func (r *reader) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		t := r.of[name]
		if t == nil {
			yield(matrix.Block{}, format.ErrMatrix)
			return
		}
		meta := t.meta()
		want = want.Intersect(meta.Rect())
		if want.Empty() {
			return
		}
		if t.list != nil {
			whole := matrix.Block{At: meta.Rect(), Data: &matrix.Dense[int64]{Val: t.list}}
			yield(whole.Cut(want).Clone(), nil)
			return
		}
		for band := range format.Bands(matrix.Rect{Rows: want.Rows, Cols: meta.Rect().Cols}, bandCells) {
			values, err := r.band(ctx, t, band.Rows)
			if err != nil {
				yield(matrix.Block{}, err)
				return
			}
			whole := matrix.Block{At: band, Data: &matrix.Dense[float32]{Val: values}}
			if !yield(whole.Cut(matrix.Rect{Rows: band.Rows, Cols: want.Cols}), nil) {
				return
			}
		}
	}
}

// band reads rows of a parameter. Cells that are not stored are zero.
func (r *reader) band(ctx context.Context, t *tensor, rows matrix.Range) ([]float32, error) {
	values := make([]float32, rows.Len()*t.cols())
	if t.keys != nil {
		return values, r.keyed(ctx, t, rows, values)
	}
	want := t.origin(rows).Intersect(t.from.Rect())
	if want.Empty() {
		return values, nil
	}
	for b, err := range r.m.src.Blocks(ctx, t.from.Name, want) {
		if err != nil {
			return nil, err
		}
		b = b.Cut(want)
		if b.At.Empty() {
			continue
		}
		narrow, err := r.narrow(b.ToDense(), t.from)
		if err != nil {
			return nil, err
		}
		t.put(values, rows, b.At, narrow.Data.(*matrix.Dense[float32]).Val)
	}
	return values, nil
}

// narrow makes a block of the matrix float32. It asks, once for each matrix, whether values may be rounded.
func (r *reader) narrow(b matrix.Block, m matrix.Meta) (matrix.Block, error) {
	narrow, exact := b.Cast(matrix.F32)
	if exact || r.rounded[m.Name] {
		return narrow, nil
	}
	r.rounded[m.Name] = true
	o := format.Options{Lossy: r.m.opts.Lossy, Lost: r.m.opts.Lost}
	return narrow, o.Lose(format.Types, m.Name, "digits of %v beyond float32", m.DType)
}
