package house

import (
	"bytes"
	"go/ast"
	"go/format"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Sizes beyond which a file holds two things, or a line two thoughts.
const (
	fileLimit     = 500
	testLimit     = 800
	lineLimit     = 140
	testLineLimit = 200 // rows of tables, bytes in hex
)

// drawers are names of places where things are put that have no place.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "manager"}

// panics says where a panic may stand, and why no input reaches it.
var panics = map[string]string{
	"kernel/kernel.go":   "slices of unequal length: the caller made both, and going on would give wrong numbers",
	"coord/node/node.go": "what etcd cannot go on after: Start, which is on the stack, makes an error of it",
	"format/view.go":     "a panic of the function that the caller gave is passed on",
}

// clocks says which packages below floor 3 may ask what time it is, and for what.
var clocks = map[string]string{
	"rpc/tcp":   "deadlines of connections",
	"blob":      "how long a store has not answered, which is reported",
	"blob/hdfs": "deadlines of connections, and the age of leftovers",
	"blob/s3":   "deadlines of connections",
	"coord":     "leases of roles, which no result depends on",
	"ps":        "which standby answers fastest, and when to look again",
}

func TestSizes(t *testing.T) {
	eachFile(t, func(f *goFile) {
		limit, wide := fileLimit, lineLimit
		if f.test() {
			limit, wide = testLimit, testLineLimit
		}
		if n := lines(f.text); n > limit && !strings.HasSuffix(f.name, "_table.go") {
			t.Errorf("%s: %d lines, want at most %d", f.name, n, limit)
		}
		for i, line := range bytes.Split(f.text, []byte("\n")) {
			if n := utf8.RuneCount(line); n > wide {
				t.Errorf("%s:%d: %d characters, want at most %d", f.name, i+1, n, wide)
			}
		}
	})
}

func TestGofmt(t *testing.T) {
	eachFile(t, func(f *goFile) {
		want, err := format.Source(f.text)
		if n, got, wanted := differs(f.text, want); err != nil || n > 0 {
			t.Errorf("%s:%d: %q, want %q as gofmt writes it (%v)", f.name, n, got, wanted, err)
		}
	})
}

// differs is the first line, counted from 1, that two texts do not share, as each has it; 0 if there is none.
func differs(a, b []byte) (n int, inA, inB string) {
	x, y := strings.SplitAfter(string(a), "\n"), strings.SplitAfter(string(b), "\n")
	for i := range max(len(x), len(y)) {
		inA, inB = strings.Join(x[min(i, len(x)):min(i+1, len(x))], ""), strings.Join(y[min(i, len(y)):min(i+1, len(y))], "")
		if inA != inB {
			return i + 1, inA, inB
		}
	}
	return 0, "", ""
}

func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		n    int
		x, y string
	}{
		{"", "", 0, "", ""}, {"a\nb\n", "a\nb\n", 0, "", ""}, {"a\n b\nc\n", "a\n\tb\nd\n", 2, " b\n", "\tb\n"},
		{"a\n", "a\n\n", 2, "", "\n"}, {"a\nb", "a\nb\n", 2, "b", "b\n"}, {"a\n\n\n", "a\n", 2, "\n", ""},
	} {
		if n, x, y := differs([]byte(c.a), []byte(c.b)); n != c.n || x != c.x || y != c.y {
			t.Errorf("%q and %q differ in line %d: %q, %q, want line %d: %q, %q", c.a, c.b, n, x, y, c.n, c.x, c.y)
		}
	}
}

func TestNames(t *testing.T) {
	eachFile(t, func(f *goFile) {
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.name), ".go"), "_test")
		for _, name := range append(strings.Split(f.pkg(), "/"), base, f.tree.Name.Name) {
			if slices.Contains(drawers, name) {
				t.Errorf("%s: %q says nothing about what is in it", f.name, name)
			}
		}
	})
}

// calls runs visit on every call in a file, with what is called as it is written.
func calls(f *goFile, visit func(call *ast.CallExpr, name string)) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch fun := call.Fun.(type) {
			case *ast.Ident:
				visit(call, fun.Name)
			case *ast.SelectorExpr:
				if x, ok := fun.X.(*ast.Ident); ok {
					visit(call, x.Name+"."+fun.Sel.Name)
				}
			}
		}
		return true
	})
}

func TestNoInitPanicOrClock(t *testing.T) {
	p, err := readPlan()
	if err != nil {
		t.Fatal(err)
	}
	eachFile(t, func(f *goFile) {
		if f.test() {
			return
		}
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s:%d: init, want a table and a call that is seen", f.name, f.line(fn.Pos()))
			}
		}
		floor, _ := p.floor(f.pkg())
		calls(f, func(call *ast.CallExpr, name string) {
			switch {
			case name == "panic" && panics[f.name] == "":
				t.Errorf("%s:%d: panic, want an error, or a reason in the list of panics", f.name, f.line(call.Pos()))
			case (name == "time.Now" || name == "time.Since") && floor < 3 && clocks[f.pkg()] == "":
				t.Errorf("%s:%d: %s on floor %d, want results that do not depend on the time", f.name, f.line(call.Pos()), name, floor)
			}
		})
	})
}

// foreign finds what belongs to one machine or to where packages come from. The parts are joined here, so that this file
// does not hold what it looks for.
var foreign = regexp.MustCompile("/(" + strings.Join([]string{"work", "tmp", "farm", "root"}, "|") + ")/|" +
	strings.Join([]string{"proxy[.]golang", "sum[.]golang", "registry[.]npmjs", "pypi[.]org"}, "|"))

func TestFilesAreOfNoMachine(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{{"see /" + "tmp/x", true}, {"https://pypi" + ".org", true}, {"models/a9a", false}, {"/tmpfs/", false}} {
		if foreign.MatchString(c.text) != c.want {
			t.Errorf("%q: found is %v", c.text, !c.want)
		}
	}
	names, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".ci/") {
			continue
		}
		text, err := read(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // not text
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if found := foreign.Find(line); found != nil {
				t.Errorf("%s:%d: %q, want nothing of one machine", name, i+1, found)
			}
		}
	}
}

func TestVet(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: go vet is not run")
	}
	cmd := exec.Command("go", "vet", "./...")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}
