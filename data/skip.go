package data

import "fmt"

// Skipped are lines that were of no use, and were left out because Options.SkipBad allowed so many.
type Skipped struct {
	Lines int   `json:"lines"`
	First error `json:"-"` // of the first one, an *Error
}

// badLine is a line that was left out.
type badLine struct {
	line int64
	err  error
}

// skip notes that the line at hand is left out, and reports whether it may be.
func (c *chunk) skip(s *settings, err error) bool {
	if s.SkipBad <= 0 {
		return false
	}
	c.bad = append(c.bad, badLine{c.lines, err})
	return true
}

// skip counts the lines of a chunk that were left out; the error is of the one that is too many.
func (j *joiner) skip(c *chunk) error {
	for _, b := range c.bad {
		at := &Error{j.name, j.lines + b.line, b.err}
		if j.skipped.Lines++; j.skipped.Lines == 1 {
			j.skipped.First = at
		}
		if j.skipped.Lines > j.s.SkipBad {
			return fmt.Errorf("%w (the last of %d lines that are of no use, and --skip-bad is %d)", at, j.skipped.Lines, j.s.SkipBad)
		}
	}
	return nil
}
