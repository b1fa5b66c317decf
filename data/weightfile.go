package data

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/internal/number"
)

// LoadWeights reads the weights of examples, one number a line, from files one after the other, or objects of the store, which may be
// nil; "-" is the stream in. As in files of
// examples, which a file of theirs stands beside, lines that are blank or a comment count for nothing, and gzip is unpacked. A weight
// that is not a finite number from 0 on is an *Error, and so are weights that are all 0.
func LoadWeights(ctx context.Context, store blob.Bucket, paths []string, in io.Reader) ([]float32, error) {
	all := []float32{}
	for _, path := range paths {
		var err error
		if all, err = weightsOf(ctx, store, all, path, in); err != nil {
			return nil, err
		}
	}
	switch {
	case len(all) == 0:
		return nil, &Error{strings.Join(paths, ", "), 0, fmt.Errorf("no weights, want one for each example")}
	case !slices.ContainsFunc(all, func(w float32) bool { return w > 0 }):
		return nil, &Error{strings.Join(paths, ", "), 0, fmt.Errorf("all %d weights are 0, want some above", len(all))}
	}
	return all, nil
}

// weightsOf appends those of one file.
func weightsOf(ctx context.Context, store blob.Bucket, all []float32, path string, stream io.Reader) ([]float32, error) {
	err := eachLine(ctx, store, path, stream, func(_ int64, text string) error {
		w, err := strconv.ParseFloat(text, 32)
		if err != nil || !(w >= 0) || math.IsInf(w, 1) {
			return fmt.Errorf("weight %s, want a finite number from 0 on", quote([]byte(text)))
		}
		all = append(all, float32(w))
		return nil
	})
	return all, err
}

// eachLine gives a file, line by line with its number, to use, but for comments and lines of nothing else. Errors of use become an *Error
// of the line.
func eachLine(ctx context.Context, store blob.Bucket, path string, stream io.Reader, use func(line int64, text string) error) error {
	in := Input{Name: path, Stream: stream}
	if path != Stdin {
		f, err := openFile(ctx, store, path)
		if err != nil {
			return err
		}
		defer f.Close()
		in.Stream = f
	}
	if err := in.unpack(); err != nil {
		return &Error{path, 0, err}
	}
	lines := bufio.NewScanner(in.Stream)
	lines.Buffer(nil, LineLimit)
	for n := int64(1); lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := use(n, text); err != nil {
			return &Error{path, n, err}
		}
	}
	if err := lines.Err(); err != nil {
		return &Error{path, 0, err}
	}
	return nil
}

// accompany counts the rows of a chunk and gives them the weights and start scores of Options, if it has some.
func (r *reader) accompany(s *settings, c *chunk) error {
	lo := r.rows
	r.rows += int64(len(c.label))
	if t := s.Start; t != nil {
		if r.rows > int64(t.Len()) {
			return t.end("and %s has more examples: want a line for each", r.join.name)
		}
		c.start = append(c.start[:0], startsOf(t.Score, t.Len(), int(lo), int(r.rows))...)
	}
	switch {
	case s.Weight == nil:
		return nil
	case len(c.weight) > 0:
		return &Error{r.join.name, 0, fmt.Errorf("examples with weights of their own, and others beside them, want one of the two")}
	case r.rows > int64(len(s.Weight)):
		return &Error{r.join.name, 0, fmt.Errorf("more examples than the %d weights, want a weight for each", len(s.Weight))}
	}
	c.weight = append(c.weight[:0], s.Weight[lo:r.rows]...)
	return nil
}

// checkCounts refuses weights and start scores of examples that there are not.
func (r *reader) checkCounts(opt *Options) error {
	skipped := ""
	if n := r.join.skipped.Lines; n > 0 {
		skipped = fmt.Sprintf(" (%s left out, which have none)", number.Of(n, "line"))
	}
	if opt.Weight != nil && r.rows != int64(len(opt.Weight)) {
		return fmt.Errorf("data: %d weights of %d examples, want one for each%s", len(opt.Weight), r.rows, skipped)
	}
	if t := opt.Start; t != nil && r.rows < int64(t.Len()) {
		return t.errAt(int(r.rows), fmt.Errorf("start scores of example %d, and there are only %d: want a line for each%s", r.rows+1, r.rows,
			skipped))
	}
	return nil
}
