package main

import (
	"context"
	"fmt"
	"strings"

	"thole.example/data"
	"thole.example/internal/number"
)

// Values of --scaling.
const (
	scalingAuto     = "auto"
	scalingStandard = "standard"
	scalingNone     = "none"
)

// scalingHelp describes --scaling.
const scalingHelp = "scale values of lines other than 1 to mean 0 and deviation 1: auto, standard or none (default: auto: for " +
	"networks, but not with --graph, --conf and --compat angel)"

// checkScaling validates --scaling.
func (p *plan) checkScaling() error {
	switch j := p.job; {
	case j.scaling != "" && j.scaling != scalingAuto && j.scaling != scalingStandard && j.scaling != scalingNone:
		return fmt.Errorf("--scaling %q, want auto, standard or none", j.scaling)
	case j.scaling == scalingStandard && p.recipe.Trees != "":
		return fmt.Errorf("--scaling standard with --algo %s, want it with other algorithms: trees compare values as they are", p.recipe.Name)
	}
	return nil
}

// scales reports whether the training fits a scaling of the values of lines.
func (p *plan) scales() bool {
	switch p.scaling {
	case scalingStandard:
		return true
	case scalingNone:
		return false
	}
	return p.recipe.Network() && !p.asAngel && p.network == nil && len(p.job.conf) == 0
}

// scale scales the values of lines in the training and the held-out examples, by the scaling of the model to continue from or of the
// network, or by one that it fits to the training examples.
func (p *plan) scale(ctx context.Context, e *env, o data.Options) error {
	switch explicit := p.scaling == scalingStandard || p.scaling == scalingNone; {
	case p.forest != nil:
		return nil
	case p.train.Transform != nil && explicit:
		return usageError{fmt.Errorf("--scaling %s with a table, want lines (libsvm, libffm, dense): "+
			"the file of --columns says how columns of a table are scaled", p.scaling)}
	case p.train.Transform != nil:
		return nil
	}
	said := p.loaded.scaling
	if p.network != nil && said == nil {
		said = p.network.Data.Scaling
	}
	path := strings.Join(p.data, ", ")
	switch {
	case p.load != "" && p.loaded.known && (p.scaling == scalingStandard || p.scaling == scalingNone && said != nil):
		return usageError{fmt.Errorf("--scaling %s and --load %s, want one of them: training continues with the scaling of that model", p.scaling,
			p.load)}
	case said != nil && p.scaling != scalingNone:
		if col, found := p.train.Reserved(said); found {
			return fmt.Errorf("%s: feature %d, counted from 0, is new, but the model has its missing values there; train a new model on all "+
				"examples (--dim N or --hash N leaves room for new features)", path, col)
		}
		p.train.Scaling = said
	case p.load != "" && p.loaded.known || !p.scales():
		return nil
	default:
		scaling, left := p.train.FitScaling(p.absentValues(ctx, o))
		if p.load != "" && scaling != nil {
			return fmt.Errorf("%s: values of %s are not 1, and this worker cannot read the scaling of %s; want --scaling none if that model "+
				"does not scale, or thole train", path, number.Of(len(scaling), "column"), p.load)
		}
		p.train.Scaling = scaling
		p.sayScaling(e, left)
	}
	if err := p.train.Scaling.Check(); err != nil {
		return err
	}
	if err := p.train.Scale(p.train.Scaling); err != nil || p.valid == nil {
		return err
	}
	return p.valid.Scale(p.train.Scaling)
}

// absentValues says what it means that a row leaves out a column. Where the position of a value gives its field, nothing is added; where
// the number of a column does, a column of missing values would be of another field.
func (p *plan) absentValues(ctx context.Context, o data.Options) data.Absent {
	meaning := data.AbsentAuto
	if o.Fields.First != nil {
		meaning = data.AbsentZero
	}
	if o.Fields.Number > 0 {
		if files, err := data.Files(ctx, p.paths, p.data); err == nil && len(files) > 0 {
			if source, err := data.FindSource(p.format, files[0]); err == nil && source.Name == "dense" {
				return meaning
			}
		}
		return data.AbsentNothing
	}
	if p.train.Fields > 0 || p.recipe.Sizes.Fields == 0 && (p.network == nil || !byField(p.network)) {
		return meaning
	}
	return data.AbsentNothing
}

// sayScaling reports how many columns are scaled, and how many with values other than 1 are not.
func (p *plan) sayScaling(e *env, left data.Unscaled) {
	n := len(p.train.Scaling)
	switch {
	case left.All:
		fmt.Fprintf(e.err, "scaling: more than %s have values other than 1; none is scaled\n", number.Of(left.Columns, "column"))
	case left.Columns > 0:
		fmt.Fprintf(e.err, "scaling: values of the %s that most rows contain are scaled, values of %d others are not "+
			"(--scaling none scales none)\n", number.Of(n, "column"), left.Columns)
	case n > 0:
		fmt.Fprintf(e.err, "scaling: values of %s are scaled to mean 0 and deviation 1 (--scaling none does not scale them)\n",
			number.Of(n, "column"))
	}
	if first, end := p.train.Dim(), p.train.Scaling.Dim(); end > first {
		fmt.Fprintf(e.err, "scaling: %s: a row without the column has a missing value, not 0, as other rows contain zeros; "+
			"new features from %d on mark missing values\n",
			number.Of(int(end-first), "column"), first)
	}
}
