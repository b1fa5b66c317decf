package paddle

import (
	"crypto/md5"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// The figures in docs/format/paddle.md: 1 GiB in 16 tensors, and beside each the plain work on the same bytes, in turn.
const (
	figureTensors = 16
	figureRows    = 1 << 12
)

// figureModel are the tensors, all with the same values.
func figureModel() (list []tensor) {
	m := matrix.Meta{Rows: figureRows, Cols: figureRows, DType: matrix.F32}
	block := matrix.NewDense(m.DType, m.Rect())
	for i, v := 0, block.Data.Values().([]float32); i < len(v); i++ {
		v[i] = float32(i)
	}
	for i := range figureTensors {
		m.Name = fmt.Sprintf("t%02d", i)
		list = append(list, tensor{m, block})
	}
	return list
}

// inTurn measures two things in turn and reports the median time of each and of their ratio, and the ratio of the time that
// they took of processors, which other work on the machine changes less.
func inTurn(b *testing.B, plain, ours func()) {
	var base, own, ratio, cpu []float64
	for b.Loop() {
		start, startCPU := time.Now(), processor(b)
		plain()
		middle, middleCPU := time.Now(), processor(b)
		ours()
		p, o := middle.Sub(start).Seconds(), time.Since(middle).Seconds()
		base, own, ratio = append(base, p*1e3), append(own, o*1e3), append(ratio, o/p)
		cpu = append(cpu, float64(processor(b)-middleCPU)/float64(middleCPU-startCPU))
	}
	for unit, v := range map[string][]float64{"plain-ms": base, "ours-ms": own, "ratio": ratio, "cpu-ratio": cpu} {
		slices.Sort(v)
		b.ReportMetric(v[len(v)/2], unit)
	}
}

// processor is the time that this process has taken of processors so far.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCombined writes and reads a folder with a combined file, beside plain writes and reads of 64 MiB each, the
// reads into new memory.
func BenchmarkCombined(b *testing.B) {
	ctx, root := b.Context(), b.TempDir()
	dir, list := blob.NewDir(root), figureModel()
	raw, _ := wire.ViewAny(list[0].block.Data.Values())
	file := filepath.Join(root, "plain")
	writePlain := func() {
		f, err := os.Create(file + ".new")
		if err != nil {
			b.Fatal(err)
		}
		for range list {
			if _, err := f.Write(raw); err != nil {
				b.Fatal(err)
			}
		}
		if f.Close() != nil || os.Rename(file+".new", file) != nil {
			b.Fatal("close or rename")
		}
	}
	write := func() { saveTo(b, dir, "m", format.Options{Set: map[string]string{"layout": "combined"}}, list...) }
	b.Run("write", func(b *testing.B) { inTurn(b, writePlain, write) })
	writePlain()
	write()
	readPlain := func() {
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		for i := range list {
			if _, err := f.ReadAt(make([]byte, len(raw)), int64(i*len(raw))); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("read", func(b *testing.B) {
		inTurn(b, readPlain, func() {
			r, err := Codec.Open(ctx, dir, "m", format.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			for _, m := range r.Matrices() {
				for _, err := range r.Blocks(ctx, m.Name, m.Rect()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	})
}

// BenchmarkSeed opens an aligned file and looks at its first tensor; compares its checksum with an MD5 alone; and verifies
// its digests with one processor and with two.
func BenchmarkSeed(b *testing.B) {
	ctx, dir, list := b.Context(), blob.NewDir(b.TempDir()), figureModel()
	saveTo(b, dir, "m", format.Options{Set: map[string]string{"align": "true", "digest": "true"}}, list...)
	open := func(verify string) format.Reader {
		r, err := Codec.Open(ctx, dir, "m", format.Options{Set: map[string]string{"verify": verify}})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	b.Run("first tensor", func(b *testing.B) {
		for b.Loop() {
			r, seen := open("off"), float32(0)
			ok, err := r.(format.Viewer).View(ctx, "t00", func(b matrix.Block) error {
				v := b.Data.Values().([]float32)
				seen += v[0] + v[len(v)-1]
				return nil
			})
			if !ok || err != nil || seen == 0 {
				b.Fatal(ok, err)
			}
			r.Close()
		}
	})
	raw, _ := wire.ViewAny(list[0].block.Data.Values())
	b.Run("checksum", func(b *testing.B) {
		inTurn(b, func() {
			h := md5.New()
			for range list {
				h.Write(raw)
			}
			h.Sum(nil)
		}, func() { open("file").Close() })
	})
	b.Run("digests", func(b *testing.B) {
		verify := func(procs int) func() {
			return func() {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				r := open("record")
				defer r.Close()
				if problems, err := r.(format.Verifier).Verify(ctx); err != nil || len(problems) > 0 {
					b.Fatal(problems, err)
				}
			}
		}
		inTurn(b, verify(1), verify(2))
	})
}
