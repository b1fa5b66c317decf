package gbdt

import (
	"fmt"

	"thole.example/feature"
	"thole.example/tree"
)

// Bind is how a table becomes examples of trees that were not learned from one, such as those of LightGBM's and XGBoost's files: columns
// are found by the names of the features, numbers are as they are, float32 widened, and a text is the number of its level; one that is no
// level is missing. missing are the texts that stand for nothing, nil for the usual ones, and more the other columns (labels, weights,
// groups).
func Bind(features tree.Features, missing []string, more ...feature.Column) (*feature.Transform, *View, error) {
	if missing == nil {
		missing = feature.MissingTexts()
	}
	columns := make([]feature.Column, 0, len(more))
	for i := range features.Width {
		f := features.At(i)
		if f.Name == "" {
			return nil, nil, fmt.Errorf("feature %d of the trees has no name, want one for the columns of a table (or examples whose "+
				"columns are numbered: dense, libsvm)", i)
		}
		c := feature.Column{Name: f.Name, Kind: feature.Numeric, Log: new(bool), Scale: feature.None}
		if len(f.Levels) > 0 {
			c = feature.Column{Name: f.Name, Kind: feature.Categorical, Levels: f.Levels, Nothing: true}
		}
		columns = append(columns, c)
	}
	t, err := feature.New(missing, append(columns, more...))
	if err != nil {
		return nil, nil, err
	}
	t.Widened = true
	v, err := newView(t, true)
	return t, v, err
}
