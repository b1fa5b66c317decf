package optim

import (
	"math"
	"testing"
)

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		name string
		h    set
		want []float64
	}{
		{"constant", nil, []float64{1, 1, 1}},
		{"StandardDecay", set{"alpha": 0.05}, []float64{.975900073, .953462589, .932504808, .912870929, .894427191}},
		{"warmrestarts", set{"alpha": 0.05, "interval": 4}, []float64{
			.868198052, .55, .231801948, .1,
			.942563111, .847627477, .70554626, .537950036, .370353813, .228272596, .133336962, .1,
			.92250545}},
		{"warmrestarts", set{"alpha": 0.05, "interval": 1}, []float64{.1, .537950036, .1}},
		{"linear", set{"calls": 4}, []float64{1, .75, .5, .25, 0, 0}},
		{"linear", set{"calls": 2, "warmup": 3}, []float64{.25, .5, .75, 1, .5, 0}},
		{"StandardDecay", set{"alpha": 3, "warmup": 1}, []float64{.25, .5, 1 / math.Sqrt(7)}},
		{"cosine", set{"calls": 4}, []float64{1, .853553391, .5, .146446609, 0, 0}},
		{"cosine", set{"calls": 2, "floor": 0.2, "warmup": 1}, []float64{.5, 1, .6, .2, .2}},
		{"CorrectionDecay", set{"alpha": 0.05, "beta": 0.5}, []float64{.975900073, .953462589 * .5 / .75, .932504808 * .5 / .875}},
		{"correction", set{"beta": 0}, []float64{1 / math.Sqrt(1.001), 1 / math.Sqrt(1.002)}},
		{"plateau", set{"warmup": 1}, []float64{.5, 1, 1}},
	} {
		s, err := FindSchedule(c.name)
		if err != nil {
			t.Fatal(err)
		}
		rate, err := s.Bind(1, 0, c.h)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if got := rate(i + 1); math.Abs(got-want) > 1e-8 {
				t.Errorf("%s call %d: %.9f, want %.9f", c.name, i+1, got, want)
			}
		}
	}
	rate, err := linear.Bind(1, 2, nil)
	if err != nil || rate(2) != 0.5 || rate(3) != 0 {
		t.Errorf("linear over a job of 2 calls: %v %v (%v), want 0.5 and 0", rate(2), rate(3), err)
	}
	rate, err = cosine.Bind(1, 5, set{"warmup": 1}) // the job has 4 calls left
	if err != nil || math.Abs(rate(4)-.5) > 1e-15 || rate(6) != 0 {
		t.Errorf("cosine over a job of 5 calls: %v %v (%v), want 0.5 and 0", rate(4), rate(6), err)
	}
	if _, err := FindSchedule("step"); err == nil {
		t.Error("schedule step found, want an error")
	}
	for name, h := range map[string]set{"constant": {"alpha": 1}, "correction": {"beta": 1}, "cosine": {"floor": 1.5}} {
		s, err := FindSchedule(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Bind(1, 0, h); err == nil {
			t.Errorf("%s took %v, want an error", name, h)
		}
	}
}

// Every schedule has a rate for every call, from 0 to the first rate, also for many calls; all can be warmed up.
func TestScheduleRange(t *testing.T) {
	for _, s := range Schedules() {
		for _, warm := range []float64{0, 7} {
			rate, err := s.Bind(0.5, 1000, set{"warmup": warm})
			if err != nil {
				t.Fatal(err)
			}
			before := 0.0
			for c := 1; c < 1<<30; c += 1 + c/2 {
				v := rate(c)
				if !(v >= 0 && v <= 0.5) || float64(c) <= warm && v <= before {
					t.Errorf("%s: rate %v of call %d after %v of warm-up, want 0 to 0.5, and to rise", s.Name, v, c, warm)
				}
				before = v
			}
		}
	}
}
