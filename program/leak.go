package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"thole.example/format"
)

// trainingAttrs are attributes that only training needs, or that say where and by what source the model was trained.
func trainingAttrs() []string {
	return []string{"op_callstack", "op_role", "op_role_var", "op_namescope", "op_device", "with_quant_attr"}
}

// Leak is what a topology holds of one attribute that only training needs.
type Leak struct {
	Attr  string
	Ops   int    // operators that have it
	Bytes int    // of the file, with names, tags and lengths; 0 in PIR
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
				if slices.Contains(trainingAttrs(), a.Name) {
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
	for _, l := range of {
		leaks = append(leaks, *l)
	}
	slices.SortFunc(leaks, func(a, b Leak) int {
		if a.Bytes != b.Bytes {
			return b.Bytes - a.Bytes
		}
		return bytes.Compare([]byte(a.Attr), []byte(b.Attr))
	})
	return leaks, len(data), nil
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

// Scrub is a copy of the program without what only training needs: the attributes op_callstack, op_role, op_role_var,
// op_namescope, op_device and with_quant_attr of all operators. Variables, operators and their other attributes stay as
// they are, so that the copy computes the same.
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
		o.Attrs = slices.DeleteFunc(o.Attrs, func(a *OpDesc_Attr) bool {
			return slices.Contains(trainingAttrs(), a.GetName())
		})
	}
	if data, err = q.Encode(); err != nil {
		return nil, err
	}
	return Decode(data)
}

// scrubPIR removes the attributes from the JSON text. A text that has none of them stays byte for byte as it was.
func (p *Program) scrubPIR() (*Program, error) {
	dec := json.NewDecoder(bytes.NewReader(p.text))
	dec.UseNumber() // numbers keep their digits
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("%w: %w", format.ErrCorrupt, err)
	}
	removed := 0
	scrubTree(tree, &removed)
	if removed == 0 {
		return Decode(p.text)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return Decode(out.Bytes())
}

// scrubTree walks over the JSON values; attributes are objects with a name N in a list A, OA, DA or QA.
func scrubTree(v any, removed *int) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			scrubTree(one, removed)
		}
	case map[string]any:
		if attrs, ok := v["A"].([]any); ok {
			kept := slices.DeleteFunc(attrs, func(a any) bool {
				m, _ := a.(map[string]any)
				attr, _ := m["N"].(string)
				return slices.Contains(trainingAttrs(), attr)
			})
			*removed += len(attrs) - len(kept)
			v["A"] = kept
		}
		for _, one := range v {
			scrubTree(one, removed)
		}
	}
}
