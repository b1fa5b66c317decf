package report

import (
	"bytes"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/metric"
)

func written(t interface{ Fatal(...any) }, r *Report) string {
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rows are the cells of the table rows of a page, a line each.
func rows(page string) string {
	var all []string
	for _, row := range regexp.MustCompile(`(?s)<tr( class="mark")?>(.*?)</tr>`).FindAllStringSubmatch(page, -1) {
		cells := regexp.MustCompile(`<t[dh]>(.*?)</t[dh]>`).FindAllStringSubmatch(row[2], -1)
		var text []string
		for _, c := range cells {
			text = append(text, c[1])
		}
		line := strings.Join(text, "|")
		if row[1] != "" {
			line += " marked"
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n") + "\n"
}

func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

func TestTwoClasses(t *testing.T) {
	in := &metric.Input{Score: []float64{2, 1, 0, -1}, Label: []float64{1, -1, 1, -1}, Probability: []float64{0.9, 0.7, 0.5, 0.3}}
	r := &Report{Title: "lr on <a&b>.libsvm", Facts: []Fact{{"model", "m\"<"}}, Task: metric.Classification, Input: in,
		Metrics: []Value{{"auc", 0.75, "pairs in order"}, {"gauc", math.NaN(), "groups"}}, Classes: []string{"no", "yes"}}
	page := written(t, r)
	has(t, page, "predicted yes if its predicted probability is above 0.5 (score is above 0).")
	has(t, page, "<h1>lr on &lt;a&amp;b&gt;.libsvm</h1>", "m&#34;&lt;", "Calibration</h2>", "Lift and gain</h2>", ">ROC<", ">Precision and recall<",
		">Cumulative gain<", ">Predictions by class<", "is 0.75, the average precision 0.83333; chance has 0.5 and 0.5")
	has(t, rows(page), "auc|0.75|pairs in order\n", "gauc|–|groups\n",
		"no|1|1\n", "yes|1|1\n", // confusion: 0 is not above the threshold
		"1|1|0.3|0|0.3\n2|1|0.5|1|-0.5\n", // calibration, the lowest first
		"0|0.5|0.66667|1|0.8|0.75|75.00 % marked\n",
	)
}

func TestThresholdRows(t *testing.T) {
	in := &metric.Input{Score: []float64{2, 1, 0, -1}, Label: []float64{1, -1, 1, -1}}
	page := written(t, &Report{Task: metric.Classification, Input: in})
	got := rows(page)
	has(t, page, "predicted 1 if its score is above 0.")
	// One positive of one; 1 of 2; 2 of 3, the best; 2 of 4.
	has(t, got, "2|–|1|0.5|0.66667|0.75|25.00 %\n", "1|–|0.5|0.5|0.5|0.5|50.00 %\n", "0|–|0.66667|1|0.8|0.75|75.00 % marked\n",
		"-1|–|0.5|1|0.66667|0.5|100.00 %\n")
	// The tenths: one example each.
	has(t, got, "1|2|2|1|1|100.00 %|2|50.00 %|2\n", "3|0|0|1|1|100.00 %|2|100.00 %|1.3333\n")
}

func TestSeveralClasses(t *testing.T) {
	in := &metric.Input{Classes: 3, Score: []float64{0, 1, 1, 2}, Label: []float64{0, 0, 1, 2}}
	got := rows(written(t, &Report{Task: metric.Multiclass, Input: in, Classes: []string{"2", "5", "9"}}))
	has(t, got, "|2|5|9\n", "2|1|1|0\n", "5|0|1|0\n", "9|0|0|1\n", "2|2|1|1|0.5|0.66667\n", "5|1|2|0.5|1|0.66667\n")

	many := &metric.Input{Classes: 1000}
	for k := range 1000 {
		for range 1 + k%2 {
			many.Score, many.Label = append(many.Score, float64(k)), append(many.Label, float64(k))
		}
	}
	page := written(t, &Report{Task: metric.Multiclass, Input: many})
	has(t, page, "1000 classes; listed are the 200 with the most examples.")
	if n := strings.Count(rows(page), "|2|2|1|1|1\n"); n != 200 {
		t.Errorf("%d classes of two examples are listed, want 200", n)
	}
}

func TestNumbers(t *testing.T) {
	in := &metric.Input{Score: []float64{1, 2, 3, 4}, Label: []float64{1, 4, 2, 4}, Weight: []float32{1, 1, 1, 2}}
	got := rows(written(t, &Report{Task: metric.Regression, Input: in}))
	has(t, got, "1|1|1|1|1|1|0\n", "2|2|2|1|2|4|-2\n", "4|4|4|2|4|4|0\n", "0 %|-1|0\n", "50 %|0|0 marked\n", "75 %|0|1\n", "100 %|2|2\n")
}

func TestRanking(t *testing.T) {
	in := &metric.Input{Score: []float64{2, 1, 5}, Label: []float64{0, 2, 1}, Group: []int64{1, 1, 3}}
	page := written(t, &Report{Task: metric.Ranking, Input: in})
	has(t, page, "Order in groups</h2>", "<svg")
	has(t, rows(page), "1|0.5|0.5\n", "2|0.81546|0.75\n", "20|0.81546|0.75\n")
	in.Group = nil
	has(t, written(t, &Report{Task: metric.Ranking, Input: in}), "there is no order to judge")
}

// TestAnyInput writes a page whatever was measured: the same one again, of nothing from elsewhere.
func TestAnyInput(t *testing.T) {
	number := rapid.OneOf(rapid.Float64Range(-10, 10), rapid.SampledFrom([]float64{0, 1, -1, 1e308, -1e308, 5e-324, math.Inf(1), math.Inf(-1)}))
	outside := regexp.MustCompile(`(?i)<script|https?://|src=|href=|url\(|ZgotmplZ`)
	rapid.Check(t, func(t *rapid.T) {
		task := rapid.SampledFrom([]metric.Task{metric.Classification, metric.Multiclass, metric.Regression, metric.Ranking}).Draw(t, "task")
		in := &metric.Input{}
		r := &Report{Title: rapid.String().Draw(t, "title"), Task: task, Input: in, Classes: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "classes")}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(0, 50).Draw(t, "n")
		for range n {
			in.Score, in.Label = append(in.Score, number.Draw(t, "score")), append(in.Label, number.Draw(t, "label"))
			if task == metric.Ranking {
				in.Group = append(in.Group, rng.Int64N(4))
			}
		}
		if rapid.Bool().Draw(t, "weights") {
			in.Weight = make([]float32, n)
			for i := range in.Weight {
				in.Weight[i] = float32(rng.IntN(3))
			}
		}
		if task == metric.Multiclass {
			in.Classes = rapid.IntRange(2, 40).Draw(t, "k")
		} else if rapid.Bool().Draw(t, "probabilities") {
			for range n {
				in.Probability = append(in.Probability, rng.Float64())
			}
		}
		if in.Check() != nil {
			return
		}
		page := written(t, r)
		if page != written(t, r) {
			t.Fatal("other bytes the second time")
		}
		if bad := outside.FindString(strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")); bad != "" && !strings.Contains(r.Title, bad) {
			t.Fatalf("%q in %s", bad, page)
		}
		if !strings.HasSuffix(page, "</html>\n") {
			t.Fatal("the page has no end")
		}
	})
}
