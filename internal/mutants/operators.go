package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// edit replaces the source between two places.
type edit struct {
	lo, hi token.Pos
	text   string
}

// place is where an operator looks: a file and what the type checker knows of it.
type place struct {
	*file
	info *types.Info
}

// source is a node as it is written.
func (p place) source(n ast.Node) string {
	return string(p.text[n.Pos()-p.tree.FileStart : n.End()-p.tree.FileStart])
}

// operators are the changes that are made, each found at the nodes of a syntax tree.
func operators() []operator {
	return []operator{
		{"comparison", swapped(token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ)},
		{"arithmetic", swapped(token.ADD, token.SUB, token.MUL, token.QUO)},
		{"logic", swapped(token.LAND, token.LOR)},
		{"constant", offByOne},
		{"condition", negated},
		{"not", withoutNot},
		{"truth", flipped},
		{"statement", removed},
		{"error", silenced},
		{"jump", jumped},
		{wakeUp, unwoken},
	}
}

type operator struct {
	name string
	find func(p place, n ast.Node) []edit
}

// swapped exchanges the operators of each pair.
func swapped(pairs ...token.Token) func(place, ast.Node) []edit {
	to := map[token.Token]token.Token{}
	for i := 0; i < len(pairs); i += 2 {
		to[pairs[i]], to[pairs[i+1]] = pairs[i+1], pairs[i]
	}
	return func(_ place, n ast.Node) []edit {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || to[b.Op] == 0 {
			return nil
		}
		return []edit{{b.OpPos, b.OpPos + token.Pos(len(b.Op.String())), to[b.Op].String()}}
	}
}

// offByOne makes an integer greater by one.
func offByOne(_ place, n ast.Node) []edit {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.INT {
		return nil
	}
	v, err := strconv.ParseUint(lit.Value, 0, 63)
	if err != nil {
		return nil // no number of 63 bits
	}
	return []edit{{lit.Pos(), lit.End(), strconv.FormatUint(v+1, 10)}}
}

// negated turns the condition of an if or for. Of == and != that is what comparison does, of ! what not does.
func negated(p place, n ast.Node) []edit {
	var cond ast.Expr
	switch n := n.(type) {
	case *ast.IfStmt:
		cond = n.Cond
	case *ast.ForStmt:
		cond = n.Cond
	}
	switch c := cond.(type) {
	case nil:
		return nil
	case *ast.UnaryExpr:
		return nil
	case *ast.BinaryExpr:
		if c.Op == token.EQL || c.Op == token.NEQ {
			return nil
		}
	}
	return []edit{{cond.Pos(), cond.End(), "!(" + p.source(cond) + ")"}}
}

// withoutNot takes the ! away.
func withoutNot(_ place, n ast.Node) []edit {
	if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		return []edit{{u.Pos(), u.X.Pos(), ""}}
	}
	return nil
}

// flipped exchanges true and false.
func flipped(p place, n ast.Node) []edit {
	id, ok := n.(*ast.Ident)
	if !ok || p.info.Uses[id] == nil || p.info.Uses[id].Parent() != types.Universe {
		return nil
	}
	if other := map[string]string{"true": "false", "false": "true"}[id.Name]; other != "" {
		return []edit{{id.Pos(), id.End(), other}}
	}
	return nil
}

// removed takes away one assignment or call of a list of statements.
func removed(_ place, n ast.Node) (found []edit) {
	var list []ast.Stmt
	switch n := n.(type) {
	case *ast.BlockStmt:
		list = n.List
	case *ast.CaseClause:
		list = n.Body
	case *ast.CommClause:
		list = n.Body
	}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.IncDecStmt, *ast.ExprStmt:
		default:
			continue
		}
		found = append(found, edit{s.Pos(), s.End(), ""})
	}
	return found
}

// wakeUp is the name of the change that takes away what wakes a goroutine: a channel that is closed or sent to, or a call of one of wakers.
// It is made only when it is asked for, as removed makes most of it, too.
const wakeUp = "wake-up"

// wakers are names of functions and methods that wake goroutines.
func wakers() []string {
	return []string{"Broadcast", "Signal", "advance", "call", "notify", "poke", "resume", "set", "starve", "wake"}
}

// unwoken takes a wake-up away, also a deferred one. A send in a select goes to a channel without a receiver.
func unwoken(p place, n ast.Node) (found []edit) {
	var list []ast.Stmt
	switch n := n.(type) {
	case *ast.BlockStmt:
		list = n.List
	case *ast.CaseClause:
		list = n.Body
	case *ast.CommClause:
		list = n.Body
		if send, ok := n.Comm.(*ast.SendStmt); ok && p.signals(send.Chan) {
			found = append(found, edit{send.Chan.Pos(), send.Chan.End(), "(chan struct{})(nil)"})
		}
	}
	for _, s := range list {
		is := false
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			is = ok && p.wakes(call)
		case *ast.DeferStmt:
			is = p.wakes(s.Call)
		case *ast.SendStmt:
			is = true
		}
		if is {
			found = append(found, edit{s.Pos(), s.End(), ""})
		}
	}
	return found
}

// wakes reports whether a call wakes a goroutine.
func (p place) wakes(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		if f.Name == "close" && len(call.Args) == 1 {
			return p.signals(call.Args[0])
		}
		return slices.Contains(wakers(), f.Name)
	case *ast.SelectorExpr:
		return slices.Contains(wakers(), f.Sel.Name)
	}
	return false
}

// signals reports whether an expression is a channel without values.
func (p place) signals(e ast.Expr) bool {
	t := p.info.TypeOf(e)
	if t == nil {
		return false
	}
	c, ok := t.Underlying().(*types.Chan)
	if !ok {
		return false
	}
	s, ok := c.Elem().Underlying().(*types.Struct)
	return ok && s.NumFields() == 0
}

// silenced returns nil for an error.
func silenced(p place, n ast.Node) []edit {
	r, ok := n.(*ast.ReturnStmt)
	if !ok || len(r.Results) == 0 {
		return nil
	}
	last := r.Results[len(r.Results)-1]
	t := p.info.Types[last]
	failure := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	if t.Type == nil || t.IsNil() || !types.Implements(t.Type, failure) {
		return nil
	}
	return []edit{{last.Pos(), last.End(), "nil"}}
}

// jumped exchanges break and continue.
func jumped(_ place, n ast.Node) []edit {
	b, ok := n.(*ast.BranchStmt)
	if !ok {
		return nil
	}
	other, ok := map[token.Token]token.Token{token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK}[b.Tok]
	if !ok {
		return nil
	}
	return []edit{{b.Pos(), b.Pos() + token.Pos(len(b.Tok.String())), other.String()}}
}

// line is the line around [lo, hi) of a text, its blanks at both ends apart.
func line(text []byte, lo, hi int) (before, after string) {
	start := strings.LastIndexByte(string(text[:lo]), '\n') + 1
	rest, _, _ := strings.Cut(string(text[hi:]), "\n")
	return string(text[start:lo]), rest
}
