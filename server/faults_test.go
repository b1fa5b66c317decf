package server_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/internal/seeds"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/rpctest"
	"thole.example/ssp"
)

// TestScenarios runs jobs through faults of every kind. Whatever happens, every change is made once or the tasks hear why not.
// A seed that fails is run again alone with FAULT_SEED=n; what the tasks do and what happens on each connection are the
// same then, but not how the processors take turns.
func TestScenarios(t *testing.T) {
	set := seeds.Of(t, "FAULT", 500, 60)
	var met [rpctest.Fates]int
	ends := map[string]int{}
	for seed := range set.All() {
		sc := newScenario(seed)
		set.Try(t, seed, sc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { sc.try(t, &met, ends) })
		})
	}
	t.Logf("%d seeds: %v; faults met: %v", set.Count, ends, met[1:])
	for f := rpctest.CutBefore; f < rpctest.Fates && set.Count >= 60; f++ {
		if met[f] == 0 {
			t.Errorf("fate %d was never met", f)
		}
	}
}

// try runs the scenario and says what is wrong with what came of it.
func (sc *scenario) try(t *testing.T, met *[rpctest.Fates]int, ends map[string]int) {
	f := newFarm(t, sc.servers, sc)
	out := sc.run(f)
	for fate, n := range f.faults.Met() {
		met[fate] += n
	}
	sc.judge(t, out, ends)
	f.faults.Wait()
	time.Sleep(2 * time.Hour) // until nobody is waited for any more
	synctest.Wait()
	for i, s := range f.servers {
		if used := s.Ledger.Used(); used.Total() != 0 {
			t.Errorf("server %d: bytes in use when all has ended: %v", i, used)
		}
	}
	if sc.outage != serverStops {
		sc.nameIsFree(t, f)
	}
	if out[0].err == nil {
		sc.checkSaved(t, f, &out[0])
	}
	f.close()
	if sc.bound == ssp.BSP && out[0].err == nil {
		sc.compare(t, out)
	}
}

// judge looks at how the tasks ended, and at the integers in the end.
func (sc *scenario) judge(t *testing.T, out []taskOutcome, ends map[string]int) {
	failed := 0
	for task, o := range out {
		if o.err == nil {
			continue
		}
		failed++
		if !errors.Is(o.err, errVanished) && !causes.MatchString(o.err.Error()) {
			t.Errorf("task %d: %v: it names neither server nor task", task, o.err)
		}
		if sc.outage == noOutage {
			t.Errorf("task %d: %v", task, o.err)
		}
	}
	must := sc.outage == taskVanishes || sc.outage == taskGivesUp || sc.outage == serverStops
	switch {
	case failed == 0 && must:
		t.Errorf("outage %d, and nobody has heard of it", sc.outage)
	case failed == 0:
		ends["succeeded"]++
	case failed < sc.tasks && must:
		for task, o := range out {
			if o.err == nil {
				t.Errorf("task %d has finished in spite of outage %d", task, sc.outage)
			}
		}
	case failed < sc.tasks:
		ends["failed at the end"]++
	default:
		ends["failed"]++
	}
	want := totals{n: make([]int64, (1+sc.tasks)*scenarioCols), k: map[int64][]int64{}}
	for _, o := range out {
		want.add(&o.own)
	}
	for task, o := range out {
		if o.err == nil {
			if text := o.last.differ(&want); text != "" {
				t.Errorf("task %d: %s", task, text)
			}
		}
	}
}

func (a *totals) add(b *totals) {
	for i, v := range b.n {
		a.n[i] += v
	}
	for key, v := range b.k {
		if a.k[key] == nil {
			a.k[key] = make([]int64, len(v))
		}
		for i := range v {
			a.k[key][i] += v[i]
		}
	}
	a.u += b.u
}

// differ is the first difference from what is wanted, "" if there is none.
func (a *totals) differ(want *totals) string {
	for i, v := range a.n {
		if v != want.n[i] {
			return fmt.Sprintf("cell %d,%d of n is %d, want %d", i/scenarioCols, i%scenarioCols, v, want.n[i])
		}
	}
	for _, key := range scenarioKeys() {
		if a.k[key] == nil && want.k[key] == nil {
			continue
		}
		if !slices.Equal(a.k[key], want.k[key]) {
			return fmt.Sprintf("column %d of k is %d, want %d", key, a.k[key], want.k[key])
		}
	}
	if a.u != want.u {
		return fmt.Sprintf("%d updates were made, want %d", a.u, want.u)
	}
	return ""
}

// nameIsFree wants the job to have ended on every server: its name can be used again.
func (sc *scenario) nameIsFree(t *testing.T, f *farm) {
	p, err := ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: f.addrs, Job: "j", Tasks: 1})
	if err == nil {
		err = p.Leave(t.Context())
		_ = p.Close()
	}
	if err != nil {
		t.Errorf("the job's name after its end: %v", err)
	}
}

// checkSaved loads what was saved in the middle into another job.
func (sc *scenario) checkSaved(t *testing.T, f *farm, o *taskOutcome) {
	p, err := ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: f.addrs[:1], Job: "look", Tasks: 1})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = p.Close() }()
	err = errors.Join(p.Create(t.Context(), "", sc.matrices()[:2]...), p.Load(t.Context(), ps.LoadOptions{Path: "mid"}))
	if err != nil {
		t.Errorf("what was saved: %v", err)
		return
	}
	all, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "n"}, {Matrix: "k"}})
	if err != nil {
		t.Error(err)
		return
	}
	if row := all[0].Data.Values().([]int64)[scenarioCols : 2*scenarioCols]; !slices.Equal(row, o.savedAs) {
		t.Errorf("its own row is saved as %v, want %v", row, o.savedAs)
	}
	for _, b := range all {
		o.saw = append(o.saw, sight{sc.steps, "saved", bits(b)})
	}
	if err := p.Leave(t.Context()); err != nil {
		t.Error(err)
	}
}

// compare wants every task to have read, bit for bit, what it reads when nothing goes wrong and everything is on one server;
// one that failed at the end, up to that.
func (sc *scenario) compare(t *testing.T, out []taskOutcome) {
	calm := *sc
	calm.outage = noOutage
	f := newFarm(t, 1, nil)
	defer f.close()
	want := calm.run(f)
	for task := range out {
		if want[task].err != nil {
			t.Errorf("without faults, task %d: %v", task, want[task].err)
			return
		}
	}
	sc.checkSaved(t, f, &want[0])
	for task := range out {
		got, want := out[task].saw, want[task].saw
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Errorf("task %d: in step %d it reads (%s) other bits than without faults", task, got[i].step, got[i].what)
				break
			}
		}
		if out[task].err == nil && len(got) != len(want) {
			t.Errorf("task %d has read %d times, without faults %d", task, len(got), len(want))
		}
	}
}
