package export

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"thole.example/format"
	"thole.example/matrix"
)

// KeysFile is the name of the file with the columns that ids number, one in a line, ascending.
const KeysFile = "keys.txt"

// IDs says what the ids of the sparse feed are.
type IDs string

// What ids are. Hashed keys are far too many for a table with a row for each; then ids number the columns that the model
// stores, and KeysFile lists them. The id behind the last one is of features that the model does not know.
const (
	IDsAuto     IDs = "auto" // numbers if a column is below 0 or beyond ColumnLimit
	IDsColumns  IDs = "columns"
	IDsNumbered IDs = "numbered"
)

// ColumnLimit is the largest number of columns whose ids are the columns themselves if nothing else is said.
const ColumnLimit = 1 << 24

// keyLimit is the largest number of columns that are numbered.
const keyLimit = 1 << 24

// number lists the columns that the feature matrices store in the rows that are used.
func (b *builder) number(ctx context.Context) error {
	var all []int64
	for i := range b.file.Layers {
		e := &b.file.Layers[i]
		k := b.kinds[e.Name]
		if k.weights == "" {
			continue
		}
		m, err := b.find(e.Name + k.weights)
		if err != nil {
			return err
		}
		want := matrix.Rect{Rows: matrix.Range{Lo: 0, Hi: b.rows[e.Name]}, Cols: m.Rect().Cols}.Intersect(m.Rect())
		if all, err = columns(ctx, b.src, &m, want, all); err != nil {
			return err
		}
	}
	b.keys = all
	b.features = int64(len(all)) + 1
	return nil
}

// columns adds the columns in which the matrix has stored cells to an ascending list; all columns of a dense matrix.
func columns(ctx context.Context, r format.Reader, m *matrix.Meta, want matrix.Rect, all []int64) ([]int64, error) {
	limit := func() error {
		slices.Sort(all)
		if all = slices.Compact(all); len(all) > keyLimit {
			return fmt.Errorf("matrix %q: more than %d columns to number: %w", m.Name, keyLimit, format.ErrLimit)
		}
		return nil
	}
	if m.Layout != matrix.RowSparse {
		for c := want.Cols.Lo; c < min(want.Cols.Hi, want.Cols.Lo+keyLimit+1); c++ {
			all = append(all, c)
		}
		return all, limit()
	}
	for blk, err := range r.Blocks(ctx, m.Name, want) {
		if err != nil {
			return nil, err
		}
		keyed, ok := blk.Data.(matrix.Keyed)
		if !ok {
			keyed = blk.ToCSR().Data.(matrix.Keyed)
		}
		if all = append(all, keyed.Keys()...); len(all) > 2*keyLimit {
			if err := limit(); err != nil {
				return nil, err
			}
		}
	}
	return all, limit()
}

// keyed fills rows of a table that belong to listed columns.
func (r *reader) keyed(ctx context.Context, t *tensor, rows matrix.Range, values []float32) error {
	keys := t.keys[rows.Lo:min(rows.Hi, int64(len(t.keys)))]
	if len(keys) == 0 {
		return nil
	}
	want := matrix.At(0, t.cols(), keys[0], keys[len(keys)-1]+1).Intersect(t.from.Rect())
	for b, err := range r.m.src.Blocks(ctx, t.from.Name, want) {
		if err != nil {
			return err
		}
		narrow, err := r.narrow(b.Cut(want).ToCSR(), t.from)
		if err != nil {
			return err
		}
		cells := narrow.Data.(*matrix.CSR[float32])
		for row := range len(cells.Ptr) - 1 {
			at := 0 // columns ascend, so that the next key is often the one wanted
			for i := cells.Ptr[row]; i < cells.Ptr[row+1]; i++ {
				ok := at < len(keys) && keys[at] == cells.Idx[i]
				if !ok {
					at, ok = slices.BinarySearch(keys, cells.Idx[i])
				}
				if ok {
					values[int64(at)*t.cols()+narrow.At.Rows.Lo+int64(row)] = cells.Val[i]
					at++
				}
			}
		}
	}
	return nil
}

// keysText is the file of the columns.
func keysText(keys []int64) []byte {
	var text []byte
	for _, k := range keys {
		text = append(strconv.AppendInt(text, k, 10), '\n')
	}
	return text
}
