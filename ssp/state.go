package ssp

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is everything of a job that matters to go on with it, as plain values: what a checkpoint has of it. Requests that
// wait are no part of it, nor are connections: clients come back and send again what was not answered. An Update that runs
// counts as done. The shell takes a State when what the effects so far have said is in the matrices it saves, and nothing else.
type State[D any] struct {
	Name     string
	Tasks    int
	Bound    Bound
	Plan     string
	Attempt  int
	Refusals int
	Reason   *Failure // of the last refusal
	Failed   *Failure // nil: the job has not failed
	Members  []MemberState
	Matrices []MatrixState[D] // in the order of their ids; the first is the job's own clock
}

// MemberState is a task and the window of its client.
type MemberState struct {
	Task     int
	Worker   string
	Status   Status // Here is restored as Away
	Name     string
	Client   string
	Epoch    int
	Grace    time.Duration
	Lease    time.Duration
	Optional bool
	Altered  bool      // an update of it was executed since it ended its own clock last
	Last     uint64    // change that was executed last
	Refused  []Failure // of the last changes
}

// Failure is an error as plain values.
type Failure struct {
	Seq  uint64 // of a refused change
	Kind Kind   // "": none of this package's
	Text string
}

// MatrixState is a matrix, the clock of each task, and what is not yet due.
type MatrixState[D any] struct {
	Matrix
	Clocks []int
	Staged []Staged[D]
}

// Staged is a delta of a task's clock, or with Tick the end of the clock. They are in the order of clocks, and within a
// clock in the order in which they came.
type Staged[D any] struct {
	Clock  int
	Task   int
	Tick   bool
	Weight float64
	Rate   float64
	Delta  D
	// Weightless is that of the Delta.
	Weightless bool
}

// State is a copy of the job's state; only what a D refers to is shared.
func (j *Job[D, R]) State() State[D] {
	s := State[D]{
		Name: j.name, Tasks: len(j.members), Bound: j.bound, Plan: j.plan, Attempt: j.attempt, Refusals: j.refusals,
		Reason: failure(j.reason), Failed: failure(j.failed),
	}
	for _, m := range j.members {
		if m != nil {
			s.Members = append(s.Members, m.state())
		}
	}
	for _, of := range j.matrices {
		m := MatrixState[D]{Matrix: of.Matrix, Clocks: slices.Clone(of.clocks.at)}
		for _, c := range of.ahead.clocks {
			for _, e := range c.entries {
				m.Staged = append(m.Staged, Staged[D]{c.clock, e.task, e.tick, e.weight, e.rate, e.delta, e.weightless})
			}
		}
		s.Matrices = append(s.Matrices, m)
	}
	return s
}

func (m *member[D, R]) state() MemberState {
	s := MemberState{
		Task: m.task, Worker: m.worker, Status: m.status, Name: m.name, Client: m.client, Epoch: m.epoch,
		Grace: m.grace, Lease: m.lease, Optional: m.optional, Altered: m.altered, Last: m.last,
	}
	for _, r := range m.refused {
		f := *failure(r.err)
		f.Seq = r.seq
		s.Refused = append(s.Refused, f)
	}
	return s
}

func failure(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Text: err.Error()}
	errors.As(err, &f.Kind)
	return f
}

// restored is an error that was saved.
type restored struct {
	kind Kind
	text string
}

func (r *restored) Error() string { return r.text }
func (r *restored) Unwrap() error {
	if r.kind == "" {
		return nil
	}
	return r.kind
}

func (f *Failure) err() error {
	if f == nil {
		return nil
	}
	return &restored{f.Kind, f.Text}
}

// FromState is a job that goes on from a state at the time now. Whoever was connected has its grace from now on to come
// back. The error tells what in the state cannot be.
func FromState[D any, R comparable](s State[D], now time.Duration) (*Job[D, R], error) {
	if s.Tasks < 1 || s.Tasks > taskLimit || s.Bound < 0 || s.Attempt < 0 || len(s.Matrices) == 0 || len(s.Members) == 0 {
		return nil, fmt.Errorf("state of job %q: %d tasks, %d of them members, with staleness %d and %d matrices: %w",
			s.Name, s.Tasks, len(s.Members), s.Bound, len(s.Matrices), Malformed)
	}
	j := NewJob[D, R](s.Name)
	j.now, j.bound, j.plan, j.attempt = now, s.Bound, s.Plan, s.Attempt
	j.refusals, j.reason, j.failed = s.Refusals, s.Reason.err(), s.Failed.err()
	j.members = make([]*member[D, R], s.Tasks)
	for i := range s.Members {
		if err := j.restoreMember(&s.Members[i]); err != nil {
			return nil, err
		}
	}
	for i := range s.Matrices {
		if err := j.restoreMatrix(&s.Matrices[i]); err != nil {
			return nil, err
		}
	}
	return j, nil
}

func (j *Job[D, R]) restoreMember(s *MemberState) error {
	if s.Task < 0 || s.Task >= len(j.members) || j.members[s.Task] != nil || s.Status > Lost || s.Epoch < 0 {
		return fmt.Errorf("state of job %q: task %d of %d as number %d is %v: %w",
			j.name, s.Task, len(j.members), s.Epoch, s.Status, Malformed)
	}
	m := &member[D, R]{
		task: s.Task, worker: s.Worker, status: s.Status, name: s.Name, client: s.Client, epoch: s.Epoch,
		grace: min(max(0, s.Grace), graceLimit), lease: max(0, s.Lease), optional: s.Optional, seen: j.now,
	}
	m.last, m.altered = s.Last, s.Altered
	for i := range s.Refused {
		f := &s.Refused[i]
		if f.Seq > s.Last || i > 0 && f.Seq <= s.Refused[i-1].Seq {
			return fmt.Errorf("state of job %q: task %d was refused change %d, want ascending ones up to %d: %w",
				j.name, s.Task, f.Seq, s.Last, Malformed)
		}
		m.refused = append(m.refused, refusal{f.Seq, f.err()})
	}
	if m.status == Here || m.status == Away {
		m.status, m.why = Away, goneAway
	}
	if m.status != Claimed {
		j.joined++
	}
	if m.status == Away {
		j.present++
	} else if m.over() {
		j.finished++
	}
	j.expect(m)
	j.members[s.Task] = m
	return nil
}

// Seat gives a task that is Away a connection, as if its client had come back over it. It reports whether the task is: whoever keeps a
// log of a job goes on from a State in it, and has the connections over which the events after it came.
func (j *Job[D, R]) Seat(task int, conn int64) bool {
	if task < 0 || task >= len(j.members) || j.members[task] == nil || j.members[task].status != Away || j.conns[conn] != nil {
		return false
	}
	m := j.members[task]
	m.status, m.conn, m.seen = Here, conn, j.now
	j.conns[conn] = m
	j.expect(m)
	return true
}

func (j *Job[D, R]) restoreMatrix(s *MatrixState[D]) error {
	id := len(j.matrices)
	if s.ID != id || s.Bound < 0 || len(s.Clocks) != len(j.members) || slices.Min(s.Clocks) < 0 || slices.Max(s.Clocks) > Finished {
		return fmt.Errorf("state of job %q: matrix %q has number %d, staleness %d and %d clocks, want number %d and %d clocks: %w",
			j.name, s.Name, s.ID, s.Bound, len(s.Clocks), id, len(j.members), Malformed)
	}
	of := &series[D]{Matrix: s.Matrix, clocks: &Clocks{at: slices.Clone(s.Clocks)}}
	of.clocks.count()
	of.shown = of.clocks.Slowest()
	for _, e := range s.Staged {
		if err := of.stageable(e); err != nil {
			return fmt.Errorf("state of job %q: %v: %w: %w", j.name, of, err, Malformed)
		}
		of.ahead.add(e.Clock, entry[D]{e.Task, e.Tick, e.Weight, e.Rate, e.Delta, e.Weightless})
	}
	j.matrices = append(j.matrices, of)
	return nil
}

// stageable tells why a delta or tick cannot be among those that are not yet due.
func (s *series[D]) stageable(e Staged[D]) error {
	now := s.clocks.Of(e.Task)
	from, to := s.clocks.Slowest(), now
	if s.Bound == ASP {
		from = now
	}
	if e.Tick {
		to--
	}
	switch {
	case now < 0:
		return fmt.Errorf("something is staged of task %d, want one in [0,%d)", e.Task, len(s.clocks.at))
	case e.Clock < from || e.Clock > to:
		return fmt.Errorf("clock %d of task %d is staged, want one from %d to %d", e.Clock, e.Task, from, to)
	case e.Tick && !(e.Weight > 0):
		return fmt.Errorf("a tick of weight %v is staged, want one above 0", e.Weight)
	}
	return nil
}
