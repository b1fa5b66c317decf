package house

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// plan is plan.txt, read.
type plan struct {
	floors  []place
	also    map[string][]string
	never   []ban
	outside map[string][]string
	unsafe  []string
}

type place struct {
	pattern string
	floor   int
}

type ban struct{ who, what []string }

func readPlan() (*plan, error) {
	text, err := os.ReadFile("plan.txt")
	if err != nil {
		return nil, err
	}
	p := &plan{also: map[string][]string{}, outside: map[string][]string{}}
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if err := p.line(words); err != nil {
			return nil, fmt.Errorf("plan.txt:%d: %w", i+1, err)
		}
	}
	return p, nil
}

func (p *plan) line(words []string) error {
	rest := words[1:]
	switch {
	case words[0] == "floor" && len(rest) > 1:
		n, err := strconv.Atoi(rest[0])
		for _, pattern := range rest[1:] {
			p.floors = append(p.floors, place{pattern, n})
		}
		return err
	case words[0] == "also" && len(rest) > 1:
		p.also[rest[0]] = rest[1:]
	case words[0] == "outside" && len(rest) > 1:
		p.outside[rest[0]] = rest[1:]
	case words[0] == "unsafe":
		p.unsafe = rest
	case words[0] == "never" && slices.Contains(rest, ":"):
		i := slices.Index(rest, ":")
		p.never = append(p.never, ban{rest[:i], rest[i+1:]})
	default:
		return fmt.Errorf("%q, want floor, also, never, outside or unsafe", words)
	}
	return nil
}

// floor finds the floor of a package: a name without "*" counts more than one with it.
func (p *plan) floor(pkg string) (int, bool) {
	found, ok := 0, false
	for _, f := range p.floors {
		if f.pattern == pkg {
			return f.floor, true
		}
		if match(f.pattern, pkg) {
			found, ok = f.floor, true
		}
	}
	return found, ok
}

func match(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return ok && err == nil
}

func matchAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, pkg) })
}

// check is what is wrong with one import.
func (p *plan) check(pkg, imported string) string {
	inside, ok := strings.CutPrefix(imported, module+"/")
	from, known := p.floor(pkg)
	switch {
	case !known:
		return fmt.Sprintf("package %s has no place in plan.txt", pkg)
	case !ok:
		first, _, _ := strings.Cut(imported, "/")
		allowed := slices.ContainsFunc(p.outside[pkg], func(m string) bool { return strings.HasPrefix(imported+"/", m+"/") })
		if strings.Contains(first, ".") && from < 3 && !allowed {
			return fmt.Sprintf("%s stands on floor %d and imports %s: want the standard library only", pkg, from, imported)
		}
		return ""
	}
	to, known := p.floor(inside)
	if !known {
		return fmt.Sprintf("%s imports %s, which has no place in plan.txt", pkg, inside)
	}
	if to >= from && !slices.Contains(p.also[pkg], inside) {
		return fmt.Sprintf("%s on floor %d imports %s on floor %d: want a lower floor", pkg, from, inside, to)
	}
	return ""
}

func TestFloors(t *testing.T) {
	p, err := readPlan()
	if err != nil {
		t.Fatal(err)
	}
	arrows := map[string][]string{}
	eachFile(t, func(f *goFile) {
		if f.test() || f.pkg() == "internal/house" {
			return
		}
		if _, known := p.floor(f.pkg()); !known {
			t.Errorf("%s: package %s has no place in plan.txt", f.name, f.pkg())
		}
		for _, spec := range f.tree.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if wrong := p.check(f.pkg(), imported); wrong != "" {
				t.Errorf("%s:%d: %s", f.name, f.line(spec.Pos()), wrong)
			}
			if inside, ok := strings.CutPrefix(imported, module+"/"); ok {
				arrows[f.pkg()] = append(arrows[f.pkg()], inside)
			}
		}
	})
	for pkg := range arrows {
		for _, far := range reach(arrows, pkg) {
			for _, n := range p.never {
				if matchAny(n.who, pkg) && matchAny(n.what, far) {
					t.Errorf("%s reaches %s, want never", pkg, far)
				}
			}
		}
	}
}

// Only the packages that the plan names look at memory as bytes; the size of a type may be asked anywhere.
func TestUnsafe(t *testing.T) {
	p, err := readPlan()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	eachFile(t, func(f *goFile) {
		if f.test() {
			return
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "unsafe" && s.Sel.Name != "Sizeof" {
				found[f.pkg()] = true
				if !slices.Contains(p.unsafe, f.pkg()) {
					t.Errorf("%s: unsafe.%s, want it only in %v", f.at(s), s.Sel.Name, p.unsafe)
				}
			}
			return true
		})
	})
	if !found["wire"] {
		t.Error("no unsafe in wire: the test finds nothing")
	}
}

// reach is every package that pkg imports, directly or through others.
func reach(arrows map[string][]string, pkg string) []string {
	var seen []string
	next := slices.Clone(arrows[pkg])
	for len(next) > 0 {
		p := next[len(next)-1]
		next = next[:len(next)-1]
		if !slices.Contains(seen, p) {
			seen = append(seen, p)
			next = append(next, arrows[p]...)
		}
	}
	return seen
}

// The rules themselves: a wrong house is told from a right one.
func TestPlanRefuses(t *testing.T) {
	p, err := readPlan()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ pkg, imported, want string }{
		{"matrix", "fmt", ""},
		{"format/angel", "thole.example/wire", ""},
		{"format/all", "thole.example/format/angel", ""},
		{"graph", "thole.example/data", ""},
		{"blob", "golang.org/x/sys/unix", ""},
		{"cmd/thole", "github.com/spf13/cobra", ""},
		{"matrix", "thole.example/blob", "want a lower floor"},
		{"data", "thole.example/graph", "want a lower floor"},
		{"format/angel", "thole.example/format/npy", "want a lower floor"},
		{"matrix", "golang.org/x/sys/unix", "want the standard library"},
		{"ps", "github.com/spf13/cobra", "want the standard library"},
		{"blob", "golang.org/x/sysutil", "want the standard library"},
		{"util", "fmt", "no place"},
		{"matrix", "thole.example/strange", "no place"},
	} {
		if got := p.check(c.pkg, c.imported); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: %q, want %q", c.pkg, c.imported, got, c.want)
		}
	}
	far := reach(map[string][]string{"a": {"b"}, "b": {"c", "a"}, "d": {"e"}}, "a")
	if slices.Sort(far); !slices.Equal(far, []string{"a", "b", "c"}) {
		t.Errorf("a reaches %v", far)
	}
}
