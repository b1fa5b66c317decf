package csv

import (
	"context"
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// tables are what the benchmarks read and write: cells of all digits, of few digits, and whole numbers.
var tables = []struct {
	name string
	cell func(r *rand.Rand) float64
}{
	{"full", func(r *rand.Rand) float64 { return r.Float64() }},
	{"short", func(r *rand.Rand) float64 { return float64(r.IntN(1000000)) / 1e4 }},
	{"whole", func(r *rand.Rand) float64 { return float64(r.IntN(1000000)) }},
}

const benchRows, benchCols = 20_000, 64

func benchTable(b *testing.B, cell func(r *rand.Rand) float64) (matrix.Meta, matrix.Block, string) {
	m := matrix.Meta{Name: "a", Rows: benchRows, Cols: benchCols, DType: matrix.F64}
	blk := matrix.NewDense(m.DType, m.Rect())
	r := rand.New(rand.NewPCG(1, 2))
	for i := range blk.Data.(*matrix.Dense[float64]).Val {
		blk.Data.(*matrix.Dense[float64]).Val[i] = cell(r)
	}
	bucket := &blob.Mem{}
	if err := store(bucket, "a.csv", m, blk, nil); err != nil {
		b.Fatal(err)
	}
	text, err := blob.ReadAll(context.Background(), bucket, "a.csv", 1<<30)
	if err != nil {
		b.Fatal(err)
	}
	return m, blk, string(text)
}

// perCore reports the text that each second of processor time went through: what else the machine does counts little.
func perCore(b *testing.B, bytes int, run func()) {
	var begin, end syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &begin); err != nil {
		b.Fatal(err)
	}
	run()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &end); err != nil {
		b.Fatal(err)
	}
	used := end.Utime.Nano() + end.Stime.Nano() - begin.Utime.Nano() - begin.Stime.Nano()
	b.ReportMetric(float64(bytes)*float64(b.N)/1e6/time.Duration(used).Seconds(), "MB/core-s")
}

func BenchmarkRead(b *testing.B) {
	for _, t := range tables {
		m, _, text := benchTable(b, t.cell)
		bucket := bucketOf(b, map[string]string{"a.csv": text,
			"a.csv.meta": fmt.Sprintf(`{"numCols":%d,"numRows":%d,"valueType":"f64"}`, m.Cols, m.Rows), "bare.csv": text})
		for _, file := range []string{"a.csv", "bare.csv"} {
			b.Run(t.name+"/"+file, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				perCore(b, len(text), func() {
					for b.Loop() {
						r, err := Codec.Open(context.Background(), bucket, file, format.Options{})
						if err != nil {
							b.Fatal(err)
						}
						for _, err := range r.Blocks(context.Background(), r.Matrices()[0].Name, m.Rect()) {
							if err != nil {
								b.Fatal(err)
							}
						}
					}
				})
			})
		}
		b.Run(t.name+"/encoding+strconv", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			perCore(b, len(text), func() {
				for b.Loop() {
					r := stdcsv.NewReader(strings.NewReader(text))
					r.ReuseRecord = true
					val := make([]float64, 0, benchRows*benchCols)
					for row, err := r.Read(); err != io.EOF; row, err = r.Read() {
						if err != nil {
							b.Fatal(err)
						}
						for _, c := range row {
							v, _ := strconv.ParseFloat(c, 64)
							val = append(val, v)
						}
					}
				}
			})
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, t := range tables {
		m, blk, text := benchTable(b, t.cell)
		b.Run(t.name+"/thole", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			perCore(b, len(text), func() {
				for b.Loop() {
					if err := store(&blob.Mem{}, "a.csv", m, blk, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
		b.Run(t.name+"/encoding+strconv", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			val := blk.Data.(*matrix.Dense[float64]).Val
			perCore(b, len(text), func() {
				for b.Loop() {
					var out strings.Builder
					w, row := stdcsv.NewWriter(&out), make([]string, benchCols)
					for i := range benchRows {
						for k := range row {
							row[k] = strconv.FormatFloat(val[i*benchCols+k], 'g', -1, 64)
						}
						if err := w.Write(row); err != nil {
							b.Fatal(err)
						}
					}
					w.Flush()
				}
			})
		})
	}
}
