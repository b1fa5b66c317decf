package feature

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"thole.example/internal/number"
)

// BlockRows is how many rows an Encoder takes at once: as many as leave what it knows of them in the first caches.
const BlockRows = 128

// Values are the features of one field of a block of rows. In an open plan they are codes, else ids.
type Values struct {
	ID    []int64
	Value []float32
	End   []int32 // where those of each row end; nil: each row has one
	// Exact, unless it is empty, are the values where some are no float32, and Value the nearest ones. In an open plan numbers are here alone.
	Exact []float64
}

func (v *Values) clear() {
	v.ID, v.Value, v.End, v.Exact = v.ID[:0], v.Value[:0], v.End[:0], v.Exact[:0]
}

// Encoder turns a block of cells after the other into features. One goroutine uses it.
type Encoder struct {
	Fields []Values  // of the block, by field
	Label  []float32 // nil if the table has none; of texts in an open plan codes
	Weight []float32 // nil if the table has none
	Group  []int64   // nil if the table has none
	Bad    []error   // for each row of the block why it is of no use; nil: it is
	Faults int       // how many are not nil

	// Strict makes levels that have no id faults.
	Strict bool
	// Exact keeps numbers that are not scaled as they are, also infinite ones; else they are rounded to float32.
	Exact bool

	plan    *Plan
	rows    int
	local   []*levels // of columns with levels in an open plan: what this encoder has met
	hashes  [BlockRows]uint64
	touch   uint64
	unseen  []Unseen
	rounded []rounding
	texts   []rounding   // texts of columns that are hashed as numbers, in an open plan
	when    [][]moment   // by column of times, where the plan is for a survey
	seen    []*zonesSeen // by column of times, where the plan finds out their zones
}

// moment is a time, if ok.
type moment struct {
	at time.Time
	ok bool
}

// Unseen is a category without an id, in a cell of a block.
type Unseen struct {
	Row    int
	Column int    // of the plan
	Text   []byte // of the cell, or of a part of it; empty: it is missing
	Hash   int64  // of the category and its column
}

// Encoder is a new one for tables of the plan.
func (p *Plan) Encoder() *Encoder {
	e := &Encoder{plan: p, Fields: make([]Values, len(p.fields)), local: make([]*levels, len(p.columns))}
	for i := range p.columns {
		if p.open != nil && p.open[i] != nil {
			e.local[i] = newLevels(0)
		}
	}
	e.seen = make([]*zonesSeen, len(p.columns))
	for i := range p.zones {
		if p.zones[i] != nil {
			e.seen[i] = &zonesSeen{of: p.zones[i]}
		}
	}
	if p.surveyed {
		e.when = make([][]moment, len(p.columns))
	}
	return e
}

// Cells are some cells of a column: cell i is Text[Lo[i]:Hi[i]].
type Cells struct {
	Text   []byte
	Lo, Hi []int32
}

// Begin begins a block of so many rows, at most BlockRows. Columns are given next, each once.
func (e *Encoder) Begin(rows int) {
	e.rows, e.Label, e.Weight, e.Group = rows, e.Label[:0], e.Weight[:0], e.Group[:0]
	if e.Bad == nil {
		e.Bad = make([]error, BlockRows)
	}
	if e.Faults > 0 {
		clear(e.Bad)
		e.Faults = 0
	}
	e.unseen, e.rounded = e.unseen[:0], e.rounded[:0]
	e.texts = e.texts[:0]
	for i := range e.Fields {
		v := &e.Fields[i]
		v.clear()
	}
}

// Unseen are the categories of the block that have no id, by column and row, in rows that are of use. They are good until the next block.
func (e *Encoder) Unseen() []Unseen {
	if e.Faults > 0 {
		e.unseen = slices.DeleteFunc(e.unseen, func(u Unseen) bool { return e.Bad[u.Row] != nil })
	}
	return e.unseen
}

// Refuse says that a row is of no use, whatever its cells are; nil: it stays as it is.
func (e *Encoder) Refuse(i int, err error) {
	if err == nil {
		return
	}
	if e.Bad[i] == nil {
		e.Faults++
	}
	e.Bad[i] = err
}

// bad says that a row is of no use; the first reason counts.
func (e *Encoder) bad(i int, format string, args ...any) {
	if e.Bad[i] == nil {
		e.Bad[i] = fmt.Errorf(format, args...)
		e.Faults++
	}
}

// Texts encodes all columns of a block whose cells are texts: those of column c of the table are in cells(c).
func (e *Encoder) Texts(cells func(c int) Cells) error {
	for i := range e.plan.columns {
		at := e.plan.cell[i]
		if at < 0 || e.plan.columns[i].Kind == Ignore {
			continue
		}
		if err := e.column(i, cells(at)); err != nil {
			return fmt.Errorf("column %q: %w", e.plan.columns[i].Name, err)
		}
	}
	return nil
}

// column encodes the cells of a column of the plan.
func (e *Encoder) column(i int, cells Cells) error {
	c := &e.plan.columns[i]
	first := e.plan.first[i]
	var room [64]byte
	switch c.Kind {
	case Label:
		return e.label(i, cells)
	case Weight:
		e.weight(c, cells)
	case Group:
		for k := range e.rows {
			e.Group = append(e.Group, int64(Of(AsNumbers.key(room[:0], cells.Text[cells.Lo[k]:cells.Hi[k]]))))
		}
	case Numeric, Buckets:
		e.numbers(c, first, cells)
	case Categorical:
		return e.levels(i, first, cells)
	case Multi:
		return e.lists(i, first, cells)
	case Hash:
		v := &e.Fields[first]
		v.ones(e.rows)
		for k := range v.ID {
			text := cells.Text[cells.Lo[k]:cells.Hi[k]]
			if c.Compare != AsFound { // models of old hash cells as they are
				e.checkHashed(k, c, text)
				if text = c.Compare.key(room[:0], text); e.plan.missing[string(text)] {
					text = nil
				}
			}
			v.ID[k] = Bucket(text, c.Size)
		}
		e.finish(first)
	case Date:
		e.times(i, cells)
	}
	return nil
}

// finish makes codes ids, unless the plan is open.
func (e *Encoder) finish(f int) {
	if e.plan.open == nil {
		e.plan.fields[f].finish(&e.plan.columns[e.plan.fields[f].column], nil, &e.Fields[f], e.Exact)
	}
}

// exact makes room for numbers of some rows.
func (v *Values) exact(rows int) {
	v.ID, v.Exact = grownTo(v.ID, rows), grownTo(v.Exact, rows)
}

// grownTo has so many elements, of which those that were there stay.
func grownTo[T any](s []T, n int) []T { return slices.Grow(s, max(0, n-len(s)))[:n] }

// ones makes room for a value of each of some rows, all 1.
func (v *Values) ones(rows int) {
	v.ID, v.Value = grownTo(v.ID, rows), grownTo(v.Value, rows)
	for k := range v.Value {
		v.Value[k] = 1
	}
}

// levels encodes cells with one level each.
func (e *Encoder) levels(i, f int, cells Cells) error {
	hashes, lo, hi := e.hashes[:e.rows], cells.Lo, cells.Hi
	for k := range hashes {
		hashes[k] = hashText(cells.Text[lo[k]:hi[k]])
	}
	v, known := &e.Fields[f], e.table(i)
	v.ones(e.rows)
	id := v.ID
	e.touch ^= known.touch(hashes)
	for k, h := range hashes {
		code := known.find(h)
		if code < 0 {
			var err error
			if code, err = e.unknown(i, k, h, cells.Text[lo[k]:hi[k]]); err != nil {
				return err
			}
		}
		id[k] = int64(code)
	}
	e.finish(f)
	return nil
}

// table is where the column's levels are looked up first.
func (e *Encoder) table(i int) *levels {
	if e.plan.open != nil {
		return e.local[i]
	}
	return e.plan.known[i]
}

// unknown is the code of a level that the encoder has not met.
func (e *Encoder) unknown(i, row int, hash uint64, text []byte) (int32, error) {
	if e.plan.open == nil {
		if code := e.plan.known[i].met(text); code >= 0 {
			return code, nil
		}
		if e.Strict {
			e.bad(row, "column %q: level %s was not in training, or too rare (without --strict it counts as the rare ones)",
				e.plan.columns[i].Name, quote(text))
		}
		if text = trimmed(text); e.plan.missing[string(text)] {
			text = nil
		}
		e.unseen = append(e.unseen, Unseen{row, i, text, int64((hash ^ uint64(i)*0x9e3779b97f4a7c15) >> 1)})
		return 0, nil
	}
	code, err := e.plan.open[i].code(hash, text)
	if err == nil {
		e.local[i].set(hash, code)
	}
	return code, err
}

// lists encodes cells with several levels each.
func (e *Encoder) lists(i, f int, cells Cells) error {
	v, known, sep := &e.Fields[f], e.table(i), e.plan.columns[i].Separator[0]
	for k := range e.rows {
		rest, from := cells.Text[cells.Lo[k]:cells.Hi[k]], len(v.ID)
		for more := true; more; {
			var one []byte
			one, rest, more = bytes.Cut(rest, []byte{sep})
			one = bytes.TrimSpace(one)
			h := hashText(one)
			code := known.find(h)
			if code < 0 {
				var err error
				if code, err = e.unknown(i, k, h, one); err != nil {
					return err
				}
			}
			v.ID = append(v.ID, int64(code))
		}
		n := len(v.ID) - from
		for range n {
			v.Value = append(v.Value, 1/float32(n))
		}
		v.End = append(v.End, int32(len(v.ID)))
	}
	e.finish(f)
	return nil
}

// times encodes the parts of times.
func (e *Encoder) times(i int, cells Cells) {
	c, first := &e.plan.columns[i], e.plan.first[i]
	fields := e.plan.fields[first:e.plan.first[i+1]]
	if e.when != nil {
		e.when[i] = e.when[i][:0]
	}
	for k := range e.rows {
		text := trimmed(cells.Text[cells.Lo[k]:cells.Hi[k]])
		t, ok := e.plan.clocks[i].read(text, e.seen[i])
		if !ok && !e.plan.missing[string(text)] {
			e.bad(k, "column %q: %s, want a time such as %s (--date-format %s=FORMAT names another format)", c.Name, quote(text),
				e.plan.clocks[i].example(), c.Name)
		}
		if e.when != nil {
			e.when[i] = append(e.when[i], moment{t, ok})
		}
		e.time(fields, first, t, ok)
	}
	for f := range fields {
		e.finish(first + f)
	}
}

// time appends the parts of a time, or of one that is missing.
func (e *Encoder) time(fields []field, first int, t time.Time, ok bool) {
	for f := range fields {
		v := &e.Fields[first+f]
		switch p := fields[f].part; {
		case p.values == 0 && ok:
			x := days(t)
			if e.plan.float32 {
				x = float64(float32(x))
			}
			v.ID, v.Exact = append(v.ID, isThere), append(v.Exact, x)
		case p.values == 0:
			v.ID, v.Exact = append(v.ID, isMissing), append(v.Exact, 1)
		case ok:
			v.ID, v.Value = append(v.ID, int64(1+p.of(t))), append(v.Value, 1)
		default:
			v.ID, v.Value = append(v.ID, 0), append(v.Value, 1)
		}
	}
}

// exampleOf is a time in a format.
func exampleOf(format string) string {
	switch format {
	case unixSeconds:
		return "1700000000 (seconds since 1970)"
	case unixMillis:
		return "1700000000000 (milliseconds since 1970)"
	case "":
		return "2026-01-31"
	}
	return time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC).Format(format)
}

var (
	errNoLabel    = errors.New("the label is missing")
	noLabelAdvice = "--skip-bad N leaves out up to N such rows; predict takes --no-label"
)

// label encodes labels: numbers, or the codes of texts.
func (e *Encoder) label(i int, cells Cells) error {
	c := &e.plan.columns[i]
	for k := range e.rows {
		text := trimmed(cells.Text[cells.Lo[k]:cells.Hi[k]])
		y := float32(0)
		switch {
		case c.Texts && len(text) > 0 && e.plan.missing[string(text)]:
			e.bad(k, "column %q: %w: %s stands for nothing (--missing says which texts do)", c.Name, errNoLabel, quote(text))
		case c.Texts && len(text) == 0:
			e.bad(k, "column %q: %w (%s)", c.Name, errNoLabel, noLabelAdvice)
		case c.Texts:
			h := hashText(text)
			code := e.table(i).find(h)
			if code < 0 && e.plan.open == nil {
				code = e.plan.known[i].met(text)
			}
			if code < 0 && e.plan.open == nil {
				e.bad(k, "column %q: label %s, want one of %s", c.Name, quote(text), shown(c.Levels))
			} else if code < 0 {
				var err error
				if code, err = e.unknown(i, k, h, text); err != nil {
					return err
				}
			}
			y = float32(code)
		default:
			x, n := number.ParseFloat32(text)
			if v, ok := truth(text); ok {
				x, n = float32(v), len(text)
			}
			switch {
			case len(text) == 0 || e.plan.missing[string(text)]:
				e.bad(k, "column %q: %w (%s)", c.Name, errNoLabel, noLabelAdvice)
			case n != len(text) || x-x != 0:
				e.bad(k, "column %q: label %s, want a finite number as in the first rows", c.Name, quote(text))
			}
			y = x
			e.checkLabel(k, c, text, y)
		}
		e.Label = append(e.Label, y)
	}
	return nil
}

func (e *Encoder) weight(c *Column, cells Cells) {
	for k := range e.rows {
		text := trimmed(cells.Text[cells.Lo[k]:cells.Hi[k]])
		x, n := number.ParseFloat32(text)
		if n != len(text) || n == 0 || !(x >= 0) || x > math.MaxFloat32 {
			e.bad(k, "column %q: weight %s, want a finite number from 0 on", c.Name, quote(text))
			x = 0
		}
		e.Weight = append(e.Weight, x)
	}
}

// quoteLimit is how much of a wrong cell an error shows.
const quoteLimit = 40

func quote(text []byte) string {
	if len(text) > quoteLimit {
		return fmt.Sprintf("%q...", text[:quoteLimit])
	}
	return fmt.Sprintf("%q", text)
}
