// Package seeds says from which seeds a test draws, and runs it for each of them: some, or those that the environment names.
package seeds

import (
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// Set is the seeds of a test, one after the other.
type Set struct {
	First, Count uint64
	variable     string
}

// Of are the seeds from 0 on, usual of them, few with -short or the race detector. NAME_SEEDS=n in the environment is how many there are
// instead, and NAME_SEED=n the first of them: the only one, if NAME_SEEDS does not say more.
func Of(t testing.TB, name string, usual, few uint64) Set {
	t.Helper()
	s := Set{Count: usual, variable: name + "_SEED"}
	if testing.Short() || raced() {
		s.Count = few
	}
	for _, v := range []struct {
		name string
		is   *uint64
	}{{s.variable, &s.First}, {s.variable + "S", &s.Count}} {
		text := os.Getenv(v.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%q, want a number", v.name, text)
		}
		if *v.is = n; v.is == &s.First {
			s.Count = 1
		}
	}
	return s
}

// raced reports whether the race detector looks on, with which all takes ten times as long.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Part is one of so many parts of the seeds, the first one, for a test that takes longer than others; it has one seed at least.
func (s Set) Part(of uint64) Set {
	s.Count = max(1, s.Count/of)
	return s
}

// All gives the seeds.
func (s Set) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for seed := s.First; seed < s.First+s.Count && yield(seed); seed++ {
		}
	}
}

// Share runs a test in as many parts at a time as there are processors; each gets another seed when it is done with one.
func (s Set) Share(t *testing.T, run func(t *testing.T, some iter.Seq[uint64])) {
	next := atomic.Uint64{}
	some := func(yield func(uint64) bool) {
		for n := next.Add(1) - 1; n < s.Count && yield(s.First+n); n = next.Add(1) - 1 {
		}
	}
	t.Run("parts", func(t *testing.T) { // which ends when all have
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				run(t, some)
			})
		}
	})
}

// Try runs a subtest with what was drawn from a seed. If it fails it is told how to run it alone.
func (s Set) Try(t *testing.T, seed uint64, drawn any, try func(t *testing.T)) {
	t.Helper()
	if !t.Run(strconv.FormatUint(seed, 10), try) {
		name, _, _ := strings.Cut(t.Name(), "/")
		t.Errorf("%s=%d go test -run '^%s$': %+v", s.variable, seed, name, drawn)
	}
}
