package data

import (
	"fmt"

	"thole.example/feature"
)

// joiner sees the chunks of all inputs in order: it counts lines across them, and finds what contradicts between them.
type joiner struct {
	invalid bool // a byte that is no UTF-8 was reported
	name    string
	s       *settings
	lines   int64           // of the chunks before
	width   int             // of dense rows, 0 before the first
	rows    bool            // there was a row
	kinds   kinds           // labels under AutoTrans and ClassTrans
	query   bool            // there was a qid
	told    map[string]bool // subjects of noteOnce

	skipped Skipped
}

// begin readies for the next input.
func (j *joiner) begin(name string, s *settings) { j.name, j.s, j.lines, j.query = name, s, 0, false }

// join takes the next chunk and answers with the earliest error in it, if any.
func (j *joiner) join(c *chunk) error {
	line, err := c.lines, c.err
	if c.widthLine > 0 {
		if j.rows && c.width != j.width {
			line, err = c.widthLine, errWidth(c.width, j.width)
		}
		j.rows, j.width = true, c.width
	}
	if at, bad := j.mixed(c); at > 0 && (err == nil || at < line) {
		line, err = at, bad
	}
	if bad := j.skip(c); bad != nil {
		return bad
	}
	if err != nil {
		if line > 0 {
			line += j.lines
		}
		return &Error{j.name, line, err}
	}
	if f := c.invalid; f.line > 0 && !j.invalid {
		j.invalid = true
		if j.s.Note != nil {
			j.s.Note(j.name, j.lines+f.line, fmt.Sprintf("warning: byte 0x%02x is not UTF-8, and texts with such bytes are other "+
				"categories than the same texts in UTF-8; convert the file first: iconv -f latin1 -t utf8 FILE (or the encoding that it has)", f.value))
		}
	}
	if c.queryLine > 0 && !j.query {
		j.query = true
		if j.s.Note != nil && !j.s.Ranked {
			j.s.Note(j.name, j.lines+c.queryLine, "qid are groups of examples, for the metric gauc: the loss does not rank within them")
		}
	}
	for _, r := range c.rounded {
		if r.Label {
			j.noteOnce("label", r.line, fmt.Sprintf("label %s does not fit a float32 and is read as %.0f, as may be other labels (where the "+
				"difference matters, subtract a constant from all labels so that they are below %d)", r.Text, r.Value, feature.WholeLabels))
			continue
		}
		j.noteOnce(r.Column, r.line, fmt.Sprintf("column %q: %s does not fit a float64 and is read as %.0f, as may be other numbers "+
			"(--categorical %s keeps them apart)", r.Column, r.Text, r.Value, r.Column))
	}
	for _, r := range c.hashedTexts {
		j.noteOnce("hashed "+r.Column, r.line, fmt.Sprintf("column %q: %q is text, and the column is hashed as numbers by its first rows: "+
			"1 and 1.0 are one category (compare: texts in --columns makes them two)", r.Column, r.Text))
	}
	j.lines += c.lines
	return nil
}

// noteOnce reports a line of the chunk unless a line with the same subject was reported before.
func (j *joiner) noteOnce(subject string, line int64, text string) {
	if j.s.Note == nil || j.told[subject] {
		return
	}
	if j.told == nil {
		j.told = map[string]bool{}
	}
	j.told[subject] = true
	j.s.Note(j.name, j.lines+line, text)
}

// mixed is the first line of c with a label that the others do not allow, and why; 0 if there is none.
func (j *joiner) mixed(c *chunk) (line int64, err error) {
	for _, k := range c.kinds.list {
		if err := j.kinds.refuse(k.label, j.s.Classes, j.s.Labels); err != nil {
			return k.line, err
		}
		j.kinds.add(k.label, j.lines+k.line, j.s.Labels)
	}
	return 0, nil
}
