package main

import (
	"slices"
	"strings"
	"testing"
)

// TestRead: a test that fails counts once a round, without the tests that it is in; what it printed is that of its first failure.
func TestRead(t *testing.T) {
	f := failures{}
	for round, text := range []string{
		`{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA/x","Output":"wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestAB","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestAB"}
{"Action":"fail","Package":"p"}
{"Action":"output","Package":"q","Output":"panic: no\n"}
{"Action":"fail","Package":"q"}
no JSON
`,
		`{"Action":"output","Package":"p","Test":"TestA/x","Output":"wrong again\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
		`{"Action":"pass","Package":"p"}`,
	} {
		if err := f.read(strings.NewReader(text), round+1); err != nil {
			t.Fatal(err)
		}
	}
	if f.count() != 3 || !f.in(1) || !f.in(2) || f.in(3) {
		t.Errorf("%d failures, want 3 in rounds 1 and 2", f.count())
	}
	var out strings.Builder
	f.report(&out, 3)
	want := "2 tests failed in 3 rounds\n\np TestA/x failed in rounds 1, 2\nwrong\n\nq (the package) failed in rounds 1\npanic: no\n"
	if out.String() != want {
		t.Errorf("the report is\n%swant\n%s", out.String(), want)
	}
}

// TestRounds: rounds take turns, each with an order of its own.
func TestRounds(t *testing.T) {
	o := options{loops: 4, seed: 7, run: "X", packages: []string{"./ps"}}
	a, b := o.round(0), o.round(1)
	if a != (conditions{loops: 4, shuffle: 7}) || b != (conditions{one: true, shuffle: 8}) {
		t.Errorf("rounds %v and %v, want busy loops and one processor", a, b)
	}
	if args := b.command(&o); !slices.Contains(args, "-cpu=1") || !slices.Contains(args, "-shuffle=8") || args[len(args)-1] != "./ps" {
		t.Errorf("arguments %q", args)
	}
}
