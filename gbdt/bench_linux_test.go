package gbdt

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"thole.example/data"
	"thole.example/tree"
)

// denseRows are rows of numbers, the last of which may be levels.
type denseRows struct {
	x                []float32
	n, width, levels int
}

func (r *denseRows) Len() int         { return r.n }
func (r *denseRows) Missing(int) bool { return true }

func (r *denseRows) Features() tree.Features {
	f := make([]tree.Feature, r.width)
	for i := range r.levels {
		f[r.width-1-i].Categorical = true
	}
	return tree.FeaturesOf(f...)
}

func (r *denseRows) Read(lo, hi int, b *Block) {
	for i := lo; i < hi; i++ {
		for f := range r.width {
			b.Feature = append(b.Feature, int32(f))
		}
		b.Value = append(b.Value, doubles(r.x[i*r.width:(i+1)*r.width]...)...)
		b.Ptr = append(b.Ptr, len(b.Feature))
	}
}

// array reads the bytes of an array of NumPy out of an archive of several, behind their header.
func array(b *testing.B, z *zip.ReadCloser, name string) []byte {
	b.Helper()
	f, err := z.Open(name + ".npy")
	if err != nil {
		b.Fatal(err)
	}
	all, err := io.ReadAll(f)
	if err != nil || len(all) < 10 || !bytes.HasPrefix(all, []byte("\x93NUMPY\x01")) {
		b.Fatalf("%s: %v, want an array of NumPy", name, err)
	}
	return all[10+int(binary.LittleEndian.Uint16(all[8:])):]
}

// examples reads float32 features and int8 labels.
func examples(b *testing.B, z *zip.ReadCloser, name string) (*denseRows, []float32) {
	x, y := array(b, z, name+"_x"), array(b, z, name+"_y")
	r, label := &denseRows{n: len(y), width: len(x) / 4 / len(y), x: make([]float32, len(x)/4)}, make([]float32, len(y))
	for i := range r.x {
		r.x[i] = math.Float32frombits(binary.LittleEndian.Uint32(x[4*i:]))
	}
	for i, v := range y {
		label[i] = float32(int8(v))
	}
	if r.width == 30 { // of 28 numbers
		r.levels = 2
	}
	return r, label
}

// rankSum is the area under the ROC curve of scores without ties.
func rankSum(s []float64, y []float32) float64 {
	order := counting(len(s))
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(s[a], s[b]) })
	ranks, positive := 0.0, 0.0
	for i, at := range order {
		if y[at] > 0 {
			ranks, positive = ranks+float64(i+1), positive+1
		}
	}
	return (ranks - positive*(positive+1)/2) / positive / (float64(len(s)) - positive)
}

// cpu is the seconds that the process has used of its processors.
func cpu() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// resident is a line of what Linux says of the memory of the process, in MB.
func resident(name string) (mb float64) {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(text) {
		if n, _ := fmt.Sscanf(string(line), name+": %f kB", &mb); n == 1 {
			return mb / 1024
		}
	}
	return 0
}

// BenchmarkPeers trains on the archives (*.npz) of the folder THOLE_NPZ, train_x, train_y, test_x and test_y, by the settings that other
// programs are measured by, on one processor and on two.
func BenchmarkPeers(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("THOLE_NPZ"), "*.npz"))
	if os.Getenv("THOLE_NPZ") == "" || len(files) == 0 {
		b.Skip("no archives in THOLE_NPZ")
	}
	for _, file := range files {
		for _, cores := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/cores=%d", filepath.Base(file), cores), func(b *testing.B) { benchPeers(b, file, cores) })
		}
	}
}

func benchPeers(b *testing.B, file string, cores int) {
	z, err := zip.OpenReader(file)
	if err != nil {
		b.Fatal(err)
	}
	defer z.Close()
	learn, y := examples(b, z, "train")
	test, ty := examples(b, z, "test")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	conf := settings(b, "binary", 100)
	conf.Rate, conf.Cores = 0.1, cores
	for b.Loop() {
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak of memory begins here
			b.Log(err)
		}
		before, memory := cpu(), resident("VmRSS")
		binned, err := Bin(b.Context(), learn, nil, conf.Bins, cores)
		if err != nil {
			b.Fatal(err)
		}
		bin := cpu()
		began := time.Now()
		e, err := Train(b.Context(), binned, &Labels{Label: y}, conf, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "train-s")
		b.ReportMetric(cpu()-bin, "train-cpu-s")
		b.ReportMetric(bin-before, "bin-cpu-s")
		b.ReportMetric(resident("VmHWM")-memory, "MB-over-data")
		fast, scores, rows := tree.Compile(e), make([]float64, test.n), doubles(test.x...)
		before = cpu()
		fast.Batch(rows, test.width, scores)
		b.ReportMetric(float64(test.n)/(cpu()-before), "scored/cpu-s")
		b.ReportMetric(rankSum(scores, ty), "auc")
	}
}

// BenchmarkSets trains on the sets of the tests on one processor, as other programs are measured on them: agaricus, a9a and census by
// their test examples, abalone by every tenth row.
func BenchmarkSets(b *testing.B) {
	for _, c := range []struct {
		name, objective, train, test string
		format                       string
		dim                          int
	}{
		{"a9a", "binary", "a9a/a9a_123d_train.dummy", "a9a/a9a_123d_test.dummy", "dummy", 123},
		{"census", "binary", "census/census_148d_train.dummy", "census/census_148d_test.dummy", "dummy", 148},
		{"agaricus", "binary", "agaricus/agaricus_127d_train.libsvm", "agaricus/agaricus_127d_test.libsvm", "libsvm", 128},
		{"abalone", "l2", "abalone/abalone_8d_train.libsvm", "", "libsvm", 9},
	} {
		b.Run(c.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			opt := data.Options{Format: c.format}
			learn := load(b, c.train, c.dim, opt)
			var test *Examples
			if c.test != "" {
				test = load(b, c.test, c.dim, opt)
			} else {
				all, err := *learn.Set, error(nil)
				if learn.Set, err = all.Choose(every(all.Len(), false)); err != nil {
					b.Fatal(err)
				}
				test = &Examples{View: learn.View}
				if test.Set, err = all.Choose(every(all.Len(), true)); err != nil {
					b.Fatal(err)
				}
			}
			benchSet(b, learn, test, c.objective)
		})
	}
}

// every is the numbers of n rows that are held out, every tenth, or of those that are not.
func every(n int, held bool) (all []int) {
	for i := range n {
		if i%10 == 0 == held {
			all = append(all, i)
		}
	}
	return all
}

func benchSet(b *testing.B, learn, test *Examples, objective string) {
	conf := settings(b, objective, 100)
	conf.Cores = 1
	var bin, grow float64
	var e *tree.Ensemble
	for b.Loop() {
		before := cpu()
		binned, err := Bin(b.Context(), learn, nil, conf.Bins, 1)
		if err != nil {
			b.Fatal(err)
		}
		middle := cpu()
		if e, err = Train(b.Context(), binned, &Labels{Label: learn.Set.Label}, conf, Options{}); err != nil {
			b.Fatal(err)
		}
		bin, grow = bin+middle-before, grow+cpu()-middle
	}
	b.ReportMetric(bin/float64(b.N), "bin-cpu-s")
	b.ReportMetric(grow/float64(b.N), "train-cpu-s")
	said := scores(e, test)
	if objective == "l2" {
		sum := 0.0
		for i, s := range said {
			sum += (s - float64(test.Set.Label[i])) * (s - float64(test.Set.Label[i]))
		}
		b.ReportMetric(math.Sqrt(sum/float64(len(said))), "rmse")
		return
	}
	loss, wrong := logloss(said, test.Set.Label)
	b.ReportMetric(loss, "logloss")
	b.ReportMetric(wrong*float64(len(said)), "errors")
}
