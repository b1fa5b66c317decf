package format

import (
	"context"

	"thole.example/matrix"
)

// View implements Viewer for the matrices whose files' own readers do.
func (r *folderReader) View(ctx context.Context, name string, look func(matrix.Block) error) (ok bool, err error) {
	for i, m := range r.ms {
		if v, can := r.of[i].(Viewer); can && m.Name == name {
			return v.View(ctx, r.inner[i], look)
		}
	}
	return false, nil
}

// Verify implements Verifier: it asks the files' own readers, as far as they can.
func (r *folderReader) Verify(ctx context.Context) (problems []string, err error) {
	for i, one := range r.of {
		v, can := one.(Verifier)
		if !can {
			continue
		}
		found, err := v.Verify(ctx)
		for _, what := range found {
			problems = append(problems, r.ms[i].Name+": "+what)
		}
		if err != nil {
			return problems, err
		}
	}
	return problems, nil
}
