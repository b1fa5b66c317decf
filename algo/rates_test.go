package algo

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"thole.example/algo/algotest"
	"thole.example/data"
	"thole.example/optim"
)

// sweep names the rules whose rates are tried out: go test ./algo -run RateSweep -sweep nesterov,rmsprop -v
var sweep = flag.String("sweep", "", "rules, with commas between them, whose first rates TestRateSweep compares")

// The rates in psf.Rule.Rates are chosen by what this prints: how many percent above the least loss of the training examples
// (with the recipe's l2) each recipe ends at the first rate, on generated examples and on the training parts of real ones.
func TestRateSweep(t *testing.T) {
	if *sweep == "" {
		t.Skip("no rules to try: -sweep")
	}
	sets := map[string]map[string]*data.Batch{"lr": {}, "svm": {}, "linreg": {}}
	for seed := range *seeds {
		_, clicked := clicks(clickRows, 2*seed)
		_, valued := values(valueRows, 2*seed)
		name := fmt.Sprint("drawn ", seed)
		sets["lr"][name], sets["svm"][name], sets["linreg"][name] = clicked, clicked, valued
	}
	a9a := examples(t, "a9a/a9a_123d_train.dummy")
	a9a.X.At.Cols.Hi = 123
	sets["lr"]["a9a"], sets["svm"]["a9a"] = a9a, a9a
	abalone := examples(t, "abalone/abalone_8d_train.libsvm")
	abalone.X.At.Cols.Hi = 8
	sets["linreg"]["abalone"] = abalone
	for name, loss := range algotest.Losses() {
		a := recipe(t, name)
		for set, b := range sets[name] {
			p := &algotest.Problem{Data: b, Loss: loss, L2: a.Defaults.Hyper["l2"]}
			least := p.Least(t)
			for _, rule := range strings.Split(*sweep, ",") {
				line := ""
				for e := -7; e <= 7; e++ {
					rate := math.Round(1000*math.Pow(10, float64(e)/3)) / 1000
					d, hyper := a.For(nil, rule), map[string]float64{}
					if r, err := optim.Find(nil, rule); err == nil && p.L2 > 0 && has(*r, "l2") {
						hyper["l2"] = p.L2
					}
					d.Rate = rate
					line += fmt.Sprintf("  %g: %.3g", rate, 100*(tried(t, a, d, hyper, p)/least-1))
				}
				t.Logf("%s, %s, %s:%s", name, set, rule, line)
			}
		}
	}
}

// tried is the loss where a training ends, infinite if it does not.
func tried(t *testing.T, a *Algo, d Defaults, hyper map[string]float64, p *algotest.Problem) float64 {
	m, err := a.Build(Conf{Dim: p.Data.Dim(), Rule: d.Rule, Hyper: hyper})
	if err != nil {
		t.Fatal(err)
	}
	loss := make(chan float64, 1)
	go func() {
		defer close(loss)
		j := begin(attempt{t}, m)
		j.fit(p.Data, d)
		loss <- p.Value(j.weight())
	}()
	if v, ok := <-loss; ok {
		return v
	}
	return math.Inf(1)
}

// attempt is a test that may end without failing.
type attempt struct{ testing.TB }

func (attempt) Fatal(...any) { runtime.Goexit() }
