package server

import (
	"context"
	"slices"

	"thole.example/access"
	"thole.example/rpc"
	"thole.example/ssp"
)

// ended makes the name of a job free. If it was an attempt of several the next one waits for what it has under way.
func (s *Server) ended(j *job) {
	defer s.copies.changes.notify() // a replay may wait for more of it
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[j.full] == j {
		delete(s.jobs, j.full)
	}
	if s.launches == nil {
		s.launches = map[access.JobName]int{}
	}
	delete(s.launches, j.full)
	if j.launch > 0 && !j.core.Done() && len(s.launches) < pastsLimit {
		s.launches[j.full] = j.launch
	}
	if j.core.Done() {
		j.done.Store(true)
		s.pasts = append(s.pasts[max(0, len(s.pasts)-pastsLimit+1):], past{j.full, j.core.Plan()})
	}
	if j.core.Attempt() > 0 {
		if s.endings == nil {
			s.endings = map[access.JobName]*job{}
		}
		s.endings[j.full] = j
	}
}

// past is a job that came to its end.
type past struct {
	name access.JobName
	plan string
}

// pastsLimit is how many of them a server remembers.
const pastsLimit = 256

// endedBefore reports whether a job of the same name, and settings as far as they are known, has come to its end before this one.
func (j *job) endedBefore() bool {
	s := j.server
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pasts, func(p past) bool { return p.name == j.full && ssp.Agree(p.plan, j.core.Plan()) })
}

// gone says that a job that has ended has given everything back: its memory is free for the next attempt, and whatever it was still
// making visible is there, or never will be.
func (s *Server) gone(j *job) {
	j.loads.Wait()
	j.log.remove(s)
	s.unclaim(j)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(j.gone)
	if s.endings[j.full] == j {
		delete(s.endings, j.full)
	}
}

// afterEnding brings a Join of an attempt to its job once the attempt before has given everything back. It reports whether that is so
// late that somebody else does it.
func (s *Server) afterEnding(at *seat, x *rpc.Exchange, a *joinArgs) bool {
	s.mu.Lock()
	before := s.endings[a.full]
	s.mu.Unlock()
	if before == nil || a.Attempt == 0 {
		return false
	}
	go x.Guard(s.logger(), func() {
		select {
		case <-before.gone:
			s.arrive(at, x, a)
		case <-x.Context().Done():
			x.Fail(context.Cause(x.Context()))
		}
	})
	return true
}

// overAlready answers a Join whose task waited for the next attempt of a job that has ended.
func (j *job) overAlready(e ssp.Ended[*request]) {
	e.Req.end(false)
	j.answerJSON(e.Req, rpc.Joined{Ended: true})
}

// comeLater answers a Join whose task has to come in another attempt.
func (j *job) comeLater(e ssp.Later[*request]) {
	e.Req.end(false)
	j.answerJSON(e.Req, rpc.Joined{Attempt: e.Attempt, Without: e.Without})
}
