package lightgbm

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"thole.example/tree"
)

// own is what the line "thole:" says: what a model has and a file of LightGBM has no other place for. It is written only where the rest
// of the file says something else, and believed only where it does not contradict that.
type own struct {
	Origin     *string         `json:"origin,omitempty"`
	Objective  *tree.Objective `json:"objective,omitempty"` // of the same predictions
	Best       int             `json:"best,omitempty"`      // which is how many iterations there are
	Stem       *string         `json:"stem,omitempty"`      // of the names of features that have none of their own
	Names      map[int]string  `json:"names,omitempty"`     // of features, where they are no words
	NeedsStart bool            `json:"beside,omitempty"`    // init_score of the rows is to be added
	Labels     []float32       `json:"labels,omitempty"`    // of the classes
	Values     *tree.Numbers   `json:"values,omitempty"`    // how those of rows are read, if not as LightGBM does
	Levels     []int           `json:"levels,omitempty"`    // the features of pandas_categorical, where they are not all categorical ones
}

func parseOwn(v *entry) (o own, err error) {
	if v == nil {
		return o, nil
	}
	dec := json.NewDecoder(bytes.NewReader(v.text))
	if err := dec.Decode(&o); err != nil {
		return o, v.fail("is not what this program writes: %w", err)
	}
	return o, nil
}

// own takes over what does not contradict the rest.
func (p *parser) own(o own) {
	e := p.e
	if e.NeedsStart = o.NeedsStart; o.Values != nil {
		e.Numbers = *o.Values
	}
	if o.Origin != nil {
		e.Origin = *o.Origin
	}
	if o.Objective != nil {
		if samePrediction(o.Objective, &e.Objective) {
			e.Objective = *o.Objective
		} else {
			p.note("the objective was changed since the file was written: what it was before is left out")
		}
	}
	if o.Best == e.Iterations() {
		e.Best = o.Best
	}
	if len(o.Labels) == max(2, e.Classes) {
		e.Labels = o.Labels
	}
	if o.Stem != nil && *o.Stem != e.Features.Stem {
		e.Features = restem(e.Features, *o.Stem)
	}
	named := map[int]tree.Feature{}
	for _, i := range slices.Sorted(maps.Keys(o.Names)) {
		text := o.Names[i]
		if i < 0 || i >= e.Features.Width || word(text, i) != word(e.Features.At(i).Name, i) {
			p.note("the name of feature %d was changed since the file was written: what it was before is left out", i)
			continue
		}
		f := e.Features.At(i)
		f.Name = text
		named[i] = f
	}
	e.Features.Change(named)
}

// restem are features of which those whose words are of the stem are called by it.
func restem(f tree.Features, stem string) tree.Features {
	all := tree.Features{Width: f.Width, Stem: stem}
	for i := range f.Width {
		one := f.At(i)
		if one.Name == word(stemmed(stem, i), i) {
			one.Name = ""
		}
		all.Set(i, one)
	}
	return all
}

// stemmed is the name of a feature that has none of its own.
func stemmed(stem string, i int) string {
	if stem == "" {
		return ""
	}
	return stem + strconv.Itoa(i)
}

// ownOf is what the rest of a file does not say of the ensemble.
func ownOf(e *tree.Ensemble) own {
	o := own{Best: e.Best, NeedsStart: e.NeedsStart, Labels: e.Labels}
	if plain := origin + " " + fileVersion(e); e.Origin != plain {
		o.Origin = &e.Origin
	}
	if e.Numbers != tree.LightGBM {
		o.Values = &e.Numbers
	}
	line, _ := objectiveLine(&e.Objective, e.Classes)
	if !sameObjective(&e.Objective, objective(line, e.Classes)) {
		o.Objective = &e.Objective
	}
	stems := e.Features.Named() // with a stem of LightGBM's the same is read
	for i, f := range e.Features.Listed() {
		stems = stems && f.Name != stemmed(stem, i)
	}
	s := stem
	if e.Features.Stem != stem && !stems {
		s, o.Stem = e.Features.Stem, &e.Features.Stem
	}
	for i, f := range e.Features.Listed() {
		own := stemmed(s, i)
		if as := word(f.Name, i); f.Name == own || f.Name == as && as != word(own, i) {
			continue // as it will be read
		}
		if o.Names == nil {
			o.Names = map[int]string{}
		}
		o.Names[i] = f.Name
	}
	if have, taken := levelled(e); len(have) > 0 && len(have) != len(taken) {
		o.Levels = have
	} else {
		for k := range have {
			if have[k] != taken[k] {
				o.Levels = have
			}
		}
	}
	return o
}

// sameObjective compares what a file says, with the settings that stand among the parameters, to the objective.
func sameObjective(o *tree.Objective, plain tree.Objective) bool {
	plain.Set = parameters(o)
	if len(plain.Set) != len(o.Set) {
		return false
	}
	return plain.Name == o.Name && plain.Link == o.Link && plain.Sigmoid == o.Sigmoid && plain.Foreign == o.Foreign &&
		len(o.Alphas) == 0
}

// parameters are the settings that stand among the parameters.
func parameters(o *tree.Objective) map[string]float64 {
	for _, s := range settings {
		if v, ok := o.Set[s.key]; ok && s.of == o.Name {
			return map[string]float64{s.key: v}
		}
	}
	return nil
}

func (o *own) line() ([]byte, error) {
	if o.Origin == nil && o.Objective == nil && o.Best == 0 && !o.NeedsStart && o.Stem == nil && o.Names == nil && o.Labels == nil &&
		o.Levels == nil && o.Values == nil {
		return nil, nil
	}
	var b bytes.Buffer
	b.WriteString(ownKey)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(o)
	return append(b.Bytes(), '\n'), err
}

// fileVersion is the version of files that the trees came from, or the last one.
func fileVersion(e *tree.Ensemble) string {
	if v := strings.TrimPrefix(e.Origin, origin+" "); slices.Contains(versions, v) {
		return v
	}
	return versions[len(versions)-1]
}
