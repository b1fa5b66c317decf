package data

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"thole.example/metric"
)

// deepOne is the model of seed 1, with numbers as they are, and in buckets.
var deepOne = [2]func() *DeepClickModel{
	sync.OnceValue(func() *DeepClickModel { return NewDeepClicks(DeepClicks{Seed: 1}) }),
	sync.OnceValue(func() *DeepClickModel { return NewDeepClicks(DeepClicks{Seed: 1, Buckets: true}) }),
}

// The text is, byte for byte, what another program wrote, which was made with NumPy of the same description (docs/data.md).
func TestDeepClicksOfAnotherProgram(t *testing.T) {
	for _, tt := range []struct {
		file, source string
		model        *DeepClickModel
		first, rows  int64
	}{
		{"deep-seed1-test.ffm", "libffm", deepOne[0](), 1 << 40, 100},
		{"deep-seed1-train.dummy", "dummy", deepOne[1](), 0, 100},
		{"deep-seed2-train.libsvm", "libsvm", NewDeepClicks(DeepClicks{Seed: 2}), 0, 60},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", tt.file))
		if err != nil {
			t.Fatal(err)
		}
		if got := written(t, tt.source, tt.model.Batch(tt.first, tt.first+tt.rows)); got != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s", tt.file, got, want)
		}
	}
}

// How well somebody predicts who knows the truth is what the other program found of the same rows.
func TestDeepClicksTruth(t *testing.T) {
	const rows, auc, loss = 60_000, 0.84008, 0.39454
	m := deepOne[0]()
	b := m.Batch(1<<40, 1<<40+rows)
	if err := check(b); err != nil || b.Fields != 39 || b.Dim() != 1_003_135 {
		t.Fatalf("%v, %d fields, %d columns", err, b.Fields, b.Dim())
	}
	label := make([]float64, rows)
	for i, y := range b.Label {
		label[i] = float64(y)
	}
	truth := m.Truth(b)
	gotAUC, err := metric.AUC(truth, label)
	gotLoss, errLoss := metric.LogLoss(truth, label)
	if err != nil || errLoss != nil || math.Abs(gotAUC-auc) > 5e-6 || math.Abs(gotLoss-loss) > 5e-6 {
		t.Errorf("AUC %v, %v and log loss %v, %v, want %v and %v", gotAUC, err, gotLoss, errLoss, auc, loss)
	}
	if part := m.Truth(m.Batch(b.X.At.Rows.Lo+50, b.X.At.Rows.Lo+60)); !slices.Equal(part, truth[50:60]) {
		t.Errorf("of a part %v, want %v", part, truth[50:60])
	}
}

// In buckets the rows are the same ones: all 39 columns are there, the labels and the truth do not change.
func TestDeepClicksInBuckets(t *testing.T) {
	m, buckets := deepOne[0](), deepOne[1]()
	a, b := m.Batch(10, 2000), buckets.Batch(10, 2000)
	if err := check(b); err != nil || len(b.Rows().Idx) != 39*b.Len() {
		t.Fatalf("%v, %d values", err, len(b.Rows().Idx))
	}
	if !equal(a.Label, b.Label) || !equal(m.Truth(a), buckets.Truth(b)) {
		t.Error("labels or truth differ")
	}
	missing, x := 0, a.Rows()
	for i := range a.Len() {
		missing += 39 - (x.Ptr[i+1] - x.Ptr[i])
	}
	if mean := float64(missing) / float64(a.Len()); math.Abs(mean-0.8) > 0.1 {
		t.Errorf("%v numbers are missing in a row, want about 4 * 0.2", mean)
	}
}

// Ranks are found by their guide where a plain search finds them, at the ends too.
func TestRanks(t *testing.T) {
	for _, n := range []int{1, 4, 300, 50_000} {
		z := newRanks(n)
		for i := range uint64(20_000) {
			u := stream(5).at(i)
			switch i {
			case 0:
				u = 0.5 / (1 << 53)
			case 1:
				u = 1
			default:
				if i < 100 {
					u = z.upTo[int(i)*n/100]
				}
			}
			want, _ := slices.BinarySearch(z.upTo, u)
			if got := z.of(u); int(got) != min(want, n-1) {
				t.Fatalf("%d ranks: %v is rank %d, want %d", n, u, got, want)
			}
		}
	}
}

func BenchmarkDeepClicksBatch(b *testing.B) {
	m := deepOne[0]()
	const rows = 4096
	for b.Loop() {
		m.Batch(0, rows)
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkNewDeepClicks(b *testing.B) {
	for b.Loop() {
		NewDeepClicks(DeepClicks{Seed: 1})
	}
}
