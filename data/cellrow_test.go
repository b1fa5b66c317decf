package data_test

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"thole.example/data"
)

// The table of a click model has the same rows as its batches: the same label and numbers, and the same text where the column is the same.
func TestCellsAreBatch(t *testing.T) {
	linear, err := data.NewClicks(data.Clicks{Seed: 3, Rows: 500, Dims: []int64{2, 30, 4000}, Skew: 1.1, Spread: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		numbers int
		model   interface {
			Header() []string
			AppendCells(line []byte, sep byte, r int64) []byte
			Batch(lo, hi int64) *data.Batch
		}
	}{{0, linear}, {13, data.NewDeepClicks(data.DeepClicks{Seed: 3})}} {
		text := data.AppendRow(nil, ',', c.model.Header())
		for r := int64(100); r < 600; r++ {
			text = c.model.AppendCells(text, ',', r)
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, c.numbers, rows[1:], c.model.Batch(100, 600))
	}
}

func sameRows(t *testing.T, numbers int, rows [][]string, b *data.Batch) {
	t.Helper()
	type level struct {
		field int
		text  string
	}
	x, texts, columns := b.Rows(), map[level]int64{}, map[int64]level{}
	for i, row := range rows {
		if (row[0] == "1") != (b.Label[i] == 1) {
			t.Fatalf("row %d: label %s, in the batch %v", i, row[0], b.Label[i])
		}
		there := 0
		for _, cell := range row[1:] {
			there += min(1, len(cell))
		}
		if n := x.Ptr[i+1] - x.Ptr[i]; n != there {
			t.Fatalf("row %d: %d cells, %d values in the batch", i, there, n)
		}
		for p := x.Ptr[i]; p < x.Ptr[i+1]; p++ {
			f, col := int(b.Field[p]), x.Idx[p]
			one := level{f, row[1+f]}
			if f < numbers {
				if v, err := strconv.ParseFloat(one.text, 64); err != nil || math.Abs(math.Log1p(v)/4-float64(x.Val[p])) > 6e-4 {
					t.Fatalf("row %d: number %d is %q, in the batch %v", i, f, one.text, x.Val[p])
				}
				continue
			}
			if before, ok := texts[one]; ok && before != col {
				t.Fatalf("%v is column %d and %d", one, before, col)
			}
			if before, ok := columns[col]; ok && before != one {
				t.Fatalf("column %d is %v and %v", col, before, one)
			}
			texts[one], columns[col] = col, one
		}
	}
}

// What AppendRow writes, encoding/csv reads back.
func TestAppendRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.StringMatching(`[ab ",|;\n\t]{0,6}`), 1, 5).Draw(t, "cells")
		line := data.AppendRow(nil, ',', cells)
		if got, err := csv.NewReader(bytes.NewReader(line)).Read(); err != nil || !slices.Equal(got, cells) {
			t.Fatalf("%q read as %q, %v; want %q", line, got, err, cells)
		}
	})
}
