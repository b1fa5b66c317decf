package format

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/matrix"
)

// Convert writes the matrices of src to the path in the format of c, one block in memory at a time. only names the
// matrices to take, all if it is empty. done is called after each block with the number of its stored values; nil is
// allowed.
func Convert(ctx context.Context, src Reader, c Codec, b blob.Bucket, path string, o Options, only []string, done func(n int)) error {
	ms, err := choose(src, only)
	if err != nil {
		return err
	}
	if o.Files == nil {
		o.Files = src.Files()
	}
	w, err := Create(ctx, c, b, path, ms, o)
	if err != nil {
		return err
	}
	defer w.Abort(context.WithoutCancel(ctx))
	var parts []Part
	for _, m := range ms {
		came := int64(0)
		for blk, err := range src.Blocks(ctx, m.Name, m.Rect()) {
			if err != nil {
				return err
			}
			p, err := w.Put(ctx, m.Name, blk)
			if err != nil {
				return err
			}
			parts = append(parts, p)
			came += int64(blk.Data.NNZ())
			if done != nil {
				done(blk.Data.NNZ())
			}
		}
		if m.Full() && came != m.Stored { // on which the target relies
			return fmt.Errorf("matrix %q: %d cells, want %d as its description says: %w", m.Name, came, m.Stored, ErrCorrupt)
		}
	}
	return w.Commit(ctx, parts)
}

func choose(src Reader, only []string) ([]matrix.Meta, error) {
	if len(only) == 0 {
		return src.Matrices(), nil
	}
	var ms []matrix.Meta
	for _, name := range only {
		m, err := Find(src, name)
		if err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// bandCells is how many cells of a dense matrix that is stored sparse are filled in at a time.
const bandCells = 1 << 20

func eachCell(ctx context.Context, m matrix.Meta, b matrix.Block, emit func(int64, int64, []byte) error) error {
	if _, sparse := b.Data.(matrix.Empty); m.Layout == matrix.RowSparse || !sparse && b.Data.NNZ() == denseLen(b.At) {
		return b.EachText(emit)
	}
	for band := range Bands(b.At, bandCells) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.Cut(band).ToDense().EachText(emit); err != nil {
			return err
		}
	}
	return nil
}

func denseLen(at matrix.Rect) int {
	n, ok := at.Cells()
	if !ok {
		return -1
	}
	return int(n)
}
