package paddle

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"thole.example/format"
)

// plainFile is the name of the file beside the matrices with the values that are no arrays, by name.
const plainFile = "values.json"

const (
	maxDepth   = 32 // of dictionaries, lists and tuples within each other
	shownPlain = 16 // values that are no arrays, in notes
)

// collector finds the arrays in what a pickle built.
type collector struct {
	l       *listing
	names   map[string]string // of variables
	slices  map[string]string // name of a slice to the name of the whole
	wholes  map[string]*ndarray
	parts   map[string][]*ndarray
	visited int
	limit   int // of visited
	plain   map[string]any
}

func (c *collector) fail(text string, args ...any) {
	c.l.scan.failAt(c.l.scan.off-1, text, args...)
}

// visit adds the arrays in v, whose name is path.
func (c *collector) visit(path string, v any, depth int) {
	if c.visited++; c.visited > c.limit || depth > maxDepth {
		c.fail("more than %d values, or %d within each other: %w", c.limit, maxDepth, format.ErrLimit)
	}
	if c.l.scan.err != nil {
		return
	}
	switch v := v.(type) {
	case *ndarray:
		c.array(path, c.names[path], v)
	case *dict:
		for _, p := range v.items {
			switch {
			case depth == 0 && (p.key == keyNames || p.key == keySliced):
			case depth == 0 && c.slices[p.key] != "":
				c.slice(p.key)
			default:
				c.visit(join(path, v.name(p)), p.value, depth+1)
			}
		}
	case *tuple:
		if name, a, ok := namedTensor(v); ok {
			if path == "" {
				path, name = name, ""
			}
			c.array(path, name, a)
			return
		}
		c.items(path, v.items, depth)
	case *list:
		c.items(path, v.items, depth)
	default:
		c.note(path, v)
	}
}

func (c *collector) items(path string, items []any, depth int) {
	for i, item := range items {
		c.visit(join(path, numbered(i, len(items))), item, depth+1)
	}
}

// namedTensor is the form that a tensor has outside of a state dictionary: its name, then its values.
func namedTensor(t *tuple) (name string, a *ndarray, ok bool) {
	if len(t.items) != 2 {
		return "", nil, false
	}
	name, named := word(t.items[0])
	a, ok = t.items[1].(*ndarray)
	return name, a, ok && named
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "/" + key
}

// note remembers a value that is no array, and tells of it.
func (c *collector) note(path string, v any) {
	shown := kindOf(v)
	c.plain[path] = shown
	switch v := v.(type) {
	case nil:
		c.plain[path] = nil
	case bool, int64, float64:
		shown = fmt.Sprint(v)
		c.plain[path] = v
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			c.plain[path] = shown // as JSON has no number for it
		}
	case *text:
		if v.kept && len(v.held) <= 80 {
			shown = strconv.Quote(v.held)
		}
		if v.kept {
			c.plain[path] = v.held
		}
	}
	if len(c.plain) <= shownPlain {
		c.l.note("%q is no array: %s", path, shown)
	}
}

// keepPlain makes a file of the values that are no arrays.
func (c *collector) keepPlain() {
	if c.l.scan.err != nil || len(c.plain) == 0 {
		return
	}
	if n := len(c.plain) - shownPlain; n > 0 {
		c.l.note("%d more values that are no arrays", n)
	}
	data, err := json.MarshalIndent(c.plain, "", "  ")
	if err != nil {
		c.fail("values that are no arrays: %w", err)
		return
	}
	c.l.files = map[string][]byte{plainFile: append(data, '\n')}
}
