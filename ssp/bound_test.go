package ssp_test

import (
	"testing"

	"thole.example/ssp"
)

func TestBound(t *testing.T) {
	for _, c := range []struct {
		bound ssp.Bound
		text  string
		now   int
		need  int
	}{
		{ssp.BSP, "BSP", 0, 0}, {ssp.BSP, "BSP", 7, 7},
		{1, "SSP(1)", 0, 0}, {1, "SSP(1)", 1, 0}, {1, "SSP(1)", 2, 1},
		{3, "SSP(3)", 10, 7}, {1 << 40, "SSP(1099511627776)", 10, 0},
		{ssp.ASP, "ASP", 0, 0}, {ssp.ASP, "ASP", ssp.Finished, 0},
	} {
		if got := c.bound.String(); got != c.text {
			t.Errorf("%d is called %q, want %q", int(c.bound), got, c.text)
		}
		if got := c.bound.Need(c.now); got != c.need {
			t.Errorf("%v at clock %d needs %d, want %d", c.bound, c.now, got, c.need)
		}
		if !c.bound.Fresh(c.need, c.now) || c.need > 0 && c.bound.Fresh(c.need-1, c.now) {
			t.Errorf("%v at clock %d: %d must be the smallest clock that is fresh", c.bound, c.now, c.need)
		}
	}
}

// TestNoTasks wants a job without tasks to hold nobody up.
func TestNoTasks(t *testing.T) {
	var c ssp.Clocks
	if c.Slowest() != ssp.Finished || c.Of(0) != -1 || c.Of(-1) != -1 {
		t.Errorf("slowest %d, task 0 at %d, want %d and -1", c.Slowest(), c.Of(0), ssp.Finished)
	}
}
