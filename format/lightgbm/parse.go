package lightgbm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/tree"
)

// The lines that are no "key=value".
const (
	firstLine  = "tree"
	averageKey = "average_output"
	endOfTrees = "end of trees"
	pandasKey  = "pandas_categorical:"
	ownKey     = "thole:"
	origin     = "LightGBM" // and a blank and the version
)

// versions of the format that are known.
var versions = []string{"v2", "v3", "v4"}

// parser reads a file.
type parser struct {
	lines
	e      *tree.Ensemble
	head   entries
	stop   []byte // the line that ended the header; nil at the end of the file
	sizes  []treeSize
	notes  []string
	params map[string]float64 // settings among the parameters
	ended  bool               // something says that there are no more trees
}

// treeSize is the bytes of a tree as they are, and with LF for each CR LF, as LightGBM counted them.
type treeSize struct{ asIs, lf int64 }

func (p *parser) note(text string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(text, args...))
}

// parse reads a file. Errors say the line. What does not fit together is refused with tree.ErrTrees, linear trees with format.ErrVersion.
func parse(file []byte) (*tree.Ensemble, []string, error) {
	p := &parser{lines: lines{src: file}, e: &tree.Ensemble{}, head: entries{}, params: map[string]float64{}}
	for _, step := range []func() error{p.header, p.trees, p.tail, p.complete} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return p.e, p.notes, nil
}

// header reads up to the line of the first tree, or behind the trees if there are none.
func (p *parser) header() error {
	if first, _ := p.next(); string(first) != firstLine {
		return fail(1, "%q, want %q", cut(first), firstLine)
	}
	for {
		line, ok := p.next()
		if !ok || isTree(line) || string(line) == endOfTrees {
			p.stop = line
			break
		}
		if string(line) == averageKey {
			p.e.Mean = true
			continue
		}
		p.head.add(line, p.line)
	}
	for _, key := range []string{"num_class", "max_feature_idx", "feature_names", "feature_infos"} {
		if _, ok := p.head[key]; !ok {
			return fmt.Errorf("no line %s= before line %d, want one", key, p.line)
		}
	}
	classes, err := p.head.whole("num_class", 1, 1, tree.ClassLimit)
	if err != nil {
		return err
	}
	if classes, err = p.head.whole("num_tree_per_iteration", classes, 1, tree.ClassLimit); err != nil {
		return err
	}
	p.e.Classes, p.e.Group, p.e.Start = int(classes), int(classes), make([]float64, classes)
	p.e.Origin, p.e.Numbers = versionOf(p.head), tree.LightGBM
	if v := p.head["version"].text; v != nil && !slices.Contains(versions, string(v)) {
		p.note("version %q is not known: read as %s", cut(v), versions[len(versions)-1])
	}
	if err := p.features(); err != nil {
		return err
	}
	line := p.head["objective"]
	p.e.Objective = objective(string(line.text), p.e.Classes)
	if err := p.e.Objective.Check(p.e.Classes); err != nil {
		return line.fail("is %q: %w", cut(line.text), err)
	}
	if _, ok := objectiveLine(&p.e.Objective, p.e.Classes); !ok {
		return line.fail("is %q: the link %s of %d scores, want one", cut(line.text), p.e.Objective.Link, p.e.Classes)
	}
	return nil
}

// versionOf is the program and the version of its files.
func versionOf(head entries) string {
	if v := head["version"].text; len(v) > 0 {
		return origin + " " + strings.ToValidUTF8(string(cut(v)), "")
	}
	return origin
}

func isTree(line []byte) bool { return bytes.HasPrefix(line, []byte("Tree=")) }

// trees reads them from the line at which header ended on, up to one that is of no tree.
func (p *parser) trees() error {
	line := p.stop
	for isTree(line) {
		first, begin := p.line, p.off
		if want := fmt.Sprintf("Tree=%d", len(p.e.Trees)); string(line) != want {
			return fail(first, "%q, want %q: a tree is missing", cut(line), want)
		}
		all := entries{}
		ok := true
		for line, ok = p.next(); ok && len(line) > 0; line, ok = p.next() {
			if isTree(line) || string(line) == endOfTrees {
				return fail(p.line, "%q in tree %d, want an empty line before it", cut(line), len(p.e.Trees))
			}
			all.add(line, p.line)
		}
		t, err := parseTree(all, p.e.Features.Width)
		if err != nil {
			return at(err, first, len(p.e.Trees))
		}
		t.Class = len(p.e.Trees) % p.e.Classes
		p.e.Trees = append(p.e.Trees, *t)
		for ok && len(line) == 0 {
			line, ok = p.next()
		}
		end := p.off
		if !ok {
			line, end = nil, len(p.src)
		}
		size := int64(end - begin)
		p.sizes = append(p.sizes, treeSize{size, size - int64(bytes.Count(p.src[begin:end], []byte("\r\n")))})
	}
	p.ended = len(line) > 0
	if p.ended && string(line) != endOfTrees && !bytes.HasPrefix(line, []byte("feature")) {
		return fail(p.line, "%q behind tree %d, want another tree or %q", cut(line), len(p.e.Trees)-1, endOfTrees)
	}
	return nil
}

// at makes an error about a tree name the tree, and its first line if no other is known.
func at(err error, line, tree int) error {
	if known := new(lineError); errors.As(err, &known) {
		return fmt.Errorf("%w, in tree %d", err, tree)
	}
	return fail(line, "tree %d: %w", tree, err)
}

// tail reads what stands behind the trees.
func (p *parser) tail() error {
	var pandas, ours *entry
	for line, ok := p.next(); ok; line, ok = p.next() {
		switch {
		case bytes.HasPrefix(line, []byte(pandasKey)):
			pandas = &entry{pandasKey, line[len(pandasKey):], p.line}
		case bytes.HasPrefix(line, []byte(ownKey)):
			ours = &entry{ownKey, line[len(ownKey):], p.line}
		case len(line) > 2 && line[0] == '[':
			p.setting(line[1 : len(line)-1])
		}
	}
	for _, s := range settings {
		if v, ok := p.params[s.key]; ok && s.of == p.e.Objective.Name {
			p.e.Objective.Set = map[string]float64{s.key: v}
		}
	}
	o, err := parseOwn(ours)
	if err != nil {
		return err
	}
	if err := p.levels(pandas, o.Levels); err != nil {
		return err
	}
	p.own(o)
	return nil
}

// setting reads "key: value" of the parameters.
func (p *parser) setting(line []byte) {
	key, value, _ := bytes.Cut(line, []byte(": "))
	for _, s := range settings {
		if v, ok := float(value); ok && string(key) == s.key && !math.IsInf(v, 0) && v == v {
			p.params[s.key] = v
		}
	}
}

// complete checks what can be known only of the whole file.
func (p *parser) complete() error {
	n := len(p.e.Trees)
	if n%p.e.Group != 0 {
		return fmt.Errorf("%d trees, want a multiple of num_tree_per_iteration, which is %d: %w", n, p.e.Group, tree.ErrTrees)
	}
	if !p.ended && n == 0 {
		return fmt.Errorf("no tree and no line %q, want one: the file is cut: %w", endOfTrees, tree.ErrTrees)
	}
	v, told := p.head["tree_sizes"]
	if !told {
		if !p.ended {
			p.note("no line %q and no tree_sizes: whether trees are missing at the end cannot be known", endOfTrees)
		}
		return p.check()
	}
	sizes := 0
	wrong := -1
	err := v.split(func(word []byte) error {
		size, read, ok := number.ParseInt64(word)
		if read != len(word) || !ok {
			return v.fail("has %q as value %d, want a number", cut(word), sizes)
		}
		if sizes < n && size != p.sizes[sizes].lf && size != p.sizes[sizes].asIs && wrong < 0 {
			wrong = sizes
		}
		sizes++
		return nil
	})
	switch {
	case err != nil:
		return err
	case sizes != n:
		return v.fail("says %d trees, and there are %d: %w", sizes, n, tree.ErrTrees)
	case !p.ended:
		return fmt.Errorf("no line %q behind the trees, want one: the file is cut: %w", endOfTrees, tree.ErrTrees)
	case wrong >= 0:
		p.notes = append(p.notes, format.Problem(fmt.Sprintf("line %d: tree_sizes has another size for tree %d than its %d bytes: "+
			"LightGBM refuses the file; thole convert writes it again", v.line, wrong, p.sizes[wrong].asIs)))
	}
	return p.check()
}

func (p *parser) check() error {
	if err := p.e.Check(); err != nil {
		return err
	}
	if e := p.e.Objective; p.head["objective"].text != nil && !known(e.Name) {
		p.note("the objective %q is not known: predictions are scores", e.Name)
	}
	return nil
}
