package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// test names a test of a package; the name is empty for what a package prints outside of its tests, as a panic.
type test struct{ pkg, name string }

// failure is a test that has failed.
type failure struct {
	rounds []int  // in which it has
	output string // of the first of them
}

// failures are the tests that have failed.
type failures map[test]*failure

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// read takes the output of a round. Tests whose subtests fail are left out: the subtests are the failures.
func (f failures) read(in io.Reader, round int) error {
	printed, failed := map[test]*strings.Builder{}, map[test]bool{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 && json.Unmarshal(line, &e) == nil {
			at := test{e.Package, e.Test}
			switch e.Action {
			case "output":
				if printed[at] == nil {
					printed[at] = &strings.Builder{}
				}
				printed[at].WriteString(e.Output)
			case "pass", "skip":
				delete(printed, at)
			case "fail":
				failed[at] = true
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for at := range failed {
		if inner(at, failed) {
			continue
		}
		one := f[at]
		if one == nil {
			one = &failure{}
			f[at] = one
			if text := printed[at]; text != nil {
				one.output = text.String()
			}
		}
		one.rounds = append(one.rounds, round)
	}
	return nil
}

// inner reports whether a test or package has failed because of a test within it.
func inner(of test, failed map[test]bool) bool {
	for at := range failed {
		within := of.name == "" || strings.HasPrefix(at.name, of.name+"/")
		if at != of && at.pkg == of.pkg && within {
			return true
		}
	}
	return false
}

// in reports whether a test failed in the round.
func (f failures) in(round int) bool {
	for _, one := range f {
		if slices.Contains(one.rounds, round) {
			return true
		}
	}
	return false
}

// count is the number of failures, of all tests in all rounds.
func (f failures) count() (n int) {
	for _, one := range f {
		n += len(one.rounds)
	}
	return n
}

// report lists the tests, those that failed most often first.
func (f failures) report(out io.Writer, rounds int) {
	all := slices.SortedFunc(maps.Keys(f), func(a, b test) int {
		if n := len(f[b].rounds) - len(f[a].rounds); n != 0 {
			return n
		}
		return strings.Compare(a.pkg+" "+a.name, b.pkg+" "+b.name)
	})
	fmt.Fprintf(out, "%d tests failed in %d rounds\n", len(all), rounds)
	for _, at := range all {
		name := at.name
		if name == "" {
			name = "(the package)"
		}
		fmt.Fprintf(out, "\n%s %s failed in rounds %s\n%s", at.pkg, name, numbers(f[at].rounds), f[at].output)
	}
}

// numbers is them between commas.
func numbers(all []int) string {
	text := make([]string, len(all))
	for i, n := range all {
		text[i] = fmt.Sprint(n)
	}
	return strings.Join(text, ", ")
}
