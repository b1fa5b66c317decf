package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// folder is entries as "name[=base][*best][@run][:bytes]"; a name with "!" cannot be read.
func folder(text string) (all []Entry) {
	for word := range strings.FieldsSeq(text) {
		e := Entry{Head: &Checkpoint{}, Bytes: 100}
		word, bytes, some := strings.Cut(word, ":")
		if some {
			fmt.Sscan(bytes, &e.Bytes)
		}
		word, e.Head.Moment.Run, _ = strings.Cut(word, "@")
		word, e.Head.Moment.Best, _ = strings.Cut(word, "*")
		word, base, some := strings.Cut(word, "=")
		if some {
			e.Head.Base = Link{Path: "f/" + inFull(base), ID: "id " + base}
		}
		if name, bad := strings.CutPrefix(word, "!"); bad {
			word, e.Head, e.Err = name, nil, errors.New("damaged")
		} else {
			e.Head.ID = "id " + word
		}
		e.Name = inFull(word)
		e.Path = "f/" + e.Name
		all = append(all, e)
	}
	return all
}

// inFull is a name in full: 42 is that of 42 steps.
func inFull(name string) string {
	if digits(name, 1) {
		return strings.Repeat("0", nameDigits-len(name)) + name
	}
	return name
}

func short(all []Entry) string {
	var names []string
	for _, e := range all {
		names = append(names, strings.TrimLeft(e.Name, "0"))
	}
	return strings.Join(names, " ")
}

// TestKeep: the last stay, with what they need.
func TestKeep(t *testing.T) {
	for _, c := range []struct {
		folder string
		k      int
		gone   string
	}{
		{"", 3, ""},
		{"1 2 3", 3, ""},
		{"1 2 3 4 5", 3, "1 2"},
		{"1 2 3", 0, "1 2"},
		{"1 2=1 3=2 4=3", 1, ""},
		{"1 2=1 3=2 4 5=4", 2, "1 2 3"},
		{"1 2=1 3=2 4 5=4", 3, ""},
		{"1 2=1 3=1 4=3", 1, "2"},
		{"1 2 3 best.000001 best.000002", 1, "1 2"},
		{"1 2*best.000001 3*best.000002 best.000001 best.000002 best.000003", 1, "1 2 best.000001"},
		{"1 2 3*best.000002 best.000001 best.000002", 1, "1 2 best.000001"},
		{"1 2 3*best.000002 best.000001 best.000002=1", 1, "2 best.000001"},
		{"1 2 3*best.000009", 1, "1 2"},
		{"1@a 2@a 3@b 4@b 5@b", 2, "3"},
		{"1 2 !3", 1, "1"},
		{"1 2=1 !3 4", 1, "1 2"},
		{"!1 2=1 3=2", 1, ""},
		{"1 2 3 mine", 1, "1 2"},
		{"1 2 3 mine=1", 1, "2"},
		{"1 2 3 best.x bestest", 1, "1 2"},
		{"1 2=1 3=3", 1, "1 2"}, // nonsense ends
	} {
		if got := short(Keep(folder(c.folder), c.k)); got != c.gone {
			t.Errorf("%q, keep %d: %q goes, want %q", c.folder, c.k, got, c.gone)
		}
	}
}

// TestNext: increments come while they are worth it.
func TestNext(t *testing.T) {
	long, longer := "1:9999", ""
	for i := 2; i <= 10; i++ {
		long += fmt.Sprintf(" %d=%d:1", i, i-1)
	}
	longer = long + " 11=10:1"
	for _, c := range []struct{ folder, want string }{
		{"", "whole"},
		{"1", "1"},
		{"1@other", "whole"},
		{"1 2@other", "1"},
		{"!1", "whole"},
		{"1 !2", "1"},
		{"1:100 2=1:50", "2"},
		{"1:100 2=1:51", "whole"},
		{"1:100 2=1:20 3=2:20 4=3:10", "4"},
		{"1:100 2=1:20 3=2:20 4=3:11", "whole"},
		{"1:100 2=1:90 3:100", "3"},
		{"2=1", "whole"},
		{"1@other:999 2=1:1", "whole"},
		{"!1 2=1", "whole"},
		{"1:100 best.000001:100", "1"},
		{"1:999 2=1:1 mine", "2"},
		{"1:999 2=2:1", "whole"},
		{long, "10"},
		{longer, "whole"},
	} {
		got := "whole"
		if whole, base := Next(folder(c.folder), ""); !whole {
			got = short([]Entry{base})
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.folder, got, c.want)
		}
	}
	replaced := folder("1:100 2=1:1")
	replaced[0].Head.ID = "another"
	if whole, _ := Next(replaced, ""); !whole {
		t.Error("an increment on what was replaced")
	}
	replaced[1].Head.Base.ID = ""
	if whole, base := Next(replaced, ""); whole || base.Head != replaced[1].Head {
		t.Error("not an increment where only the path of the base is known")
	}
	plain := folder("1")
	plain[0].Head.ID = ""
	if whole, _ := Next(plain, ""); !whole {
		t.Error("an increment of what has no identity")
	}
}

// TestNames: names are in the order of steps.
func TestNames(t *testing.T) {
	if StepName(420) != "000000000420" || BestName(3) != "best.000003" || StepName(99) > StepName(100) {
		t.Error(StepName(420), BestName(3))
	}
	for name, want := range map[string]bool{"000000000420": true, "best.000003": true, "best.3": false, "": false, "00000000042x": false} {
		if e := (Entry{Name: name}); e.Ours() != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
