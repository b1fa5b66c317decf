package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"slices"
	"strings"
)

// mutation is one changed line.
type mutation struct {
	Package string `json:"package"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Change  string `json:"change"` // name of the operator
	Before  string `json:"before"`
	After   string `json:"after"`

	pkg    *pkg
	file   *file
	lo, hi int // what text replaces
	text   string
	nth    int // of the same changes of the same lines in the file
	rank   [sha256.Size]byte
}

// source is the file with the change made.
func (m *mutation) source() []byte {
	return bytes.Join([][]byte{m.file.text[:m.lo], []byte(m.text), m.file.text[m.hi:]}, nil)
}

// place says where a mutation is, as people click on it.
func (m *mutation) place() string { return fmt.Sprintf("%s:%d", m.File, m.Line) }

// find is every mutation of a file, in the order of the source. Files that a program wrote have none.
func (m *module) find(p *pkg, f *file) (found []*mutation) {
	if ast.IsGenerated(f.tree) {
		return nil
	}
	seen := map[[3]string]int{}
	at := place{f, p.info}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		for _, op := range operators() {
			for _, e := range op.find(at, n) {
				lo, hi := int(e.lo-f.tree.FileStart), int(e.hi-f.tree.FileStart)
				if bytes.IndexByte(f.text[lo:hi], '\n') >= 0 {
					continue // more than one line
				}
				head, tail := line(f.text, lo, hi)
				u := &mutation{
					Package: p.name, File: f.name, Line: m.fset.Position(e.lo).Line, Change: op.name,
					Before: strings.TrimSpace(head + string(f.text[lo:hi]) + tail),
					After:  strings.TrimSpace(head + e.text + tail),
					pkg:    p, file: f, lo: lo, hi: hi, text: e.text,
				}
				key := [3]string{u.Change, u.Before, u.After}
				u.nth = seen[key]
				seen[key]++
				found = append(found, u)
			}
		}
		return true
	})
	return found
}

// draw takes n of all mutations of a kind that compile, of all kinds but wake-ups if change is ""; all of them if n is 0. The order is a
// function of the seed and of the changed lines: what is done elsewhere changes little of the draw.
func (m *module) draw(n, seed int, change string) (drawn []*mutation, err error) {
	var all []*mutation
	for _, p := range m.packages {
		for _, f := range p.files {
			for _, u := range m.find(p, f) {
				if u.Change == change || change == "" && u.Change != wakeUp {
					all = append(all, u)
				}
			}
		}
	}
	for _, u := range all {
		u.rank = sha256.Sum256(fmt.Append(nil, seed, "\n", u.File, "\n", u.Change, "\n", u.Before, "\n", u.After, "\n", u.nth))
	}
	slices.SortFunc(all, func(a, b *mutation) int {
		return cmp.Or(bytes.Compare(a.rank[:], b.rank[:]), cmp.Compare(a.lo, b.lo))
	})
	for _, u := range all {
		if n > 0 && len(drawn) == n {
			break
		}
		if m.compiles(u) {
			drawn = append(drawn, u)
		}
	}
	if len(drawn) == 0 {
		return nil, fmt.Errorf("none of %d changes compiles", len(all))
	}
	return drawn, nil
}

// compiles asks the type checker, which also finds names and imports that are left without use.
func (m *module) compiles(u *mutation) bool {
	tree, err := parser.ParseFile(m.fset, u.file.path, u.source(), parser.SkipObjectResolution)
	return err == nil && m.check(u.pkg, u.file, tree, nil) == nil
}
