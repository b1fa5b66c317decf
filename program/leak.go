package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"thole.example/format"
)

// TrainingAttr is an attribute of operators that only training needs, or that says how a model came about.
type TrainingAttr struct {
	Name  string
	Tells string
	Forms string // which topologies have it
}

// TrainingAttrs is the table of such attributes. Nothing that computes reads them.
func TrainingAttrs() []TrainingAttr {
	return []TrainingAttr{
		{"op_callstack", "paths of the host and lines of its source", "ProgramDesc"},
		{"op_namescope", "names of scopes", "ProgramDesc"},
		{"struct_name", "names of the classes of layers", "PIR"},
		{"op_device", "devices of the training", "ProgramDesc"},
		{"op_role", "parts of the training", "ProgramDesc"},
		{"op_role_var", "names of parameters and their gradients", "ProgramDesc"},
		{"with_quant_attr", "steps of quantization", "ProgramDesc"},
	}
}

// ofTraining reports whether the table has the attribute.
func ofTraining(attr string) bool {
	return slices.ContainsFunc(TrainingAttrs(), func(a TrainingAttr) bool { return a.Name == attr })
}

// Leak is what a topology holds of one attribute that only training needs.
type Leak struct {
	Attr  string
	Ops   int    // operators that have it
	Bytes int    // of the file, with names, tags and lengths, or the marks of JSON
	Text  int    // of these the bytes of text: paths, source lines, names
	Shown string // the first value that is not empty, shortened
}

// Leaks says what the topology holds of its training, in the order of the bytes that it takes, and of how many bytes the
// whole is.
func (p *Program) Leaks() (leaks []Leak, whole int, err error) {
	data, err := p.Encode()
	if err != nil {
		return nil, 0, err
	}
	of := map[string]*Leak{}
	for _, b := range p.Blocks {
		for i := range b.Ops {
			for _, a := range b.Ops[i].Attrs {
				if ofTraining(a.Name) {
					if of[a.Name] == nil {
						of[a.Name] = &Leak{Attr: a.Name}
					}
					of[a.Name].add(a)
				}
			}
		}
	}
	p.eachAttr(func(a *OpDesc_Attr) {
		if l := of[a.GetName()]; l != nil {
			n := proto.Size(a)
			l.Bytes += protowire.SizeTag(4) + protowire.SizeBytes(n)
		}
	})
	if p.Form == FormPIR {
		_, err = p.leanTree(func(name string, size int) {
			if of[name] == nil { // on a parameter
				of[name] = &Leak{Attr: name, Ops: 1}
			}
			of[name].Bytes += size
		})
	}
	for _, l := range of {
		leaks = append(leaks, *l)
	}
	slices.SortFunc(leaks, func(a, b Leak) int {
		if a.Bytes != b.Bytes {
			return b.Bytes - a.Bytes
		}
		return bytes.Compare([]byte(a.Attr), []byte(b.Attr))
	})
	return leaks, len(data), err
}

func (l *Leak) add(a Attr) {
	l.Ops++
	text := 0
	switch v := a.Value.(type) {
	case string:
		text = len(v)
	case []string:
		for _, line := range v {
			text += len(line)
		}
	}
	l.Text += text
	if l.Shown == "" && text > 1 { // "/" is the name of no scope
		l.Shown = a.Text()
	}
}

// opDescs are the messages of all operators.
func (p *Program) opDescs() (all []*OpDesc) {
	for _, b := range p.desc.GetBlocks() {
		all = append(all, b.Ops...)
	}
	for _, b := range p.early.GetBlocks() {
		all = append(all, b.Ops...)
	}
	return all
}

func (p *Program) eachAttr(f func(a *OpDesc_Attr)) {
	for _, o := range p.opDescs() {
		for _, a := range o.Attrs {
			f(a)
		}
	}
}

// Scrub is a copy of the program without what only training needs, the attributes of the table. Variables with their
// names, operators and their other attributes stay as they are, so that the copy computes the same.
func (p *Program) Scrub() (*Program, error) {
	if p.Form == FormPIR {
		return p.scrubPIR()
	}
	data, err := p.Encode()
	if err != nil {
		return nil, err
	}
	q, err := Decode(data)
	if err != nil {
		return nil, err
	}
	for _, o := range q.opDescs() {
		o.Attrs = slices.DeleteFunc(o.Attrs, func(a *OpDesc_Attr) bool { return ofTraining(a.GetName()) })
	}
	if data, err = q.Encode(); err != nil {
		return nil, err
	}
	return Decode(data)
}

// scrubPIR removes the attributes from the JSON text. A text that has none of them stays byte for byte as it was.
func (p *Program) scrubPIR() (*Program, error) {
	removed := 0
	tree, err := p.leanTree(func(string, int) { removed++ })
	if err != nil {
		return nil, err
	}
	if removed == 0 {
		return Decode(p.text)
	}
	text, err := jsonText(tree)
	if err != nil {
		return nil, err
	}
	return Decode(text)
}

// leanTree is the JSON of PIR without the attributes; removed gets the name and size of each.
func (p *Program) leanTree(removed func(name string, size int)) (tree any, err error) {
	dec := json.NewDecoder(bytes.NewReader(p.text))
	dec.UseNumber() // numbers keep their digits
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("%w: %w", format.ErrCorrupt, err)
	}
	return tree, scrubTree(tree, removed)
}

// jsonText writes JSON on one line, as Paddle does.
func jsonText(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// scrubTree walks over the JSON values; attributes are objects with a name N in a list A.
func scrubTree(v any, removed func(name string, size int)) error {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if err := scrubTree(one, removed); err != nil {
				return err
			}
		}
	case map[string]any:
		if attrs, ok := v["A"].([]any); ok {
			kept := []any{}
			for _, a := range attrs {
				m, _ := a.(map[string]any)
				attr, _ := m["N"].(string)
				if !ofTraining(attr) {
					kept = append(kept, a)
					continue
				}
				text, err := jsonText(a)
				if err != nil {
					return err
				}
				removed(attr, len(text)+1) // with a comma
			}
			v["A"] = kept
		}
		for _, one := range v {
			if err := scrubTree(one, removed); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stems are the beginnings of the names of variables, up to the first dot, sorted: what Scrub leaves of names that may
// tell something. Paddle calls variables after the classes of layers (secret_tower_0.w_0), unless they were given a name.
// Values of PIR that have only a number are not among them.
func (p *Program) Stems() []string {
	seen := map[string]bool{}
	for _, b := range p.Blocks {
		for _, v := range b.Vars {
			stem, _, _ := strings.Cut(v.Name, ".")
			numbered := p.Form == FormPIR && strings.HasPrefix(v.Name, "%")
			if !numbered && !slices.Contains(notSaved(), v.Kind) {
				seen[stem] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
