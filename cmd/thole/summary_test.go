package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"thole.example/rpc"
)

// TestTreesText: workers that differ in a setting of trees are told its flag.
func TestTreesText(t *testing.T) {
	p := &plan{job: &job{}, forest: &forest{}}
	p.monotone = map[string]string{"a b": "1"}
	words := strings.Fields(p.treesText())
	for _, flag := range treeFlags {
		n := 0
		for _, w := range words {
			if name, _, _ := strings.Cut(w, "="); name == flag {
				n++
			}
		}
		if want := map[bool]int{false: 1}[strings.HasSuffix(flag, "start-scores")]; n != want { // of the worker that reads examples alone
			t.Errorf("%d words of --%s, want %d: %q", n, flag, want, words)
		}
	}
	if want := len(treeFlags) - 2; len(words) != want {
		t.Errorf("%d words, want %d: %q", len(words), want, words)
	}
	p.command = &cobra.Command{}
	p.treeSettings.flags(p.command)
	before := p.treesText()
	if err := p.command.Flags().Set("min-child-weight", "1"); err != nil {
		t.Fatal(err)
	}
	if after := p.treesText(); after == before { // which the default raises where events are rare
		t.Errorf("a given --min-child-weight of 1 is the default: %q", after)
	}
}

// TestReason: what the others hear of a task that gives up is what it fails for first.
func TestReason(t *testing.T) {
	bad := errors.New("bad.csv:3: no number")
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	failed, fail := context.WithCancelCause(t.Context())
	fail(bad)
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), bad, "bad.csv:3: no number"},
		{failed, fmt.Errorf("pull: %w", context.Canceled), "bad.csv:3: no number"},
		{interrupted, fmt.Errorf("pull: %w", context.Canceled), "interrupted"},
		{t.Context(), fmt.Errorf("server s: task 0 gave up: %w", rpc.ErrAborted), "server s: task 0 gave up: aborted"},
	} {
		if got := reason(c.ctx, c.err); got.Error() != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestCheckCounts: tasks that say they have other rows than there are.
func TestCheckCounts(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		want   string
	}{
		{[]int64{2, 0, 3}, ""},
		{[]int64{2, 1 << 62, 3}, "task 1 has scores of 4611686018427387904 rows, want at most 3"},
		{[]int64{6, -1, 0}, "task 0 has scores of 6 rows, want at most 5"},
		{[]int64{5, -1, 1}, "task 1 has scores of -1 rows"},
		{[]int64{2, 2, 0}, "scores of 4 rows, want those of 5"},
	} {
		var all [][]int64
		for _, n := range c.counts {
			all = append(all, []int64{n})
		}
		if err := checkCounts(all, 5); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.counts, err, c.want)
		}
	}
}
