package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"go.yaml.in/yaml/v4"
)

// jsonOf is a YAML document as JSON, with everything in the line in which it stands in the YAML, so that who reads the JSON can
// say where something is. Aliases and tags of one's own are refused: no job needs them, and aliases of aliases are without bound.
func jsonOf(name string, src []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil || len(doc.Content) == 0 {
		if bad := (*yaml.LoadError)(nil); errors.As(err, &bad) && bad.Mark.Line > 0 {
			return nil, fmt.Errorf("%s:%d: %s", name, bad.Mark.Line, bad.Message)
		}
		return nil, fmt.Errorf("%s: none or several YAML documents, want one", name)
	}
	w := jsonWriter{line: 1}
	if err := w.node(doc.Content[0]); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return w.out, nil
}

// jsonWriter writes nodes of YAML as JSON.
type jsonWriter struct {
	out  []byte
	line int
}

// to goes on to the line of the node.
func (w *jsonWriter) to(n *yaml.Node) {
	for ; w.line < n.Line; w.line++ {
		w.out = append(w.out, '\n')
	}
}

func (w *jsonWriter) node(n *yaml.Node) error {
	w.to(n)
	if n.Style&yaml.TaggedStyle != 0 {
		return fmt.Errorf("%d: a value with the tag %s, want one without", n.Line, n.ShortTag())
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.list(n, "{:", "}")
	case yaml.SequenceNode:
		return w.list(n, "[,", "]")
	case yaml.ScalarNode:
		return w.scalar(n)
	}
	return fmt.Errorf("%d: an alias (*%s), want the value itself", n.Line, n.Value)
}

// list writes the parts of a node between brackets; the second letter of open stands between a key and its value.
func (w *jsonWriter) list(n *yaml.Node, open, end string) error {
	w.out = append(w.out, open[0])
	for i, part := range n.Content {
		switch {
		case i%2 == 1:
			w.out = append(w.out, open[1])
		case i > 0:
			w.out = append(w.out, ',')
		}
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			if err := w.node(part); err != nil {
				return err
			}
			continue
		}
		w.to(part)
		if part.Kind != yaml.ScalarNode || part.Style&yaml.TaggedStyle != 0 || part.ShortTag() == "!!merge" {
			return fmt.Errorf("%d: a key that is no word, want the name of a setting", part.Line)
		}
		w.text(part.Value)
	}
	w.out = append(w.out, end...)
	return nil
}

func (w *jsonWriter) text(s string) {
	text, _ := json.Marshal(s) // a string always can be
	w.out = append(w.out, text...)
}

func (w *jsonWriter) scalar(n *yaml.Node) error {
	var v any
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp": // a date is a word here
		w.text(n.Value)
		return nil
	case "!!null", "!!bool", "!!int", "!!float":
		if err := n.Decode(&v); err != nil {
			return fmt.Errorf("%d: %s, want a value", n.Line, n.Value)
		}
	default:
		return fmt.Errorf("%d: a value with the tag %s, want one without", n.Line, tag)
	}
	if f, ok := v.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return fmt.Errorf("%d: %s, want a finite number", n.Line, n.Value)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%d: %s: %w", n.Line, n.Value, err)
	}
	w.out = append(w.out, text...)
	return nil
}

// yamlOf is a value as YAML, as encoding/json sees it, with lines of comment in front.
func yamlOf(v any, comment string) ([]byte, error) {
	src, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil { // JSON is YAML
		return nil, err
	}
	unfold(&doc)
	doc.HeadComment = comment
	out, err := yaml.Dump(&doc)
	return append(bytes.TrimRight(out, "\n"), '\n'), err
}

// unfold makes nodes stand in lines of their own, but for lists of words and numbers.
func unfold(n *yaml.Node) {
	flat := n.Kind == yaml.SequenceNode
	for _, part := range n.Content {
		unfold(part)
		flat = flat && part.Kind == yaml.ScalarNode
	}
	if n.Style = 0; flat {
		n.Style = yaml.FlowStyle
	}
}
