package paddle

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

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
