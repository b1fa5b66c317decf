package angel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// drawMore gives a matrix what Angel has no place for, and any row type of its element type and layout.
func drawMore(t *rapid.T, m *matrix.Meta) {
	var kinds []string
	for k := rowType(0); k < firstComplex; k++ {
		if elementOf(k) == m.DType && k.Layout() == m.Layout {
			kinds = append(kinds, k.String())
		}
	}
	m.Attrs[attrRowType] = rapid.SampledFrom(kinds).Draw(t, "as row type")
	switch rapid.IntRange(0, 3).Draw(t, "shape") {
	case 1:
		m.Dims = []int64{m.Rows, 1, m.Cols}
	case 2:
		if m.Dims = []int64{m.Cols}; m.Rows != 1 {
			m.Dims = []int64{m.Rows, m.Cols, 1}
		}
		if m.Rows == 1 && m.Cols == 1 {
			m.Dims = []int64{}
		}
	}
	if rapid.Bool().Draw(t, "labels") {
		for i := range m.Cols {
			m.Labels = append(m.Labels, fmt.Sprintf("%s %d", rapid.SampledFrom([]string{"", "a/\"b", "名\n"}).Draw(t, "label"), i))
		}
	}
	if rapid.Bool().Draw(t, "types") {
		for range m.Cols {
			m.ColTypes = append(m.ColTypes, rapid.SampledFrom([]matrix.DType{m.DType, matrix.U8}).Draw(t, "type"))
		}
	}
	if rapid.Bool().Draw(t, "lod") {
		m.LoD = [][]int64{{0, 1, m.Rows}, {}}
	}
	if rapid.Bool().Draw(t, "origin") {
		m.Origin = "complex64"
		m.ColOrigins = slices.Repeat([]string{""}, int(m.Cols))
		m.ColOrigins[0] = "timestamp[ns, tz=UTC]"
	}
}

func drawOptions(t *rapid.T, l *layout) map[string]string {
	set := map[string]string{optFormat: l.name}
	for _, o := range []struct {
		name string
		of   []string
	}{
		{optPerFile, []string{"1", "2", "5"}},
		{optPartition, []string{"", "range", "column", "hash"}},
		{optPartitions, []string{"", "1", "3", "4"}},
		{optBlockRows, []string{"", "1", "2", "100"}},
		{optBlockCols, []string{"", "1", "3", "20", "9223372036854775807"}},
		{optCompat, []string{"", "", "angel-3.1", "angel-3.2", "angel-master"}},
		{optChecksum, []string{"on", "off"}},
		{optSlots, []string{"", "0", "1", "3"}},
		{optSeparator, []string{"", "tab", "|", "dot", "space", "semicolon", "::", "e", "-", "1", " , ", "x-", "+", "N", "'", "é"}},
	} {
		if v := rapid.SampledFrom(o.of).Draw(t, o.name); v != "" {
			set[o.name] = v
		}
	}
	return set
}

// refusal reports whether an error is one of those that Create may answer.
func refusal(err error) bool {
	return errors.Is(err, format.ErrLossy) || errors.Is(err, format.ErrLimit) || errors.Is(err, format.ErrOption)
}

// TestAcceptedOpensAgain holds the law of the writer: what Create, Put and Commit take opens again as the same and is found in
// order, or Create refuses it.
func TestAcceptedOpensAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		drawMore(t, &s.m)
		l := rapid.SampledFrom(writable).Draw(t, "format")
		o := format.Options{Stage: "s", Set: drawOptions(t, l), Lossy: rapid.Bool().Draw(t, "lossy")}
		b := &blob.Mem{}
		w, err := Codec.Create(ctx, b, "model", []matrix.Meta{s.m}, o)
		if refusal(err) {
			return
		}
		if err != nil {
			t.Fatalf("%v: %v", o.Set, err)
		}
		var parts []format.Part
		for _, one := range cutBlocks(s.b, rapid.Int64Range(1, 60).Draw(t, "cells in a block")) {
			p, err := w.Put(ctx, s.m.Name, one)
			if err != nil {
				t.Fatalf("%v: put: %v", o.Set, err)
			}
			parts = append(parts, p)
		}
		if err := w.Commit(ctx, parts); err != nil {
			t.Fatalf("%v: commit: %v", o.Set, err)
		}
		checkAgain(t, b, &s, l, &o)
	})
}

func checkAgain(t *rapid.T, b blob.Bucket, s *sample, l *layout, o *format.Options) {
	r, err := Codec.Open(ctx, b, "model", format.Options{})
	if err != nil {
		t.Fatalf("%v: %v", o.Set, err)
	}
	want, got := s.m.Clone(), r.Matrices()[0]
	if n := map[string]int64{"1": 1, "3": 3}[o.Set[optSlots]]; n > 0 && want.Saved == nil {
		want.Saved, want.Dims = []matrix.Range{{Hi: want.Rows}}, nil
		want.Rows *= n + 1
	}
	want.ColTypes = nil         // which cells of one type cannot have; it is asked for
	if o.Set[optCompat] != "" { // which is allowed only if the user says so
		want.Dims, want.Labels, want.LoD, want.Origin, want.ColOrigins = nil, nil, nil, "", nil
	}
	delete(want.Attrs, attrRowType)
	checkMeta(t, &want, &got)
	if (got.Dims == nil) != (want.Dims == nil) || fmt.Sprint(got.Dims, got.ColTypes, got.LoD) != fmt.Sprint(want.Dims, want.ColTypes, want.LoD) ||
		fmt.Sprintf("%q%q%q", got.Labels, got.Origin, got.ColOrigins) != fmt.Sprintf("%q%q%q", want.Labels, want.Origin, want.ColOrigins) {
		t.Fatalf("%v: got %+v\nwant %+v", o.Set, got, want)
	}
	cells, err := values(r, got, s.m.Rect())
	if err != nil {
		t.Fatalf("%v: %v", o.Set, err)
	}
	expect := s.stored(t)
	if o.Lossy {
		expect = expected(s, l, cells, expect)
	}
	if !maps.Equal(cells, expect) {
		t.Fatalf("%v: got %v, want %v", o.Set, cells, expect)
	}
	if problems, err := r.(format.Verifier).Verify(ctx); len(problems) > 0 || err != nil {
		t.Fatalf("%v: problems %q, %v", o.Set, problems, err)
	}
}
