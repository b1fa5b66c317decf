package optim

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"thole.example/kernel"
	"thole.example/psf"
)

func bind(t testing.TB, name string, h map[string]float64) (*psf.Rule, psf.Step) {
	t.Helper()
	rule, err := Find(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	step, err := rule.Bind(h)
	if err != nil {
		t.Fatal(err)
	}
	return rule, step
}

func slots[T float](n, of int) [][]T {
	s := make([][]T, n)
	for i := range s {
		s[i] = make([]T, of)
	}
	return s
}

type float interface{ float32 | float64 }

type set = map[string]float64

// One weight, w = 0.5 at the start, the gradient 0.2 in every step, rate 0.1: the values worked out by hand from the
// equations.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		h          set
		want       []float64
	}{
		{"sgd", "sgd", set{"l2": 0.01}, []float64{0.479520479520, 0.459061418102}},
		{"sgd l1", "sgd", set{"l1": 2}, []float64{0.28, 0.06, 0}},
		{"sgd both", "sgd", set{"l1": 0.1, "l2": 0.01}, []float64{0.469530469530}},
		{"momentum", "momentum", set{"l2": 0.01}, []float64{0.4795, 0.4405705, 0.3850933795}},
		{"momentum none", "momentum", set{"mu": 0}, []float64{0.48, 0.46}},
		{"nesterov", "nesterov", set{"l2": 0.01}, []float64{0.46105, 0.405569005, 0.33528047339}},
		{"nesterov none", "nesterov", set{"mu": 0}, []float64{0.48, 0.46}},
		{"rmsprop", "rmsprop", set{"rho": 0.75, "eps": 0}, []float64{0.3, 0.3 - 0.1/math.Sqrt(0.4375)}},
		{"adadelta", "adadelta", set{"rho": 0.75, "eps": 0.02}, []float64{ // d = sqrt(2/3)*0.2 = sqrt(0.08/3), then u = 0.02/3
			0.5 - 0.1*math.Sqrt(0.08/3), 0.5 - 0.1*math.Sqrt(0.08/3) - 0.02*math.Sqrt((0.02/3+0.02)/0.0375)}},
		{"adadelta twice", "adadelta", set{"rho": 0.75, "rho2": 0.5, "eps": 0.02}, []float64{ // the same first step, then u = 0.04/3
			0.5 - 0.1*math.Sqrt(0.08/3), 0.5 - 0.1*math.Sqrt(0.08/3) - 0.02*math.Sqrt((0.04/3+0.02)/0.0375)}},
		{"adamw", "adamw", set{"decay": 0.5}, []float64{0.375000005, 0.256250015}},
		{"adamw bare", "adamw", set{"decay": 0}, []float64{0.400000005, 0.30000001}},
		{"amsgrad", "amsgrad", nil, []float64{0.400000005, 0.30000001, 0.200000015, 0.10000002}},
		{"adagrad", "adagrad", nil, []float64{0.4, 0.4 - 0.1/math.Sqrt2, 0.4 - 0.1/math.Sqrt2 - 0.1/math.Sqrt(3)}},
		{"adagrad l1", "adagrad", set{"l1": 0.1}, []float64{0.35}},
		{"adam", "adam", nil, []float64{0.400000005, 0.30000001, 0.200000015, 0.10000002}},
		{"adam betas 0", "adam", set{"beta1": 0, "beta2": 0, "eps": 0.2}, []float64{0.45, 0.40}},
		{"ftrl", "ftrl", set{"alpha": 0.1, "l1": 0.05, "l2": 0.01}, []float64{0.0624479600, 0.0468697277, 0.0320264376}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule, step := bind(t, c.rule, c.h)
			w64, s64 := []float64{0.5}, slots[float64](rule.Slots, 1)
			w32, s32 := []float32{0.5}, slots[float32](rule.Slots, 1)
			for i, want := range c.want {
				step.F64(w64, []float64{0.2}, s64, 0.1, int64(i+1))
				step.F32(w32, []float32{0.2}, s32, 0.1, int64(i+1))
				if math.Abs(w64[0]-want) > 1e-8 {
					t.Errorf("step %d: %.12f, want %.12f", i+1, w64[0], want)
				}
				if math.Abs(float64(w32[0])-want) > 1e-6 {
					t.Errorf("step %d in float32: %.9f, want %.9f", i+1, w32[0], want)
				}
			}
		})
	}
}

// Gradients 0.2, -0.1, 0.4 at rate 0.1, worked out from the equations with 40 decimal digits.
func TestVaried(t *testing.T) {
	for _, c := range []struct {
		rule  string
		h     set
		start float64
		want  []float64
	}{
		{"sgd", set{"l1": 0.02, "l2": 0.01}, 0.5, []float64{0.477522477522, 0.485037440082, 0.442594845237}},
		{"momentum", set{"l2": 0.01}, 0.5, []float64{0.4795, 0.4705705, 0.4220633795}},
		{"nesterov", set{"l2": 0.01}, 0.5, []float64{0.46105, 0.462569005, 0.37847217339}},
		{"rmsprop", set{"l2": 0.01}, 0.5, []float64{-0.499999512195, -0.042307386966, -0.910613863223}},
		{"adadelta", set{"l2": 0.01}, 0.5, []float64{0.499683809851, 0.499880071248, 0.499453734665}},
		{"adamw", set{"decay": 0.01}, 0.5, []float64{0.399500005, 0.372466802714, 0.306283178372}},
		{"amsgrad", set{"beta2": 0.5, "l2": 0.01}, 0.5, []float64{0.400000004878, 0.372172042182, 0.316261678104}},
		{"adagrad", set{"l1": 0.02, "l2": 0.01}, 0.5, []float64{0.390243902493, 0.423854987511, 0.332290741884}},
		{"adam", set{"l2": 0.01}, 0.5, []float64{0.400000004878, 0.370895152109, 0.304167403952}},
		{"ftrl", set{"l1": 0.05, "l2": 0.01}, 0, []float64{-0.012489592007, -0.004323705603, -0.031734904856}},
	} {
		rule, step := bind(t, c.rule, c.h)
		w, s := []float64{c.start}, slots[float64](rule.Slots, 1)
		for i, g := range []float64{0.2, -0.1, 0.4} {
			step.F64(w, []float64{g}, s, 0.1, int64(i+1))
			if math.Abs(w[0]-c.want[i]) > 1e-11 {
				t.Errorf("%s step %d: %.12f, want %.12f", c.rule, i+1, w[0], c.want[i])
			}
		}
	}
}

func TestFTRLSlots(t *testing.T) {
	_, step := bind(t, "ftrl", set{"alpha": 0.1, "l1": 0.05, "l2": 0.01})
	w, s := []float64{0.5}, slots[float64](2, 1)
	for i, want := range [][2]float64{{-0.8, 0.04}, {-0.6517335840, 0.08}, {-0.4815274743, 0.12}} {
		step.F64(w, []float64{0.2}, s, 0.1, int64(i+1))
		if math.Abs(s[0][0]-want[0]) > 1e-9 || math.Abs(s[1][0]-want[1]) > 1e-12 {
			t.Errorf("step %d: z %v n %v, want %v", i+1, s[0][0], s[1][0], want)
		}
	}
}

// A weight that came from elsewhere moves by a small step when the rule starts warm, and is forgotten when cold.
func TestFTRLWarm(t *testing.T) {
	h := set{"alpha": 0.1, "l1": 0.05, "l2": 0.01, "warm": 1}
	_, warm := bind(t, "ftrl", h)
	w, s := []float64{0.5, -0.5}, slots[float64](2, 2)
	warm.F64(w, []float64{1e-6, 1e-6}, s, 0.1, 1)
	if math.Abs(w[0]-0.5) > 1e-5 || math.Abs(w[1]+0.5) > 1e-5 {
		t.Errorf("warm: %v, want about 0.5 and -0.5", w)
	}
	h["warm"] = 0
	_, cold := bind(t, "ftrl", h)
	w, s = []float64{0.5, -0.5}, slots[float64](2, 2)
	cold.F64(w, []float64{1e-6, 1e-6}, s, 0.1, 1)
	if w[0] != 0 || w[1] != 0 {
		t.Errorf("cold: %v, want 0 and 0", w)
	}
}

// With alpha taken from the rate, a constant rate is the same as alpha fixed and warm, and a rate that falls to zero
// leaves the weight where it is.
func TestFTRLRate(t *testing.T) {
	_, fixed := bind(t, "ftrl", set{"alpha": 0.1, "l1": 0.05, "l2": 0.01, "warm": 1})
	_, taken := bind(t, "ftrl", set{"l1": 0.05, "l2": 0.01})
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Float64Range(-1, 1).Draw(t, "start")
		w1, s1 := []float64{start}, slots[float64](2, 1)
		w2, s2 := []float64{start}, slots[float64](2, 1)
		for i, g := range rapid.SliceOf(rapid.Float64Range(-1, 1)).Draw(t, "g") {
			fixed.F64(w1, []float64{g}, s1, 7, int64(i+1))
			taken.F64(w2, []float64{g}, s2, 0.1, int64(i+1))
			if math.Abs(w1[0]-w2[0]) > 1e-9 {
				t.Fatalf("step %d: %v with the rate taken, want %v", i+1, w2[0], w1[0])
			}
		}
		for i := range 50 {
			old := w2[0]
			taken.F64(w2, []float64{0.3}, s2, 0.1/float64(int64(1)<<i), int64(i+100))
			if math.Abs(w2[0]-old) > 0.4/float64(int64(1)<<i) {
				t.Fatalf("a falling rate moves the weight from %v to %v", old, w2[0])
			}
		}
		old := w2[0]
		if taken.F64(w2, []float64{0.3}, s2, 0, 200); w2[0] != old {
			t.Fatalf("rate 0 moves the weight from %v to %v", old, w2[0])
		}
	})
}

// falling is the rate of a step of 5000, from the rule's own for gradients up to 1 to zero.
func falling(rule *psf.Rule, i int) float64 { return rule.Rates.Classes * (1 - float64(i)/5000) }

// Every rule finds the bottom of a bowl that is 100 times steeper in one direction than in the other.
func TestBowl(t *testing.T) {
	target, steep := []float64{0.3, -0.2, 0.05}, []float64{1, 0.01, 0.1}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			step, err := rule.Bind(nil)
			if err != nil {
				t.Fatal(err)
			}
			w, g, s := make([]float64, 3), make([]float64, 3), slots[float64](rule.Slots, 3)
			for i := range 5000 {
				for k := range w {
					g[k] = steep[k] * (w[k] - target[k])
				}
				step.F64(w, g, s, falling(&rule, i), int64(i+1))
			}
			for k := range w {
				if math.Abs(w[k]-target[k]) > 1e-3 {
					t.Errorf("weight %d: %v, want %v", k, w[k], target[k])
				}
			}
		})
	}
}

// The first steps of rules that are steady are as long for gradients a thousand times larger, those of others are not.
func TestSteady(t *testing.T) {
	for _, rule := range Rules() {
		way := func(g float64) float64 {
			step, err := rule.Bind(nil)
			if err != nil {
				t.Fatal(err)
			}
			w, s := []float64{0}, slots[float64](rule.Slots, 1)
			for i := range 10 {
				step.F64(w, []float64{g}, s, rule.Rates.Numbers, int64(i+1))
			}
			return math.Abs(w[0])
		}
		if grows := way(10_000) / way(10); grows < 2 != rule.Rates.Steady {
			t.Errorf("%s: gradients that are 1000 times larger take it %v times as far, and steady is %v", rule.Name, grows, rule.Rates.Steady)
		}
	}
}

// With l2 the bottom moves to g(w) + l2*w = 0, and with l1 to where the slope is l1: for w^2/2 - w these are 1/(1+l2)
// and 1-l1.
func TestPenaltyOptimum(t *testing.T) {
	for _, rule := range Rules() {
		for _, hyper := range rule.Hyper {
			want := 0.8
			h := set{"l2": 0.25}
			if hyper.Name == "l1" {
				h = set{"l1": 0.2}
			} else if hyper.Name != "l2" {
				continue
			}
			if rule.Name == "ftrl" {
				continue // its penalties weigh against the sum of all gradients, not against each
			}
			step, err := rule.Bind(h)
			if err != nil {
				t.Fatal(err)
			}
			w, s := []float64{0}, slots[float64](rule.Slots, 1)
			for i := range 5000 {
				step.F64(w, []float64{w[0] - 1}, s, falling(&rule, i), int64(i+1))
			}
			if math.Abs(w[0]-want) > 1e-4 {
				t.Errorf("%s with %v: %v, want %v", rule.Name, h, w[0], want)
			}
		}
	}
}

// free are settings without decay, where a rule decays by default.
func free(rule *psf.Rule) set {
	if rule.Name == "adamw" {
		return set{"decay": 0}
	}
	return nil
}

func TestZeroGradient(t *testing.T) {
	for _, rule := range Rules() {
		step, err := rule.Bind(free(&rule))
		if err != nil {
			t.Fatal(err)
		}
		w, s := []float32{1, 0, -2.5}, slots[float32](rule.Slots, 3)
		for i := range 3 {
			step.F32(w, make([]float32, 3), s, 0.1, int64(i+1))
		}
		if w[0] != 1 || w[1] != 0 || w[2] != -2.5 {
			t.Errorf("%s: %v, want nothing moved", rule.Name, w)
		}
		for k := range s {
			for _, v := range s[k] {
				if v != 0 {
					t.Errorf("%s: slot %d is %v, want zeros", rule.Name, k, s[k])
				}
			}
		}
		for _, hyper := range rule.Hyper {
			if !slices.Contains([]string{"l1", "l2", "decay"}, hyper.Name) || rule.Name == "ftrl" || rule.Name == "adagrad" && hyper.Name == "l1" {
				continue
			}
			decay, err := rule.Bind(set{hyper.Name: 0.01})
			if err != nil {
				t.Fatal(err)
			}
			v := []float64{1, 0, -1}
			decay.F64(v, make([]float64, 3), slots[float64](rule.Slots, 3), 0.1, 1)
			if v[0] >= 1 || v[0] <= 0 || v[1] != 0 || v[2] != -v[0] {
				t.Errorf("%s with %s: %v, want decay towards 0", rule.Name, hyper.Name, v)
			}
		}
	}
}

// Any run of steps gives the same bits whether the weights are stepped at once or in two parts, and float32 stays near
// float64.
func TestSplit(t *testing.T) {
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(1, 9).Draw(t, "n")
				cut := rapid.IntRange(0, n).Draw(t, "cut")
				h := set{}
				for _, penalty := range []string{"l2", "decay"} {
					if slices.Contains(psf.Names(rule.Hyper), penalty) {
						h[penalty] = rapid.Float64Range(0, 0.1).Draw(t, penalty)
					}
				}
				step, err := rule.Bind(h)
				if err != nil {
					t.Fatal(err)
				}
				whole, parts, wide := make([]float32, n), make([]float32, n), make([]float64, n)
				s1, s2, s3 := slots[float32](rule.Slots, n), slots[float32](rule.Slots, n), slots[float64](rule.Slots, n)
				for i := range 4 {
					g := rapid.SliceOfN(rapid.Float32Range(-2, 2), n, n).Draw(t, "g")
					d := make([]float64, n)
					for k := range g {
						g[k] = float32(math.Round(float64(g[k])*64) / 64)
						d[k] = float64(g[k])
					}
					tick := int64(i + 1)
					step.F64(wide, d, s3, 0.05, tick)
					step.F32(whole, append([]float32(nil), g...), s1, 0.05, tick)
					step.F32(parts[:cut], g[:cut], part(s2, 0, cut), 0.05, tick)
					step.F32(parts[cut:], g[cut:], part(s2, cut, n), 0.05, tick)
				}
				for k := range whole {
					if whole[k] != parts[k] {
						t.Fatalf("weight %d: %v in parts, want %v", k, parts[k], whole[k])
					}
					if math.Abs(float64(whole[k])-wide[k]) > 1e-4 {
						t.Fatalf("weight %d: %v in float32, want %v", k, whole[k], wide[k])
					}
				}
			})
		})
	}
}

// The form for rows, of rules that have it, gives the bits of the one for cells.
func TestRows(t *testing.T) {
	for _, rule := range Rules() {
		for _, h := range []set{nil, {"l2": 0.01}, {"l1": 0.02}, {"decay": 0.02}} {
			step, err := rule.Bind(h)
			if err != nil || step.Rows == nil {
				continue // a setting that the rule does not have, or no such form
			}
			const dim, rows = 11, 3
			stride := dim * (1 + rule.Slots)
			val, slab, g := make([]float32, rows*stride), make([]float32, rows*stride), []float32{0.5, -1, 0, 2, 1e-20, 1, 1, 0, 3, -7, 1e10}
			for i := range rows {
				copy(val[i*stride:], []float32{1, -2, 0, 3, -0.25, 1, 1, 0, 2, 5, 1})
			}
			copy(slab, val)
			for tick := range int64(4) {
				b := kernel.Batch[float32]{Slab: slab, Stride: stride, Dim: dim, Next: dim, Scale: 0.5}
				for i := range rows {
					own, mean := val[i*stride:][:stride], make([]float32, dim)
					for k := range mean {
						mean[k] = g[k] * 0.5
					}
					s := make([][]float32, rule.Slots)
					for k := range s {
						s[k] = own[(k+1)*dim:][:dim]
					}
					step.F32(own[:dim], mean, s, 0.1, tick+1)
					b.Rows, b.Grad = append(b.Rows, uint32(i)), append(b.Grad, &g[0])
				}
				var rows kernel.Rows[float32]
				rows.Set(step.Rows(0.1, tick+1))
				rows.Step(&b)
				if !slices.Equal(slab, val) {
					t.Fatalf("%s %v, step %d: %v, want %v", rule.Name, h, tick+1, slab, val)
				}
			}
		}
	}
}

func part[T float](s [][]T, lo, hi int) [][]T {
	out := make([][]T, len(s))
	for i := range s {
		out[i] = s[i][lo:hi]
	}
	return out
}

// Values outside of their range are refused by rules and schedules: they would give NaN or run away.
func TestRanges(t *testing.T) {
	for _, c := range []struct {
		rule, setting string
		v             float64
		want          string
	}{
		{"adam", "beta1", 1, "beta1 = 1, want a number from 0 on and below 1"},
		{"adam", "beta2", 2, "below 1"},
		{"adam", "beta2", 0.9999999, ""},
		{"adam", "eps", -1, "eps = -1, want a finite number from 0 on"},
		{"adam", "l2", math.Inf(1), "finite"},
		{"momentum", "mu", 1.5, "below 1"},
		{"momentum", "mu", 0, ""},
		{"ftrl", "warm", 2, "from 0 to 1"},
		{"ftrl", "warm", 1, ""},
		{"ftrl", "l1", math.NaN(), "l1 = NaN"},
		{"sgd", "x", 0, `update rule sgd: no setting "x", want one of l1 l2`},
	} {
		rule, err := Find(nil, c.rule)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rule.Bind(set{c.setting: c.v})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s=%v: error %v, want %q", c.rule, c.setting, c.v, err, c.want)
		}
	}
	s, err := FindSchedule("standard")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bind(1, 10, set{"alpha": -1}); err == nil || !strings.Contains(err.Error(), "alpha = -1") {
		t.Errorf("a negative alpha: %v", err)
	}
	if _, err := (&constant).Bind(1, 10, set{"alpha": 1}); err == nil || !strings.Contains(err.Error(), "want one of warmup") {
		t.Errorf("a setting of a schedule that has none: %v", err)
	}
}

func TestFind(t *testing.T) {
	var names []string
	for _, r := range Rules() {
		names = append(names, r.Name)
	}
	want := `update rule "adamx", want one of ` + strings.Join(names, " ") + "; did you mean adam?"
	if _, err := Find(nil, "adamx"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if _, err := psf.NewTable(nil, Rules()); err != nil {
		t.Error(err)
	}
}
