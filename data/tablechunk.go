package data

import (
	"fmt"
	"slices"

	"thole.example/feature"
)

// tableParser is what one goroutine needs to parse the rows of a sheet.
type tableParser struct {
	*sheet
	enc     *feature.Encoder
	cutter  cutter
	place   []int           // of columns among the used ones
	outer   []feature.Cells // of columns of folders
	lo, hi  []int32         // of the cells of a block, used column after used column
	line    [feature.BlockRows]int64
	wrong   [feature.BlockRows]error // rows that are no rows of the sheet
	surveys bool
	exact   bool
	keeping []feature.Cells // scratch
	points  []feature.Cells // scratch, of the used columns: cells with points for commas
}

// begin begins a chunk.
func (p *tableParser) begin() {
	if p.surveys {
		p.enc = p.plan.ForSurvey().Encoder()
		p.enc.Exact = p.exact
	}
}

func newTableParser(s *settings) *tableParser {
	p := &tableParser{sheet: s.sheet, enc: s.sheet.plan.Encoder(), surveys: s.surveys}
	p.enc.Strict, p.exact = s.Strict, s.Exact
	p.enc.Exact = s.Exact
	p.place = make([]int, p.width+len(p.sheet.outer.added))
	for i := range p.sheet.outer.added {
		p.outer = append(p.outer, p.sheet.outer.added[i].constants(p.rows))
	}
	for at, k := range p.used {
		p.place[k] = at
	}
	if p.commas {
		p.points = make([]feature.Cells, len(p.used))
	}
	if p.cells != nil {
		return p
	}
	p.lo, p.hi = make([]int32, len(p.used)*p.rows), make([]int32, len(p.used)*p.rows)
	return p
}

// table fills the rows from the text, up to the first error.
func (c *chunk) table(s *settings, p *tableParser) {
	p.begin()
	c.invalid = firstInvalid(c.text[:c.len])
	i, line := 0, int64(0)
	for names := c.first && p.header; names && i < c.len; { // which sheetOf has read
		next, cells, _ := p.cutter.cut(c.text, i, p.sep)
		i, line, names = next, line+p.cutter.lines, cells == 0
	}
	for i < c.len && c.err == nil {
		n := 0
		for ; i < c.len && n < p.rows; n++ {
			next, cells, err := p.cutter.cut(c.text, i, p.sep)
			p.line[n] = line + 1
			line += p.cutter.lines
			if i = next; cells == 0 && err == nil { // a blank line
				n--
				continue
			}
			if err == nil && cells != p.width {
				err = fmt.Errorf("%d cells, want %d, one for each column", cells, p.width)
			}
			p.wrong[n] = err
			for place, k := range p.used {
				at := place*p.rows + n
				if p.lo[at], p.hi[at] = 0, 0; err == nil && k < p.width {
					p.lo[at], p.hi[at] = p.cutter.lo[k], p.cutter.hi[k]
				}
			}
			if err == nil {
				p.wrong[n] = p.checkFolders(c.text)
			}
		}
		if n == 0 {
			break
		}
		p.enc.Begin(n)
		if err := p.enc.Texts(func(k int) feature.Cells { return p.cellsOf(c.text, k, n) }); err != nil {
			c.err, c.lines = err, p.line[0]
			return
		}
		for k, err := range p.wrong[:n] {
			p.enc.Refuse(k, err)
		}
		if c.block(s, p.enc, p.line[:n], p.keptOf(c.text, n)); c.err != nil {
			return
		}
		if c.part != nil && c.part.Rows == p.rows {
			c.part.Reserve(float64(i) / float64(c.len))
		}
	}
	if c.err == nil {
		c.lines = line
	}
}

// cellsOf are the cells of a column in a block of rows of text, their numbers with points before fractions.
func (p *tableParser) cellsOf(text []byte, column, rows int) feature.Cells {
	return p.pointed(p.textOf(text, column, rows), column)
}

// textOf are the cells of a column in a block of rows, as they are written.
func (p *tableParser) textOf(text []byte, column, rows int) feature.Cells {
	if column >= p.width {
		cells := p.outer[column-p.width]
		return feature.Cells{Text: cells.Text, Lo: cells.Lo[:rows], Hi: cells.Hi[:rows]}
	}
	at := p.place[column] * p.rows
	return feature.Cells{Text: text, Lo: p.lo[at : at+rows], Hi: p.hi[at : at+rows]}
}

// checkFolders refuses the row that was cut last if one of its cells that are read is not what its folder says.
func (p *tableParser) checkFolders(text []byte) error {
	for at, want := range p.sheet.outer.check {
		cell := text[p.cutter.lo[at]:p.cutter.hi[at]]
		if string(cell) != want.value && slices.Contains(p.used, at) && !want.agrees(cell) {
			return want.errDisagrees(cell)
		}
	}
	return nil
}

// block takes the rows of a block, which are of the lines, and their cells in the columns that are kept.
func (c *chunk) block(s *settings, enc *feature.Encoder, line []int64, kept []feature.Cells) {
	open := s.sheet.plan.IsOpen()
	texts := open && s.sheet.plan.TextLabels()
	for k := range line {
		c.lines = line[k]
		err, y := enc.Bad[k], float32(0)
		if err == nil && !s.NoLabel {
			if y = enc.Label[k]; !texts {
				if y, err = c.mapLabel(s, y); err == nil && s.Takes != nil && s.Labels < AutoTrans {
					err = s.Takes(y)
				}
			}
		}
		if err != nil {
			enc.Refuse(k, err)
			if !c.skip(s, err) {
				c.err = err
				return
			}
			continue
		}
		c.label = append(c.label, y)
		if len(enc.Weight) > 0 {
			c.weight = append(c.weight, enc.Weight[k])
		}
		if len(enc.Group) > 0 {
			c.group = append(c.group, enc.Group[k])
		}
		for _, cells := range kept {
			c.kept.append(cells.Text[cells.Lo[k]:cells.Hi[k]])
		}
	}
	for row, cell := range enc.Rounded {
		if !slices.ContainsFunc(c.rounded, func(r roundedCell) bool { return r.Column == cell.Column }) {
			c.rounded = append(c.rounded, roundedCell{line[row], cell})
		}
	}
	for row, cell := range enc.HashedTexts {
		if !slices.ContainsFunc(c.hashedTexts, func(r roundedCell) bool { return r.Column == cell.Column }) {
			c.hashedTexts = append(c.hashedTexts, roundedCell{line[row], cell})
		}
	}
	left := c.unseen.block(s.sheet.plan, enc.Unseen())
	if open {
		if c.part == nil {
			c.part = &feature.Part{}
		}
		enc.Keep(c.part)
		return
	}
	columns := s.Columns
	if columns != nil && columns.Keys == nil { // the transformation has all of them
		columns = nil
	}
	c.features(enc.Fields, enc.Bad[:len(line)], columns, left)
}

// roundedCell is a cell with a whole number that is no float64, with a label that is no float32 (of lines, without a column), or with a
// text among numbers.
type roundedCell struct {
	line int64 // counted in the chunk
	feature.Cell
}

// features appends the features of a block of rows, but for those with an error: the values of each field by row. columns, if not nil, are
// those that a model has, and left gathers what it does not have.
func (r *rows) features(fields []feature.Values, bad []error, columns *Columns, left *unseenRows) {
	if columns == nil && r.whole(fields, bad) {
		return
	}
	for k, err := range bad {
		if err != nil {
			continue
		}
		from, several := len(r.idx), false
		for f := range fields {
			v := &fields[f]
			if v.End == nil {
				r.idx, r.val, r.field = append(r.idx, v.ID[k]), append(r.val, v.Value[k]), append(r.field, int32(f))
				if len(v.Exact) > 0 {
					r.exact = appendExact(r.exact, r.val, v.Exact[k])
				}
				continue
			}
			lo := int32(0)
			if k > 0 {
				lo = v.End[k-1]
			}
			several = several || v.End[k]-lo > 1
			for i := lo; i < v.End[k]; i++ {
				r.idx, r.val, r.field = append(r.idx, v.ID[i]), append(r.val, v.Value[i]), append(r.field, int32(f))
			}
		}
		if several {
			r.meet(from)
		}
		if columns != nil {
			left.hashed(r, columns, from, k)
			r.keep(columns, nil, from, nil)
		}
		r.ptr = append(r.ptr, len(r.idx))
	}
}

// whole appends a block of rows of which none has an error, and each one value of each field; else it reports false.
func (r *rows) whole(fields []feature.Values, bad []error) bool {
	for _, err := range bad {
		if err != nil {
			return false
		}
	}
	for f := range fields {
		if fields[f].End != nil {
			return false
		}
	}
	n, from := len(fields), len(r.idx)
	to := from + n*len(bad)
	exact := false
	for f := range fields {
		exact = exact || len(fields[f].Exact) > 0
	}
	if exact {
		r.widen()
		r.exact = slices.Grow(r.exact, to-from)[:to]
	}
	r.idx, r.val, r.field = slices.Grow(r.idx, to-from)[:to], slices.Grow(r.val, to-from)[:to], slices.Grow(r.field, to-from)[:to]
	for f := range fields {
		at := from + f
		value := fields[f].Value
		for k, id := range fields[f].ID {
			r.idx[at], r.val[at], r.field[at] = id, value[k], int32(f)
			at += n
		}
		if exact {
			r.exactField(from+f, n, &fields[f])
		}
	}
	for end := from + n; end <= to; end += n {
		r.ptr = append(r.ptr, end)
	}
	return true
}

// exactField sets the exact values of a field in a block of rows of n values, the first of which is at a place.
func (r *rows) exactField(at, n int, v *feature.Values) {
	for k, x := range v.Value {
		if r.exact[at] = float64(x); len(v.Exact) > 0 {
			r.exact[at] = v.Exact[k]
		}
		at += n
	}
}

// meet orders the row that begins at idx[from], and adds up the values of a column that is in it several times in a field.
func (r *rows) meet(from int) {
	row := r.valuesFrom(from)
	row.field = r.field[from:]
	row.sort()
	to := 0
	for i := range row.idx {
		if to > 0 && !row.Less(to-1, i) {
			if row.val[to-1] += row.val[i]; row.exact != nil {
				row.exact[to-1] = float64(row.val[to-1])
			}
			continue
		}
		row.idx[to], row.val[to], row.field[to] = row.idx[i], row.val[i], row.field[i]
		if row.exact != nil {
			row.exact[to] = row.exact[i]
		}
		to++
	}
	r.idx, r.val, r.field = r.idx[:from+to], r.val[:from+to], r.field[:from+to]
	r.exact = r.exact[:min(len(r.exact), from+to)]
}
