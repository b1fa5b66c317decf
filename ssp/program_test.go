package ssp_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"thole.example/ssp"
)

// program is what the tasks of a job do: for each the changes in the order of their numbers. Whatever happens on the way,
// what is applied follows from it alone.
type program struct {
	bound    ssp.Bound
	matrices []ssp.Matrix
	steps    int
	tasks    [][]action
}

// action is a change of a task, or a pull.
type action struct {
	push    ssp.Push[string, string]
	update  bool
	refused bool // it is wrong
	pull    bool // of push.Then, and not numbered
	wait    bool // nothing follows before the answer
}

// step is what is expected of one clock of a matrix, or under ASP of one task's.
type step struct {
	clock        int
	deltas       []string
	weight, rate float64
}

func drawProgram(t *rapid.T) *program {
	bounds := rapid.SampledFrom([]ssp.Bound{ssp.BSP, 1, 2, ssp.ASP})
	p := &program{bound: bounds.Draw(t, "bound"), steps: rapid.IntRange(1, 4).Draw(t, "steps")}
	for id := range rapid.IntRange(1, 3).Draw(t, "matrices") {
		m := ssp.Matrix{ID: id + 1, Name: fmt.Sprint("m", id+1), Rule: rapid.Bool().Draw(t, "rule"), Bound: p.bound}
		if m.Own = rapid.Bool().Draw(t, "own"); m.Own {
			m.Bound = bounds.Draw(t, "own bound")
		}
		p.matrices = append(p.matrices, m)
	}
	for task := range rapid.IntRange(1, 4).Draw(t, "tasks") {
		var all []action
		for clock := range p.steps {
			all = append(all, p.drawStep(t, task, clock)...)
		}
		seq := uint64(0)
		for i := range all {
			if !all[i].pull {
				seq++
				all[i].push.Seq = seq
			}
		}
		p.tasks = append(p.tasks, all)
	}
	return p
}

// drawStep is a task's step: deltas in one or more changes, ticks of all matrices, and what comes between.
func (p *program) drawStep(t *rapid.T, task, clock int) []action {
	changes := make([]action, rapid.IntRange(1, 3).Draw(t, "changes"))
	last := &changes[len(changes)-1]
	var needs []ssp.Need
	changes[0].push.Ticks = append(changes[0].push.Ticks, ssp.Tick{Clock: clock})
	for _, m := range p.matrices {
		for i := range rapid.IntRange(0, 2).Draw(t, "deltas") {
			c := &changes[rapid.IntRange(0, len(changes)-1).Draw(t, "in")].push
			c.Deltas = append(c.Deltas, ssp.Delta[string]{Matrix: m.ID, Clock: clock, Data: fmt.Sprintf("m%d.c%d.t%d.%d", m.ID, clock, task, i)})
		}
		tick := ssp.Tick{Matrix: m.ID, Clock: clock, Rate: rapid.SampledFrom([]float64{0.1, 0.5}).Draw(t, "rate")}
		if task == 0 || m.Bound == ssp.ASP || rapid.Bool().Draw(t, "weighs") {
			tick.Weight = rapid.SampledFrom([]float64{0.1, 0.2, 0.7}).Draw(t, "weight") // sums of these depend on their order
		}
		last.push.Ticks = append(last.push.Ticks, tick)
		needs = append(needs, ssp.Need{Matrix: m.ID, Clock: clock + 1})
	}
	all := slices.Clone(changes)
	switch rapid.IntRange(0, 5).Draw(t, "between") {
	case 0:
		wrong := ssp.Push[string, string]{Deltas: []ssp.Delta[string]{{Matrix: 1, Clock: clock + 9, Data: "wrong"}}}
		all = slices.Insert(all, rapid.IntRange(0, len(all)).Draw(t, "at"), action{push: wrong, refused: true})
	case 1:
		all = slices.Insert(all, rapid.IntRange(0, len(all)).Draw(t, "at"), action{update: true})
	case 2:
		all[len(all)-1].push.Then = needs
	case 3:
		all = append(all, action{pull: true, push: ssp.Push[string, string]{Then: needs}})
	}
	all[len(all)-1].wait = rapid.Bool().Draw(t, "wait")
	return all
}

// expect is what is to be applied to a matrix under BSP and SSP, in this order; under ASP, what of one task.
func (p *program) expect(m ssp.Matrix, tasks []int) (steps []step) {
	for clock := range p.steps {
		s := step{clock: clock}
		for _, task := range tasks {
			for i := range p.tasks[task] {
				s.add(m, &p.tasks[task][i])
			}
		}
		if len(s.deltas) > 0 || s.weight > 0 {
			steps = append(steps, s)
		}
	}
	return steps
}

func (s *step) add(m ssp.Matrix, a *action) {
	if a.refused || a.pull {
		return
	}
	for _, d := range a.push.Deltas {
		if d.Matrix == m.ID && d.Clock == s.clock {
			s.deltas = append(s.deltas, d.Data)
		}
	}
	for _, k := range a.push.Ticks {
		if k.Matrix == m.ID && k.Clock == s.clock && m.Rule && k.Weight > 0 {
			s.weight += k.Weight
			s.rate = max(s.rate, k.Rate)
		}
	}
}
