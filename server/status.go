package server

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"thole.example/matrix"
	"thole.example/ssp"
)

// JobStatus is what there is to be seen of a job on this server. It shares nothing with the job.
type JobStatus struct {
	ssp.Report
	Tables []MatrixStatus `json:"matrices"`
	Log    *LogStatus     `json:"log,omitempty"` // nil: it has none
}

// MatrixStatus is a matrix, as far as this server has it.
type MatrixStatus struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Storage    string `json:"storage,omitempty"` // the type in which values are kept, if that is another one
	Layout     string `json:"layout"`
	Bound      string `json:"bound"`
	Rule       string `json:"rule,omitempty"`
	Rows       int64  `json:"rows"`
	Cols       int64  `json:"cols"`
	Partitions int64  `json:"partitions"`       // here
	Everywhere int    `json:"everywhere"`       // partitions on all servers
	Columns    int64  `json:"columns"`          // stored here, in all partitions together
	Bytes      int64  `json:"bytes"`            // in memory, with the state of the rule
	OnDisk     int64  `json:"onDisk,omitempty"` // bytes of rows that memory has no room for
	Slowest    int    `json:"slowest"`          // clock, as folded; -1: all have finished

	// What became of columns for the matrix's Keep, since it was made here, loaded or restored.
	Admitted   int64 `json:"admitted,omitempty"`   // were named often enough and made
	Refused    int64 `json:"refused,omitempty"`    // times that a step named a column that it did not make
	Expired    int64 `json:"expired,omitempty"`    // were removed because nothing named them
	Evicted    int64 `json:"evicted,omitempty"`    // were removed because others needed their room in the budget
	Candidates int64 `json:"candidates,omitempty"` // were named and are not made, now
}

// Status is what there is to be seen of all jobs, by name. It waits for the mailbox of each job, where a report is made, and leaves
// out those that did not answer before ctx ended. Any goroutine may call it.
func (s *Server) Status(ctx context.Context) []JobStatus {
	s.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	answers := make(chan JobStatus, len(jobs))
	for _, j := range jobs {
		go j.submit(look{j, answers}) // it may have to do what others left in the mailbox
	}
	var all []JobStatus
	for range jobs {
		select {
		case one := <-answers:
			if one.Job != "" {
				all = append(all, one)
			}
		case <-ctx.Done():
			return sorted(all)
		}
	}
	return sorted(all)
}

func sorted(all []JobStatus) []JobStatus {
	slices.SortFunc(all, func(a, b JobStatus) int { return cmp.Compare(a.Job, b.Job) })
	return all
}

// look is somebody who wants to see a job.
type look struct {
	j  *job
	to chan<- JobStatus
}

// do implements work. Whatever becomes of it the job goes on, and whoever looks is answered.
func (l look) do() {
	var out JobStatus
	_ = l.j.server.try(func() { out = l.j.status() })
	l.to <- out
}

// status is for the job's mailbox.
func (j *job) status() JobStatus {
	out := JobStatus{Report: j.core.Report(j.server.now(), (*request).partitions)}
	out.Job = j.full.String()
	for _, s := range (*j.stores.Load())[1:] {
		out.Tables = append(out.Tables, s.status())
	}
	out.Log = j.log.status(time.Now())
	return out
}

// partitions are those of a matrix that a request reads, ascending.
func (q *request) partitions(matrix int) (ids []int) {
	if q.gather == nil {
		return nil
	}
	for i := range q.gather.reads {
		if p := q.gather.reads[i].from; int(p.of.number) == matrix {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (s *store) status() MatrixStatus {
	m := MatrixStatus{
		Name: s.meta.Name, Type: s.meta.DType.String(), Layout: s.meta.Layout.String(), Bound: s.bound.String(), Rule: s.meta.Rule,
		Rows: s.meta.Rows, Cols: s.meta.Cols, Partitions: s.here(), Everywhere: len(s.partitions), Slowest: int(s.slowest.Load()),
	}
	if s.meta.Storage != matrix.Invalid {
		m.Storage = s.meta.Storage.String()
	}
	if m.Slowest == ssp.Finished {
		m.Slowest = -1
	}
	for _, p := range s.owned {
		m.Columns += p.columns.Load()
		if s.meta.Layout == matrix.RowDense {
			m.Columns += s.parts.At(p.id).Cols.Len()
		}
		m.Bytes += p.counted.Load()
		m.OnDisk += p.away.Load()
		if f := p.fate.Load(); f != nil {
			m.Admitted, m.Refused, m.Expired = m.Admitted+f.Admitted, m.Refused+f.Refused, m.Expired+f.Expired
			m.Evicted, m.Candidates = m.Evicted+f.Evicted, m.Candidates+f.Waiting
		}
	}
	return m
}
