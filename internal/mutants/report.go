package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// report is what a run found.
type report struct {
	Seed     int          `json:"seed"`
	N        int          `json:"n"`
	Counted  int          `json:"counted"` // without equivalent and unbuildable ones
	Survived int          `json:"survived"`
	Percent  float64      `json:"percent"` // that survived, of those that count
	Packages []packageRow `json:"packages"`
	Results  []result     `json:"results"`
	even     *equivalents
}

// packageRow is the count of verdicts of a package.
type packageRow struct {
	Package string          `json:"package"`
	Counts  map[verdict]int `json:"counts"`
}

func newReport(o options, results []result, even *equivalents) *report {
	rep := &report{Seed: o.seed, N: len(results), even: even, Results: slices.Clone(results)}
	slices.SortStableFunc(rep.Results, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.lo, b.lo))
	})
	for _, res := range rep.Results {
		if n := len(rep.Packages); n == 0 || rep.Packages[n-1].Package != res.Package {
			rep.Packages = append(rep.Packages, packageRow{res.Package, map[verdict]int{}})
		}
		rep.Packages[len(rep.Packages)-1].Counts[res.Verdict]++
		if res.Verdict != equivalent && res.Verdict != unbuildable {
			rep.Counted++
		}
		if res.Verdict == survived {
			rep.Survived++
		}
	}
	if rep.Counted > 0 {
		rep.Percent = 100 * float64(rep.Survived) / float64(rep.Counted)
	}
	return rep
}

// print writes the report for people.
func (rep *report) print(out io.Writer) error {
	columns := []verdict{killed, timeout, survived, equivalent, unbuildable}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "package\t")
	for _, v := range columns {
		fmt.Fprintf(t, "%s\t", v)
	}
	fmt.Fprintln(t)
	for _, row := range rep.Packages {
		fmt.Fprintf(t, "%s\t", cmp.Or(row.Package, "."))
		for _, v := range columns {
			fmt.Fprintf(t, "%d\t", row.Counts[v])
		}
		fmt.Fprintln(t)
	}
	err := t.Flush()
	rep.list(out, survived)
	rep.list(out, equivalent)
	rep.list(out, unbuildable)
	_, last := fmt.Fprintf(out, "\n%d mutations, seed %d: %d of %d that count survived, %.1f %%\n",
		rep.N, rep.Seed, rep.Survived, rep.Counted, rep.Percent)
	return errors.Join(err, last)
}

// list writes the mutations of a verdict, each with its line before and after.
func (rep *report) list(out io.Writer, v verdict) {
	for _, res := range rep.Results {
		if res.Verdict != v {
			continue
		}
		fmt.Fprintf(out, "\n%s: %s (%s)\n- %s\n+ %s\n", res.place(), v, res.Change, res.Before, res.After)
		if reason := rep.even.reason(&res.mutation); reason != "" {
			fmt.Fprintf(out, "= %s\n", reason)
		}
	}
}
