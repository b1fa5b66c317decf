package main

import (
	"fmt"

	"thole.example/algo"
	"thole.example/data"
)

// size is how large a network the user wants, without the fields of the examples; what the recipe does not have is refused.
func (j *job) size(recipe *algo.Algo) (algo.Size, error) {
	s := algo.Size{Factors: j.factors, Hidden: j.hidden, Depth: j.depth, Rank: j.rank, Dropout: j.dropout}
	for _, n := range append([]int{s.Factors, s.Depth, s.Rank}, s.Hidden...) {
		if n < 0 {
			return s, fmt.Errorf("--factors %d --hidden %v --cross-layers %d --rank %d, want none below 0", s.Factors, s.Hidden, s.Depth, s.Rank)
		}
	}
	if !(s.Dropout >= 0 && s.Dropout < 1) {
		return s, fmt.Errorf("--dropout %v, want 0 or more and below 1", s.Dropout)
	}
	has := recipe.Sizes
	for _, f := range []struct {
		flag       string
		given, has bool
	}{
		{"factors", s.Factors > 0, has.Factors > 0}, {"hidden", s.Hidden != nil, has.Hidden != nil},
		{"dropout", s.Dropout > 0, has.Hidden != nil}, {"cross-layers", s.Depth > 0, has.Depth > 0}, {"rank", s.Rank > 0, has.Depth > 0},
	} {
		if f.given && !f.has {
			return s, fmt.Errorf("--%s: %s has none", f.flag, recipe.Name)
		}
	}
	return s, nil
}

// countFields finds how many fields the examples have, if the network has to know.
func (p *plan) countFields() error {
	if p.recipe.Sizes.Fields == 0 {
		return nil
	}
	n, err := fields(p.train.Batch)
	if err != nil {
		return fmt.Errorf("%s wants fields: %w", p.recipe.Name, err)
	}
	p.conf.Size.Fields = n
	return nil
}

// fields is how many fields the examples have: what they say, or as many as each has values.
func fields(b *data.Batch) (int, error) {
	if b.Fields > 0 {
		return b.Fields, nil
	}
	ptr := b.Rows().Ptr
	for row := range b.Len() {
		if n := ptr[row+1] - ptr[row]; n != ptr[1]-ptr[0] {
			return 0, fmt.Errorf("example %d has %d values and the first one %d", row+1, n, ptr[1]-ptr[0])
		}
	}
	return ptr[1] - ptr[0], nil
}
