// Package search chooses the settings of trainings to try, and which of them go on. It trains nothing: a space gives the settings of
// every trial as a function of (seed, trial) (J. Bergstra and Y. Bengio, Random Search for Hyper-Parameter Optimization, 2012), and a
// [Bracket] takes results and says what runs next (successive halving: K. Jamieson and A. Talwalkar, Non-stochastic Best Arm
// Identification and Hyperparameter Optimization, 2016; L. Li and others, Hyperband, 2018). Nothing here knows of time, so the
// trials are the same however many run at once.
package search

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
)

// Param is a setting and what may become of it: one of Values, or, if there are none, a number between Min and Max.
type Param struct {
	Name     string
	Values   []string
	Min, Max float64 // both may be drawn
	Log      bool    // the logarithm is uniform, not the number; Min is above 0 then
	Int      bool    // whole numbers
	Times    bool    // multiples of what the setting would be else: drawn as "0.5x"
}

// Setting is a value of a parameter, as text. A value that ends in x is a multiple of what the setting would be else, and
// [Default] is that itself.
type Setting struct{ Name, Value string }

// Default is the value that leaves a setting as it is.
const Default = "default"

// Check refuses bounds that nothing lies between.
func (p *Param) Check() error {
	switch {
	case len(p.Values) > 0:
		return nil
	case !finite(p.Min) || !finite(p.Max) || p.Min > p.Max:
		return fmt.Errorf("from %v to %v, want two finite numbers, the smaller one first", p.Min, p.Max)
	case p.Log && p.Min <= 0:
		return fmt.Errorf("from %v to %v by its logarithm, want numbers above 0", p.Min, p.Max)
	case p.Int && math.Floor(p.Max) < math.Ceil(p.Min):
		return fmt.Errorf("from %v to %v, want bounds with a whole number between them", p.Min, p.Max)
	case p.Int && max(math.Abs(p.Min), math.Abs(p.Max)) > 1<<53:
		return fmt.Errorf("from %v to %v, want whole numbers up to 2^53", p.Min, p.Max)
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Parse reads a parameter as a command line has it: values with commas between them ("8,16"), or with bars where they have commas
// ("64,32|128,64"), or a range ("0.001..0.3", "0.1x..3x", with ":log" or ":linear" behind it, else by log).
func Parse(name, text string, whole, log bool) (Param, error) {
	p := Param{Name: name, Int: whole}
	if from, to, ranged := strings.Cut(text, ".."); ranged {
		p.Log = log
		if bounds, scale, said := strings.Cut(to, ":"); said {
			if scale != "log" && scale != "linear" {
				return p, fmt.Errorf("%q, want :log or :linear behind a range", scale)
			}
			to, p.Log = bounds, scale == "log"
		}
		err := p.Range(from, to)
		return p, err
	}
	between := ","
	if strings.Contains(text, "|") {
		between = "|"
	}
	for value := range strings.SplitSeq(text, between) {
		if value = strings.TrimSpace(value); value == "" {
			return p, fmt.Errorf("%q, want values with %q between them, or a range such as 0.001..0.3", text, between)
		}
		p.Values = append(p.Values, value)
	}
	return p, nil
}

// Range sets the bounds: two numbers, or two multiples such as 0.1x and 3x. A lower bound of 0 has no logarithm.
func (p *Param) Range(from, to string) error {
	low, times := strings.CutSuffix(strings.TrimSpace(from), "x")
	high, also := strings.CutSuffix(strings.TrimSpace(to), "x")
	var err, err2 error
	p.Min, err = strconv.ParseFloat(low, 64)
	p.Max, err2 = strconv.ParseFloat(high, 64)
	if err != nil || err2 != nil || times != also {
		return fmt.Errorf("from %q to %q, want two numbers, or two multiples of the default such as 0.1x and 3x", from, to)
	}
	if p.Times = times; times {
		p.Int = false // what it is a multiple of is rounded
	}
	return p.Check()
}

// draw is a value; at is uniform in [0, 1).
func (p *Param) draw(at float64) string {
	if n := len(p.Values); n > 0 {
		return p.Values[min(int(at*float64(n)), n-1)]
	}
	if p.Int && !p.Log { // each as often as the others
		lo, hi := math.Ceil(p.Min), math.Floor(p.Max)
		return strconv.FormatFloat(min(lo+math.Floor(at*(hi-lo+1)), hi), 'f', 0, 64)
	}
	v := p.Min + at*(p.Max-p.Min)
	if p.Log {
		v = math.Exp(math.Log(p.Min) + at*(math.Log(p.Max)-math.Log(p.Min)))
	}
	if p.Int {
		return strconv.FormatFloat(min(max(math.Round(v), math.Ceil(p.Min)), math.Floor(p.Max)), 'f', 0, 64)
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64) // of such text it always can be
	text := strconv.FormatFloat(min(max(short, p.Min), p.Max), 'g', -1, 64)
	if p.Times {
		text += "x"
	}
	return text
}

// digits is how many digits numbers are drawn with: they are read by people, and what is said of them is what is used.
const digits = 3

// choices is how many values there are; 0: without end, or more than anybody tries.
func (p *Param) choices() int {
	switch {
	case len(p.Values) > 0:
		return len(p.Values)
	case p.Int && p.Max-p.Min < enough:
		return int(math.Floor(p.Max)-math.Ceil(p.Min)) + 1
	case p.Min == p.Max:
		return 1
	}
	return 0
}

// choice is a value of a parameter that has so many choices.
func (p *Param) choice(i int) string {
	if p.Int && len(p.Values) == 0 {
		return strconv.FormatFloat(math.Ceil(p.Min)+float64(i), 'f', 0, 64)
	}
	return p.draw((float64(i) + 0.5) / float64(p.choices()))
}

// enough is more trials than a search has.
const enough = 1 << 20

// Draw is the settings of trials 0 to n-1: trial 0 leaves everything as it is, the others are drawn, each parameter's value as a
// function of (seed, trial, name), and none like one before as long as others are found. A space with fewer combinations
// than that gives all of them, in order.
func Draw(space []Param, seed uint64, n int) [][]Setting {
	all := make([][]Setting, 1, max(1, n))
	combinations := 1
	for i := range space {
		combinations *= space[i].choices()
		if combinations == 0 || combinations > enough {
			combinations = 0
			break
		}
	}
	if n < 1 || len(space) == 0 {
		return all
	}
	if combinations > 0 && combinations <= n-1 {
		for i := range combinations {
			all = append(all, nth(space, i))
		}
		return all
	}
	seen := map[string]bool{}
	for trial := 1; trial < n; trial++ {
		for try := range tries {
			drawn := drawOne(space, seed, trial, try)
			if key := fmt.Sprintf("%q", drawn); !seen[key] || try == tries-1 {
				seen[key] = true
				all = append(all, drawn)
				break
			}
		}
	}
	return all
}

// tries is how often a trial is drawn again that was there already.
const tries = 1000

func drawOne(space []Param, seed uint64, trial, try int) []Setting {
	drawn := make([]Setting, len(space))
	for i := range space {
		drawn[i] = Setting{space[i].Name, space[i].draw(uniform(space[i].Name, seed, uint64(trial), uint64(try)))}
	}
	return drawn
}

// uniform is a number in [0, 1) that depends on everything given, and on each bit of it alike: generators that are started with
// neighbouring seeds begin with numbers that are too much alike.
func uniform(name string, numbers ...uint64) float64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	z := h.Sum64()
	for _, n := range numbers { // the steps of SplitMix64 (G. Steele and others, Fast Splittable Pseudorandom Number Generators, 2014)
		z = (z ^ n) + 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return float64(z>>11) / (1 << 53)
}

// nth is a combination by its number; the last parameter changes first.
func nth(space []Param, i int) []Setting {
	drawn := make([]Setting, len(space))
	for k := len(space) - 1; k >= 0; k-- {
		n := space[k].choices()
		drawn[k] = Setting{space[k].Name, space[k].choice(i % n)}
		i /= n
	}
	return drawn
}
