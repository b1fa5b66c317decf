package data

import (
	"context"
	"io"

	"thole.example/feature"
)

// Survey reads files of tables, at least one, as LoadFiles does, and finds out what their columns hold. Labels that are numbers are given
// to label, some at a time, which does not keep them. Memory does not grow with the rows. AutoTrans and ClassTrans count as NoTrans.
func Survey(ctx context.Context, paths []string, in io.Reader, opt Options, label func([]float32)) (*feature.Survey, Skipped, error) {
	ins, err := inputs(ctx, opt.Store, paths, in)
	if err != nil {
		return nil, Skipped{}, err
	}
	if opt.surveys = true; opt.Labels >= AutoTrans {
		opt.Labels = NoTrans
	}
	r := reader{step: chunkLen, limit: LineLimit}
	var s *feature.Survey
	err = r.all(ctx, ins, opt, func(_ *settings, c *chunk) error {
		if s == nil {
			s = r.plan.Survey()
		}
		if c.part == nil { // lines that are none
			return nil
		}
		if s.Add(c.part, c.label); !s.TextLabels() {
			label(c.label)
		}
		return nil
	})
	if s == nil && r.plan != nil {
		s = r.plan.Survey()
	}
	return s, r.join.skipped, err
}
