package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"thole.example/format"
	"thole.example/interp"
	"thole.example/matrix"
)

// resultReader reads the outputs of a run as stored matrices.
type resultReader []interp.Result

// metaOf describes an output.
func metaOf(r interp.Result) matrix.Meta {
	m := matrix.Meta{Name: r.Name, DType: r.Tensor.Type, Dims: []int64{}}
	for _, d := range r.Tensor.Dims {
		m.Dims = append(m.Dims, int64(d))
	}
	m.Rows, m.Cols, _ = matrix.Shape(m.Dims) // the tensor is in memory: no product is too large
	return m
}

// Matrices implements format.Reader.
func (r resultReader) Matrices() (ms []matrix.Meta) {
	for _, one := range r {
		ms = append(ms, metaOf(one))
	}
	return ms
}

// Blocks implements format.Reader.
func (r resultReader) Blocks(_ context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for _, one := range r {
			if one.Name != name {
				continue
			}
			m := metaOf(one)
			b := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: one.Tensor.F}}
			if m.DType != matrix.F32 {
				b, _ = matrix.Block{At: m.Rect(), Data: &matrix.Dense[int64]{Val: one.Tensor.I}}.Cast(m.DType)
			}
			yield(b.Cut(want), nil)
			return
		}
		yield(matrix.Block{}, fmt.Errorf("matrix %q: %w", name, format.ErrMatrix))
	}
}

// Notes implements format.Reader.
func (resultReader) Notes() []string { return nil }

// Files implements format.Reader.
func (resultReader) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (resultReader) Close() error { return nil }

// narrowed gives the values of a reader as float32.
type narrowed struct{ format.Reader }

// Blocks implements format.Reader.
func (r narrowed) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for b, err := range r.Reader.Blocks(ctx, name, want) {
			if err == nil {
				b, _ = b.Cast(matrix.F32)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// printResults prints a JSON object: the outputs by name, as lists of lists. Numbers have all digits of their float32.
func printResults(e *env, results []interp.Result) error {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, r := range results {
		if i > 0 {
			out.WriteString(", ")
		}
		name, _ := json.Marshal(r.Name) // a string always can be
		out.Write(name)
		out.WriteString(": ")
		at := 0
		writeList(&out, r.Tensor, 0, &at)
	}
	out.WriteString("}\n")
	_, err := out.WriteTo(e.out)
	return err
}

// writeList writes the values from at on as a list of the dimensions from depth on. What is no number in JSON is text.
func writeList(out *bytes.Buffer, t *interp.Tensor, depth int, at *int) {
	if depth == len(t.Dims) {
		if t.Type != matrix.F32 {
			out.WriteString(strconv.FormatInt(t.I[*at], 10))
		} else if v := float64(t.F[*at]); v-v == 0 {
			out.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		} else {
			fmt.Fprintf(out, "%q", strconv.FormatFloat(v, 'g', -1, 64))
		}
		*at++
		return
	}
	out.WriteByte('[')
	for i := range t.Dims[depth] {
		if i > 0 {
			out.WriteString(", ")
		}
		writeList(out, t, depth+1, at)
	}
	out.WriteByte(']')
}
