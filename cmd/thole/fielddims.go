package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/internal/spell"
	"thole.example/layer"
	"thole.example/matrix"
)

// otherFields is what --field-dims calls the fields that it does not name.
const otherFields = "*"

// fieldFactors are the numbers of factors of the features of fields, by --field-dims.
type fieldFactors struct {
	of   map[string]int // by name, or by number
	rest int            // of the other fields; 0: as many as vectors have without
}

// readFieldDims checks --field-dims.
func (p *plan) readFieldDims() error {
	j := p.job
	j.dims = fieldFactors{}
	if len(j.fieldDims) == 0 {
		return nil
	}
	switch {
	case p.recipe.Sizes.Factors == 0 && j.own == nil:
		return fmt.Errorf("--field-dims: %s has no factors", p.recipe.Name)
	case !j.sparse:
		return errors.New("--field-dims: want --sparse, too")
	}
	j.dims.of = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(j.fieldDims)) {
		n, err := strconv.Atoi(j.fieldDims[name])
		if err != nil || n < 1 || n > layer.OutputLimit {
			return fmt.Errorf("--field-dims %s=%s, want a number of factors from 1 to %d", name, j.fieldDims[name], layer.OutputLimit)
		}
		if name == otherFields {
			j.dims.rest = n
		} else {
			j.dims.of[name] = n
		}
	}
	if j.dims.rest > 0 && j.factors > 0 {
		return fmt.Errorf("--factors %d and --field-dims %s=%d, want one of them: both say how many factors the other fields have", j.factors,
			otherFields, j.dims.rest)
	}
	return nil
}

// otherFactors is how many factors the features of fields have that --field-dims does not name, of a new network.
func (j *job) otherFactors(recipe *algo.Algo) int {
	return cmp.Or(j.dims.rest, j.factors, recipe.Sizes.Factors)
}

// vectorSize is how many factors vectors have, the most that a field has; 0: as many as the recipe says, or the network of a file.
func (j *job) vectorSize(recipe *algo.Algo) int {
	if len(j.fieldDims) == 0 || j.own != nil {
		return j.factors
	}
	most := j.otherFactors(recipe)
	for _, n := range j.dims.of {
		most = max(most, n)
	}
	return most
}

// fieldWidths finds which columns of embeddings have fewer factors than others: those of the fields of the training examples.
func (p *plan) fieldWidths() error {
	if len(p.fieldDims) == 0 {
		return nil
	}
	var kinds []int
	most, err := p.embedded()
	if err == nil {
		kinds, err = p.factorsOfFields(most)
	}
	if err != nil {
		return fmt.Errorf("--field-dims: %w", err)
	}
	runs, err := p.fieldRuns(kinds)
	if shared := (*data.SharedColumn)(nil); errors.As(err, &shared) {
		a, b := shared.Fields[0], shared.Fields[1]
		return fmt.Errorf("--field-dims: column %d has values of field %d with %d factors and of field %d with %d, want ids of its own for "+
			"each field, or the same number of factors", shared.Column, a, kinds[a], b, kinds[b])
	} else if err != nil {
		return err
	}
	p.conf.Widths = nil
	for i, run := range runs {
		end := p.conf.Dim
		if i+1 < len(runs) {
			end = runs[i+1].First
		}
		if run.Kind < most && run.First < end {
			p.conf.Widths = append(p.conf.Widths, matrix.Width{Cols: matrix.Range{Lo: run.First, Hi: end}, Rows: int64(run.Kind)})
		}
	}
	if n := len(p.conf.Widths); n > matrix.WidthsLimit {
		return fmt.Errorf("--field-dims: the columns of fields with fewer factors are %d ranges, want at most %d: ids of a field that follow "+
			"each other", n, matrix.WidthsLimit)
	}
	return nil
}

// embedded is how many factors the vectors of the network have.
func (p *plan) embedded() (int, error) {
	if p.own == nil {
		return p.recipe.Sized(p.conf.Size).Factors, nil
	}
	most := 0
	for _, e := range p.own.File(p.own.Sizes).Layers {
		if e.NumFactors > 0 && most > 0 && e.NumFactors != most {
			return 0, fmt.Errorf("layers with %d and with %d factors, want the same number in all", most, e.NumFactors)
		}
		most = max(most, e.NumFactors)
	}
	if most == 0 {
		return 0, errors.New("the network has no factors")
	}
	return most, nil
}

// factorsOfFields is how many factors the features of each field of the examples have.
func (p *plan) factorsOfFields(most int) ([]int, error) {
	n := p.train.Fields
	if n == 0 {
		return nil, errors.New("the examples have no fields, want --fields, lines of libffm or a table")
	}
	rest := cmp.Or(p.dims.rest, most)
	if p.own == nil {
		rest = p.otherFactors(p.recipe)
	}
	kinds := make([]int, n)
	for i := range kinds {
		kinds[i] = rest
	}
	names := fieldNames(p.train.Transform)
	for _, name := range slices.Sorted(maps.Keys(p.dims.of)) {
		at, err := strconv.Atoi(name)
		if names != nil {
			at, err = slices.Index(names, name), nil
		}
		switch {
		case names != nil && at < 0:
			return nil, fmt.Errorf("no field %q%s", name, spell.Hint(name, names))
		case err != nil || at < 0 || at >= n:
			return nil, fmt.Errorf("no field %q, want 0 to %d or %s", name, n-1, otherFields)
		}
		for i := at; i < n; i++ {
			if i == at || names != nil && names[i] == name {
				kinds[i] = p.dims.of[name]
			}
		}
	}
	if i := slices.IndexFunc(kinds, func(k int) bool { return k > most }); i >= 0 {
		return nil, fmt.Errorf("%d factors for field %d, want at most the %d of the network", kinds[i], i, most)
	}
	return kinds, nil
}

// fieldNames are the names of the fields of a table; without a table there are no names.
func fieldNames(t *feature.Transform) (names []string) {
	if t == nil {
		return nil
	}
	for i := range t.Fields() {
		names = append(names, t.Field(i).Name)
	}
	return names
}

// fieldRuns are the columns of the fields: of a table as its transformation says, else as the examples have them.
func (p *plan) fieldRuns(kinds []int) (runs []data.FieldRun, err error) {
	if p.train.Transform == nil {
		return p.train.FieldRuns(kinds)
	}
	for i, first := range p.train.Transform.First() {
		runs = append(runs, data.FieldRun{First: first, Kind: kinds[i]})
	}
	return runs, nil
}

// fieldDimsHelp is the help of --field-dims.
const fieldDimsHelp = "with --sparse: numbers of factors of the features of fields, NAME=N for the columns of a table, else NUMBER=N, " +
	"and *=N for the others, such as user=16,*=4 (default: that of --factors)"
