package paddle

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// Names with a meaning in Paddle's state dictionaries.
const (
	keyNames  = "StructuredToParameterName@@" // names in the model to names of variables
	keySliced = "UnpackBigParamInfor@@"       // names to the shape and the slices of a large array
)

// attrParameter is the key in Meta.Attrs of the name that a tensor has as a variable, where it differs.
const attrParameter = "paddle.parameter"

// stateDict is a pickle of protocol 2 to 5 as paddle.save writes it for .pdparams and .pdopt: a dictionary of NumPy
// arrays. A machine reads it that knows only the operations and globals of its tables, and calls none of them; any other is
// refused by name.
//
// The table of names becomes the attribute paddle.parameter; slices of large arrays are joined; dictionaries, lists and
// tuples within the dictionary give names with a slash. Other values (a step, a learning rate) are noted, and kept as the
// file values.json beside the matrices.
var stateDict = layout{name: "pickle", like: likePickle, walk: walkPickle}

func likePickle(head []byte, _ int64) bool {
	return len(head) >= 2 && head[0] == 0x80 && head[1] < 16
}

func walkPickle(l *listing) {
	s := l.scan
	m := &pickle{s: s, l: l}
	top := m.run()
	l.end("the pickle")
	if s.err != nil {
		return
	}
	// A value that is there several times is looked at so often: few are, such as weights of two layers in one.
	c := collector{l: l, names: map[string]string{}, slices: map[string]string{}, plain: map[string]any{}, limit: 1000 + 2*m.objects}
	c.tables(top)
	c.visit("", top, 0)
	if _, alone := top.(*ndarray); alone && len(l.tensors) == 1 {
		l.tensors[0].meta.Unnamed = true
	}
	if s.err == nil && len(l.tensors) == 0 && l.refused == nil {
		s.failAt(s.off-1, "a pickle without an array, want a dictionary of them")
	}
	c.keepPlain()
	if slices.ContainsFunc(l.tensors, func(t stored) bool { return t.meta.DType == matrix.BF16 }) {
		l.note("arrays of u2 are read as bf16, as Paddle reads them")
	}
}

// tables reads the entries with a meaning of their own.
func (c *collector) tables(top any) {
	d, ok := top.(*dict)
	if !ok {
		return
	}
	if v, ok := d.get(keyNames); ok {
		names, ok := v.(*dict)
		if !ok {
			c.fail("%s is %s, want a dictionary", keyNames, kindOf(v))
			return
		}
		for _, p := range names.items {
			if c.names[p.key], ok = word(p.value); !ok {
				c.fail("%s of %q is %s, want a name", keyNames, p.key, kindOf(p.value))
			}
		}
	}
	v, ok := d.get(keySliced)
	if !ok {
		return
	}
	sliced, ok := v.(*dict)
	if !ok {
		c.fail("%s is %s, want a dictionary", keySliced, kindOf(v))
		return
	}
	c.wholes, c.parts = map[string]*ndarray{}, map[string][]*ndarray{}
	for _, p := range sliced.items {
		c.sliced(d, p.key, p.value)
	}
}

// sliced reads the shape of a whole, and finds its slices.
func (c *collector) sliced(top *dict, whole string, info any) {
	d, ok := info.(*dict)
	if !ok {
		c.fail("slices of %q are %s, want a dictionary", whole, kindOf(info))
		return
	}
	shape, _ := d.get("OriginShape")
	dims, okDims := itemsOf(shape)
	list, _ := d.get("slices")
	parts, okParts := itemsOf(list)
	if !okDims || !okParts || len(parts) == 0 || len(dims) > maxNumpyRank {
		c.fail("slices of %q without shape or names", whole)
		return
	}
	a := &ndarray{built: true}
	for _, v := range dims {
		n, ok := v.(int64)
		if !ok {
			c.fail("shape of %q has %s, want numbers", whole, kindOf(v))
		}
		a.dims = append(a.dims, n)
	}
	for _, v := range parts {
		name, _ := word(v)
		value, _ := top.get(name)
		part, ok := value.(*ndarray)
		if !ok || !part.built || a.kind != nil && *part.kind != *a.kind {
			c.fail("slice %q of %q is %s, want an array of the same type as the others", name, whole, kindOf(value))
			return
		}
		if of, twice := c.slices[name]; twice {
			c.fail("%q as a slice of %q and of %q, want it once", name, of, whole)
			return
		}
		a.kind = part.kind
		c.slices[name] = whole
		c.parts[whole] = append(c.parts[whole], part)
	}
	if _, _, err := matrix.Shape(a.dims); err != nil {
		c.fail("slices of %q: %w", whole, err)
		return
	}
	c.wholes[whole] = a
}

// slice adds the whole where its first slice stands.
func (c *collector) slice(part string) {
	whole := c.slices[part]
	a, parts := c.wholes[whole], c.parts[whole]
	if a == nil {
		return // it is there already
	}
	delete(c.wholes, whole)
	n := int64(0)
	for _, p := range parts {
		n += p.size()
		if p.fortran && len(p.dims) > 1 {
			c.fail("slice of %q in Fortran order, want one dimension", whole)
		}
	}
	rows, cols, _ := matrix.Shape(a.dims)
	if size, ok := matrix.Cells(rows*cols, a.kind.size); !ok || size != n {
		c.fail("slices of %q have %d bytes, want %d for shape %v", whole, n, size, a.dims)
	}
	c.tensor(whole, c.names[whole], a, parts)
}

func (c *collector) array(path, parameter string, a *ndarray) {
	if path == "" {
		path = c.l.file
	}
	if !a.built {
		c.fail("array %q without shape and values", path)
		return
	}
	c.tensor(path, parameter, a, []*ndarray{a})
}

// tensor adds an array whose values are those of the parts.
func (c *collector) tensor(name, parameter string, a *ndarray, parts []*ndarray) {
	l := c.l
	if len(name) > maxName || !utf8.ValidString(name) {
		c.fail("name %.80q of %d bytes, want UTF-8 of at most %d", name, len(name), maxName)
	}
	if l.scan.err != nil {
		return
	}
	off := parts[0].values.off
	e := a.kind.element
	if e.Pair() && a.fortran && len(a.dims) > 1 {
		l.refuse(off, &UnheldError{a.kind.name + " in Fortran order"})
		return
	}
	from, err := source(l, parts)
	if err != nil {
		l.scan.err = err
		return
	}
	m := matrix.Meta{Name: name, DType: e.Held(), Origin: e.Origin, Dims: e.Shape(a.dims)}
	m.Rows, m.Cols, err = matrix.Shape(m.Dims)
	if err != nil {
		c.fail("array %q: %w", name, err)
		return
	}
	if parameter != "" && parameter != name {
		m.Attrs = map[string]string{attrParameter: parameter}
	}
	slab := format.Slab{Name: name, At: m.Rect(), DType: m.DType, Order: a.kind.order, Off: off}
	if !a.fortran || e.Pair() {
		whole := format.ElementSlab{Slab: slab, Origin: e.Origin}
		l.add(off, stored{meta: m, values: off, blocks: slabBlocks(from, whole), view: viewSlab(from, whole)})
		return
	}
	turned := format.Fortran{Slab: slab, Dims: a.dims}
	l.add(off, stored{meta: m, values: off, blocks: func(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		return turned.Blocks(ctx, from, want)
	}})
}

// source reads the values of the parts, one behind the other, as if they began where the first one does.
func source(l *listing, parts []*ndarray) (io.ReaderAt, error) {
	if len(parts) == 1 && !parts[0].values.latin {
		return l.scan.r, nil
	}
	p := &pieces{base: parts[0].values.off}
	for _, a := range parts {
		v := a.values
		if !v.latin {
			p.add(l.scan.r, v.off, v.n)
			continue
		}
		if l.brief {
			continue
		}
		t, err := measure(l.scan.r, v.off, v.n)
		if err != nil {
			return nil, err
		}
		if t.size != a.size() {
			return nil, &wire.At{Off: v.off, Err: fmt.Errorf("%d bytes of values, want %d for shape %v", t.size, a.size(), a.dims)}
		}
		p.add(t, 0, t.size)
	}
	return p, nil
}
