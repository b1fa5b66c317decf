package optim

import (
	"fmt"
	"math"
	"strings"

	"thole.example/internal/spell"
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
	// Losses says that whoever trains lets the rate fall by the losses too, as train.PaceOf has it.
	Losses bool
}

// callsName is the setting that Bind knows from the job.
const callsName = "calls"

// Settings of all schedules, or of several.
var (
	// warmup puts calls before the schedule in which the rate grows in a straight line to the schedule's first (Goyal et al.,
	// Accurate, Large Minibatch SGD, 2017, section 2.2); the schedule counts its calls after them.
	warmup = psf.Hyper{Name: "warmup", Help: "calls before all others in which the rate grows to the first in a straight line"}
	calls  = psf.Hyper{Name: callsName, Default: 10, Help: "calls until the end of the job; not given: those of the job"}
)

// Schedules is the table of schedules, a new slice on every call.
func Schedules() []Schedule {
	return []Schedule{constant, standard, warmRestarts, correction, linear, cosine, plateau}
}

// FindSchedule is the schedule of that name or of that name in Angel; the error lists the names there are.
func FindSchedule(name string) (*Schedule, error) {
	all := Schedules()
	names, angel := make([]string, len(all)), make([]string, len(all))
	for i := range all {
		if all[i].Name == name || all[i].Angel == name {
			return &all[i], nil
		}
		names[i], angel[i] = all[i].Name, all[i].Angel
	}
	return nil, fmt.Errorf("schedule %q, want one of %s%s", name, strings.Join(names, " "), spell.Hint(name, append(names, angel...)))
}

// Settings are all settings of the schedule, from h or else their defaults; it refuses those that the schedule does not have or
// that are out of range.
func (s *Schedule) Settings(h map[string]float64) (map[string]float64, error) {
	full, err := psf.Fill(s.Hyper, h)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	return full, nil
}

// Bind answers the rate of call c, counted from 1 on, with the settings of h. calls is how many there will be in the whole job,
// if that is known; else 0.
func (s *Schedule) Bind(first float64, calls int, h map[string]float64) (func(c int) float64, error) {
	full, err := s.Settings(h)
	if err != nil {
		return nil, err
	}
	warm := full[warmup.Name]
	if _, given := h[callsName]; !given && calls > 0 {
		full[callsName] = max(1, float64(calls)-warm)
	}
	return func(c int) float64 {
		if c = max(c, 1); float64(c) <= warm {
			return s.Rate(first, 1, full) * float64(c) / (warm + 1)
		}
		return s.Rate(first, c-int(warm), full)
	}, nil
}

var constant = Schedule{
	Name:  "constant",
	Angel: "ConstantLearningRate",
	Help:  "the same rate always",
	Hyper: []psf.Hyper{warmup},
	Rate:  func(first float64, _ int, _ map[string]float64) float64 { return first },
}

// standard is first / sqrt(1 + alpha*c). Its alpha is 0.5, the value that Angel works with when nothing is set.
var standard = Schedule{
	Name:  "standard",
	Angel: "StandardDecay",
	Help:  "first / sqrt(1 + alpha*c)",
	Hyper: []psf.Hyper{{Name: "alpha", Default: 0.5, Help: "speed of the decay"}, warmup},
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
		warmup,
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
	Hyper: []psf.Hyper{calls, warmup},
	Rate: func(first float64, c int, h map[string]float64) float64 {
		return first * math.Max(0, 1-float64(c-1)/math.Max(1, h[callsName]))
	},
}

// cosine falls along one half cosine from first to a floor, which it reaches after calls calls (Loshchilov and Hutter, 2017,
// without restarts):
//
//	rate = low + (first-low)/2 * (1 + cos(pi * min((c-1)/calls, 1))),  low = floor*first
var cosine = Schedule{
	Name:  "cosine",
	Angel: "CosineDecay",
	Help:  "half a cosine to a floor at the end of the job",
	Hyper: []psf.Hyper{calls, {Name: "floor", Max: 1, Help: "rate at the end, as a share of the first"}, warmup},
	Rate: func(first float64, c int, h map[string]float64) float64 {
		low := float64(first * h["floor"])
		return low + (first-low)/2*(1+math.Cos(math.Pi*math.Min(1, float64(c-1)/math.Max(1, h[callsName]))))
	},
}

// correction is for momentum: it takes back how the velocity grows while it starts, in units of its end.
//
//	rate = first / sqrt(1 + alpha*c) * (1-beta) / (1-beta^c)
//
// Angel counts from 0, where this divides by zero; here the first call has c = 1, and the rate first/sqrt(1 + alpha). The
// settings are those of Angel's examples: beta is the mu of momentum, and the schedule is asked for each batch.
var correction = Schedule{
	Name:  "correction",
	Angel: "CorrectionDecay",
	Help:  "first / sqrt(1 + alpha*c) * (1-beta) / (1-beta^c), for momentum",
	Hyper: []psf.Hyper{
		{Name: "alpha", Default: 0.001, Help: "speed of the decay"},
		{Name: "beta", Default: 0.9, Max: 1, Below: true, Help: "part of the velocity that momentum keeps"},
		warmup,
	},
	Rate: func(first float64, c int, h map[string]float64) float64 {
		beta := h["beta"]
		return first / math.Sqrt(1+h["alpha"]*float64(c)) * (1 - beta) / (1 - math.Pow(beta, float64(c)))
	},
}

// plateau is the same rate until the loss stops falling, and then half of it, again and again: train.Pace.
var plateau = Schedule{
	Name:   "plateau",
	Angel:  "PlateauDecay",
	Help:   "halved whenever the loss stops falling",
	Losses: true,
	Hyper: []psf.Hyper{
		{Name: "window", Default: 1, Max: 1e9, Help: "epochs that are judged together"},
		{Name: "tolerance", Default: 1e-3, Max: 1, Help: "share by which the loss must have fallen"},
		{Name: "patience", Max: 1e9, Help: "halvings in a row that end the training; 0: none do"},
		warmup,
	},
	Rate: func(first float64, _ int, _ map[string]float64) float64 { return first },
}
