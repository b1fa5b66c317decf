package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const tiny = "testdata/tiny"

// TestTiny runs the tool on a module of which is known what its tests notice.
func TestTiny(t *testing.T) {
	want := map[string]verdict{
		"7 const Limit = 4":    survived,
		"14 if x%3 == 0 {":     survived,
		"14 if x%2 == 1 {":     killed,
		"14 if x%2 != 0 {":     killed,
		"15 break":             killed,
		"17 ":                  killed,
		"19 if n >= Limit {":   survived,
		"19 if !(n > Limit) {": killed,
		"20 return 1, errMany": survived,
		"20 return 0, nil":     killed,
		"27 i := 1":            survived,
		"28 for i <= n {":      killed,
		"28 for !(i < n) {":    killed,
		"29 ":                  timeout,
		"35 func Both(a, b bool) bool { return a && b }":  killed, // by the tests of package use
		"35 func Both(a, b bool) bool { return a || !b }": killed,
		"37 func unused() bool { return false }":          equivalent,
	}
	before := tree(t, tiny)
	var out bytes.Buffer
	o := options{seed: 7, parallel: 2, importers: 1, limit: 5 * time.Second, json: true}
	if err := mutate(t.Context(), tiny, o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var rep report
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	got := map[string]verdict{}
	for _, r := range rep.Results {
		got[fmt.Sprintf("%d %s", r.Line, r.After)] = r.Verdict
		if r.File != "count/count.go" || r.Package != "count" || (r.Verdict == killed) != (r.By != "" && r.Verdict != timeout) {
			t.Errorf("%+v", r)
		}
		if use := r.Line == 35; use != (r.By == "use TestFirst") {
			t.Errorf("line %d: killed by %q", r.Line, r.By)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if rep.N != 17 || rep.Counted != 16 || rep.Survived != 5 || rep.Percent != 31.25 {
		t.Errorf("n %d, counted %d, survived %d, %g %%", rep.N, rep.Counted, rep.Survived, rep.Percent)
	}
	if after := tree(t, tiny); !maps.Equal(before, after) {
		t.Errorf("the tree has changed: %v, was %v", after, before)
	}
}

// hook looks at each line of progress.
type hook func(line string)

func (h hook) Write(p []byte) (int, error) {
	h(string(p))
	return len(p), nil
}

// TestEnds: a run that cannot be finished, or whose judges fail anyway, is an error and reports nothing.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		at   string // the line of progress at which it happens
		do   func(t *testing.T, root string, cancel func())
		want string
	}{
		"interrupted at first": {"2 mutations", func(_ *testing.T, _ string, cancel func()) { cancel() }, "context canceled"},
		"interrupted between":  {"unchanged 2/2", func(_ *testing.T, _ string, cancel func()) { cancel() }, "context canceled"},
		"interrupted later":    {"1/2", func(_ *testing.T, _ string, cancel func()) { cancel() }, "context canceled"},
		"no go": {"unchanged 2/2", func(t *testing.T, _ string, _ func()) { t.Setenv("PATH", t.TempDir()) },
			"executable file not found"},
		"tests that fail": {"2 mutations", func(t *testing.T, root string, _ func()) {
			text := "package count\nimport \"testing\"\nfunc TestNever(t *testing.T) { t.Fail() }\n"
			if err := os.WriteFile(filepath.Join(root, "count", "never_test.go"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}, "the tests of count fail without any change"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS(tiny)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out bytes.Buffer
			watch := hook(func(line string) {
				if strings.HasPrefix(line, c.at) {
					c.do(t, root, cancel)
				}
			})
			o := options{n: 2, seed: 7, parallel: 1, importers: 1, limit: time.Minute}
			if err := mutate(ctx, root, o, &out, watch); err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0 {
				t.Errorf("%v, reports %q, want an error: %s", err, &out, c.want)
			}
		})
	}
}

// tree is the files below a folder with their contents.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A seed draws the same again, another one another; a part of a draw is its beginning.
func TestDraw(t *testing.T) {
	m, err := load(t.Context(), tiny, options{skip: "use"})
	if err != nil {
		t.Fatal(err)
	}
	places := func(n, seed int) (all []string) {
		drawn, err := m.draw(n, seed, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range drawn {
			all = append(all, fmt.Sprint(u.place(), u.lo, u.text))
		}
		return all
	}
	one := places(0, 1)
	if again := places(0, 1); len(one) != 17 || !slices.Equal(again, one) {
		t.Errorf("%v, then %v", one, again)
	}
	if two := places(0, 2); slices.Equal(one, two) || len(two) != 17 {
		t.Errorf("seeds 1 and 2 draw %v", two)
	}
	if part := places(5, 1); !slices.Equal(part, one[:5]) {
		t.Errorf("five are %v, want %v", part, one[:5])
	}
	if _, err := load(t.Context(), tiny, options{skip: "count,use"}); err == nil || !strings.Contains(err.Error(), "no package") {
		t.Errorf("no package at all: %v", err)
	}
}

// The operators, each on lines that it changes and lines that it leaves.
func TestOperators(t *testing.T) {
	for _, c := range []struct {
		operator, line string
		want           []string
	}{
		{"comparison", "_ = a < b", []string{"_ = a <= b"}},
		{"comparison", "_ = a >= b", []string{"_ = a > b"}},
		{"comparison", "_ = a == b", []string{"_ = a != b"}},
		{"comparison", "_ = a + b", nil},
		{"arithmetic", "_ = a + b", []string{"_ = a - b"}},
		{"arithmetic", "_ = a / b", []string{"_ = a * b"}},
		{"logic", "_ = ok && ok", []string{"_ = ok || ok"}},
		{"constant", "_ = a + 0x0f", []string{"_ = a + 16"}},
		{"constant", "_ = 1.5", nil},
		{"condition", "if a < b { f() }", []string{"if !(a < b) { f() }"}},
		{"condition", "for ok { f() }", []string{"for !(ok) { f() }"}},
		{"condition", "for { f() }", nil},
		{"condition", "if a == b { f() }", nil},
		{"condition", "if !ok { f() }", nil},
		{"not", "if !ok { f() }", []string{"if ok { f() }"}},
		{"truth", "ok = true", []string{"ok = false"}},
		{"truth", "{ true := ok; ok = true }", nil},
		{"statement", "f(); a = b; a++", []string{"; a = b; a++", "f(); ; a++", "f(); a = b;"}},
		{"statement", "c := a; _ = c + 0", []string{"c := a;"}},
		{"statement", "switch { case ok: f() }", []string{"switch { case ok:  }"}},
		{"error", "return a, err", []string{"return a, nil"}},
		{"error", "return a, nil", nil},
		{"error", "return two()", nil},
		{"jump", "for { break }", []string{"for { continue }"}},
		{"jump", "for { continue }", []string{"for { break }"}},
		{"jump", "l: goto l", nil},
		{"wake-up", "w := make(chan struct{}); close(w)", []string{"w := make(chan struct{});"}},
		{"wake-up", "w := make(chan int); close(w)", nil},
		{"wake-up", "w := make(chan int, 1); w <- 1", []string{"w := make(chan int, 1);"}},
		{"wake-up", "w := make(chan struct{}); defer close(w)", []string{"w := make(chan struct{});"}},
		{"wake-up", "w := make(chan struct{}); select { case w <- struct{}{}: default: }",
			[]string{"w := make(chan struct{}); select { case (chan struct{})(nil) <- struct{}{}: default: }"}},
		{"wake-up", "poke := f; poke(); f()", []string{"poke := f; ; f()"}},
	} {
		var got []string
		for _, u := range mutationsOf(t, c.line) {
			if u.Change == c.operator && u.Line == 4 {
				got = append(got, u.After)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s of %q: %q, want %q", c.operator, c.line, got, c.want)
		}
	}
}

// mutationsOf are the mutations of a file that has the statements in line 4.
func mutationsOf(t *testing.T, statements string) []*mutation {
	t.Helper()
	text := "package p\nfunc f() {}\nfunc two() (a int, err error) { b, ok := 1, false; _, _ = b, ok\n" + statements +
		"\nreturn a, err }\n"
	m := &module{fset: token.NewFileSet()}
	f := &file{name: "p.go", text: []byte(text)}
	var err error
	if f.tree, err = parser.ParseFile(m.fset, f.name, text, 0); err != nil {
		t.Fatal(err)
	}
	p := &pkg{files: []*file{f}, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	if err := m.check(p, nil, nil, p.info); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	return m.find(p, f)
}

// A package is judged by its own tests, those of its table, and those of its nearest importers.
func TestSuites(t *testing.T) {
	m := &module{path: "m"}
	self := &listed{}
	if err := json.Unmarshal([]byte(`{"Path": "m", "Main": true}`), &self.Module); err != nil {
		t.Fatal(err)
	}
	one := func(path, imports string) *listed {
		return &listed{ImportPath: path, TestGoFiles: []string{"a_test.go"}, Imports: strings.Fields(imports), Module: self.Module}
	}
	npy := one("m/format/npy", "m/format")
	all := []*listed{
		npy, one("m/format/all", "m/format m/format/npy"), one("m/far", "fmt io m/format/npy"), one("m/near", "m/format/npy"),
		one("m/nothing", "fmt"),
	}
	want := []suite{{pkg: "format/npy"}, {"format/all", "/^npy(,|$)", "^TestConvert"}, {pkg: "near"}}
	if got := m.suites(npy, all, 1); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := m.suites(npy, all, 5); len(got) != 4 || got[3].pkg != "far" {
		t.Errorf("%v, want far at the end", got)
	}
	npy.TestGoFiles = nil
	if got := m.suites(npy, all, 0); len(got) != 1 || got[0].pkg != "format/all" {
		t.Errorf("without tests of its own: %v", got)
	}
}

func TestJudge(t *testing.T) {
	for out, want := range map[string]string{
		"--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/a":                 "killed  TestX",
		"panic: index out of range\nFAIL":                                "killed ",
		"panic: test timed out after 2s\n\trunning tests:":               "timeout ",
		"# m/p\np.go:1: declared and not used\nFAIL\tm/p [build failed]": "unbuildable ",
	} {
		if v, by := judge([]byte(out)); string(v)+" "+by != want {
			t.Errorf("%q: %q %q, want %q", out, v, by, want)
		}
	}
}

func TestEquivalents(t *testing.T) {
	e, err := parseEquivalents("e.txt", "# comment\na.go\n- x < 1\n+ x <= 1\n= never 1\n\nb.go\n- f()\n+\n= does nothing\n")
	if err != nil || len(e.entries) != 2 {
		t.Fatal(e, err)
	}
	if m := (&mutation{File: "b.go", Before: "f()"}); !e.has(m) || e.reason(m) != "does nothing" {
		t.Errorf("%+v not found in %+v", m, e)
	}
	if m := (&mutation{File: "a.go", Before: "f()"}); e.has(m) || e.reason(m) != "" {
		t.Errorf("%+v found", m)
	}
	for text, want := range map[string]string{
		"a.go\n- x\n+ y": "line 4", "\na.go\n+ x\n- y\n= z\n\n": "line 6", "a.go\n- x\n+ y\n= z\n= z": "line 6",
	} {
		if _, err := parseEquivalents("e.txt", text); err == nil || !strings.Contains(err.Error(), "e.txt: before "+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := readEquivalents("equivalent.txt"); err != nil {
		t.Error(err)
	}
}

// The text report has the counts of each package, and each survivor with its line before and after.
func TestPrint(t *testing.T) {
	even := &equivalents{[]entry{{"a/x.go", "f()", "", "does nothing"}}}
	rep := newReport(options{seed: 3}, []result{
		{mutation{Package: "b", File: "b/y.go", Line: 9, Change: "comparison", Before: "a < b", After: "a <= b"}, survived, ""},
		{mutation{Package: "a", File: "a/x.go", Line: 7, Change: "statement", Before: "f()"}, equivalent, ""},
		{mutation{Package: "a", File: "a/x.go", Line: 2, Change: "truth"}, killed, "a TestX"},
	}, even)
	var out strings.Builder
	if err := rep.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a       1        0         0           1            0\n",
		"b       0        0         1           0            0\n",
		"\nb/y.go:9: survived (comparison)\n- a < b\n+ a <= b\n",
		"\na/x.go:7: equivalent (statement)\n- f()\n+ \n= does nothing\n",
		"3 mutations, seed 3: 1 of 2 that count survived, 50.0 %\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nwithout %q", out.String(), want)
		}
	}
}

// Tests that fail without a change would kill everything: the tool refuses to run.
func TestRefusesFailingTests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module bad\n\ngo 1.26\n",
		"x.go":      "package bad\n\nfunc f() int { return 1 }\n",
		"x_test.go": "package bad\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { t.Error(f()) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := mutate(t.Context(), dir, options{parallel: 1, limit: time.Minute}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "fail without any change") || !strings.Contains(err.Error(), "TestF") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := mutate(ctx, tiny, options{parallel: 1, limit: time.Minute}, io.Discard, io.Discard); err == nil {
		t.Error("no error after an interrupt")
	}
}
