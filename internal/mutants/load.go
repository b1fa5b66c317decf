package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// module is the module under mutation: its packages, parsed and checked.
type module struct {
	root, path string
	fset       *token.FileSet
	packages   []*pkg // those to be changed, by path
	exports    map[string]string
	config     types.Config
}

// pkg is a package of the module. Name is its path from the root.
type pkg struct {
	name   string
	files  []*file
	info   *types.Info
	suites []suite
}

// file is a source file. Name is its path from the root.
type file struct {
	name, path string
	text       []byte
	tree       *ast.File
}

// listed is what "go list" says of a package.
type listed struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	DepOnly                            bool
	Module                             *struct {
		Path, Dir string
		Main      bool
	}
}

func (l *listed) tested() bool { return len(l.TestGoFiles)+len(l.XTestGoFiles) > 0 }

func (l *listed) imports(p string) bool {
	return slices.Contains(l.Imports, p) || slices.Contains(l.TestImports, p) || slices.Contains(l.XTestImports, p)
}

// load finds and checks the packages. All of the module are listed, whatever the patterns: any of them may lend its tests.
func load(ctx context.Context, dir string, o options) (*module, error) {
	all, err := list(ctx, dir, "./...")
	if err != nil {
		return nil, err
	}
	chosen := all
	if len(o.patterns) > 0 {
		if chosen, err = list(ctx, dir, o.patterns...); err != nil {
			return nil, err
		}
	}
	m := &module{fset: token.NewFileSet(), exports: map[string]string{}}
	for _, l := range all {
		m.exports[l.ImportPath] = l.Export
		if l.Module != nil && l.Module.Main {
			m.root, m.path = l.Module.Dir, l.Module.Path
		}
	}
	m.config = types.Config{
		Importer: importer.ForCompiler(m.fset, "gc", m.open),
		Sizes:    types.SizesFor("gc", runtime.GOARCH),
	}
	skip := strings.FieldsFunc(o.skip, func(r rune) bool { return r == ',' })
	for _, l := range chosen {
		if l.DepOnly || l.Module == nil || !l.Module.Main {
			continue
		}
		name := m.name(l.ImportPath)
		if slices.ContainsFunc(skip, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) {
			continue
		}
		p, err := m.parse(l)
		if err != nil {
			return nil, err
		}
		p.suites = m.suites(l, all, o.importers)
		m.packages = append(m.packages, p)
	}
	if len(m.packages) == 0 {
		return nil, fmt.Errorf("no package to change: %v without %v", o.patterns, o.skip)
	}
	slices.SortFunc(m.packages, func(a, b *pkg) int { return cmp.Compare(a.name, b.name) })
	return m, nil
}

// list runs "go list", which also builds what the type checker imports.
func list(ctx context.Context, dir string, patterns ...string) (all []*listed, err error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-export", "-deps", "-json"}, patterns...)...)
	var out, wrong bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &wrong
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, wrong.Bytes())
	}
	for d := json.NewDecoder(&out); ; {
		l := &listed{}
		switch err := d.Decode(l); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, l)
	}
}

// open gives the type checker what the compiler exported of a package.
func (m *module) open(imported string) (io.ReadCloser, error) {
	if m.exports[imported] == "" {
		return nil, fmt.Errorf("go list exported nothing of %s", imported)
	}
	return os.Open(m.exports[imported])
}

// name is the path of a package from the root.
func (m *module) name(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, m.path), "/")
}

func (m *module) parse(l *listed) (*pkg, error) {
	p := &pkg{name: m.name(l.ImportPath), info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
	}}
	for _, base := range l.GoFiles {
		f := &file{name: path.Join(p.name, base), path: filepath.Join(l.Dir, base)}
		var err error
		if f.text, err = os.ReadFile(f.path); err != nil {
			return nil, err
		}
		if f.tree, err = parser.ParseFile(m.fset, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
	}
	return p, m.check(p, nil, nil, p.info)
}

// check asks the type checker about the package, with changed instead of f.
func (m *module) check(p *pkg, f *file, changed *ast.File, info *types.Info) error {
	trees := make([]*ast.File, len(p.files))
	for i, other := range p.files {
		if trees[i] = other.tree; other == f {
			trees[i] = changed
		}
	}
	_, err := m.config.Check(path.Join(m.path, p.name), m.fset, trees, info)
	return err
}
