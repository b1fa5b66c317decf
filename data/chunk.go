package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"thole.example/feature"
)

// chunk is a piece of the input of whole lines, and what was parsed from it. Chunks circulate: their memory is used
// again.
type chunk struct {
	text []byte // whole lines, then pad zero bytes
	len  int    // of the lines; text[len-1] is a line feed
	end  int64  // the byte of the input after the chunk
	done chan struct{}

	rows
	lines int64 // lines parsed, the one with the error included
	err   error // of line number lines, counted from 1 in the chunk; 0: of no line

	// What only all chunks together can judge.
	width     int   // dense: columns of the first row, -1 before it
	widthLine int64 // its line
	kinds     kinds
	queryLine int64 // first line with a qid
	unseen    unseen
	bad       []badLine   // that were left out
	invalid   invalidByte // the first byte that is no UTF-8

	rounded []roundedCell // the first whole number of each column that is no float64, or label that is no float32
	first   bool          // of the input

	hashedTexts []roundedCell // the first text of each column that is hashed as numbers
	lo, hi      int64         // rows of a CellTable
	part        *feature.Part // rows of a table whose levels have no ids yet
}

func (c *chunk) reset() {
	c.rows.reset()
	c.len, c.lines, c.err = 0, 0, nil
	c.width, c.widthLine, c.queryLine = -1, 0, 0
	c.kinds.reset()
	c.unseen.reset()
	c.bad, c.part, c.first, c.rounded, c.invalid = c.bad[:0], nil, false, c.rounded[:0], invalidByte{}
	c.hashedTexts = c.hashedTexts[:0]
}

// parser is what one goroutine parses chunks with.
func (s *settings) parser(ctx context.Context) func(*chunk) {
	if s.sheet == nil {
		return func(c *chunk) { c.parse(s) }
	}
	p := newTableParser(s)
	if s.sheet.cells != nil {
		return func(c *chunk) { c.cells(ctx, s, p) }
	}
	return func(c *chunk) { c.table(s, p) }
}

// parse fills the rows from the text, up to the first error.
func (c *chunk) parse(s *settings) {
	for i := 0; i < c.len && c.err == nil; {
		c.lines++
		start, had := i, c.mark()
		if i, c.err = c.example(s, i); c.err != nil && c.skip(s, c.err) {
			c.back(had)
			i, c.err = start+bytes.IndexByte(c.text[start:c.len], '\n')+1, nil
		}
		if c.lines == likely {
			c.reserve(i)
		}
	}
}

// mark is how much a chunk has before a line.
type mark struct {
	labels, values, fields, groups, weights, kinds, unseen, examples int

	width                int
	widthLine, queryLine int64
}

// mark is how much there is, and back goes back to it.
func (c *chunk) mark() mark {
	return mark{len(c.label), len(c.idx), len(c.field), len(c.group), len(c.weight), len(c.kinds.list), len(c.unseen.cols), c.unseen.examples,
		c.width, c.widthLine, c.queryLine}
}

func (c *chunk) back(to mark) {
	c.label, c.ptr, c.idx, c.val = c.label[:to.labels], c.ptr[:to.labels+1], c.idx[:to.values], c.val[:to.values]
	c.field, c.group, c.weight = c.field[:to.fields], c.group[:to.groups], c.weight[:to.weights]
	c.exact = c.exact[:min(len(c.exact), to.values)]
	c.kinds.cut(to.kinds)
	c.unseen.cols, c.unseen.examples = c.unseen.cols[:to.unseen], to.examples
	c.width, c.widthLine, c.queryLine = to.width, to.widthLine, to.queryLine
}

// likely is the lines of a chunk that say about how many values the others have.
const likely = 16

// reserve makes room for the rows of a chunk like those that took the text up to i.
func (c *chunk) reserve(i int) {
	more := func(n int) int { return n*(c.len-i)/i + n/4 }
	c.label = slices.Grow(c.label, more(len(c.label)))
	c.ptr = slices.Grow(c.ptr, more(len(c.ptr)))
	c.idx = slices.Grow(c.idx, more(len(c.idx)))
	c.val = slices.Grow(c.val, more(len(c.val)))
	c.field = slices.Grow(c.field, more(len(c.field)))
}

// example parses the line that begins at text[i] and answers where the next begins.
func (c *chunk) example(s *settings, i int) (next int, err error) {
	for s.class[c.text[i]] == classBlank {
		i++
	}
	if s.class[c.text[i]] == classSep {
		return i, errEmpty
	}
	i, end, err := s.gap(c.text, i)
	if err != nil {
		return i, err
	}
	if end {
		return c.nextLine(i), nil
	}
	var label float32
	if !s.NoLabel {
		if label, i, err = c.readLabel(s, i); err != nil {
			return i, err
		}
	}
	from := len(c.idx)
	start := i
	if i, err = s.features(c, s, i); err != nil {
		if s.NoLabel && i == start {
			err = fmt.Errorf("%w (without --no-label, if the lines begin with a label)", err)
		}
		return i, err
	}
	if s.Hash > 0 {
		if err := c.hash(s, from); err != nil {
			return i, err
		}
	}
	if s.Columns != nil {
		if col := c.keep(s.Columns, s.scaler, from, &c.unseen); col >= 0 && s.Strict {
			return i, s.errUnseen(col)
		}
	}
	if s.scaler != nil {
		s.scaler.scale(&c.rows, from, s.fielded())
	}
	if n := len(c.label); len(c.group) == n && n > 0 {
		c.group = append(c.group, noGroup)
	}
	if n := len(c.label); len(c.weight) == n && n > 0 {
		c.weight = append(c.weight, plainWeight)
	}
	c.label = append(c.label, label)
	c.ptr = append(c.ptr, len(c.idx))
	return c.nextLine(i), nil
}

// nextLine is the place after the line that text[i] belongs to.
func (c *chunk) nextLine(i int) int {
	if c.text[i] == '\n' {
		return i + 1
	}
	return i + bytes.IndexByte(c.text[i:c.len], '\n') + 1
}

func (c *chunk) readLabel(s *settings, i int) (v float32, end int, err error) {
	v, end = decimal(c.text, i)
	if s.LabelWeight && end >= 0 && c.text[end] == ':' {
		if end, err = c.labelWeight(s, end+1); err != nil {
			return 0, i, err
		}
	}
	if end < 0 || s.class[c.text[end]] == 0 {
		token := s.token(c.text, i)
		switch bytes.Count(token, []byte(":")) {
		case 0:
		case 1:
			return 0, i, fmt.Errorf("label %s, want a number (--no-label if the lines have none; --label-weights if it is label:weight, as XGBoost "+
				"has it)", quote(token))
		default:
			return 0, i, fmt.Errorf("label %s, want a number (--no-label if the lines have none)", quote(token))
		}
		if bytes.ContainsAny(token, ",;|") {
			return 0, i, fmt.Errorf("label %s, want a number (--format csv, if it is a table)", quote(token))
		}
		return 0, i, fmt.Errorf("label %s, want a number", quote(token))
	}
	if v >= feature.WholeLabels || v <= -feature.WholeLabels {
		c.checkLabel(s, i, v)
	}
	if v, err = c.mapLabel(s, v); err == nil && s.Takes != nil && s.Labels < AutoTrans {
		err = s.Takes(v)
	}
	return v, end, err
}

// checkLabel notes the first label of the chunk that is no float32.
func (c *chunk) checkLabel(s *settings, i int, v float32) {
	if exact, _ := double(c.text, i); exact != float64(v) && len(c.rounded) == 0 {
		c.rounded = append(c.rounded, roundedCell{c.lines, feature.Cell{Text: string(s.token(c.text, i)), Value: float64(v), Label: true}})
	}
}

// labelWeight reads the weight behind a label.
func (c *chunk) labelWeight(s *settings, i int) (end int, err error) {
	w, end := decimal(c.text, i)
	if end < 0 || s.class[c.text[end]] == 0 || !(w >= 0) {
		return i, fmt.Errorf("weight %s behind the label, want a finite number from 0 on", quote(s.token(c.text, i)))
	}
	c.weight = Extend(c.weight, len(c.label), []float32{w}, 1, plainWeight)
	return end, nil
}

// gap steps from text[i] over blanks and at most one separator to the next token or the end of the line.
func (s *settings) gap(text []byte, i int) (next int, end bool, err error) {
	separated := false
	for {
		switch c := text[i]; s.class[c] {
		case classBlank:
			i++
		case classSep:
			if separated {
				return i, false, errEmpty
			}
			separated = true
			i++
		case classEnd:
			switch {
			case c == '\r' && text[i+1] != '\n':
				return i, false, errReturn
			case separated:
				return i, false, errEmpty
			}
			return i, true, nil
		default:
			return i, false, nil
		}
	}
}

var (
	errEmpty  = errors.New("nothing between separators, want a number")
	errReturn = errors.New("carriage return within a line, want one only before a line feed")
)

// token is the rest of the token that begins at text[i], for errors.
func (s *settings) token(text []byte, i int) []byte {
	end := i
	for s.class[text[end]] == 0 && text[end] != '\n' {
		end++
	}
	return text[i:end]
}

// order sorts the row whose values begin at idx[from], and finds columns that occur twice, in the same field where they have some.
func (c *chunk) order(s *settings, from int) error {
	row := c.valuesFrom(from)
	if s.named {
		row.field = c.field[from:]
	}
	row.sort()
	for i := 1; i < row.Len(); i++ {
		switch {
		case row.Less(i-1, i):
		case s.named:
			return fmt.Errorf("index %d of field %d twice, want every index once in a field of a row", row.idx[i]+s.base, row.field[i])
		default:
			return fmt.Errorf("index %d twice, want every index once in a row", row.idx[i]+s.base)
		}
	}
	return nil
}

// values are those of a row, sorted by field, if they have some, then by column.
type values struct {
	idx   []int64
	val   []float32
	field []int32
	exact []float64 // nil: they are val
}

// valuesFrom are those from a place on, without fields.
func (r *rows) valuesFrom(from int) values {
	v := values{idx: r.idx[from:], val: r.val[from:]}
	if len(r.exact) > from {
		r.widen()
		v.exact = r.exact[from:]
	}
	return v
}

func (v *values) Len() int { return len(v.idx) }

func (v *values) Less(i, j int) bool {
	if v.field != nil && v.field[i] != v.field[j] {
		return v.field[i] < v.field[j]
	}
	return v.idx[i] < v.idx[j]
}

func (v *values) Swap(i, j int) {
	v.idx[i], v.idx[j] = v.idx[j], v.idx[i]
	v.val[i], v.val[j] = v.val[j], v.val[i]
	if v.exact != nil {
		v.exact[i], v.exact[j] = v.exact[j], v.exact[i]
	}
	if v.field != nil {
		v.field[i], v.field[j] = v.field[j], v.field[i]
	}
}

// insertionLimit is up to how many values insertion is faster than sort.Stable.
const insertionLimit = 64

// sort puts values into order; those of the same field and column stay in the order that they had.
func (v *values) sort() {
	if v.Len() > insertionLimit {
		sort.Stable(v)
		return
	}
	for i := 1; i < v.Len(); i++ {
		for j := i; j > 0 && v.Less(j, j-1); j-- {
			v.Swap(j, j-1)
		}
	}
}

// errUnseen explains that no feature of training had the column.
func (s *settings) errUnseen(col int64) error {
	feature := fmt.Sprintf("feature %d", col+s.base)
	if s.Hash > 0 {
		feature = fmt.Sprintf("a feature hashed to column %d", col)
	}
	return fmt.Errorf("%s was not in training (without --strict it counts as zero)", feature)
}

// errColumn explains why the index is not a column.
func (s *settings) errColumn(index int64) error {
	if index < s.base {
		return fmt.Errorf("index %d in a file that counts from %d, want %d or more (--index-base 0 if it counts from 0)",
			index, s.base, s.base)
	}
	return fmt.Errorf("index %d, want %d to %d for %d columns", index, s.base, s.limit-1+s.base, s.limit)
}

// errIndex explains why the token is not an index.
func errIndex(token []byte) error {
	return fmt.Errorf("index %s, want a whole number from 0 to %d", quote(token), int64(1<<63-2))
}
