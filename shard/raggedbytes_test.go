package shard

import (
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/wire"
)

// ofWidths is a matrix of 16 rows with Adagrad, whose columns from 0 to narrow store 4 of them.
func ofWidths(narrow int64, keep matrix.Keep) *matrix.Meta {
	m := &matrix.Meta{Name: "e", Rows: 16, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad", Keep: keep}
	if narrow > 0 {
		m.Widths = []matrix.Width{{Cols: matrix.Range{Hi: narrow}, Rows: 4}}
	}
	return m
}

// stepAll makes a step that names columns, in partitions that bits of the hash choose.
func stepAll(t *testing.T, all []*Shard, bits int, keys []int64) {
	t.Helper()
	m := all[0].Meta()
	parts := make([][]int64, len(all))
	for _, key := range keys {
		at := kernel.Hash(uint64(key)) >> (64 - bits)
		parts[at] = append(parts[at], key)
	}
	for i, s := range all {
		val := make([]float32, int(m.Rows)*len(parts[i]))
		for j := range val {
			val[j] = 1
		}
		d := Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: parts[i], Values: wire.View(val)}
		if err := s.Apply([]Delta{d}, 1, 0.1); err != nil {
			t.Fatal(err)
		}
	}
}

func hashPartitions(t *testing.T, m *matrix.Meta, bits int) (all []*Shard) {
	t.Helper()
	rule, err := optim.Find(nil, m.Rule)
	if err != nil {
		t.Fatal(err)
	}
	for range 1 << bits {
		s, err := New(m, m.Rect(), bits, rule)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		all = append(all, s)
	}
	return all
}

// TestRaggedBytes: what 200,000 columns take of 4 rows, of 16, and of both widths in one matrix, with Adagrad's state. A column of 4 rows
// takes 32 bytes and its key, one of 16 rows 128: nine tenths of narrow columns take about a third of what all take with 16 rows.
func TestRaggedBytes(t *testing.T) {
	const n = 200_000
	took := map[string]float64{}
	for _, c := range []struct {
		name   string
		narrow int64
	}{{"all of 16 rows", 0}, {"nine tenths of 4", n / 10 * 9}, {"all of 4 rows", n}} {
		s := hashPartitions(t, ofWidths(c.narrow, matrix.Keep{}), 0)
		for from := int64(0); from < n; from += 10_000 {
			keys := make([]int64, 10_000)
			for i := range keys {
				keys[i] = from + int64(i)
			}
			stepAll(t, s, 0, keys)
		}
		if got := s[0].Columns(); got != n {
			t.Fatalf("%s: %d columns, want %d", c.name, got, n)
		}
		took[c.name] = float64(s[0].Bytes()) / n
		t.Logf("%s: %.0f bytes a column", c.name, took[c.name])
	}
	wide, mixed, narrow := took["all of 16 rows"], took["nine tenths of 4"], took["all of 4 rows"]
	if wide < 128 || narrow > 75 || mixed > 0.55*wide || mixed < narrow {
		t.Errorf("columns take %.0f, %.0f and %.0f bytes", wide, mixed, narrow)
	}
}

// TestRaggedBudget: a budget counts each column at its width. All partitions together stay below it, a width of few columns keeps them
// all, which leave the rest to the others, and what is there does not depend on how many partitions there are.
func TestRaggedBudget(t *testing.T) {
	const budget, wide = 6 << 20, 2000
	var want []int64
	for _, bits := range []int{0, 2, 4} {
		m := ofWidths(0, matrix.Keep{MaxBytes: budget, AdmitAfter: 2})
		m.Widths = []matrix.Width{{Cols: matrix.Range{Lo: wide, Hi: m.Cols}, Rows: 4}}
		all := hashPartitions(t, m, bits)
		for step := range int64(40) {
			var keys []int64
			for i := range int64(6000) {
				keys = append(keys, wide+(step/2*5000+i)%150_000)
			}
			for key := range int64(wide) {
				keys = append(keys, key)
			}
			stepAll(t, all, bits, keys)
			bytes := int64(0)
			for _, s := range all {
				r := s.store.(*ragged[float32])
				for _, k := range r.tables {
					bytes += k.index.bytes() + k.slab.bytes() + 4*int64(len(k.buckets.count))
				}
				w := r.life.candidates
				bytes += w.index.bytes() + w.slab.bytes() + 4*int64(len(w.buckets.count))
			}
			if bytes > budget {
				t.Fatalf("%d bits: %d bytes after step %d, want at most %d", bits, bytes, step, budget)
			}
		}
		var have []int64
		few, evicted := 0, int64(0)
		for i, s := range all {
			for _, key := range s.Keys(m.Rect().Cols) {
				if key < wide {
					few++
				}
				have = append(have, key)
			}
			evicted += all[i].Fate().Evicted
		}
		if few != wide || evicted == 0 || len(have) < 30_000 {
			t.Errorf("%d bits: %d of %d wide columns and %d in all are there, %d were evicted", bits, few, wide, len(have), evicted)
		}
		if want == nil {
			want = have
		}
		if !sameKeys(have, want) {
			t.Errorf("%d bits: other columns than with one partition", bits)
		}
	}
	m := ofWidths(1000, matrix.Keep{MaxBytes: 100_000})
	if _, err := newQuotas(m, 1); err == nil {
		t.Error("a budget for less than a few columns of each width is taken")
	}
}

func sameKeys(a, b []int64) bool {
	has := map[int64]bool{}
	for _, key := range a {
		has[key] = true
	}
	for _, key := range b {
		if !has[key] {
			return false
		}
	}
	return len(a) == len(b)
}
