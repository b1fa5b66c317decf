package data

import (
	"bytes"
	"io"
	"math"
	"testing"

	"thole.example/metric"
)

func model(t testing.TB, c Clicks) *ClickModel {
	t.Helper()
	m, err := NewClicks(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var someClicks = Clicks{Seed: 7, Rows: 20_000, Dims: []int64{10, 1000, 3, 1_000_000}, Skew: 1.1, Spread: 0.7, Bias: -1}

func TestClicksAreFunctionsOfTheRow(t *testing.T) {
	m := model(t, someClicks)
	all := m.Batch(0, 300)
	if err := all.X.Check(); err != nil {
		t.Fatal(err)
	}
	if all.Fields != len(m.fields) || packed(all).Slice(7, 9).Fields != all.Fields {
		t.Errorf("%d fields, want %d", all.Fields, len(m.fields))
	}
	if part := model(t, someClicks).Batch(100, 200); !same(part, packed(all).Slice(100, 200)) || part.X.At != packed(all).Slice(100, 200).X.At {
		t.Error("rows depend on where a batch begins")
	}
	other := someClicks
	other.Seed++
	if same(model(t, other).Batch(0, 300), all) {
		t.Error("the seed does not matter")
	}
	for i, c := range all.Rows().Idx {
		if want := int32(i % len(m.fields)); all.Field[i] != want {
			t.Fatalf("value %d is of field %d, want %d", i, all.Field[i], want)
		}
		f := m.fields[i%len(m.fields)]
		if c < f.first || c >= f.first+f.dim {
			t.Fatalf("column %d in field %d, want one of [%d,%d)", c, i%len(m.fields), f.first, f.first+f.dim)
		}
	}
}

// Rows are promised to stay what they are: measurements name a seed.
func TestClicksStayTheSame(t *testing.T) {
	var text bytes.Buffer
	if err := Write(&text, "dummy", model(t, someClicks).Batch(0, 4)); err != nil {
		t.Fatal(err)
	}
	const want = "1 0 854 1011 646229\n1 0 381 1010 14858\n-1 0 60 1010 6081\n1 0 280 1011 1021\n"
	if text.String() != want {
		t.Errorf("%q\nwant %q", text.String(), want)
	}
}

// The labels must look like draws from the true probabilities.
func TestClicksTruth(t *testing.T) {
	m := model(t, someClicks)
	b := m.Batch(0, m.Rows)
	truth := m.Truth(b)
	label := make([]float64, b.Len())
	var positives, expected, variance, entropy float64
	for i, p := range truth {
		label[i] = float64(b.Label[i])
		positives += (label[i] + 1) / 2
		expected += p
		variance += p * (1 - p)
		entropy -= (p*math.Log(p) + (1-p)*math.Log(1-p)) / float64(len(truth))
	}
	if math.Abs(positives-expected) > 5*math.Sqrt(variance) {
		t.Errorf("%v positive labels, want about %v", positives, expected)
	}
	loss, err := metric.LogLoss(truth, label)
	if err != nil || math.Abs(loss-entropy) > 0.02 {
		t.Errorf("log loss of the truth %v, %v, want about %v", loss, err, entropy)
	}
	if auc, err := metric.AUC(truth, label); err != nil || auc < 0.7 || auc > 0.95 {
		t.Errorf("AUC of the truth %v, %v", auc, err)
	}
}

func TestClickWeights(t *testing.T) {
	m := model(t, someClicks)
	var sum, square float64
	const n = 100_000
	for c := range int64(n) {
		w := m.Weight(c)
		sum += w
		square += w * w
	}
	if mean, sd := sum/n, math.Sqrt(square/n); math.Abs(mean) > 0.01 || math.Abs(sd-0.7) > 0.01 {
		t.Errorf("weights of mean %v and deviation %v, want 0 and 0.7", mean, sd)
	}
}

func TestZipf(t *testing.T) {
	for _, tt := range []struct {
		n    int64
		skew float64
	}{{1, 1}, {2, 0}, {10, 0}, {10, 1}, {1000, 1.2}, {1000, 0.8}, {100, 3}} {
		z := newZipf(tt.n, tt.skew)
		count := make([]float64, tt.n)
		const draws = 200_000
		for i := range uint64(draws) {
			count[z.draw(mix(i*golden+1))]++
		}
		integral := func(x float64) float64 { // of x^-skew from 1
			if tt.skew == 1 {
				return math.Log(x)
			}
			return (math.Pow(x, 1-tt.skew) - 1) / (1 - tt.skew)
		}
		for r := range min(tt.n, 5) {
			want := draws * (integral(float64(r+2)) - integral(float64(r+1))) / integral(float64(tt.n+1))
			if math.Abs(count[r]-want) > 0.01*draws/float64(r+1) {
				t.Errorf("%d ranks, skew %v: rank %d %v times, want about %v", tt.n, tt.skew, r, count[r], want)
			}
		}
	}
	z := newZipf(10, 1)
	if lo, hi := z.draw(0), z.draw(math.MaxUint64); lo != 0 || hi != 9 {
		t.Errorf("ranks %d to %d, want 0 to 9", lo, hi)
	}
}

func TestClicksRefuse(t *testing.T) {
	for _, c := range []Clicks{
		{Rows: 1}, {Rows: -1, Dims: []int64{1}}, {Dims: []int64{0}}, {Dims: []int64{1 << 41}},
		{Dims: []int64{1}, Skew: math.NaN()}, {Dims: []int64{1}, Bias: math.Inf(1)},
	} {
		if _, err := NewClicks(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// 26 fields, about a million columns.
func manyClicks(b *testing.B) *ClickModel {
	c := Clicks{Seed: 1, Rows: 1 << 40, Skew: 1.1, Spread: 0.3, Bias: -1}
	for range 26 {
		c.Dims = append(c.Dims, 40_000)
	}
	return model(b, c)
}

func BenchmarkClicksBatch(b *testing.B) {
	m := manyClicks(b)
	const rows = 4096
	for b.Loop() {
		m.Batch(0, rows)
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkClicksText(b *testing.B) {
	m := manyClicks(b)
	const rows = 4096
	for b.Loop() {
		if err := Write(io.Discard, "dummy", m.Batch(0, rows)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
