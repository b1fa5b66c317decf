package feature

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"thole.example/internal/number"
)

// Codes of numbers.
const (
	isThere, isMissing = 0, 1
)

func (e *Encoder) numbers(c *Column, f int, cells Cells) {
	v := &e.Fields[f]
	v.exact(e.rows)
	id, exact, lo, hi := v.ID, v.Exact, cells.Lo, cells.Hi
	for k := range id {
		text := cells.Text[lo[k]:hi[k]]
		x, n := number.ParseFloat64(text)
		plain := n == len(text) && n > 0 && x-x == 0 && math.Abs(x) < largeNumber
		if plain && !e.plan.float32 && (len(e.plan.absent) == 0 || !slices.Contains(e.plan.absent, x)) {
			id[k], exact[k] = isThere, x
			continue
		}
		id[k], exact[k] = isThere, e.number(k, c, text)
		if exact[k] != exact[k] {
			id[k], exact[k] = isMissing, 1
		}
	}
	e.finish(f)
}

// largeNumber is the number below which whole numbers are exact, and all fit every calculation.
const largeNumber = 1 << 53

// number is the number of a cell; NaN: it is missing, or the row is of no use.
func (e *Encoder) number(k int, c *Column, text []byte) float64 {
	x, n := number.ParseFloat64(text)
	if n == len(text) && n > 0 && slices.Contains(e.plan.absent, x) || e.plan.missing[string(text)] {
		return math.NaN()
	}
	if e.plan.float32 {
		var single float32
		single, n = number.ParseFloat32(text)
		x = float64(single)
	}
	if c.Format == DurationFormat && n != len(text) {
		x, n = durationOf(text)
	}
	if trim := trimmed(text); len(trim) < len(text) {
		return e.number(k, c, trim)
	}
	switch v, ok := truth(text); {
	case n == len(text) && n > 0 && x-x == 0 && e.fits(c, x):
		e.checkWhole(k, c, text, x)
		return x
	case n == len(text) && n > 0 && math.IsInf(x, 0) && e.Exact:
		return x
	case ok:
		return float64(v)
	case n == len(text) && n > 0 && x-x == 0:
		e.bad(k, "column %q: %s is beyond the largest float32 (3.4e38), in which the model calculates; want smaller numbers, or their "+
			"logarithm (log: true for the column in --columns)", c.Name, quote(text))
	case isNumber(string(text)):
		e.bad(k, "column %q: %s, want a finite number (--missing %s takes it as missing)", c.Name, quote(text),
			shellWord(string(text)))
	default:
		e.bad(k, "column %q: %s, want a number%s", c.Name, quote(text), e.textAdvice(c, string(text)))
	}
	return math.NaN()
}

// textAdvice says what can be done about a text among the numbers of a column.
func (e *Encoder) textAdvice(c *Column, text string) string {
	if e.plan.open == nil {
		return fmt.Sprintf(" (--missing %s takes it as missing)", shellWord(text))
	}
	if c.Kind == Label || c.Kind == Weight {
		return ""
	}
	return fmt.Sprintf(" (--categorical %s takes all as categories, --missing %s takes this as missing)", shellWord(c.Name), shellWord(text))
}

// shellWord is a text as one word of a command line, cut where it is long.
func shellWord(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\n'\"\\$`*?[]{}()<>|&;#~!,") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// fits reports whether what is learned from of a number is a float32, where that is known.
func (e *Encoder) fits(c *Column, x float64) bool {
	switch {
	case e.Exact || math.Abs(x) <= math.MaxFloat32:
		return true
	case c.Kind == Buckets:
		return true
	case c.Scale == None && (c.Log == nil || !*c.Log):
		return false
	case e.plan.open != nil: // scaled by what all of them are
		return true
	}
	return math.Abs(c.scaled(x, c.Log != nil && *c.Log, 1/c.Deviation)) <= math.MaxFloat32
}

// checkWhole notes a whole number that is no float64: others may be rounded to the same.
func (e *Encoder) checkWhole(k int, c *Column, text []byte, x float64) {
	if math.Abs(x) < largeNumber || e.plan.float32 || bytes.ContainsAny(text, ".eE") {
		return
	}
	whole, ok := new(big.Int).SetString(string(bytes.TrimPrefix(text, []byte("+"))), 10)
	if !ok {
		return
	}
	if exact, _ := new(big.Float).SetFloat64(x).Int(nil); exact.Cmp(whole) != 0 {
		e.rounded = append(e.rounded, rounding{k, Cell{Column: c.Name, Text: string(text), Value: x}})
	}
}

// WholeLabels is the magnitude from which labels, which are float32, may lose digits of whole numbers.
const WholeLabels = 1 << 24

// checkLabel notes a label of at least WholeLabels that is no float32: others may be rounded to the same.
func (e *Encoder) checkLabel(k int, c *Column, text []byte, y float32) {
	if math.Abs(float64(y)) < WholeLabels {
		return
	}
	if x, n := number.ParseFloat64(text); n == len(text) && float64(y) != x {
		e.rounded = append(e.rounded, rounding{k, Cell{c.Name, string(text), float64(y), true}})
	}
}

// rounding is a cell with a whole number that is no float64, or with a label that is no float32.
type rounding struct {
	row  int
	cell Cell
}

// Cell is a cell of a column and the number that it is read as.
type Cell struct {
	Column, Text string
	Value        float64
	Label        bool // the number is a label
}

// checkHashed notes a text in a column that is hashed as numbers or booleans because its first rows hold nothing else.
func (e *Encoder) checkHashed(k int, c *Column, text []byte) {
	if e.plan.open == nil || c.Compare != AsNumbers && c.Compare != AsBooleans {
		return
	}
	if n := len(e.texts); n > 0 && e.texts[n-1].cell.Column == c.Name {
		return
	}
	if text = trimmed(text); !bytes.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) || e.plan.missing[string(text)] {
		return
	}
	if _, ok := truth(text); ok && c.Compare == AsBooleans {
		return
	}
	if _, ok := number.Plain(nil, text); !ok {
		e.texts = append(e.texts, rounding{k, Cell{Column: c.Name, Text: string(text)}})
	}
}

// HashedTexts are the first texts of the block, by column with their rows, in columns that are hashed as numbers or booleans.
func (e *Encoder) HashedTexts(yield func(row int, c Cell) bool) {
	for _, r := range e.texts {
		if e.Bad[r.row] == nil && !yield(r.row, r.cell) {
			return
		}
	}
}

// Rounded are the cells of the block, with their rows, that are whole numbers but no float64, or labels that are no float32, and were
// rounded to one.
func (e *Encoder) Rounded(yield func(row int, c Cell) bool) {
	for _, r := range e.rounded {
		if e.Bad[r.row] == nil && !yield(r.row, r.cell) {
			return
		}
	}
}
