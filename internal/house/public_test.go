package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// internals are the names by which a file calls internal packages of the module.
func internals(f *goFile) map[string]string {
	names := map[string]string{}
	for _, i := range f.tree.Imports {
		imported, _ := strconv.Unquote(i.Path.Value)
		if !strings.HasPrefix(imported, module+"/internal/") {
			continue
		}
		name := imported[strings.LastIndexByte(imported, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = imported
	}
	return names
}

// public calls visit for what other modules see of a declaration: signatures, exported fields, methods, types of variables.
func public(decl ast.Decl, visit func(ast.Node)) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			visit(d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Type != nil {
					visit(s.Type)
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					publicType(s.Type, visit)
				}
			}
		}
	}
}

func publicType(t ast.Expr, visit func(ast.Node)) {
	var fields *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		visit(t)
		return
	}
	for _, field := range fields.List {
		if len(field.Names) == 0 || field.Names[0].IsExported() {
			visit(field.Type)
		}
	}
}

// internalsNamed are the internal types in the public interface of a file.
func internalsNamed(f *goFile) (found []string) {
	names := internals(f)
	if len(names) == 0 || strings.HasPrefix(f.pkg(), "internal/") || f.tree.Name.Name == "main" || f.test() {
		return nil
	}
	for _, decl := range f.tree.Decls {
		public(decl, func(n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if p, ok := s.X.(*ast.Ident); ok && names[p.Name] != "" {
						found = append(found, f.at(s)+": "+p.Name+"."+s.Sel.Name)
					}
				}
				return true
			})
		})
	}
	return found
}

// TestPublic holds the exported interface of public packages to types that other modules can name: who adds a codec, a rule or a
// layer from outside needs all of them.
func TestPublic(t *testing.T) {
	eachFile(t, func(f *goFile) {
		for _, what := range internalsNamed(f) {
			t.Errorf("%s in a public interface, which other modules cannot name", what)
		}
	})
}

// TestPublicFinds shows that the test sees what it looks for.
func TestPublicFinds(t *testing.T) {
	for text, want := range map[string]int{
		`func Do(c *secret.Cursor) error { return nil }`:                1,
		`type T struct { A secret.X; b secret.Y }`:                      1,
		`type I interface { M(secret.X) (secret.Y, error) }`:            2,
		`var V map[string]secret.X`:                                     1,
		`func do(c *secret.Cursor) { _ = secret.X{} }`:                  0,
		`func Do() { _ = secret.X{} }`:                                  0,
		`type F func(secret.X)`:                                         1,
		`func (t T) Do(c []secret.Cursor) {}; type T struct{}`:          1,
		`type t struct { A secret.X }; func (t t) do(secret.X) {}`:      0,
		`type T[E any] struct { secret.X }; const C = 1; var V = 1 + C`: 1,
	} {
		f := &goFile{name: "public/x.go", fset: token.NewFileSet()}
		var err error
		if f.tree, err = parser.ParseFile(f.fset, f.name, "package public\nimport \""+module+"/internal/secret\"\n"+text, 0); err != nil {
			t.Fatal(err)
		}
		if got := internalsNamed(f); len(got) != want {
			t.Errorf("%s: found %v, want %d", text, got, want)
		}
	}
}
