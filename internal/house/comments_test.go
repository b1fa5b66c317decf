package house

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// Every package says what it is, once, and begins with its name.
func TestPackageComments(t *testing.T) {
	said := map[string]string{}
	eachFile(t, func(f *goFile) {
		if strings.HasSuffix(f.name, "_test.go") {
			return
		}
		pkg, doc := f.pkg(), f.tree.Doc.Text()
		if _, seen := said[pkg]; !seen {
			said[pkg] = ""
		}
		if doc == "" {
			return
		}
		if said[pkg] != "" {
			t.Errorf("%s: a second package comment, beside %s", f.name, said[pkg])
		}
		said[pkg] = f.name
		want := "Package " + f.tree.Name.Name + " "
		if f.tree.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(doc, want) {
			t.Errorf("%s: the package comment begins %.30q, want %q", f.name, doc, want)
		}
	})
	for pkg, name := range said {
		if name == "" {
			t.Errorf("package %s has no comment", pkg)
		}
	}
}

// Every exported name has a sentence that begins with it.
func TestExportedNamesAreExplained(t *testing.T) {
	explained := map[string]bool{} // methods by package and name: one sentence serves its siblings on other types
	eachFile(t, func(f *goFile) {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Doc.Text() != "" {
				explained[f.pkg()+"."+fn.Name.Name] = true
			}
		}
	})
	eachFile(t, func(f *goFile) {
		if f.test() && strings.HasSuffix(f.name, "_test.go") || f.tree.Name.Name == "main" {
			return
		}
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				explainFunc(t, f, d, explained)
			case *ast.GenDecl:
				explainGroup(t, f, d)
			}
		}
	})
}

func explainFunc(t *testing.T, f *goFile, d *ast.FuncDecl, explained map[string]bool) {
	if !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
		return
	}
	if d.Doc.Text() == "" && d.Recv != nil && explained[f.pkg()+"."+d.Name.Name] {
		return
	}
	explain(t, f, d, d.Name.Name, d.Doc)
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func explainGroup(t *testing.T, f *goFile, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				doc := s.Doc
				if doc == nil {
					doc = d.Doc
				}
				explain(t, f, s, s.Name.Name, doc)
			}
		case *ast.ValueSpec:
			one := d.Doc.Text() + s.Doc.Text() + s.Comment.Text()
			if s.Names[0].IsExported() && one == "" && d.Tok != token.IMPORT {
				t.Errorf("%s: %s has no comment, nor has its group", f.at(s), s.Names[0].Name)
			}
		}
	}
}

func explain(t *testing.T, f *goFile, n ast.Node, name string, doc *ast.CommentGroup) {
	words := strings.Fields(doc.Text())
	if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	if len(words) < 2 || strings.TrimRight(words[0], ",.:'s") != strings.TrimRight(name, "s") {
		t.Errorf("%s: the comment of %s begins %.40q, want a sentence that begins with the name", f.at(n), name, doc.Text())
	}
}
