package lightgbm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"thole.example/internal/number"
	"thole.example/tree"
)

// features reads what the header says of them.
func (p *parser) features() error {
	last, err := p.head.whole("max_feature_idx", 0, -1, tree.FeatureLimit-1)
	if err != nil {
		return err
	}
	n := int(last) + 1
	p.e.Features = tree.Features{Width: n, Stem: stem}
	names, infos := p.head["feature_names"], p.head["feature_infos"]
	var signs []int32
	if _, ok := p.head["monotone_constraints"]; ok {
		if signs, err = list(p.head, "monotone_constraints", n, true, narrow); err != nil {
			return err
		}
	}
	said, told := words(names.text), words(infos.text)
	for i := 0; ; i++ {
		name, info := said.next(), told.next()
		switch {
		case i == n && name != nil:
			return names.fail("has more than %d names, want max_feature_idx + 1", n)
		case i == n && info != nil:
			return infos.fail("has more than %d values", n)
		case i == n:
			return nil
		case name == nil:
			return names.fail("has %d names, want max_feature_idx + 1, which is %d", i, n)
		case info == nil:
			return infos.fail("has %d values, want %d", i, n)
		}
		f := tree.Feature{Name: strings.ToValidUTF8(string(name), "\ufffd")}
		if err := parseInfo(&f, info, &infos); err != nil {
			return err
		}
		if signs != nil {
			if f.Monotone = int(signs[i]); f.Monotone < -1 || f.Monotone > 1 {
				v := p.head["monotone_constraints"]
				return v.fail("has %d, want -1, 0 or 1", f.Monotone)
			}
		}
		p.e.Features.Set(i, f)
	}
}

// noInfo is what is said of a feature of which nothing is known, and onlyMissing of a categorical one: -1 is the level of missing values.
const (
	noInfo      = "none"
	onlyMissing = "-1"
)

// parseInfo reads "[least:most]", or the levels of a categorical feature, "-1:3:0".
func parseInfo(f *tree.Feature, word []byte, v *entry) error {
	if string(word) == noInfo {
		return nil
	}
	if word[0] == '[' {
		low, high, _ := bytes.Cut(bytes.Trim(word, "[]"), []byte(":"))
		least, ok := float(low)
		most, also := float(high)
		if !ok || !also {
			return v.fail("has %q, want [least:most]", cut(word))
		}
		if math.Abs(least) <= math.MaxFloat64 && math.Abs(most) <= math.MaxFloat64 { // no NaN either
			f.Least, f.Most = least+0, most+0
		}
		return nil
	}
	f.Categorical = true
	known := false
	for more := true; more; {
		var level []byte
		level, word, more = bytes.Cut(word, []byte(":"))
		l, n, ok := number.ParseInt64(level)
		if !ok || n != len(level) {
			return v.fail("has the level %q, want a whole number", cut(level))
		}
		switch {
		case l < 0:
		case !known:
			known, f.Least, f.Most = true, float64(l), float64(l)
		default:
			f.Least, f.Most = min(f.Least, float64(l)), max(f.Most, float64(l))
		}
	}
	return nil
}

// appendInfo writes what parseInfo reads; of the levels those at the ends and those of the set between.
func appendInfo(b []byte, f *tree.Feature, set []uint32) []byte {
	if !f.Categorical {
		if f.Least == 0 && f.Most == 0 {
			return append(b, noInfo...)
		}
		b = number.AppendFloat64(append(b, '['), f.Least)
		return append(number.AppendFloat64(append(b, ':'), f.Most), ']')
	}
	b = append(b, onlyMissing...)
	if f.Least == 0 && f.Most == 0 {
		return b
	}
	least, most := int(f.Least), int(f.Most)
	b = number.AppendInt64(append(b, ':'), int64(least))
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			if l := 32*w + bits.TrailingZeros32(word); l > least && l < most {
				b = number.AppendInt64(append(b, ':'), int64(l))
			}
		}
	}
	if most > least {
		b = number.AppendInt64(append(b, ':'), int64(most))
	}
	return b
}

// fitInfo drops from a feature what appendInfo cannot say, and reports whether it did.
func fitInfo(f *tree.Feature) bool {
	ok := f.Least <= f.Most && math.Abs(f.Least) <= math.MaxFloat64 && math.Abs(f.Most) <= math.MaxFloat64
	if f.Categorical {
		ok = ok && f.Least >= 0 && f.Most < tree.LevelLimit && f.Least == math.Trunc(f.Least) && f.Most == math.Trunc(f.Most)
	}
	if !ok {
		f.Least, f.Most = 0, 0
	}
	return !ok
}

// stem is what LightGBM calls features that have no names, with their numbers.
const stem = "Column_"

// word is the name of feature i as a word: LightGBM has no blanks in names, and its Python package writes them as underlines too.
func word(name string, i int) string {
	if name == "" {
		return stem + strconv.Itoa(i)
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, name)
}

// levels reads the levels of pandas, lists of texts or numbers. They are those of the categorical features in order, or of these if their
// numbers are told.
func (p *parser) levels(v *entry, of []int) error {
	if v == nil {
		return nil
	}
	var lists [][]any
	dec := json.NewDecoder(bytes.NewReader(v.text))
	dec.UseNumber()
	if err := dec.Decode(&lists); err != nil {
		return v.fail("is no list of lists of levels: %w", err)
	}
	if of == nil {
		_, of = levelled(p.e)
	}
	if len(of) != len(lists) {
		if len(lists) > 0 {
			p.note("pandas_categorical has levels of %d features, and %d are categorical: which are whose is not known, they are left out",
				len(lists), len(of))
		}
		return nil
	}
	changed := map[int]tree.Feature{}
	for k, list := range lists {
		i := of[k]
		if i < 0 || i >= p.e.Features.Width {
			return v.fail("has levels of feature %d of %d", i, p.e.Features.Width)
		}
		f, again := changed[i]
		if !again {
			f = p.e.Features.At(i)
		}
		for _, level := range list {
			text := fmt.Sprint(level) // numbers as they are spelled
			if _, nested := level.([]any); nested || level == nil {
				return v.fail("has %.40q as a level, want a text or a number", text)
			}
			f.Levels = append(f.Levels, text)
		}
		changed[i] = f
	}
	p.e.Features.Change(changed)
	return nil
}

// levelled are the features that have levels, and those that a reader takes for them.
func levelled(e *tree.Ensemble) (have, taken []int) {
	for i, f := range e.Features.Listed() {
		if len(f.Levels) > 0 {
			have = append(have, i)
		}
		if f.Categorical {
			taken = append(taken, i)
		}
	}
	return have, taken
}

// pandas is the line of the levels.
func pandas(e *tree.Ensemble) ([]byte, error) {
	have, _ := levelled(e)
	if have == nil {
		return []byte(pandasKey + "null\n"), nil
	}
	lists := make([][]any, len(have))
	for k, i := range have {
		levels := e.Features.At(i).Levels
		literal := allLiterals(levels)
		for _, l := range levels {
			if literal {
				lists[k] = append(lists[k], json.RawMessage(l))
			} else {
				lists[k] = append(lists[k], l)
			}
		}
	}
	var b bytes.Buffer
	b.WriteString(pandasKey)
	enc := json.NewEncoder(&b) // which ends the line
	enc.SetEscapeHTML(false)
	err := enc.Encode(lists)
	return b.Bytes(), err
}

// allLiterals reports whether levels are numbers, or truth values: pandas has them so then, and not as texts.
func allLiterals(levels []string) bool {
	numbers := !slices.ContainsFunc(levels, func(l string) bool {
		return l == "" || !strings.Contains("-0123456789", l[:1]) || strings.ContainsAny(l, " \t\r\n") || !json.Valid([]byte(l))
	})
	return numbers || !slices.ContainsFunc(levels, func(l string) bool { return l != "true" && l != "false" })
}

// asked is the union of the sets of the splits of each categorical feature.
func asked(e *tree.Ensemble) map[int32][]uint32 {
	all := map[int32][]uint32{}
	for i := range e.Trees {
		t := &e.Trees[i]
		for node, k := range t.Kind {
			if k&tree.Categorical == 0 {
				continue
			}
			f, set := t.Feature[node], t.Set(node)
			if more := len(set) - len(all[f]); more > 0 {
				all[f] = append(all[f], make([]uint32, more)...)
			}
			for w, word := range set {
				all[f][w] |= word
			}
		}
	}
	return all
}
