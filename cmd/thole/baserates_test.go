package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thole.example/algo"
)

// drawnRates are generated examples with a given share of positives and known probabilities: a table of 20 numbers, of which five count by
// themselves and two by their product, or lines of libffm with ten ids, each with an effect, of 224660 columns together.
type drawnRates struct {
	lines  []string // of the file, after its header row
	header string
	p      []float64
}

func drawRates(ids bool, rate float64, n int, seed uint64) *drawnRates {
	r := rand.New(rand.NewPCG(seed, 31))
	d, texts, scores := &drawnRates{}, make([]strings.Builder, n), make([]float64, n)
	if ids {
		first := 0
		for field, size := range []int{30, 30, 300, 300, 1000, 3000, 20000, 40000, 60000, 100000} {
			effects := make([]float64, size)
			for k := range effects {
				effects[k] = r.NormFloat64() / 2
			}
			for i := range n {
				id := int(float64(size) * math.Pow(r.Float64(), 3)) // few ids are frequent
				scores[i] += effects[id]
				fmt.Fprintf(&texts[i], " %d:%d:1", field, first+id)
			}
			first += size
		}
	} else {
		d.header = "label"
		for k := range 20 {
			d.header += fmt.Sprintf(",v%d", k)
		}
		for i := range n {
			var z [20]float64
			for k := range z {
				z[k] = r.NormFloat64()
				fmt.Fprintf(&texts[i], ",%.4f", z[k])
			}
			scores[i] = 0.6 * (z[0] + z[1] + z[2] + z[3] + z[4] + z[5]*z[6])
		}
	}
	lo, hi := -30.0, 30.0
	for range 60 { // the bias with that share
		bias, sum := lo/2+hi/2, 0.0
		for _, s := range scores {
			sum += 1 / (1 + math.Exp(-s-bias))
		}
		if sum < rate*float64(n) {
			lo = bias
		} else {
			hi = bias
		}
	}
	due := r.Float64()
	for i, s := range scores { // the number of positives is the sum of the probabilities, without the variance of independent draws
		p, label := 1/(1+math.Exp(-s-lo)), "0"
		if due += p; due >= 1 {
			due, label = due-1, "1"
		}
		d.p, d.lines = append(d.p, p), append(d.lines, label+texts[i].String())
	}
	return d
}

// write writes the examples [lo, hi) to a file.
func (d *drawnRates) write(t *testing.T, name string, lo, hi int) {
	t.Helper()
	lines := d.lines[lo:hi]
	if d.header != "" {
		lines = append([]string{d.header}, lines...)
	}
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}

// rates are the ratio of the mean prediction to the mean true probability, and the ratio of the expected log loss to a constant's.
func rates(predicted, p []float64) (ratio, loss float64) {
	sum, base, logs := 0.0, 0.0, 0.0
	for i, q := range predicted {
		sum, base = sum+q, base+p[i]
		q = min(max(q, 1e-9), 1-1e-9)
		logs -= p[i]*math.Log(q) + (1-p[i])*math.Log(1-q)
	}
	n := float64(len(p))
	mean := base / n
	return sum / base, logs / n / -(mean*math.Log(mean) + (1-mean)*math.Log(1-mean))
}

// predictedRates are the predictions of a model for a file.
func predictedRates(t *testing.T, model, file string) (all []float64) {
	t.Helper()
	rc, text := said(t, "predict", "--model", model, "--data", file, "--out", "p.csv", "--force")
	if rc != 0 {
		t.Fatal(text)
	}
	out, err := os.ReadFile("p.csv")
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(records[0], "probability_1")
	if at < 0 {
		at = slices.Index(records[0], "prediction")
	}
	for _, record := range records[1:] {
		v, err := strconv.ParseFloat(record[at], 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// TestBaseRates trains with few positives, on few columns and on more than 65536: on other rows the mean prediction is within 5 % of the
// mean true probability, and the log loss is below a constant's. Two tasks with two servers train the data of the first seed, too. With
// BASE_RATES=1 (make rates) it trains all algorithms with 0.1 to 50 % positives on 60,000 rows of five seeds; BASE_ALGOS, BASE_SHARES and
// BASE_SEEDS choose some.
func TestBaseRates(t *testing.T) {
	names, shares, seeds := []string{"lr", "fm", "gbdt"}, []string{"0.01"}, []string{"1"}
	full, n := os.Getenv("BASE_RATES") != "", 12000
	if full {
		names, shares, seeds, n = nil, []string{"0.001", "0.01", "0.1", "0.5"}, []string{"21", "22", "23", "24", "25"}, 60000
		for _, a := range append(algo.Algos(), algo.Trees()) {
			names = append(names, a.Name)
		}
	}
	for variable, list := range map[string]*[]string{"BASE_ALGOS": &names, "BASE_SHARES": &shares, "BASE_SEEDS": &seeds} {
		if text := os.Getenv(variable); text != "" {
			*list = strings.Split(text, ",")
		}
	}
	t.Chdir(t.TempDir())
	for _, ids := range []bool{false, true} {
		for _, share := range shares {
			rate, err := strconv.ParseFloat(share, 64)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range seeds {
				seed, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				d := drawRates(ids, rate, 2*n, seed)
				r := &ratesTest{train: "train.csv", test: "test.csv", p: d.p[n:], log: full}
				if ids {
					r.train, r.test = "train.libffm", "test.libffm"
				}
				d.write(t, r.train, 0, n)
				d.write(t, r.test, n, 2*n)
				for _, name := range names {
					what := fmt.Sprintf("%s, %s positives, ids %v, seed %s", name, share, ids, text)
					r.check(t, what, name)
					if i == 0 && share == "0.01" {
						r.check(t, what+", two servers", name, "--servers", "2", "--tasks", "2")
					}
				}
			}
		}
	}
}

// ratesTest is the files of examples, and the true probabilities of those of test.
type ratesTest struct {
	train, test string
	p           []float64
	log         bool // also what is right
}

// check trains an algorithm and checks its predictions.
func (r *ratesTest) check(t *testing.T, what, name string, args ...string) {
	t.Helper()
	a, err := algo.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"train", "--algo", name, "--data", r.train, "--model", "m", "--force", "--runs", "none"}, args...)
	if rc, out := said(t, args...); rc != 0 {
		t.Errorf("%s: %s", what, out)
		return
	}
	ratio, loss := rates(predictedRates(t, "m", r.test), r.p)
	if r.log {
		t.Logf("%s: calibration ratio %.3f, log loss %.4f of a constant's", what, ratio, loss)
	}
	if a.Name == "svm" { // whose scores are no probabilities
		return
	}
	if probable := a.Task != algo.Regression; !(ratio >= 0.95 && ratio <= 1.05) || probable && !(loss < 1) {
		t.Errorf("%s: calibration ratio %.3f, log loss %.4f of a constant's", what, ratio, loss)
	}
}
