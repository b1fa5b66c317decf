package house

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// named is a test that a page names, with its package, if that is not the one of the test before.
var named = regexp.MustCompile("(?:([a-z]+(?:/[a-z]+)*) )?`(Test[A-Z][A-Za-z0-9]*)`")

// missing are the tests named in a row or paragraph that their packages do not have. tests are names after packages: "ps.TestX".
func missing(text string, tests map[string]bool) (out []string) {
	pkg := ""
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			pkg = m[1]
		}
		if name := pkg + "." + m[2]; !tests[name] {
			out = append(out, name)
		}
	}
	return out
}

// pagesOfTests are the pages that give tests for what they promise, and how many at least.
var pagesOfTests = map[string]int{"docs/reliability.md": 50, "docs/psmodel.md": 30}

// TestNamedTests: the tests that a page gives for a promise are there, in the package that it says.
func TestNamedTests(t *testing.T) {
	tests := map[string]bool{}
	eachFile(t, func(f *goFile) {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test() && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests[f.pkg()+"."+fn.Name.Name] = true
			}
		}
	})
	for name, least := range pagesOfTests {
		page, err := read(name)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, row := range regexp.MustCompile(`\n\n|\n\| `).Split(string(page), -1) {
			row = strings.ReplaceAll(row, "\n", " ")
			found += len(named.FindAllString(row, -1))
			for _, gone := range missing(row, tests) {
				t.Errorf("%s names %s, want a test that there is", name, gone)
			}
		}
		if found < least {
			t.Errorf("%s names %d tests, want %d at least: the page is not read as it is written", name, found, least)
		}
	}
}

// TestMissingTests: a name without its package, or of another package, is missing.
func TestMissingTests(t *testing.T) {
	tests := map[string]bool{"ps.TestA": true, "ps.TestB": true, "rpc/tcp.TestC": true}
	for text, want := range map[string]string{
		"ps `TestA`, `TestB`, rpc/tcp `TestC` |": "",
		"ps `TestA`, rpc/tcp `TestB`":            "rpc/tcp.TestB",
		"(`TestA`)":                              ".TestA",
		"ps `TestAB`":                            "ps.TestAB",
	} {
		if got := strings.Join(missing(text, tests), " "); got != want {
			t.Errorf("missing in %q are %q, want %q", text, got, want)
		}
	}
}
