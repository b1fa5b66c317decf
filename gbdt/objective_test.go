package gbdt

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// losses are those that objectives make small, of a row, written out.
func lossOf(name string, scores []float64, y, alpha float64) float64 {
	s := scores[0]
	switch d := y - s; name {
	case "binary":
		if y <= 0 {
			s = -s
		}
		return math.Log1p(math.Exp(-s))
	case "l2":
		return d * d / 2
	case "l1":
		return math.Abs(d)
	case "huber":
		if math.Abs(d) <= alpha {
			return d * d / 2
		}
		return alpha * (math.Abs(d) - alpha/2)
	case "quantile":
		return max(alpha*d, (alpha-1)*d)
	case "poisson":
		return math.Exp(s) - y*s
	case "multiclass":
		most, all := slices.Max(scores), 0.0
		for _, s := range scores {
			all += math.Exp(s - most)
		}
		return most + math.Log(all) - scores[int(y)]
	}
	panic(name)
}

// exactSecond are the objectives whose h is the second derivative, and how many times it.
var exactSecond = map[string]float64{"binary": 1, "l2": 1, "poisson": 1, "multiclass": 1.5}

// labelsFor are some labels of an objective.
func labelsFor(name string, r *rand.Rand) float32 {
	switch name {
	case "binary":
		return float32(r.IntN(3) - 1)
	case "poisson":
		return float32(r.IntN(9))
	case "multiclass":
		return float32(r.IntN(3))
	}
	return float32(r.NormFloat64() * 3)
}

// TestDerivatives holds those of all objectives of single rows to differences of the loss.
func TestDerivatives(t *testing.T) {
	for _, o := range Objectives() {
		if o.Rank != nil {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
				o, alpha := o, 0.2+0.6*r.Float64()
				if o.Settings != nil {
					o, _ = o.With(map[string]float64{"alpha": alpha})
				}
				classes := 1
				if o.Several != nil {
					classes = 3
				}
				scores, g, h := make([][]float64, classes), make([][]float32, classes), make([][]float32, classes)
				at, y := make([]float64, classes), []float32{labelsFor(o.Name, r)}
				for c := range classes {
					at[c] = r.NormFloat64() * 3
					scores[c], g[c], h[c] = []float64{at[c]}, make([]float32, 1), make([]float32, 1)
				}
				if o.Several != nil {
					o.Several(scores, y, g, h)
				} else {
					o.Grad(&o, scores[0], y, g[0], h[0])
				}
				for c := range classes {
					const e = 1e-4
					loss := func(d float64) float64 {
						moved := slices.Clone(at)
						moved[c] += d
						return lossOf(o.Name, moved, float64(y[0]), alpha)
					}
					if d := math.Abs(at[0] - float64(y[0])); d < 2*e || math.Abs(d-alpha) < 2*e {
						return // where the loss has a corner
					}
					if want := (loss(e) - loss(-e)) / (2 * e); !near(float64(g[c][0]), want, 1e-5) {
						t.Fatalf("scores %v, label %v: g %v, want %v", at, y, g[c][0], want)
					}
					want := 1.0
					if times := exactSecond[o.Name]; times > 0 {
						want = times * (loss(e) - 2*loss(0) + loss(-e)) / (e * e)
					}
					if !near(float64(h[c][0]), want, 1e-4) {
						t.Fatalf("scores %v, label %v: h %v, want %v", at, y, h[c][0], want)
					}
				}
			})
		})
	}
}

// TestFarScores: derivatives are numbers however far scores are, and h is above 0.
func TestFarScores(t *testing.T) {
	for _, o := range Objectives() {
		if o.Rank != nil {
			continue
		}
		score := []float64{-1e300, -800, -40, 0, 40, 800, 1e30}
		n := len(score)
		label, g, h := make([]float32, n), [][]float32{make([]float32, n), make([]float32, n)},
			[][]float32{make([]float32, n), make([]float32, n)}
		if o.Several != nil {
			o.Several([][]float64{score, make([]float64, n)}, label, g, h)
		} else {
			o.Grad(&o, score, label, g[0], h[0])
		}
		for i, s := range score {
			if g, h := g[0][i], h[0][i]; g != g || !(h > 0) || math.IsInf(float64(h), 0) {
				t.Errorf("%s: score %v has g %v and h %v", o.Name, s, g, h)
			}
		}
	}
}

// TestStart: no other score that is the same for all rows has a smaller loss.
func TestStart(t *testing.T) {
	for _, o := range Objectives() {
		if o.Rank != nil {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
			o, alpha := o, 0.2+0.6*r.Float64()
			if o.Settings != nil {
				o, _ = o.With(map[string]float64{"alpha": alpha})
			}
			c := Defaults()
			c.Objective, c.Trees, c.Classes, c.Cores = o, 1, 3, 1
			n := 3 + r.IntN(30)
			y := &Labels{}
			for range n {
				y.Label, y.Weight = append(y.Label, labelsFor(o.Name, r)), append(y.Weight, float32(r.IntN(3)))
			}
			y.Label[0], y.Label[1], y.Label[2] = 0, 1, 1
			if o.Several != nil {
				y.Label[2] = 2
			}
			y.Weight[0], y.Weight[1], y.Weight[2] = 1, 2, 1
			if r.IntN(2) == 0 {
				y.Weight = nil
			}
			e, err := Train(t.Context(), binned(t, gridOf(slices.Repeat([][]float32{{1}}, n)...), nil, 255), y, c, Options{})
			if err != nil {
				t.Fatal(err)
			}
			loss := func(k int, d float64) (all float64) {
				scores := slices.Clone(e.Start)
				scores[k] += d
				for i, l := range y.Label {
					w := 1.0
					if y.Weight != nil {
						w = float64(y.Weight[i])
					}
					all += w * lossOf(o.Name, scores, float64(l), alpha)
				}
				return all
			}
			for k := range e.Start {
				for _, d := range []float64{-1, -1e-3, 1e-3, 1} {
					if loss(k, d) < loss(k, 0)-1e-9 {
						t.Fatalf("%s: start %v, of which class %d is better by %v", o.Name, e.Start, k, d)
					}
				}
			}
		})
	}
}

// weighed is a number and how much it counts.
type weighed struct{ value, weight float64 }

// quantileIn is a quantile by its definition: the least number that a share of all does not exceed; half-way to the next one if exactly
// that share does not.
func quantileIn(rows []weighed, share float64) float64 {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r weighed) bool { return r.weight == 0 })
	slices.SortFunc(rows, func(a, b weighed) int { return cmp.Compare(a.value, b.value) })
	all := 0.0
	for _, r := range rows {
		all += r.weight
	}
	sum, at := 0.0, share*all
	for i, r := range rows {
		if sum += r.weight; sum > at || i == len(rows)-1 {
			return r.value
		} else if sum == at {
			return r.value/2 + rows[i+1].value/2
		}
	}
	return 0
}

// sought is the same by digits, of rows dealt out to so many workers.
func sought(t interface{ Fatal(...any) }, rows []weighed, share float64, workers int) float64 {
	heaviest := float32(0)
	for _, r := range rows {
		heaviest = max(heaviest, float32(r.weight))
	}
	scale, sums := weightScale(heaviest), newMeeting(workers)
	out := make([]float64, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			one := []seek{{}, {}} // the second has no rows
			for i := w; i < len(rows); i += workers {
				if n := wholeWeight(float32(rows[i].weight), scale); n > 0 {
					one[0].rows = append(one[0].rows, residual{keyOf(rows[i].value), n})
				}
			}
			if err := quantiles(context.Background(), 1, one, share, sums.sum); err != nil {
				t.Fatal(err)
			}
			if out[w] = one[0].value(); one[1].value() != 0 {
				t.Fatal("a quantile of nothing is not 0")
			}
		})
	}
	group.Wait()
	if slices.ContainsFunc(out, func(v float64) bool { return v != out[0] }) {
		t.Fatal("quantiles of workers that differ", out)
	}
	return out[0]
}

// meeting is where workers add up numbers.
type meeting struct {
	sync.Mutex
	all     sync.Cond
	workers int
	came    int
	round   int
	sums    []int64
}

func newMeeting(workers int) *meeting {
	m := &meeting{workers: workers}
	m.all.L = m
	return m
}

func (m *meeting) sum(_ context.Context, v []int64) error {
	m.Lock()
	defer m.Unlock()
	if m.came == 0 {
		m.sums = make([]int64, len(v))
	}
	sums, round := m.sums, m.round
	for i, x := range v {
		sums[i] += x
	}
	if m.came++; m.came == m.workers {
		m.came, m.round = 0, round+1
		m.all.Broadcast()
	}
	for m.round == round {
		m.all.Wait()
	}
	copy(v, sums)
	return nil
}

// TestKeys have the order of numbers, and one zero.
func TestKeys(t *testing.T) {
	all := []float64{math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1)}
	for i, v := range all {
		if valueOf(keyOf(v)) != v || i > 0 && keyOf(v) <= keyOf(all[i-1]) {
			t.Errorf("%v: key %x is that of %v", v, keyOf(v), valueOf(keyOf(v)))
		}
	}
	if keyOf(math.Copysign(0, -1)) != keyOf(0) {
		t.Error("two zeros")
	}
}

// TestQuantiles: rows of weight 0 do not matter, those of weight 2 are as two, and no other number has a smaller loss.
func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		rows  []weighed
		share float64
		want  float64
	}{
		{nil, 0.5, 0}, {[]weighed{{7, 0}}, 0.5, 0}, {[]weighed{{7, 0}, {9, 0}}, 0.5, 0}, {[]weighed{{7, 2}}, 0.5, 7},
		{[]weighed{{1, 1}, {2, 0}, {3, 1}}, 0.5, 2}, {[]weighed{{1, 1}, {1.5, 0}, {3, 1}}, 0.5, 2}, {[]weighed{{3, 1}, {9, 0}}, 0.5, 3},
		{[]weighed{{1, 1}, {2, 1}, {3, 1}, {4, 1}}, 0.25, 1.5}, {[]weighed{{1, 1}, {2, 1}, {3, 1}, {4, 1}}, 0.9, 4},
		{[]weighed{{math.MaxFloat64, 1}, {math.MaxFloat64 / 2, 1}}, 0.5, math.MaxFloat64 * 0.75},
	} {
		if got := sought(t, c.rows, c.share, 1); got != c.want || quantileIn(c.rows, c.share) != c.want {
			t.Errorf("%v of %v: %v, want %v", c.share, c.rows, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 6))
		share := float64(1+r.IntN(9)) / 10
		rows := make([]weighed, 1+r.IntN(20))
		for i := range rows {
			rows[i] = weighed{float64(r.IntN(12) - 5), float64(r.IntN(3))}
		}
		twice := zipped(rows, func(i int) int { return int(rows[i].weight) })
		for i := range twice {
			twice[i].weight = 1
		}
		loss := func(at float64) (all float64) {
			for _, x := range rows {
				all += x.weight * lossOf("quantile", []float64{at}, x.value, share)
			}
			return all
		}
		got, same, want := sought(t, rows, share, rapid.IntRange(1, 3).Draw(t, "workers")), sought(t, twice, share, 1), quantileIn(rows, share)
		if got != same || got != want {
			t.Fatalf("%v of %v: %v, %v if those of weight 2 are there twice, want %v", share, rows, got, same, want)
		}
		for _, x := range rows {
			if loss(x.value) < loss(got)-1e-9 {
				t.Fatalf("%v of %v: %v, but %v is better", share, rows, got, x.value)
			}
		}
	})
}

// TestRank has the derivatives of groups by hand, and by differences of the loss whose weights are those of the order at the time.
func TestRank(t *testing.T) {
	o, err := lambdarank.With(map[string]float64{"norm": 0})
	if err != nil {
		t.Fatal(err)
	}
	rank := func(score []float64, label []float32) (g, h []float32) {
		g, h = slices.Repeat([]float32{9}, len(score)), slices.Repeat([]float32{9}, len(score))
		o.Rank(&o, score, label, g, h)
		return g, h
	}
	for _, alike := range [][]float32{{}, {1}, {0, 0, 0}, {2, 2}} {
		g, h := rank(make([]float64, len(alike)), alike)
		if slices.ContainsFunc(slices.Concat(g, h), func(v float32) bool { return v != 0 }) {
			t.Errorf("labels %v: %v %v, want zeros", alike, g, h)
		}
	}
	// Two rows, the better one second: |dNDCG| = 1 - 1/log2(3), p = 1/(1+exp(-1)).
	change, p := 1-1/math.Log2(3), 1/(1+math.Exp(-1))
	g, h := rank([]float64{1, 0}, []float32{0, 1})
	if !near(float64(g[0]), p*change, 1e-6) || g[1] != -g[0] || !near(float64(h[0]), p*(1-p)*change, 1e-6) || h[1] != h[0] {
		t.Errorf("%v %v, want g %v and h %v", g, h, p*change, p*(1-p)*change)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
		n := 2 + r.IntN(40)
		score, label := make([]float64, n), make([]float32, n)
		for i := range score {
			score[i], label[i] = r.NormFloat64(), float32(r.IntN(4))
		}
		label[0] = 2
		g, h := rank(score, label)
		for i := range score {
			first, second := slowRank(score, label, i, 30)
			if !near(float64(g[i]), first, 1e-5) || !near(float64(h[i]), second, 1e-5) {
				t.Fatalf("row %d: g %v and h %v, want %v and %v", i, g[i], h[i], first, second)
			}
		}
	})
}

// slowRank sums over the pairs of a row, with NDCG computed in full before and after the two change places.
func slowRank(score []float64, label []float32, i, cut int) (g, h float64) {
	place := func(k int) (p int) {
		for _, s := range score {
			if s > score[k] {
				p++
			}
		}
		return p
	}
	dcg := func(places []int) (all float64) {
		for k, p := range places {
			all += (math.Pow(2, float64(label[k])) - 1) / math.Log2(float64(p)+2)
		}
		return all
	}
	places, sorted := make([]int, len(score)), slices.Clone(label)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	best := 0.0
	for p, l := range sorted[:min(cut, len(sorted))] {
		best += (math.Pow(2, float64(l)) - 1) / math.Log2(float64(p)+2)
	}
	for k := range places {
		places[k] = place(k)
	}
	for j := range score {
		if label[i] == label[j] || min(places[i], places[j]) >= cut {
			continue
		}
		swapped := slices.Clone(places)
		swapped[i], swapped[j] = places[j], places[i]
		d := score[i] - score[j]
		if label[j] > label[i] {
			d = -d
		}
		change := math.Abs(dcg(swapped)-dcg(places)) / best
		p := 1 / (1 + math.Exp(d))
		h += p * (1 - p) * change
		if label[i] > label[j] {
			p = -p
		}
		g += p * change
	}
	return g, h
}

func TestWith(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]float64
		want string
	}{
		{"quantile", map[string]float64{"alpha": 0.9}, "<nil>"},
		{"quantile", map[string]float64{"alpha": 1}, "quantile: alpha 1, want a number above 0, and below 1 for a share"},
		{"huber", map[string]float64{"alpha": 3}, "<nil>"},
		{"huber", map[string]float64{"alpha": math.Inf(1)}, "huber: alpha +Inf, want a number above 0, and below 1 for a share"},
		{"huber", map[string]float64{"alpha": math.NaN()}, "huber: alpha NaN, want a number above 0, and below 1 for a share"},
		{"lambdarank", map[string]float64{"cut": 0.5}, "lambdarank: cut 0.5, want a whole number from 1 on"},
		{"lambdarank", map[string]float64{"cut": 1e30}, "lambdarank: cut 1e+30, want a whole number from 1 on"},
		{"l2", map[string]float64{"b": 1, "a": 1}, "l2 has no setting a"},
	} {
		o, err := FindObjective(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = o.With(c.set); fmt.Sprint(err) != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
