package tree

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain is a name as people read it, on one line: in quotes where it has letters that are not printed.
func plain(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// name is that of a feature, or its number where it has none.
func (e *Ensemble) name(f int) string {
	if name := e.Features.At(f).Name; name != "" {
		return plain(name)
	}
	return fmt.Sprintf("feature %d", f)
}

// level is a level of a feature by name, or its number.
func (f *Feature) level(i int) string {
	if i < len(f.Levels) {
		return plain(f.Levels[i])
	}
	return strconv.Itoa(i)
}

// short is a number in as few digits as say which one of so many bits it is.
func short(v float64, bits int) string {
	if a := math.Abs(v); a >= 1e-4 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, bits)
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// levels are the names of the first levels of a set, and how many more there are.
func (f *Feature) levels(set []uint32, most int) string {
	var names []string
	n := 0
	for i, word := range set {
		n += bits.OnesCount32(word)
		for ; word != 0 && len(names) < most; word &= word - 1 {
			names = append(names, f.level(32*i+bits.TrailingZeros32(word)))
		}
	}
	switch {
	case n == 0:
		return "no level"
	case n == most+1: // its name is not longer than "1 more"
		return f.levels(set, most+1)
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// threshold is one as rows of the ensemble meet it: where their values are of 32 bits it is the largest of those that is not above it.
func (e *Ensemble) threshold(t float64) string {
	if e.Numbers == Float32 {
		return short(float64(Floor32(t)), 32)
	}
	return short(t, 64)
}

// question is what an inner node asks; a yes goes left.
func (e *Ensemble) question(t *Tree, node, levels int) string {
	f := int(t.Feature[node])
	if t.Kind[node]&Categorical != 0 {
		of := e.Features.At(f)
		return fmt.Sprintf("%s in %s", e.name(f), of.levels(t.Set(node), levels))
	}
	return fmt.Sprintf("%s <= %s", e.name(f), e.threshold(t.Threshold[node]))
}

// missing is where an inner node sends what is missing.
func (t *Tree) missing(node int) string {
	way := "no"
	if t.Kind[node]&DefaultLeft != 0 {
		way = "yes"
	}
	switch k := t.Kind[node]; {
	case k&Categorical != 0 && k&NaNMissing == 0:
		return "missing: no"
	case k&Categorical != 0:
		return "missing: " + way
	case k&ZeroMissing != 0:
		return "0 and missing: " + way
	case k&NaNMissing != 0:
		return "missing: " + way
	}
	return "missing as 0"
}

// stats are what training saw at a node or leaf, as far as it is known.
func (t *Tree) stats(child int32) string {
	var all []string
	if child >= 0 && t.Gain[child] != 0 {
		all = append(all, fmt.Sprintf("gain %.4g", t.Gain[child]))
	}
	if n := t.rows(child, false); n > 0 {
		all = append(all, fmt.Sprintf("%.0f rows", n))
	} else if w := t.rows(child, true); w > 0 {
		all = append(all, fmt.Sprintf("weight %.4g", w))
	}
	return strings.Join(all, ", ")
}

// root is the child that stands at the top.
func (t *Tree) root() int32 {
	if len(t.Feature) == 0 {
		return ^0
	}
	return 0
}

// below is how many leaves are below an inner node.
func (t *Tree) below(node int32) int {
	n, todo := 0, []int32{node}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; at < 0 {
			n++
			continue
		}
		todo = append(todo, t.Left[at], t.Right[at])
	}
	return n
}

// shorten cuts a text to so many letters.
func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
