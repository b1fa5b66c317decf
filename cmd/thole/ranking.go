package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"thole.example/algo"
	"thole.example/data"
)

// groups finds the groups of the training examples of a ranking, which no part of them divides. nil: others have none.
func (p *plan) groups() *data.Grouping {
	if p.recipe.Task != algo.Ranking {
		return nil
	}
	return data.GroupBy(p.train.Group)
}

// checkGroups refuses examples that no ranking can learn from: without groups, or of groups that do not lie together.
func (p *plan) checkGroups() error {
	if p.recipe.Task != algo.Ranking {
		return nil
	}
	if err := p.grouped(p.train, p.data); err != nil {
		return err
	}
	g := p.groups()
	if g.Apart < 0 {
		return nil
	}
	id, how := fmt.Sprintf("qid:%d", p.train.Group[g.Apart]), "such as by sort -s -k2,2 of lines LABEL qid:ID ..."
	if p.train.Transform != nil {
		id, how = "its group", strings.TrimSpace("by the column of groups "+p.groupColumn)
	}
	return fmt.Errorf("%s: example %d is of %s, as is example %d, and between them are others; want the examples of a group together: "+
		"sort them, %s", strings.Join(p.data, ", "), g.Apart+1, id, g.Before+1, how)
}

// grouped refuses examples without groups.
func (p *plan) grouped(of *data.Examples, paths []string) error {
	if len(of.Group) > 0 {
		return nil
	}
	return fmt.Errorf("%s: examples without groups, and %s puts those of a group in order; want %s", strings.Join(paths, ", "),
		p.forest.Objective.Name, groupsWanted)
}

// groupsWanted is how examples say of which group they are.
const groupsWanted = "lines LABEL qid:ID ..., or --group-column NAME of a table"

// rankedRows is shownRows of rankings, which are sorted to be measured.
const rankedRows = 1 << 13

// shownOf is which of a task's own training examples the loss that is shown while trees are grown is of: one of each k in a row, or of
// the groups one of each k, drawn by the seed, so that what comes back at regular intervals is not taken for all. nil: all.
func (p *plan) shownOf(own *data.Examples) (shown []int) {
	every, units := p.rows/shownRows, own.Len()
	var g *data.Grouping
	if p.recipe.Task == algo.Ranking {
		g = data.GroupBy(own.Group)
		every, units = p.rows/rankedRows, g.Count
	}
	if every < 2 {
		return nil
	}
	r := rand.New(rand.NewPCG(p.seed, 0))
	for lo := 0; lo < units; lo += every {
		shown = append(shown, lo+r.IntN(min(every, units-lo)))
	}
	if g != nil {
		return g.Members(shown)
	}
	return shown
}
