package optim

import (
	"fmt"
	"math"
	"strings"

	"thole.example/psf"
)

// Schedule says how the learning rate changes. Rate gives the rate of call c, counted from 1 on, given the first rate
// and every setting of Hyper; it is a function of these alone, so that a resumed job goes on where it was.
type Schedule struct {
	Name  string
	Angel string // the decayclass of graph.json; Angel's own name where Angel has the schedule
	Help  string
	Hyper []psf.Hyper
	Rate  func(first float64, c int, h map[string]float64) float64
}

// callsName is the setting that Bind knows from the job.
const callsName = "calls"

// Schedules is the table of schedules, a new slice on every call.
func Schedules() []Schedule { return []Schedule{constant, standard, warmRestarts, linear} }

// FindSchedule is the schedule of that name or of that name in Angel; the error lists the names there are.
func FindSchedule(name string) (*Schedule, error) {
	all := Schedules()
	names := make([]string, len(all))
	for i := range all {
		if all[i].Name == name || all[i].Angel == name {
			return &all[i], nil
		}
		names[i] = all[i].Name
	}
	return nil, fmt.Errorf("schedule %q, want one of %s", name, strings.Join(names, " "))
}

// Bind fills in the defaults of h, refuses settings that the schedule does not have or that are out of range, and answers
// the rate of call c, counted from 1 on. calls is how many there will be in the whole job, if that is known; else 0.
func (s *Schedule) Bind(first float64, calls int, h map[string]float64) (func(c int) float64, error) {
	full, err := psf.Fill(s.Hyper, h)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	if _, given := h[callsName]; !given && calls > 0 {
		full[callsName] = float64(calls)
	}
	return func(c int) float64 { return s.Rate(first, max(c, 1), full) }, nil
}

var constant = Schedule{
	Name:  "constant",
	Angel: "ConstantLearningRate",
	Help:  "the same rate always",
	Rate:  func(first float64, _ int, _ map[string]float64) float64 { return first },
}

// standard is first / sqrt(1 + alpha*c). Its alpha is 0.5, the value that Angel works with when nothing is set.
var standard = Schedule{
	Name:  "standard",
	Angel: "StandardDecay",
	Help:  "first / sqrt(1 + alpha*c)",
	Hyper: []psf.Hyper{{Name: "alpha", Default: 0.5, Help: "speed of the decay"}},
	Rate: func(first float64, c int, h map[string]float64) float64 {
		return first / math.Sqrt(1+h["alpha"]*float64(c))
	},
}

// warmRestarts falls along half a cosine from high to first/10 in interval calls and starts again with twice the
// interval and a lower peak (Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2017; the
// falling peak is Angel's):
//
//	rate = low + (high-low)/2 * (1 + cos(pi*c/interval)),  low = first/10
//	at restart r = 1, 2, ...:  high = high / sqrt(1 + r*alpha),  interval = 2*interval,  c counts from 1 again
var warmRestarts = Schedule{
	Name:  "warmrestarts",
	Angel: "WarmRestarts",
	Help:  "a falling cosine that starts again with twice the length",
	Hyper: []psf.Hyper{
		{Name: "alpha", Default: 0.05, Help: "how much the peak falls at each restart"},
		{Name: "interval", Default: 100, Help: "calls until the first restart"},
	},
	Rate: func(first float64, c int, h map[string]float64) float64 {
		low, high := first/10, first
		n, interval := float64(c), math.Max(1, h["interval"])
		for r := 1.0; n > interval; r++ {
			n -= interval
			interval *= 2
			high /= math.Sqrt(1 + r*h["alpha"])
		}
		return low + (high-low)/2*(1+math.Cos(math.Pi*n/interval))
	},
}

// linear falls in a straight line and reaches zero after calls calls, which should be those of the whole job: the noise
// of mini-batches goes to zero with it, so that the last weights are near the optimum.
//
//	rate = first * max(1 - (c-1)/calls, 0)
var linear = Schedule{
	Name:  "linear",
	Angel: "LinearDecay",
	Help:  "a straight line to zero at the end of the job",
	Hyper: []psf.Hyper{{Name: callsName, Default: 10, Help: "calls until zero; not given: those of the job"}},
	Rate: func(first float64, c int, h map[string]float64) float64 {
		return first * math.Max(0, 1-float64(c-1)/math.Max(1, h[callsName]))
	},
}
