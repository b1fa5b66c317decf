package shard_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
)

const (
	benchDim  = 16
	benchRows = 4096
	benchKeys = 1 << 18
)

// batches are ascending keys of benchRows columns each, of benchKeys in all.
func batches(n int) [][]int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([][]int64, n)
	for i := range all {
		keys := map[int64]bool{}
		for len(keys) < benchRows {
			keys[rng.Int64N(benchKeys)*7919] = true
		}
		for k := range keys {
			all[i] = append(all[i], k)
		}
		slices.Sort(all[i])
	}
	return all
}

// benchShard is an embedding table of float32 with every key of the batches written once.
func benchShard(b *testing.B, rule string, from [][]int64) *shard.Shard {
	b.Helper()
	m := &matrix.Meta{
		Name: "e", Rows: benchDim, Cols: benchKeys * 7919, DType: matrix.F32, Layout: matrix.RowSparse, Rule: rule,
	}
	s, err := shard.New(m, m.Rect(), 0, benchRule(b, rule))
	if err != nil {
		b.Fatal(err)
	}
	for _, keys := range from {
		if err := s.AddBlock(columnsOf(m, keys)); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func benchRule(b *testing.B, name string) *psf.Rule {
	b.Helper()
	for _, r := range optim.Rules() {
		if r.Name == name {
			return &r
		}
	}
	return nil
}

func columnsOf(m *matrix.Meta, keys []int64) matrix.Block {
	val := make([]float32, len(keys)*int(m.Rows))
	for i := range val {
		val[i] = float32(i % 13)
	}
	return matrix.Block{At: m.Rect(), Data: &matrix.Cols[float32]{Idx: keys, Val: val}}
}

// perRow reports columns (embedding rows) per second beside the bytes.
func perRow(b *testing.B) {
	b.SetBytes(benchRows * benchDim * 4)
	b.Cleanup(func() { b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds()/1e6, "Mrows/s") })
	b.ReportAllocs()
}

func BenchmarkKeyedRead(b *testing.B) {
	all := batches(16)
	s := benchShard(b, "", all)
	perRow(b)
	i := 0
	for b.Loop() {
		if _, err := s.ReadBlock(s.At(), all[i%len(all)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkKeyedAdd(b *testing.B) { benchApply(b, "") }

func BenchmarkKeyedAdagrad(b *testing.B) { benchApply(b, "adagrad") }

func BenchmarkKeyedAdam(b *testing.B) { benchApply(b, "adam") }

func benchApply(b *testing.B, rule string) {
	all := batches(16)
	s := benchShard(b, rule, all)
	grads := make([][]matrix.Block, len(all))
	for i, keys := range all {
		grads[i] = []matrix.Block{columnsOf(s.Meta(), keys)}
	}
	perRow(b)
	i := 0
	for b.Loop() {
		if err := s.ApplyBlocks(grads[i%len(all)], 64, 0.1); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkKeyedGrow fills an empty table.
func BenchmarkKeyedGrow(b *testing.B) {
	all := batches(16)
	b.SetBytes(int64(len(all)) * benchRows * benchDim * 4)
	b.ReportAllocs()
	for b.Loop() {
		benchShard(b, "adagrad", all)
	}
}

func BenchmarkDenseAdagrad(b *testing.B) {
	m := &matrix.Meta{Name: "d", Rows: 1, Cols: 1 << 16, DType: matrix.F32, Rule: "adagrad"}
	s, err := shard.New(m, m.Rect(), 0, benchRule(b, m.Rule))
	if err != nil {
		b.Fatal(err)
	}
	g := matrix.NewDense(matrix.F32, m.Rect())
	b.SetBytes(4 << 16)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.ApplyBlocks([]matrix.Block{g}, 1, 0.1); err != nil {
			b.Fatal(err)
		}
	}
}
