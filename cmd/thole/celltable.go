package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"thole.example/blob"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
)

// cellTable gives the cells of a stored table as the texts that a file of text would have: whatever the format, they are read alike.
type cellTable struct {
	format.Table
	columns []format.TableColumn
	zones   []*time.Location // of columns of instants, in which they are written; nil: in UTC
}

// tables opens tables of a format that has columns of text.
func tables(in *blob.Paths) func(ctx context.Context, path string) (data.CellTable, error) {
	return func(ctx context.Context, path string) (data.CellTable, error) { return openTable(ctx, in, path) }
}

func openTable(ctx context.Context, in *blob.Paths, path string) (data.CellTable, error) {
	b, name, err := bucketAt(in, path)
	if err != nil {
		return nil, err
	}
	t, _, err := codecs().OpenTable(ctx, b, name, "", format.Options{})
	if err != nil {
		return nil, err
	}
	c := &cellTable{t, slices.Clone(t.Columns()), make([]*time.Location, len(t.Columns()))}
	for i := range c.columns {
		c.zones[i], _ = feature.ParseZone(c.columns[i].Zone) // an unknown one is an error where the column is one of dates
	}
	return c, nil
}

// Zones implements data.CellTable.
func (t *cellTable) Zones() map[string]string {
	all := map[string]string{}
	for i := range t.columns {
		if zone := t.columns[i].Zone; zone != "" {
			all[t.columns[i].Name] = zone
		}
	}
	return all
}

// Widen implements data.CellTable.
func (t *cellTable) Widen(column string) (narrow bool) {
	for i := range t.columns {
		if c := &t.columns[i]; c.Name == column && c.Stored != matrix.Invalid {
			c.Stored, narrow = matrix.Invalid, true
		}
	}
	return narrow
}

// Header implements data.CellTable.
func (t *cellTable) Header() (names []string) {
	for _, c := range t.columns {
		names = append(names, c.Name)
	}
	return names
}

// Status implements data.CellTable.
func (t *cellTable) Status(column int) (index bool, err error) {
	c := &t.columns[column]
	if c.Kind == format.Unreadable {
		err = fmt.Errorf("column %q of %s cannot be read: %s", c.Name, c.Type, c.Why)
	}
	return c.Index, err
}

// Rows implements data.CellTable.
func (t *cellTable) Rows() int64 { return t.Table.Rows() }

// Blocks implements data.CellTable.
func (t *cellTable) Blocks(ctx context.Context, columns []int, lo, hi int64) iter.Seq2[[]feature.Cells, error] {
	return func(yield func([]feature.Cells, error) bool) {
		pens := make([]cellPen, len(columns))
		for i, c := range columns {
			pens[i].column, pens[i].zone = &t.columns[c], t.zones[c]
			if err := pens[i].column.Check(); err != nil {
				yield(nil, err)
				return
			}
		}
		out := make([]feature.Cells, len(columns))
		for b, err := range t.Batches(ctx, columns, matrix.Range{Lo: lo, Hi: hi}) {
			if err != nil {
				yield(nil, err)
				return
			}
			for from := 0; from < b.Rows; from += feature.BlockRows {
				to := min(from+feature.BlockRows, b.Rows)
				for i := range pens {
					if out[i], err = pens[i].write(&b.Cells[i], from, to); err != nil {
						yield(nil, fmt.Errorf("column %q, row %d: %w", pens[i].column.Name, b.First+int64(from)+1, err))
						return
					}
				}
				if !yield(out, nil) {
					return
				}
			}
		}
	}
}

// cellPen writes the cells of one column as texts.
type cellPen struct {
	column *format.TableColumn
	zone   *time.Location
	text   []byte
	lo, hi []int32
}

// write is the cells of the rows from to to of a batch.
func (p *cellPen) write(c *format.Cells, from, to int) (feature.Cells, error) {
	p.text, p.lo, p.hi = p.text[:0], p.lo[:0], p.hi[:0]
	for i := from; i < to; i++ {
		p.lo = append(p.lo, int32(len(p.text)))
		if p.column.List {
			if err := p.list(c, i); err != nil {
				return feature.Cells{}, err
			}
		} else {
			p.cell(c, i)
		}
		p.hi = append(p.hi, int32(len(p.text)))
	}
	return feature.Cells{Text: p.text, Lo: p.lo, Hi: p.hi}, nil
}

// listSeparator stands between the cells of a list, as between the levels of a column of text.
const listSeparator = '|'

func (p *cellPen) list(c *format.Cells, row int) error {
	from := int64(0)
	if row > 0 {
		from = c.End[row-1]
	}
	for i := from; i < c.End[row]; i++ {
		if i > from {
			p.text = append(p.text, listSeparator)
		}
		at := len(p.text)
		p.cell(c, int(i))
		for _, b := range p.text[at:] {
			if b == listSeparator {
				return fmt.Errorf("%q in a list, want texts without %q, which stands between those of a row", p.text[at:], listSeparator)
			}
		}
	}
	return nil
}

// number writes a number as a category of that value is spelled: of fewer digits than a double has the shortest that stands for it.
func (p *cellPen) number(v float64) {
	switch p.column.Stored {
	case matrix.F32:
		p.text = number.AppendPlain32(p.text, float32(v))
	case matrix.F16:
		p.text = appendHalf(p.text, v)
	default:
		p.text = number.AppendPlain(p.text, v)
	}
}

// appendHalf writes the shortest decimal number that rounds to a half float.
func appendHalf(dst []byte, v float64) []byte {
	for digits := range 5 { // as many as it takes
		short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits, 64), 64)
		if err == nil && matrix.ToFloat16(float32(short)) == matrix.ToFloat16(float32(v)) {
			return number.AppendPlain(dst, short)
		}
	}
	return number.AppendPlain(dst, v)
}

// cell writes one cell, nothing if it is missing.
func (p *cellPen) cell(c *format.Cells, i int) {
	if c.Null != nil && c.Null[i] {
		return
	}
	switch p.column.Kind {
	case format.Number:
		if v := c.Number[i]; v == v {
			p.number(v)
		}
	case format.Whole:
		switch {
		case p.column.OfDay || p.column.Span:
			p.span(c.Int[i])
		case p.column.Unsigned:
			p.text = strconv.AppendUint(p.text, uint64(c.Int[i]), 10)
		default:
			p.text = strconv.AppendInt(p.text, c.Int[i], 10)
		}
	case format.Truth:
		p.text = strconv.AppendBool(p.text, c.Int[i] != 0)
	case format.Time:
		at, layout := p.column.Time(c.Int[i]), "2006-01-02T15:04:05.999999999"
		switch {
		case p.column.Days:
			layout = time.DateOnly
		case p.column.Zone != "":
			layout = time.RFC3339Nano
			if p.zone != nil {
				at = at.In(p.zone)
			}
		}
		p.text = at.AppendFormat(p.text, layout)
	default:
		p.text = append(p.text, c.TextAt(i)...)
	}
}

// span writes a duration or a time of day: in units where nanoseconds of 64 bits cannot hold it.
func (p *cellPen) span(v int64) {
	nanos := v * int64(p.column.Unit)
	switch {
	case nanos/int64(p.column.Unit) != v || p.column.OfDay && (nanos < 0 || nanos >= int64(24*time.Hour)):
		p.text = append(strconv.AppendInt(p.text, v, 10), " out of range"...)
	case p.column.OfDay:
		p.text = feature.AppendTimeOfDay(p.text, nanos)
	default:
		p.text = feature.AppendDuration(p.text, nanos)
	}
}
