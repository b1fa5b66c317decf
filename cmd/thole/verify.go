package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/number"
)

// checkFinding is what verify says of a path.
type checkFinding struct {
	Path     string   `json:"path"`
	OK       bool     `json:"ok"`
	Format   string   `json:"format,omitempty"`
	Matrices int      `json:"matrices"`
	Stored   int64    `json:"stored"` // values
	Problems []string `json:"problems,omitempty"`
}

func verifyCommand(e *env) *cobra.Command {
	var s source
	asJSON := false
	c := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check stored models: every value, every byte, every checksum",
		Long: `Reads everything and checks what the format allows to check: structure, counts, that every byte belongs to something,
and checksums where there are some. The exit status is 0 only if all is well.`,
		Example: "  thole verify out/lr\n  thole verify models/*\n  thole verify out/lr --json",
		RunE: func(c *cobra.Command, args []string) error {
			var found []checkFinding
			bad := 0
			var away error
			for _, path := range args {
				f, err := s.verify(c.Context(), e, path)
				if bad := (usageError{}); c.Context().Err() != nil || errors.As(err, &bad) || errors.Is(err, format.ErrOption) {
					return err
				}
				if errors.Is(err, blob.ErrUnavailable) {
					away = err
				} else if err != nil {
					bad++
				}
				if err != nil {
					f.Problems = strings.Split(err.Error(), "\n")
				}
				f.OK = err == nil
				found = append(found, f)
				if !asJSON {
					if err := f.print(legible{e.out}); err != nil {
						return err
					}
				}
			}
			if asJSON {
				if err := writeJSON(e.out, found); err != nil {
					return err
				}
			}
			if bad == 0 && away != nil {
				return fmt.Errorf("not all of %d could be checked: %w", len(args), away)
			}
			if bad > 0 {
				return fmt.Errorf("%d of %d did not pass", bad, len(args))
			}
			return nil
		},
	}
	s.flags(c, false)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (f *checkFinding) print(w io.Writer) error {
	var lines strings.Builder
	if f.OK {
		fmt.Fprintf(&lines, "%s: ok, %s, %s, %s\n", f.Path, f.Format, number.Of(f.Matrices, "matrix", "matrices"), number.Of(f.Stored, "value"))
	}
	for _, what := range f.Problems {
		if !strings.Contains(what, f.Path) {
			what = f.Path + ": " + what
		}
		fmt.Fprintln(&lines, what)
	}
	_, err := io.WriteString(w, lines.String())
	return err
}

// verify checks one model.
func (s *source) verify(ctx context.Context, e *env, path string) (f checkFinding, err error) {
	f.Path = path
	at, err := s.locate(ctx, e, path)
	if err != nil {
		return f, err
	}
	f.Format = at.Info().Name
	r, err := at.read(ctx, e)
	if err != nil {
		return f, err
	}
	defer r.Close()
	f.Matrices = len(r.Matrices())
	p := e.progress("verify "+path, "values", values(r.Matrices()))
	defer p.end()
	for _, m := range r.Matrices() {
		for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
			if err == nil {
				err = b.Check()
			}
			if err != nil {
				return f, err
			}
			f.Stored += int64(b.Data.NNZ())
			p.add(b.Data.NNZ())
		}
	}
	if v, ok := r.(format.Verifier); ok {
		problems, err := v.Verify(ctx)
		for _, what := range problems {
			err = errors.Join(err, errors.New(what))
		}
		return f, err
	}
	return f, nil
}
