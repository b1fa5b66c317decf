package house

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the way to the files of the module.
const root = "../.."

// module is the name of the module, as go.mod has it: "make module" changes it in one place.
var module = func() string {
	text, _ := os.ReadFile(filepath.Join(root, "go.mod")) // without it no test of this package runs
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "module ")
}()

// goFile is a Go file of the module, parsed. Name is its path from the root.
type goFile struct {
	name string
	text []byte
	fset *token.FileSet
	tree *ast.File
}

func (f *goFile) pkg() string { return path.Dir(f.name) }

func (f *goFile) test() bool {
	return strings.HasSuffix(f.name, "_test.go") || strings.HasSuffix(f.pkg(), "test")
}

func (f *goFile) line(p token.Pos) int { return f.fset.Position(p).Line }

// at is a place in the file as people click on it.
func (f *goFile) at(n ast.Node) string { return fmt.Sprintf("%s:%d", f.name, f.line(n.Pos())) }

// files are the names of all files that are or will be in the repository; of all files if git does not answer.
var files = sync.OnceValues(func() ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return walk()
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil { // else removed, but not yet from the index
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
})

func walk() (names []string, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && (name == ".git" || name == "out") {
			return fs.SkipDir
		}
		if err == nil && e.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// generated tells a file that a program wrote, by the line that Go's tools look for.
func (f *goFile) generated() bool { return ast.IsGenerated(f.tree) }

// goFiles are the Go files of the module, parsed once; files of testdata and generated ones apart.
var goFiles = sync.OnceValues(func() ([]*goFile, error) {
	names, err := files()
	if err != nil {
		return nil, err
	}
	var all []*goFile
	for _, name := range names {
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		f := &goFile{name: name, fset: token.NewFileSet()}
		var bad error
		if f.text, bad = os.ReadFile(filepath.Join(root, name)); bad == nil {
			f.tree, bad = parser.ParseFile(f.fset, name, f.text, parser.ParseComments|parser.SkipObjectResolution)
		}
		err = errors.Join(err, bad)
		if bad == nil && f.generated() {
			continue // held to what its generator thinks right
		}
		all = append(all, f)
	}
	return all, err
})

// eachFile runs the test on every Go file.
func eachFile(t *testing.T, test func(f *goFile)) {
	t.Helper()
	all, err := goFiles()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d Go files: %v", len(all), err)
	}
	for _, f := range all {
		test(f)
	}
}

// lines counts what a reader sees as lines.
func lines(text []byte) int { return bytes.Count(text, []byte("\n")) }

// read is the content of a file, by its path from the root.
func read(name string) ([]byte, error) { return os.ReadFile(filepath.Join(root, name)) }
