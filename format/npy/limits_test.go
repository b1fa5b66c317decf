package npy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// writeEmpty writes matrices without values, and reads them.
func writeEmpty(t *testing.T, c format.Codec, ms []matrix.Meta, o format.Options) (r format.Reader, err error) {
	t.Helper()
	b := &blob.Mem{}
	w, err := c.Create(t.Context(), b, "w", ms, o)
	if err != nil {
		if infos, _ := b.List(t.Context(), ""); len(infos) > 0 {
			t.Errorf("%d files after %v", len(infos), err)
		}
		return nil, err
	}
	if err := w.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r, err = c.Open(t.Context(), b, "w", format.Options{}); err != nil {
		t.Fatal("what was written is not read: ", err)
	}
	t.Cleanup(func() { r.Close() })
	return r, nil
}

// TestLimits writes arrays at each limit of the reader, and just beyond it.
func TestLimits(t *testing.T) {
	rank := func(n int) matrix.Meta {
		return matrix.Meta{Name: "w", Cols: 1, DType: matrix.F32, Dims: append([]int64{0}, slices.Repeat([]int64{1}, n-1)...)}
	}
	named := func(n int) matrix.Meta {
		m := rank(2)
		m.Name = strings.Repeat("n", n)
		return m
	}
	for what, c := range map[string]struct {
		codec format.Codec
		m     matrix.Meta
		want  error
	}{
		"dimensions":      {Codec, rank(maxRank), nil},
		"more dimensions": {Codec, rank(maxRank + 1), format.ErrLossy},
		"name":            {Zipped, named(0xffff - len(ending)), nil},
		"longer name":     {Zipped, named(0xffff - len(ending) + 1), format.ErrLimit},
	} {
		r, err := writeEmpty(t, c.codec, []matrix.Meta{c.m}, format.Options{})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %.200v, want %v", what, err, c.want)
		}
		if err != nil {
			continue
		}
		got := r.Matrices()[0]
		got.Unnamed = false
		if fmt.Sprint(got) != fmt.Sprint(c.m) {
			t.Errorf("%s: %.200v, want %.200v", what, got, c.m)
		}
	}
}

// TestHeaderLimit writes headers around the longest that is read.
func TestHeaderLimit(t *testing.T) {
	read, refused := 0, 0
	for n := maxHeader - 160; n <= maxHeader; n += 80 {
		m := matrix.Meta{Name: "w", Cols: 1, DType: matrix.F32, Labels: []string{strings.Repeat("l", n)}}
		r, err := writeEmpty(t, Codec, []matrix.Meta{m}, format.Options{})
		switch {
		case errors.Is(err, format.ErrLimit):
			refused++
		case err != nil:
			t.Fatalf("label of %d bytes: %.200v", n, err)
		case len(r.Matrices()[0].Labels[0]) != n:
			t.Errorf("label of %d bytes, want %d", len(r.Matrices()[0].Labels[0]), n)
		default:
			read++
		}
	}
	if read == 0 || refused == 0 {
		t.Errorf("%d headers read, %d refused, want some of both", read, refused)
	}
}

// TestManyMembers writes more arrays than a zip archive has without its 64-bit fields.
func TestManyMembers(t *testing.T) {
	ms := make([]matrix.Meta, 0x10000)
	for i := range ms {
		ms[i] = matrix.Meta{Name: fmt.Sprint(i), Cols: 1, DType: matrix.F32}
	}
	if r, err := writeEmpty(t, Zipped, ms, format.Options{}); err != nil || len(r.Matrices()) != len(ms) {
		t.Errorf("%d arrays: %v", len(ms), err)
	}
}

// TestBesideLimit writes files beside the arrays as large as they are read, and tells which are left out.
func TestBesideLimit(t *testing.T) {
	lost := []string{}
	limit := format.FileLimit("a")
	files := map[string][]byte{"a": make([]byte, limit), "b": {1}, "c": make([]byte, limit+1), "columns.json": make([]byte, limit+1), "d": nil}
	o := format.Options{Files: files, Lossy: true, Lost: func(what string) { lost = append(lost, what) }}
	r, err := writeEmpty(t, Zipped, []matrix.Meta{{Name: "w", Cols: 1, DType: matrix.F32}}, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Files(); len(got) != 4 || got["c"] != nil || len(lost) != 1 || !strings.HasPrefix(lost[0], "file c: 16777217 bytes") {
		t.Errorf("%d files, lost %q, want all but c", len(got), lost)
	}
	if warnings := format.Warnings(r.Notes()); len(warnings) > 0 {
		t.Errorf("read with %q", warnings)
	}
}
