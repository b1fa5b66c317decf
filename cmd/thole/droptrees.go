package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/gbdt"
	"thole.example/internal/spell"
)

// dropSettings is the flags of dropout of trees.
type dropSettings struct {
	boosting           string
	dropRate, skipDrop float64
	maxDrop            int
}

// The ways of boosting.
const (
	plainBoosting = "gbdt"
	dart          = "dart"
)

// boostings are the ways of boosting.
var boostings = []string{plainBoosting, dart}

// dropFlags are those that only dart has.
var dropFlags = []string{"drop-rate", "skip-drop", "max-drop"}

func (d *dropSettings) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.boosting, "boosting", plainBoosting, "what a tree learns: what all trees before it leave over (gbdt), or what is left "+
		"over when some of them are dropped, which then count less (dart)")
	f.Float64Var(&d.dropRate, "drop-rate", 0.1, "share of the iterations before that one drops, with --boosting dart")
	f.Float64Var(&d.skipDrop, "skip-drop", 0.5, "share of the iterations that drop nothing, with --boosting dart")
	f.IntVar(&d.maxDrop, "max-drop", 50, "iterations that are dropped at most, with --boosting dart; 0: any number")
}

// drop is the dropout that the flags say.
func (p *plan) drop() (gbdt.Drop, error) {
	d := &p.dropSettings
	switch {
	case !slices.Contains(boostings, d.boosting):
		return gbdt.Drop{}, fmt.Errorf("--boosting %s, want %s%s", d.boosting, strings.Join(boostings, " or "), spell.Hint(d.boosting, boostings))
	case d.boosting == dart && !(d.dropRate > 0 && d.dropRate <= 1):
		return gbdt.Drop{}, fmt.Errorf("--drop-rate %v, want a share above 0, up to 1; with --boosting %s nothing is dropped", d.dropRate,
			plainBoosting)
	case d.boosting == dart && !(d.skipDrop >= 0 && d.skipDrop <= 1):
		return gbdt.Drop{}, fmt.Errorf("--skip-drop %v, want a share from 0 to 1", d.skipDrop)
	case d.boosting == dart && d.maxDrop < 0:
		return gbdt.Drop{}, fmt.Errorf("--max-drop %d, want 0 for any number, or more", d.maxDrop)
	case d.boosting == dart:
		return gbdt.Drop{Rate: d.dropRate, Skip: d.skipDrop, Most: d.maxDrop}, nil
	}
	for _, name := range dropFlags {
		if !p.given(name) {
			continue
		}
		if f := p.command.Flags().Lookup(name); f.Value.String() != f.DefValue { // a saved job says the defaults
			return gbdt.Drop{}, fmt.Errorf("--%s without --boosting %s, want both", name, dart)
		}
	}
	return gbdt.Drop{}, nil
}
