package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Feature is a column of the rows that are scored.
type Feature struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels,omitempty"` // of a categorical feature whose cells were texts: level i is Levels[i]
	// Categorical says that values are numbers of levels.
	Categorical bool `json:"categorical,omitempty"`
	// Least and Most are the smallest and the largest value in training; equal if not known.
	Least    float64 `json:"least,omitempty"`
	Most     float64 `json:"most,omitempty"`
	Monotone int     `json:"monotone,omitempty"` // -1: scores fall with the value, 1: they rise
}

// Features are the columns of the rows that are scored, by their numbers from 0 on. Only those of which there is something to say take
// memory: of millions of columns of sparse examples that are few. They may be read by any number of goroutines; a copy shares what it
// has with the original until Clone parts them.
type Features struct {
	Width int // how many there are
	// Stem is what those are called that have no name of their own, with their numbers behind it; "": they have no names.
	Stem   string
	listed []listed // those of which there is more to say, ascending
}

type listed struct {
	at int
	Feature
}

// numbered is a feature in a text: with its number, where not all are there.
type numbered struct {
	At *int `json:"at,omitempty"`
	Feature
}

// FeaturesOf are these features, the first of which is number 0.
func FeaturesOf(all ...Feature) Features {
	var f Features
	for _, one := range all {
		f.Add(one)
	}
	return f
}

// plain reports whether there is nothing to say of a feature.
func (f *Feature) plain() bool {
	return f.Name == "" && f.Levels == nil && !f.Categorical && f.Least == 0 && f.Most == 0 && f.Monotone == 0
}

// place is where feature i is listed, or would be.
func (f Features) place(i int) (at int, is bool) {
	if i < len(f.listed) && f.listed[i].at == i { // all before it are, too
		return i, true
	}
	at = sort.Search(len(f.listed), func(k int) bool { return f.listed[k].at >= i })
	return at, at < len(f.listed) && f.listed[at].at == i
}

// At is feature i, from 0 to Width-1.
func (f Features) At(i int) Feature {
	var one Feature
	if at, is := f.place(i); is {
		one = f.listed[at].Feature
	}
	if one.Name == "" && f.Stem != "" {
		one.Name = f.Stem + strconv.Itoa(i)
	}
	return one
}

// Set says what feature i, from 0 to Width-1, is. Of many at once Change is faster, unless they ascend.
func (f *Features) Set(i int, one Feature) {
	if f.Stem != "" && one.Name == f.Stem+strconv.Itoa(i) {
		one.Name = ""
	}
	at, is := f.place(i)
	switch plain := one.plain(); {
	case is && plain:
		if f.listed = slices.Delete(f.listed, at, at+1); len(f.listed) == 0 {
			f.listed = nil // as if nothing had been said
		}
	case is:
		f.listed[at].Feature = one
	case !plain:
		f.listed = slices.Insert(f.listed, at, listed{i, one})
	}
}

// Add is one feature more, behind the others.
func (f *Features) Add(one Feature) {
	f.Width++
	f.Set(f.Width-1, one)
}

// Change says what several features are, by their numbers, from 0 to Width-1.
func (f *Features) Change(to map[int]Feature) {
	all := Features{Width: f.Width, Stem: f.Stem}
	old := f.listed
	for _, i := range slices.Sorted(maps.Keys(to)) {
		for len(old) > 0 && old[0].at < i {
			all.listed, old = append(all.listed, old[0]), old[1:]
		}
		if len(old) > 0 && old[0].at == i {
			old = old[1:]
		}
		all.Set(i, to[i])
	}
	all.listed = append(all.listed, old...)
	*f = all
}

// Listed are the features of which there is more to say than Stem does, ascending.
func (f Features) Listed() iter.Seq2[int, Feature] {
	return func(yield func(int, Feature) bool) {
		for k := range f.listed {
			if i := f.listed[k].at; !yield(i, f.At(i)) {
				return
			}
		}
	}
}

// Find is the number of the first feature of the name; -1: none has it.
func (f Features) Find(name string) int {
	found := -1
	if digits, ok := strings.CutPrefix(name, f.Stem); ok && f.Stem != "" {
		if i, err := strconv.Atoi(digits); err == nil && i >= 0 && i < f.Width && f.At(i).Name == name {
			found = i
		}
	}
	for i, one := range f.Listed() {
		if one.Name == name && (found < 0 || i < found) {
			return i
		}
	}
	return found
}

// Named reports whether all have names of their own.
func (f Features) Named() bool {
	n := 0
	for k := range f.listed {
		if f.listed[k].Name != "" {
			n++
		}
	}
	return n == f.Width
}

// Clone are features that can be changed without changing these; texts are shared.
func (f Features) Clone() Features {
	f.listed = slices.Clone(f.listed)
	return f
}

// dense reports whether a text says all features one after the other, and not only those that are listed with their numbers.
func (f Features) dense() bool { return f.Width < 64 || len(f.listed) > f.Width/2 }

// MarshalJSON implements json.Marshaler: a list of all features, or, where that would say of most nothing, of those that are listed, each
// with its number as "at".
func (f Features) MarshalJSON() ([]byte, error) {
	all := []numbered{}
	if f.dense() {
		for i := range f.Width {
			all = append(all, numbered{nil, f.At(i)})
		}
		return json.Marshal(all)
	}
	for i, one := range f.Listed() {
		all = append(all, numbered{&i, one})
	}
	return json.Marshal(all)
}

// read takes the features of a list as MarshalJSON writes it, one by one: what says nothing takes no memory. width is how many there are in
// all, 0 if the list has them all.
func (f *Features) read(text []byte, width int) error {
	f.Width, f.listed = width, nil
	if len(text) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if t, err := dec.Token(); t == nil && err == nil { // null
		return nil
	} else if err != nil || t != json.Delim('[') {
		return fmt.Errorf("features: %v, want a list", t)
	}
	for last, n := -1, 0; dec.More(); n++ {
		var one numbered
		if err := dec.Decode(&one); err != nil {
			return fmt.Errorf("feature %d of the list: %w", n, err)
		}
		switch {
		case width == 0 && n == FeatureLimit:
			return fmt.Errorf("more than %d features", FeatureLimit)
		case width == 0:
			f.Add(one.Feature)
		case one.At == nil || *one.At <= last || *one.At >= width:
			return fmt.Errorf("feature %d of the list has no number from %d to %d, as they ascend", n, last+1, width-1)
		default:
			last = *one.At
			f.Set(last, one.Feature)
		}
	}
	return nil
}
