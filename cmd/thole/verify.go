package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"thole/format"
)

func verifyCommand(e *env) *cobra.Command {
	var s source
	c := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check stored models: every value, every byte, every checksum",
		Long: `Reads everything and checks what the format allows to check: structure, counts, that every byte belongs to something,
and checksums where there are some. The exit status is 0 only if all is well.`,
		Example: "  thole verify out/lr\n  thole verify models/*",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			bad := 0
			for _, path := range args {
				err := s.verify(c.Context(), e, path)
				if c.Context().Err() != nil {
					return c.Context().Err()
				}
				if err != nil {
					bad++
					fmt.Fprintf(e.out, "%s: %v\n", path, err)
				}
			}
			if bad > 0 {
				return fmt.Errorf("%d of %d models are not well", bad, len(args))
			}
			return nil
		},
	}
	s.flags(c, false)
	return c
}

// verify checks one model and prints a line if all is well.
func (s *source) verify(ctx context.Context, e *env, path string) error {
	r, codec, err := open(ctx, path, s.from, s.set)
	if err != nil {
		return err
	}
	defer r.Close()
	p := newProgress(e.err, "verify "+path, "values", values(r.Matrices()))
	defer p.end()
	stored := 0
	for _, m := range r.Matrices() {
		for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
			if err == nil {
				err = b.Check()
			}
			if err != nil {
				return err
			}
			stored += b.Data.NNZ()
			p.add(b.Data.NNZ())
		}
	}
	if v, ok := r.(format.Verifier); ok {
		problems, err := v.Verify(ctx)
		for _, what := range problems {
			err = errors.Join(err, errors.New(what))
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(e.out, "%s: ok, %s, %d matrices, %d values\n", path, codec.Info().Name, len(r.Matrices()), stored)
	return nil
}
