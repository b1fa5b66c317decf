package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"thole.example/internal/spell"
	"thole.example/search"
)

// searchable is a flag of train that a search may draw. Settings of rules and schedules are named with a dot: hyper.eps.
type searchable struct {
	flag  string
	log   bool // ranges are drawn by their logarithm unless they say otherwise
	times bool // multiples of the default have a meaning
}

// searchables is the table of such flags: those that say how a training goes, and not what it is of or how it is measured.
func searchables() []searchable {
	return []searchable{
		{"rate", true, true}, {"batch", true, true}, {"epochs", false, true}, {"trees", false, true}, {"depth", false, false},
		{"leaves", false, false}, {"min-child-weight", true, false}, {"gamma", true, false}, {"max-delta-step", true, false},
		{"subsample", false, false}, {"colsample", false, false}, {"drop-rate", false, false},
		{"skip-drop", false, false}, {"bins", false, false}, {"cat-smooth", true, false}, {"cat-l2", true, false},
		{"l1", true, false}, {"l2", true, false}, {"clip", true, false}, {"init-scale", true, false},
		{"factors", false, false}, {"hidden", false, false}, {"dropout", false, false}, {"cross-layers", false, false},
		{"rank", false, false}, {"rule", false, false}, {"schedule", false, false}, {"schedule-per", false, false},
		{"init", false, false}, {"pos-neg", false, false}, {"hyper", true, false}, {"schedule-set", true, false},
	}
}

// findSearchable is the entry of a parameter, and the flag that it is of.
func findSearchable(name string) (*searchable, error) {
	flag, setting, nested := strings.Cut(name, ".")
	all := searchables()
	names := make([]string, len(all))
	for i := range all {
		settings := all[i].flag == "hyper" || all[i].flag == "schedule-set"
		if all[i].flag == flag && nested == settings && (!nested || setting != "") {
			return &all[i], nil
		}
		if names[i] = all[i].flag; settings {
			names[i] += ".NAME"
		}
	}
	return nil, fmt.Errorf("%q cannot be searched, want one of %s%s", name, strings.Join(names, " "), spell.Hint(name, names))
}

// spaceReader reads parameters, and checks each value as the flag would take it.
type spaceReader struct {
	flags *pflag.FlagSet
	space []search.Param
}

func newSpaceReader() *spaceReader {
	c := &cobra.Command{Use: "train"}
	trainFlags(&env{}, c)
	return &spaceReader{flags: c.Flags()}
}

// add adds a parameter that check takes.
func (r *spaceReader) add(p search.Param, s *searchable) error {
	if slices.ContainsFunc(r.space, func(o search.Param) bool { return o.Name == p.Name }) {
		return errors.New("twice, want it once")
	}
	if p.Times && !s.times {
		return fmt.Errorf("multiples of the default are of %s alone", strings.Join(timesNames(), ", "))
	}
	if len(p.Values) == 0 && !slices.Contains([]string{"int", "float64", "stringToString"}, r.flags.Lookup(s.flag).Value.Type()) {
		return errors.New("a range, and it is no number: want values")
	}
	for _, value := range p.Values {
		if value == search.Default {
			continue
		}
		if times, ok := strings.CutSuffix(value, "x"); ok && s.times {
			if err := new(search.Param).Range(times, times); err == nil {
				continue
			}
		}
		if err := setFlag(r.flags, settingOfParam(search.Setting{Name: p.Name, Value: value})); err != nil {
			return err
		}
	}
	r.space = append(r.space, p)
	return nil
}

func timesNames() (names []string) {
	for _, s := range searchables() {
		if s.times {
			names = append(names, s.flag)
		}
	}
	return names
}

// text adds a parameter as --param has it: NAME=VALUES.
func (r *spaceReader) text(text string) error {
	name, values, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("%q, want NAME=VALUES, such as rate=0.001..0.3 or factors=8,16,32", text)
	}
	s, err := findSearchable(name)
	if err != nil {
		return err
	}
	p, err := search.Parse(name, values, r.flags.Lookup(s.flag).Value.Type() == "int", s.log)
	if err == nil && p.Log && p.Min <= 0 && len(p.Values) == 0 {
		err = errors.New("want numbers above 0")
	}
	if err == nil {
		err = r.add(p, s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// file adds the parameters of a file: NAME: [VALUES], or NAME: {min: ..., max: ..., log: ..., int: ...}.
func (r *spaceReader) file(ctx context.Context, e *env, path string) error {
	src, err := e.small(ctx, path)
	if err != nil {
		return err
	}
	if len(src) > yamlLimit {
		return fmt.Errorf("%s: more than %d bytes, want a space in YAML", path, yamlLimit)
	}
	if _, err := jsonOf(path, src); err != nil { // which says what is no YAML, and refuses aliases and tags
		return err
	}
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil {
		return err
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: want names of settings, each with its values: rate: {min: 0.001, max: 0.3}", path, root.Line)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		s, err := findSearchable(key.Value)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, key.Line, err)
		}
		p, line, err := r.node(key.Value, s, root.Content[i+1])
		if err == nil {
			line, err = key.Line, r.add(p, s)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %s: %w", path, line, key.Value, err)
		}
	}
	return nil
}

// node is a parameter of a file; an error is of the line.
func (r *spaceReader) node(name string, s *searchable, n *yaml.Node) (p search.Param, line int, err error) {
	p = search.Param{Name: name, Log: s.log, Int: r.flags.Lookup(s.flag).Value.Type() == "int"}
	switch n.Kind {
	case yaml.ScalarNode:
		p.Values = []string{n.Value}
		return p, n.Line, nil
	case yaml.SequenceNode:
		for _, item := range n.Content {
			value, err := listed(item)
			if err != nil {
				return p, item.Line, err
			}
			p.Values = append(p.Values, value)
		}
		if len(p.Values) == 0 {
			return p, n.Line, errors.New("no values, want at least one")
		}
		return p, n.Line, nil
	}
	var low, high string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		line := value.Line
		switch {
		case value.Kind != yaml.ScalarNode:
			return p, line, fmt.Errorf("%s is no single value, want one", key)
		case key == "min":
			low = value.Value
		case key == "max":
			high = value.Value
		case (key == "log" || key == "int") && value.Value != "true" && value.Value != "false":
			return p, line, fmt.Errorf("%s is %q, want true or false", key, value.Value)
		case key == "log":
			p.Log = value.Value == "true"
		case key == "int":
			p.Int = p.Int || value.Value == "true"
		default:
			known := []string{"min", "max", "log", "int"}
			return p, n.Content[i].Line, fmt.Errorf("%q, want %s%s", key, strings.Join(known, ", "), spell.Hint(key, known))
		}
	}
	return p, n.Line, p.Range(low, high)
}

// listed is a value of a list: sizes of layers are a list themselves.
func listed(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	var parts []string
	for _, part := range n.Content {
		if n.Kind != yaml.SequenceNode || part.Kind != yaml.ScalarNode {
			return "", errors.New("want values, or lists of values such as [64, 32]")
		}
		parts = append(parts, part.Value)
	}
	return strings.Join(parts, ","), nil
}

// defaultSpace is what is searched where nobody says what. Parameters that a network does not have are left out, and those that
// the user gave.
type defaultSpace struct {
	of     string // what it is for
	params []string
}

// The places of defaultSpaces.
const (
	linearFew = iota
	linearMany
	networkFew
	networkMany
	ownNetwork
	forestSpace
)

// defaultSpaces is the table of them; docs/search.md shows it.
func defaultSpaces() []defaultSpace {
	return []defaultSpace{
		linearFew: {"linear models, few features", []string{"rule=default,default,adagrad", "rate=0.1x..3x", "l2=1e-7..1e-3",
			"batch=0.25x,1x"}},
		linearMany: {"linear models, many features", []string{"rule=adagrad", "rate=0.3x..2x", "l2=1e-7..1e-4", "epochs=6",
			"batch=0.25x,0.5x,1x,2x"}},
		networkFew: {"networks, few features", []string{"rate=0.2x..2x", "l2=1e-5..1e-2", "epochs=1x,2x,3x", "factors=4,8,16",
			"hidden=default|default|64,32|256,128", "dropout=0,0,0.1,0.3", "cross-layers=1,2,3", "batch=0.5x,1x,2x"}},
		networkMany: {"networks, many features", []string{"rate=0.3x..2x", "l2=1e-6..1e-3", "epochs=4", "factors=8,16,32",
			"hidden=default|256,128|400,400", "dropout=0,0,0.1", "cross-layers=2,3,4", "batch=0.5x,1x"}},
		ownNetwork: {"networks of --graph", []string{"rate=0.1x..3x", "epochs=1x,2x", "batch=0.5x,1x,2x"}},
		forestSpace: {"boosted trees", []string{"rate=0.3x..2x", "trees=1x,2x,4x", "depth=3..9", "min-child-weight=0.3..30", "l2=0.1..30",
			"subsample=1,1,0.8,0.6", "colsample=1,1,0.8,0.5"}},
	}
}

// spaceOf is the default space of a plan whose examples are read. What its user gave stays; what files say is where a search begins.
func (p *plan) spaceOf(user []setting) ([]search.Param, error) {
	kind := linearFew
	switch {
	case p.forest != nil:
		kind = forestSpace
	case p.own != nil:
		kind = ownNetwork
	case p.recipe.Network() && p.manyFeatures():
		kind = networkMany
	case p.recipe.Network():
		kind = networkFew
	case p.manyFeatures():
		kind = linearMany
	}
	r := newSpaceReader()
	for _, text := range defaultSpaces()[kind].params {
		name, _, _ := strings.Cut(text, "=")
		if gives(user, name) || p.lacks(name) {
			continue
		}
		if err := r.text(text); err != nil {
			return nil, err
		}
	}
	return r.space, nil
}

// lacks reports whether the network or the rule of the plan has no use for a setting.
func (p *plan) lacks(name string) bool {
	if p.forest != nil {
		return false
	}
	size := p.recipe.Sizes
	switch name {
	case "factors":
		return size.Factors == 0
	case "hidden", "dropout":
		return size.Hidden == nil
	case "cross-layers":
		return size.Depth == 0
	case "l2":
		return !ruleHas(p.recipe.For(nil, p.asked.rule).Rule, name)
	case "batch":
		return p.updates > 0
	case "rule":
		return p.given("rule") || p.given("hyper")
	}
	return false
}
