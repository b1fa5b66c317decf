package data

import (
	"fmt"
	"strings"

	"thole.example/internal/number"
)

// Skipped are lines that were of no use, and were left out because Options.SkipBad allowed so many.
type Skipped struct {
	Lines int     `json:"lines"`
	First []error `json:"-"` // of the first ones, each an *Error
}

// reasonLimit is how many of the first lines that were left out are told with why.
const reasonLimit = 3

// String says what was left out, and why the first ones were.
func (s Skipped) String() string {
	text := number.Of(s.Lines, "line") + " left out (--skip-bad)"
	for i, err := range s.First {
		if text += "; "; i == 0 {
			text = strings.TrimSuffix(text, "; ") + ": "
		}
		text += err.Error()
	}
	if more := s.Lines - len(s.First); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// badLine is a line that was left out.
type badLine struct {
	line   int64
	before int // rows of the chunk before it
	err    error
}

// skip notes that the line at hand is left out, and reports whether it may be.
func (c *chunk) skip(s *settings, err error) bool {
	if s.SkipBad <= 0 {
		return false
	}
	c.bad = append(c.bad, badLine{c.lines, len(c.label), err})
	return true
}

// skip counts the lines of a chunk that were left out; the error is of the one that is too many.
func (j *joiner) skip(c *chunk) error {
	for _, b := range c.bad {
		at := &Error{j.name, j.lines + b.line, b.err}
		if j.skipped.Lines++; len(j.skipped.First) < reasonLimit {
			j.skipped.First = append(j.skipped.First, at)
		}
		if j.skipped.Lines > j.s.SkipBad {
			return fmt.Errorf("%w (malformed line %d, and --skip-bad is %d)", at, j.skipped.Lines, j.s.SkipBad)
		}
	}
	return nil
}

// again parses the rows of a chunk that begins with a row of another width than those before it, which the chunk did not know: that row
// is one of no use.
func (c *chunk) again(s *settings, width int) {
	n, first := c.len, c.first
	c.reset()
	c.len, c.first, c.width = n, first, width
	c.parse(s)
}

// number gives rows of a chunk their numbers, of which those that were left out have some, too; next is that of the next row.
func (c *chunk) number(to []int64, next int64) ([]int64, int64) {
	bad := c.bad
	for i := range c.label {
		for len(bad) > 0 && bad[0].before <= i {
			bad, next = bad[1:], next+1
		}
		to, next = append(to, next), next+1
	}
	return to, next + int64(len(bad))
}
