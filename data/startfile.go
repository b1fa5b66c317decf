package data

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/internal/number"
)

// Starts are start scores of examples: what the scores of each are before a model says anything, in the scale of its margins.
type Starts struct {
	Width int       // of each example
	Score []float64 // one example after the other

	line  []int64 // of each example, in its file
	files []startFile
}

// startFile is a file of start scores, and how many examples those up to its end have.
type startFile struct {
	path string
	end  int
}

// LoadStarts reads the start scores of examples from files, one after the other: a line for each example, with one number, or as many as
// there are classes, with blanks or commas between them. Paths and the store are those of LoadWeights, and as in files of weights, lines
// that are blank or a comment count for nothing, and gzip is unpacked. What is no finite number is an *Error, and so is a line of more or
// fewer than the first.
func LoadStarts(ctx context.Context, store blob.Bucket, paths []string, in io.Reader) (*Starts, error) {
	s := &Starts{}
	for _, path := range paths {
		if err := eachLine(ctx, store, path, in, s.add); err != nil {
			return nil, err
		}
		s.files = append(s.files, startFile{path, s.Len()})
	}
	if s.Len() == 0 {
		return nil, &Error{strings.Join(paths, ", "), 0, fmt.Errorf("no start scores, want one for each example")}
	}
	return s, nil
}

// Len is how many examples have start scores.
func (s *Starts) Len() int { return len(s.line) }

// add adds the scores of a line.
func (s *Starts) add(line int64, text string) error {
	n := 0
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("start score %s, want a finite number", quote([]byte(word)))
		}
		s.Score = append(s.Score, v)
		n++
	}
	if s.Width == 0 {
		s.Width = n
	}
	if n != s.Width || n == 0 {
		return fmt.Errorf("%s, want %d as in the lines before: one for each class", number.Of(n, "start score"), max(1, s.Width))
	}
	s.line = append(s.line, line)
	return nil
}

// errAt is an error of the line of an example.
func (s *Starts) errAt(example int, err error) error {
	for _, f := range s.files {
		if example < f.end {
			return &Error{f.path, s.line[example], err}
		}
	}
	return err
}

// end says that the scores end too early.
func (s *Starts) end(format string, a ...any) error {
	return s.errAt(s.Len()-1, fmt.Errorf("the last start scores are those of example %d, "+format, append([]any{s.Len()}, a...)...))
}
