package kubernetes

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// object is an object of YAML whose keys have an order. Fields that say nothing are left out when it is written: "", false, and objects and
// lists that are empty.
type object []field

type field struct {
	key   string
	value any // string, bool, int, int64, object, []object, []string, []int, empty or always
}

// empty is an object that is written though nothing is in it.
type empty struct{}

// orEmpty is the object, which is written even if it says nothing.
func (o object) orEmpty() any {
	if len(o.node().Content) == 0 {
		return empty{}
	}
	return o
}

// always is a value that is written even if it is false, 0 or an empty text.
type always struct{ value any }

// node is the object as YAML has it.
func (o object) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range o {
		if value := node(f.value); value != nil {
			n.Content = append(n.Content, scalar("!!str", f.key), value)
		}
	}
	return n
}

func scalar(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// plain are texts that nobody takes for something else. What we write is YAML 1.2, but kubectl reads 1.1, where yes is true, and 1:30 a
// number.
var plain = regexp.MustCompile(`^(--|[/A-Za-z])`)

// words are texts that are no words in YAML 1.1.
var words = regexp.MustCompile(`^(?i)(y|yes|n|no|on|off|true|false|null)$`)

// text is a text, in quotes if somebody could take it for something else.
func text(v string) *yaml.Node {
	n := scalar("!!str", v)
	if !strings.Contains(v, "\n") && (!plain.MatchString(v) || words.MatchString(v)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// node is a value as YAML has it; nil: it says nothing.
func node(value any) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	switch v := value.(type) {
	case always:
		switch v := v.value.(type) {
		case bool:
			return scalar("!!bool", strconv.FormatBool(v))
		case string:
			return text(v)
		}
		return scalar("!!int", fmt.Sprint(v.value))
	case empty:
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	case string:
		if v != "" {
			return text(v)
		}
	case bool:
		if v {
			return scalar("!!bool", "true")
		}
	case int:
		return scalar("!!int", strconv.Itoa(v))
	case int64:
		return scalar("!!int", strconv.FormatInt(v, 10))
	case object:
		if n := v.node(); len(n.Content) > 0 {
			return n
		}
	case []object:
		for _, one := range v {
			list.Content = append(list.Content, one.node())
		}
	case []int:
		for _, one := range v {
			list.Content = append(list.Content, scalar("!!int", strconv.Itoa(one)))
		}
	case []string:
		for _, one := range v {
			list.Content = append(list.Content, text(one))
		}
	}
	if len(list.Content) > 0 {
		return list
	}
	return nil
}

// Object is an object of the API.
type Object struct {
	Kind, Name string
	resource   resource
	namespace  string
	body       object
}

// own makes another object, which is there, the owner of the object: it goes with that one.
func (o *Object) own(version, kind, name, uid string) {
	owner := object{{"apiVersion", version}, {"kind", kind}, {"name", name}, {"uid", uid}}
	for i := range o.body {
		if metadata, is := o.body[i].value.(object); is && o.body[i].key == "metadata" {
			o.body[i].value = append(slices.Clone(metadata), field{"ownerReferences", []object{owner}})
		}
	}
}

// YAML is the object as text.
func (o *Object) YAML() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(o.body.node()); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// Write writes objects as kubectl apply takes them, with a head of comments.
func Write(w io.Writer, head string, all []Object) error {
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	for i := range all {
		text, err := all[i].YAML()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}
