package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// comparison is a peer and the measurement of thole that does the same.
type comparison struct {
	what        string
	peer, thole []string // command lines
	measures    []measured
}

// measured is one figure of a comparison, from what both print. Where less is better the name says so.
type measured struct {
	name        string
	peer, thole func(text string) (float64, error)
}

// found is the i-th number of a line, above 0.
func found(line *regexp.Regexp, text string, i int) (float64, error) {
	m := line.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("prints %q, want a line like %v", text, line)
	}
	n, err := strconv.ParseFloat(m[i], 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("prints %q, want a number above 0 where it has %q", text, m[i])
	}
	return n, nil
}

// result is the figures of a measured of a comparison, of each round.
type result struct {
	what, name  string
	peer, thole []float64
}

// compare runs all peers and measurements in turns.
func compare(all []comparison, rounds int, progress io.Writer, run func(args []string) (string, error)) ([]result, error) {
	var results []result
	for _, c := range all {
		for _, m := range c.measures {
			results = append(results, result{what: c.what, name: m.name})
		}
	}
	for round := range rounds {
		at := 0
		for _, c := range all {
			fmt.Fprintf(progress, "round %d of %d: %s\n", round+1, rounds, c.what)
			peer, err := run(c.peer)
			if err != nil {
				return nil, err
			}
			thole, err := run(c.thole)
			if err != nil {
				return nil, err
			}
			for _, m := range c.measures {
				p, err := m.peer(peer)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", strings.Join(c.peer, " "), err)
				}
				t, err := m.thole(thole)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", strings.Join(c.thole, " "), err)
				}
				r := &results[at]
				r.peer, r.thole = append(r.peer, p), append(r.thole, t)
				at++
			}
		}
	}
	return results, nil
}

// report prints a table in Markdown: medians, the median of the rounds' ratios of thole to the peer, and their range.
func report(out io.Writer, results []result) error {
	const head = "| %-20s | %-31s | %6s | %6s | %5s | %-12s |\n"
	text := fmt.Sprintf(head, "what", "measure", "peer", "thole", "ratio", "range") + "|---|---|---:|---:|---:|---|\n"
	for _, r := range results {
		ratios := make([]float64, len(r.peer))
		for i := range ratios {
			ratios[i] = r.thole[i] / r.peer[i]
		}
		text += fmt.Sprintf("| %-20s | %-31s | %6.1f | %6.1f | %5.2f | %4.2f to %4.2f |\n", r.what, r.name, median(r.peer), median(r.thole),
			median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	_, err := io.WriteString(out, text)
	return err
}

// median is the middle value, or between the two middle ones.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
