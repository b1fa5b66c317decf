package ssp

import (
	"fmt"
	"strings"
	"time"
)

// Report is what a status command shows of a job: every task with its clocks, and who waits for whom. Clocks of who has finished
// are -1. It shares nothing with the job.
type Report struct {
	Job      string         `json:"job"`
	Bound    string         `json:"bound"` // of matrices that have none of their own
	Attempt  int            `json:"attempt,omitempty"`
	Joined   int            `json:"joined"`
	Finished int            `json:"finished"`
	Failed   string         `json:"failed,omitempty"`
	Tasks    []TaskReport   `json:"tasks"`  // those that have joined
	Clocks   []MatrixReport `json:"clocks"` // the first are the job's own
	Waits    []WaitReport   `json:"waits,omitempty"`
	Missing  []int          `json:"missing,omitempty"` // some of the tasks that have not joined
	All      int            `json:"all"`               // how many tasks the job has
	Moving   *Moving        `json:"moving,omitempty"`  // an order to move to other servers
}

// TaskReport is a task that has joined.
type TaskReport struct {
	Task   int           `json:"task"`
	Status string        `json:"status"`
	Name   string        `json:"name"` // of its last connection
	Heard  time.Duration `json:"heard"`
	Change uint64        `json:"change"`           // that was made last
	Early  int           `json:"early,omitempty"`  // later changes that wait for one that has not come
	Clocks []int         `json:"clocks,omitempty"` // of each matrix, in the order of Report.Clocks
}

// MatrixReport is the clocks of a matrix, or of the job itself.
type MatrixReport struct {
	Matrix  string `json:"matrix"` // "" of the job's own
	Bound   string `json:"bound"`
	Slowest int    `json:"slowest"`
	Fastest int    `json:"fastest"`          // of those that have not finished
	Staged  int    `json:"staged,omitempty"` // deltas that are not due
	From    int    `json:"from,omitempty"`   // the clock of the first of them
}

// WaitReport is a request that waits for clocks.
type WaitReport struct {
	Who    string        `json:"who"`
	Task   int           `json:"task"`             // -1: it is none
	Clock  int           `json:"clock"`            // that it waits for
	Matrix string        `json:"matrix,omitempty"` // of this one
	Number int           `json:"number"`           // of the matrix; 0: it is the job's own clock
	Since  time.Duration `json:"since"`            // for so long
	For    []int         `json:"for"`              // tasks at the slowest clock, some of them
	Why    string        `json:"why"`              // what is known of those
	// Partitions are those of the matrix that it reads on this server; nil: it is not known, or it waits for the clock alone.
	Partitions []int `json:"partitions,omitempty"`
}

// Report is what there is to be told about the job at a time, which counts from where those of Step do. partitions, which may be
// nil, tells which ones of a matrix a request reads.
func (j *Job[D, R]) Report(now time.Duration, partitions func(req R, matrix int) []int) Report {
	j.now = max(j.now, now)
	r := Report{Job: j.name, Bound: j.bound.String(), Attempt: j.attempt, Joined: j.joined,
		Finished: j.finished, All: len(j.members), Missing: j.missing(), Moving: j.Moving()}
	if j.failed != nil {
		r.Failed = j.failed.Error()
	}
	for t, m := range j.members {
		if m == nil || m.status == Claimed {
			continue
		}
		one := TaskReport{Task: t, Status: m.status.String(), Name: m.name, Heard: j.now - m.seen, Change: m.last, Early: len(m.early)}
		for _, s := range j.matrices {
			one.Clocks = append(one.Clocks, shown(s.clocks.Of(t)))
		}
		r.Tasks = append(r.Tasks, one)
	}
	for _, s := range j.matrices {
		m := MatrixReport{Matrix: s.Name, Bound: s.Bound.String(), Slowest: shown(s.clocks.Slowest()), Fastest: -1, Staged: s.ahead.deltas()}
		for _, n := range s.clocks.at {
			m.Fastest = max(m.Fastest, shown(n))
		}
		if m.Staged > 0 {
			m.From = s.ahead.clocks[0].clock
		}
		r.Clocks = append(r.Clocks, m)
	}
	for i := range j.pulls {
		p := &j.pulls[i]
		s := j.matrices[p.needs[p.next].Matrix]
		w := WaitReport{Who: p.String(), Task: -1, Clock: j.least(p, p.needs[p.next]), Matrix: s.Name, Number: s.ID,
			Since: j.now - p.since, Why: j.slow(s)}
		if p.of != nil {
			w.Task = p.of.task
		}
		if partitions != nil {
			w.Partitions = partitions(p.req, s.ID)
		}
		for t := range j.members {
			if s.clocks.Of(t) == s.clocks.Slowest() && len(w.For) < namesLimit {
				w.For = append(w.For, t)
			}
		}
		r.Waits = append(r.Waits, w)
	}
	return r
}

// shown is a clock as reports have it.
func shown(clock int) int {
	if clock == Finished {
		return -1
	}
	return clock
}

// String is the report as lines for people.
func (j *Job[D, R]) String() string { return j.Report(j.now, nil).String() }

// String is the report as lines for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %q: %d tasks under %s, %d joined, %d finished%s\n", r.Job, r.All, r.Bound, r.Joined, r.Finished, r.attempt())
	if r.Failed != "" {
		fmt.Fprintf(&b, "failed: %v\n", r.Failed)
	}
	if r.Moving != nil {
		fmt.Fprintln(&b, r.Moving)
	}
	for _, t := range r.Tasks {
		fmt.Fprintf(&b, "task %d %v at %s, heard of %v ago, change %d; clocks:%s\n",
			t.Task, t.Status, t.Name, seconds(t.Heard), t.Change, r.clocks(t.Clocks))
	}
	for i, s := range r.Clocks {
		if s.Staged > 0 {
			fmt.Fprintf(&b, "%s: %d deltas staged from clock %d on\n", ofMatrix(i, s.Matrix), s.Staged, s.From)
		}
	}
	for _, t := range r.Tasks {
		if t.Early > 0 {
			fmt.Fprintf(&b, "task %d: change %d has not come, later ones wait: %d\n", t.Task, t.Change+1, t.Early)
		}
	}
	for _, w := range r.Waits {
		fmt.Fprintf(&b, "%s waits for clock %d of %s%s for %v: %s\n",
			w.Who, w.Clock, ofMatrix(w.Number, w.Matrix), w.Where(), seconds(w.Since), w.Why)
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "not joined: %v of %d\n", r.Missing, r.All-r.Joined)
	}
	return b.String()
}

func (r Report) attempt() string {
	if r.Attempt == 0 {
		return ""
	}
	return fmt.Sprintf(", attempt %d", r.Attempt)
}

// Where is the partitions as people are told of them: ", partition 3", ", partitions 0 1 2", or nothing.
func (w WaitReport) Where() string {
	switch len(w.Partitions) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(", partition %d", w.Partitions[0])
	}
	return ", partitions " + strings.Trim(fmt.Sprint(w.Partitions), "[]")
}

// clocks is a task's clocks of the job and of each matrix.
func (r Report) clocks(all []int) string {
	var b strings.Builder
	for i, n := range all {
		name := r.Clocks[i].Matrix
		if i == 0 {
			name = "job"
		}
		if n < 0 {
			fmt.Fprintf(&b, " %s finished", name)
		} else {
			fmt.Fprintf(&b, " %s %d", name, n)
		}
	}
	return b.String()
}
