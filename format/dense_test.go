package format_test

import (
	"errors"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/matrix"
)

// TestLoseAbsent checks that filling a sparse matrix needs permission, tells its size, and has a bound.
func TestLoseAbsent(t *testing.T) {
	sparse := func(rows, cols int64) *matrix.Meta {
		return &matrix.Meta{Name: "w", Rows: rows, Cols: cols, DType: matrix.F32, Layout: matrix.RowSparse}
	}
	rows := &matrix.Meta{Name: "w", Rows: 4, Cols: 2, DType: matrix.F64, Saved: []matrix.Range{{Lo: 0, Hi: 1}}}
	dense := &matrix.Meta{Name: "w", Rows: 1 << 40, Cols: 1 << 10, DType: matrix.F64}
	full := sparse(1<<20, 1<<20)
	full.Stored = 1 << 40
	for _, c := range []struct {
		name string
		m    *matrix.Meta
		o    format.Options
		is   error
		text string // of the error, or of what is told
	}{
		{"nothing absent", dense, format.Options{}, nil, ""},
		{"every cell stored", full, format.Options{}, nil, ""},
		{"not allowed", sparse(3, 1<<20), format.Options{}, format.ErrLossy, "absent cells become zeros, 3 x 1048576 f32 are 12 MiB"},
		{"told", sparse(3, 1<<20), format.Options{Lossy: true}, nil, "absent cells become zeros, 3 x 1048576 f32 are 12 MiB"},
		{"rows", rows, format.Options{Lossy: true}, nil, "absent rows become zeros, 4 x 2 f64 are 64 bytes"},
		{"at the bound", sparse(1<<8, 1<<20), format.Options{Lossy: true}, nil, "are 1 GiB"},
		{"beyond it", sparse(1<<8+1, 1<<20), format.Options{Lossy: true}, format.ErrLimit, "want at most 1 GiB (--max-dense"},
		{"larger bound", sparse(1<<8+1, 1<<20), format.Options{Lossy: true, MaxDense: 1 << 31}, nil, ""},
		{"no bound", sparse(1<<20, 1<<40), format.Options{Lossy: true, MaxDense: -1}, nil, "are 4 EiB"},
		{"beyond all", sparse(1<<40, 1<<40), format.Options{Lossy: true, MaxDense: -1}, format.ErrLimit, "2^63"},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := ""
			c.o.Lost = func(what string) { told += what }
			err := format.LoseAbsent(c.m, &c.o)
			if !errors.Is(err, c.is) || (c.is == nil) != (err == nil) {
				t.Fatalf("%v, want %v", err, c.is)
			}
			if err != nil {
				told = err.Error()
			}
			if !strings.Contains(told, c.text) {
				t.Errorf("%q, want %q in it", told, c.text)
			}
		})
	}
	o := format.Options{Lossy: true, MaxDense: 100}
	if err := format.LoseAbsent(sparse(4, 4), &o); err != nil {
		t.Error(err)
	}
	if err := format.LoseAbsent(sparse(4, 4), &o); !errors.Is(err, format.ErrLimit) {
		t.Errorf("second matrix: %v, want the sum to count", err)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1500: "1.46 KiB",
		1_023_487: "999 KiB", 1_023_488: "1000 KiB", 1000 << 10: "1000 KiB", 1023 << 10: "1023 KiB", 1<<20 - 1: "1 MiB", 5 << 30: "5 GiB", 1<<63 - 1: "8 EiB",
	} {
		if got := format.Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
