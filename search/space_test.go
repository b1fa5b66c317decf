package search

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestParse holds parameters of a command line to what they mean, and errors to what they say.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		text       string
		whole, log bool
		want       string // of %+v, or of the error behind a "!"
	}{
		{"0.001..0.3", false, true, "{Name:p Values:[] Min:0.001 Max:0.3 Log:true Int:false Times:false}"},
		{"0..0.5:linear", false, true, "{Name:p Values:[] Min:0 Max:0.5 Log:false Int:false Times:false}"},
		{"1..9:log", true, false, "{Name:p Values:[] Min:1 Max:9 Log:true Int:true Times:false}"},
		{"0.1x..3x", true, true, "{Name:p Values:[] Min:0.1 Max:3 Log:true Int:false Times:true}"},
		{"8, 16,32", true, false, "{Name:p Values:[8 16 32] Min:0 Max:0 Log:false Int:true Times:false}"},
		{"64,32|128,64|default", false, false, "{Name:p Values:[64,32 128,64 default] Min:0 Max:0 Log:false Int:false Times:false}"},
		{"1..x", false, false, `!from "1" to "x", want two numbers`},
		{"1..2x", false, false, `!from "1" to "2x", want two numbers, or two multiples`},
		{"3..1", false, false, "!from 3 to 1, want two finite numbers, the smaller one first"},
		{"0..1", false, true, "!from 0 to 1 by its logarithm, want numbers above 0"},
		{"1.2..1.8", true, false, "!want bounds with a whole number between them"},
		{"1..inf", false, false, "!want two finite numbers"},
		{"0..1e300", true, false, "!want whole numbers up to 2^53"},
		{"1..2:cubic", false, false, `!"cubic", want :log or :linear`},
		{"8,,16", false, false, `!want values with ","`},
		{"", false, false, "!want values"},
	} {
		p, err := Parse("p", c.text, c.whole, c.log)
		if want, wrong := strings.CutPrefix(c.want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Parse(%q): %v, want an error with %q", c.text, err, want)
			}
		} else if got := fmt.Sprintf("%+v", p); err != nil || got != c.want {
			t.Errorf("Parse(%q) = %s, %v, want %s", c.text, got, err, c.want)
		}
	}
}

// param draws a parameter that Check takes.
func param(t *rapid.T, name string) Param {
	p := Param{Name: name}
	if rapid.Bool().Draw(t, "list") {
		p.Values = rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,3}`), 1, 4).Draw(t, "values")
		return p
	}
	p.Log, p.Int, p.Times = rapid.Bool().Draw(t, "log"), rapid.Bool().Draw(t, "int"), rapid.Bool().Draw(t, "times")
	p.Min = rapid.Float64Range(1e-6, 10).Draw(t, "min")
	p.Max = p.Min * rapid.Float64Range(2, 100).Draw(t, "times") // else few numbers of so many digits are within
	if p.Times || p.Check() != nil {
		p.Int = false
	}
	return p
}

// TestDraw holds trials to their space: the first has no settings, the others one of each parameter, within its bounds, none twice; they
// are a function of the seed, more trials begin as fewer do, and a parameter's value does not depend on what else is searched.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := []Param{param(t, "a"), param(t, "b")}
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(2, 30).Draw(t, "n")
		trials := Draw(space, seed, n)
		if len(trials) > n || len(trials[0]) != 0 || !slices.EqualFunc(trials, Draw(space, seed, n), slices.Equal) {
			t.Fatalf("%d trials of %d, the first %v, or others the next time", len(trials), n, trials[0])
		}
		seen := map[string]bool{}
		for _, settings := range trials[1:] {
			for i, s := range settings {
				if p := &space[i]; s.Name != p.Name || !within(p, s.Value) {
					t.Fatalf("%v of %+v", s, *p)
				}
			}
			key := fmt.Sprint(settings)
			if distinct(space) && seen[key] {
				t.Fatalf("%v twice", settings)
			}
			seen[key] = true
		}
		if all := space[0].choices() * space[1].choices(); all == 0 || all > n-1 { // else all of them come, in order
			if fewer := Draw(space, seed, n-1); !slices.EqualFunc(fewer, trials[:n-1], slices.Equal) {
				t.Fatalf("%v are the first of %v", fewer, trials)
			}
		}
	})
}

func within(p *Param, value string) bool {
	if len(p.Values) > 0 {
		return slices.Contains(p.Values, value)
	}
	text, times := strings.CutSuffix(value, "x")
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && times == p.Times && v >= p.Min && v <= p.Max && (!p.Int || v == math.Round(v))
}

// distinct reports whether no list has a value twice, so that no trial has to be there twice.
func distinct(space []Param) bool {
	for _, p := range space {
		sorted := slices.Sorted(slices.Values(p.Values))
		if len(slices.Compact(sorted)) != len(p.Values) {
			return false
		}
	}
	return true
}

// TestDrawAll holds a space of few combinations to all of them, each once.
func TestDrawAll(t *testing.T) {
	space := []Param{{Name: "a", Values: []string{"x", "y"}}, {Name: "b", Min: 1, Max: 3, Int: true}}
	want := "[[] [{a x} {b 1}] [{a x} {b 2}] [{a x} {b 3}] [{a y} {b 1}] [{a y} {b 2}] [{a y} {b 3}]]"
	if got := fmt.Sprint(Draw(space, 5, 20)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Draw(space, 5, 4); len(got) != 4 {
		t.Errorf("%d trials, want 4", len(got))
	}
}

// TestUniform holds what is drawn to its distribution: of 4000 trials each tenth of the range, by the logarithm, has its share, and what is
// drawn of one parameter says nothing of the other.
func TestUniform(t *testing.T) {
	const n = 4000
	space := []Param{{Name: "rate", Min: 1e-4, Max: 1, Log: true}, {Name: "dropout", Min: 0, Max: 1}}
	var tenths [2][10]int
	var x, y, xy float64
	for _, settings := range Draw(space, 7, n+1)[1:] {
		v, _ := strconv.ParseFloat(settings[0].Value, 64)
		u, _ := strconv.ParseFloat(settings[1].Value, 64)
		at := math.Log10(v)/4 + 1
		tenths[0][min(9, int(at*10))]++
		tenths[1][min(9, int(u*10))]++
		x, y, xy = x+at-0.5, y+u-0.5, xy+(at-0.5)*(u-0.5)
	}
	for i := range tenths {
		for k, got := range tenths[i] {
			if math.Abs(float64(got)-n/10) > 6*math.Sqrt(n*0.09) {
				t.Errorf("%s: %d of %d in tenth %d", space[i].Name, got, n, k)
			}
		}
	}
	if r := (xy - x*y/n) * 12 / n; math.Abs(r) > 0.08 {
		t.Errorf("correlation %v, want about 0", r)
	}
}
