package main

import (
	"strings"
	"testing"
)

// TestMore: what only some matrices have is said of those, and only of those.
func TestMore(t *testing.T) {
	six := strings.Split("abcdef", "")
	for _, c := range []struct {
		matrixFinding
		want string
	}{
		{matrixFinding{Rows: 3, Cols: 2, DType: "f32", Layout: "dense"}, ""},
		{matrixFinding{Pieces: 1, Kind: "blocks", Bytes: 12}, "12 bytes"},
		{matrixFinding{Pieces: 2, Kind: "blocks", Bytes: 2048}, "2 blocks; 2 KiB"},
		{matrixFinding{Saved: "0..3 5..6"}, "saved rows 0..3 5..6"},
		{matrixFinding{First: 1}, "columns from 1"},
		{matrixFinding{First: -1}, "columns from -1"},
		{matrixFinding{Dims: []int64{}}, ""},
		{matrixFinding{Dims: []int64{6}}, "tensor [6]"},
		{matrixFinding{Dims: []int64{3, 2}}, ""}, // as the size says
		{matrixFinding{Dims: []int64{3, 2, 1}}, "tensor [3 2 1]"},
		{matrixFinding{LoD: [][]int64{{0, 1}, {0, 3}}}, "LoD of 2 levels"},
		{matrixFinding{Origin: "complex64"}, "stored as complex64"},
		{matrixFinding{Labels: six}, "labels a, b, c, d, e, f"},
		{matrixFinding{Labels: append(six, "g")}, "labels a, b, c, d, e, f and 1 more"},
		{matrixFinding{Types: []string{"i64"}}, "types i64"},
		{matrixFinding{statistics: statistics{NaNs: 1}}, "1 NaN"},
		{matrixFinding{statistics: statistics{Infs: 1}}, "1 infinite"},
		{matrixFinding{Unread: "why"}, "cannot be read"},
		{matrixFinding{First: 7, Origin: "bits", Unread: "why"}, "columns from 7; stored as bits; cannot be read"},
	} {
		if got := c.more(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestShares: how many values are stored, and how many of them are zero.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		matrixFinding
		stored, zeros string
	}{
		{matrixFinding{Rows: 4, Cols: 5, Layout: "dense"}, "0", "0"},
		{matrixFinding{Rows: 4, Cols: 5, Layout: "sparse"}, "0", "0"},
		{matrixFinding{Rows: 4, Cols: 5, Layout: "dense", statistics: statistics{Stored: 20, Zeros: 1, ZeroShare: 0.05}}, "20", "1 (5%)"},
		{matrixFinding{Rows: 4, Cols: 5, Layout: "sparse", statistics: statistics{Stored: 1, Zeros: 1, ZeroShare: 1}}, "1 (5%)", "1 (100%)"},
		{matrixFinding{Rows: 1 << 40, Cols: 1 << 40, Layout: "sparse", statistics: statistics{Stored: 1 << 60}}, "1152921504606846976 (9.54e-05%)", "0"},
	} {
		if stored, zeros := c.storedShare(), c.zeroShare(); stored != c.stored || zeros != c.zeros {
			t.Errorf("%q and %q, want %q and %q", stored, zeros, c.stored, c.zeros)
		}
	}
}
