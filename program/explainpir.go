package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"thole.example/dump"
)

// explainPIR prints a PIR text, every byte of it: lines for each operator and for each other value around them, each with
// what stands before it. What is no JSON is the rest.
func explainPIR(data []byte, p *dump.Printer) {
	e := pirExplainer{data: data, p: p, d: json.NewDecoder(bytes.NewReader(data))}
	e.walk("", 0)
	if e.done < len(data) {
		e.line(len(data), "the rest")
	}
}

// pirExplainer walks over the text, of which all before done is printed.
type pirExplainer struct {
	data []byte
	p    *dump.Printer
	d    *json.Decoder
	done int
	ops  int
}

// walk prints the value under the key, or what is in it; ok is false where the text is no JSON.
func (e *pirExplainer) walk(key string, depth int) (ok bool) {
	if e.p.Err() != nil || depth > maxNesting {
		return false
	}
	switch key {
	case "", "program":
		return e.inside('{', depth, e.member)
	case "regions", "blocks":
		return e.inside('[', depth, func(depth int) bool { return e.inside('{', depth, e.member) })
	case "ops":
		return e.inside('[', depth, func(int) bool { return e.operator() })
	}
	var value json.RawMessage
	if e.d.Decode(&value) != nil {
		return false
	}
	if key == "#" {
		key = "name"
	}
	e.line(int(e.d.InputOffset()), "%s", key)
	return true
}

// member walks over a key of an object and its value.
func (e *pirExplainer) member(depth int) bool {
	t, err := e.d.Token()
	key, isText := t.(string)
	return err == nil && isText && key != "" && e.walk(key, depth)
}

// inside walks over an object or a list.
func (e *pirExplainer) inside(open json.Delim, depth int, each func(depth int) bool) bool {
	if t, err := e.d.Token(); err != nil || t != open {
		return false
	}
	for e.d.More() {
		if !each(depth + 1) {
			return false
		}
	}
	_, err := e.d.Token()
	return err == nil
}

// operator prints one operator.
func (e *pirExplainer) operator() bool {
	var o struct {
		pirOp
		In  []json.RawMessage `json:"I"`
		Out json.RawMessage   `json:"O"`
	}
	if e.d.Decode(&o) != nil {
		return false
	}
	made := []pirValue{{}}
	if bytes.HasPrefix(o.Out, []byte("[")) && json.Unmarshal(o.Out, &made) != nil || len(o.Out) == 0 {
		made = nil
	}
	text := fmt.Sprintf("operator %d %s: %d operands, %d results", e.ops, opName(o.Name), len(o.In), len(made))
	if n := len(o.Regions); n > 0 {
		text += fmt.Sprintf(", %d regions", n)
	}
	e.ops++
	e.line(int(e.d.InputOffset()), "%s", text)
	return true
}

// lineBytes is how much of the text stands on one line.
const lineBytes = 64

// line prints all of the text up to there, with its meaning behind the first line of it.
func (e *pirExplainer) line(end int, meaning string, args ...any) {
	meaning = fmt.Sprintf(meaning, args...)
	for e.done < end && e.p.Err() == nil {
		next := min(end, e.done+lineBytes)
		for back := next; back > e.done && next-back < utf8.UTFMax && next < end; back-- {
			if utf8.RuneStart(e.data[back]) {
				next = back // letters stay whole
				break
			}
		}
		e.p.Text(int64(e.done), e.data[e.done:next], "%s", meaning)
		e.done, meaning = next, ""
	}
}
