package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/gbdt"
)

// ranked is a plan to rank examples of so many groups, of 1 to 9 each.
func ranked(t *testing.T, groups int) *plan {
	t.Helper()
	o, err := gbdt.FindObjective("lambdarank")
	if err != nil {
		t.Fatal(err)
	}
	trees := algo.Trees()
	p := &plan{job: &job{}, recipe: trees.WithObjective(&o), forest: &forest{Config: gbdt.Defaults()}}
	p.forest.Objective = o
	var text strings.Builder
	r := rand.New(rand.NewPCG(3, 3))
	for g := range groups {
		for range 1 + r.IntN(9) {
			fmt.Fprintf(&text, "%d qid:%d 1:1\n", r.IntN(4), 9000-g)
		}
	}
	b, err := data.Load(t.Context(), data.Input{Name: "groups", Stream: strings.NewReader(text.String())}, data.Options{Format: "libsvm"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := data.Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	p.train = &data.Examples{Set: s}
	p.rows = s.Len()
	return p
}

// TestGroupsAreWhole: no group is divided between parts of the examples.
func TestGroupsAreWhole(t *testing.T) {
	p := ranked(t, 50)
	size := map[int64]int{}
	for _, g := range p.train.Group {
		size[g]++
	}
	whole := func(what string, group []int64, want ...int) {
		t.Helper()
		n := map[int64]int{}
		for _, g := range group {
			n[g]++
		}
		for g, k := range n {
			if k != size[g] {
				t.Errorf("%s: %d examples of group %d, want all %d or none", what, k, g, size[g])
			}
		}
		if !slices.Contains(want, len(n)) {
			t.Errorf("%s: %d groups, want %v", what, len(n), want)
		}
	}
	p.cv = 4
	parts := make([][]int64, p.cv)
	for i, f := range p.folds() {
		parts[f] = append(parts[f], p.train.Group[i])
	}
	for _, part := range parts {
		whole("fold", part, 12, 13)
	}
	p.holdout = 0.1
	if err := p.holdOut(nil); err != nil {
		t.Fatal(err)
	}
	whole("held out", p.valid.Group, 5)
	whole("left", p.train.Group, 45)
	if err := p.draw(0.2); err != nil {
		t.Fatal(err)
	}
	whole("drawn", p.train.Group, 9)
}

// TestShownOf: the loss that is shown is of whole groups of large sets, of all examples of small ones.
func TestShownOf(t *testing.T) {
	p := ranked(t, 10)
	if p.shownOf(p.train) != nil {
		t.Error("not all examples of few")
	}
	p = ranked(t, 5000) // about 25000 examples: every third group
	g, shown := p.groups(), p.shownOf(p.train)
	in := make([]bool, p.rows)
	for _, i := range shown {
		in[i] = true
	}
	groups := map[int]bool{}
	for i, k := range g.Of {
		if i > 0 && g.Of[i-1] == k && in[i-1] != in[i] {
			t.Fatalf("group %d is shown in part, without example %d", k, i)
		}
		if in[i] {
			groups[k] = true
		}
	}
	if len(groups) != (g.Count+2)/3 || len(shown) < rankedRows/2 {
		t.Errorf("%d examples of %d groups are shown, want a third of %d groups", len(shown), len(groups), g.Count)
	}
}

// TestShownOfPeriods: labels that come back at regular intervals are all among those that are shown.
func TestShownOfPeriods(t *testing.T) {
	p := &plan{job: &job{}, recipe: &algo.Algo{Task: algo.Classification}, rows: 6 * shownRows}
	of, own := map[int]int{}, marksOf(&gbdt.Labels{Label: make([]float32, p.rows)}, p.rows)
	for _, i := range p.shownOf(own) {
		of[i%3]++
	}
	for k := range 3 {
		if of[k] < shownRows/4 {
			t.Errorf("%d of %d with label %d are shown", of[k], shownRows, k)
		}
	}
}

// TestGroupsRefused: examples that cannot be ranked, or not be held out.
func TestGroupsRefused(t *testing.T) {
	p := ranked(t, 3)
	p.data = []string{"x.libsvm"}
	if err := p.checkGroups(); err != nil {
		t.Error(err)
	}
	p.holdout = 0.1
	err := p.holdOut(nil)
	if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "of 3 groups is less than half of one, want a share from 0.34 on") {
		t.Error(err)
	}
	p.train.Group[p.rows-1] = p.train.Group[0]
	if err := p.checkGroups(); err == nil || !strings.Contains(err.Error(), "of qid:9000") {
		t.Error(err)
	}
	p.train.Group = nil
	if err := p.checkGroups(); err == nil || !strings.Contains(err.Error(), "examples without groups") {
		t.Error(err)
	}
	one := ranked(t, 1)
	one.holdout = 0.5
	if err := one.holdOut(nil); !errors.As(err, new(usageError)) {
		t.Error(err)
	}
}
