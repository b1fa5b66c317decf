package format

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
	if err := o.CheckSet(c.Info()); err != nil {
		return err
	}
	if o.Files == nil {
		o.Files = src.Files()
	}
	o.filled = new(int64)
	if err := loseOrigins(ms, c.Info(), &o); err != nil {
		return Wrap(c.Info().Name, path, final(err, path))
	}
	w, err := c.Create(ctx, b, path, ms, o)
	if err != nil {
		return Wrap(c.Info().Name, path, final(err, path))
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
				return Wrap(c.Info().Name, path, final(err, path))
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
	return Wrap(c.Info().Name, path, final(w.Commit(ctx, parts), path))
}

// final makes an error of a file below the stage of a save to the path name the path. It changes the error within.
func final(err error, to string) error {
	base := path.Base(to)
	var file *fs.PathError
	if errors.As(err, &file) {
		if dir, _, staged := strings.Cut(filepath.ToSlash(file.Path), "_tmp."+base+"."); staged {
			file.Path = filepath.FromSlash(dir + base)
		}
	}
	return err
}

// loseOrigins asks for the loss of element types, and of what columns stand for, that only the source can say.
func loseOrigins(ms []matrix.Meta, i Info, o *Options) error {
	for _, m := range ms {
		if m.Origin != "" && !i.holds(m.Origin) {
			if err := o.Lose("matrix %q: element type %s, stored as %v", m.Name, m.Origin, m.DType); err != nil {
				return err
			}
		}
		var lost []string
		for c, origin := range m.ColOrigins {
			if origin != "" && !i.holds(origin) {
				lost = append(lost, fmt.Sprintf("%s is %s", m.Label(m.ColLo+int64(c)), origin))
			}
		}
		if n := len(lost); n > 3 {
			lost = append(lost[:3], fmt.Sprintf("and %d columns more", n-3))
		}
		if lost == nil {
			continue
		}
		if err := o.Lose("matrix %q: what numbers stand for: %s", m.Name, strings.Join(lost, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the format can say that values are of the foreign type. Settings of a type stand in brackets.
func (i Info) holds(origin string) bool {
	kind, _, _ := strings.Cut(origin, "[")
	return slices.Contains(i.Origins, kind)
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
