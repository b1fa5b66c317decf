package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"thole.example/rpc"
)

// Unfinished is a job that has not come to its end on a server that is about to.
type Unfinished struct {
	Job string
	// Logged says that the log has all that was acknowledged, of this server or of a standby.
	Logged bool
	// Checkpoint is the path of the one that was written for it, "" if all that it has made is in an earlier one.
	Checkpoint string
	// Err is why no checkpoint was written; nil: one was, or was not needed, or it is Logged.
	Err error
}

// Drain is for a server that is about to end. No new jobs are taken from now on, nor new attempts: their tasks are refused as by a server
// that does not have its role (rpc.ErrStandby), and may try again elsewhere or later. Jobs that write checkpoints are asked to write one.
// Drain answers when these are there, or ctx ends; nothing is waited for of jobs that write none, or where what they did is in a log. Jobs
// that come to their end meanwhile are not told of. The others, by name, are as they were: nobody is sent away.
func (s *Server) Drain(ctx context.Context) []Unfinished {
	if s.Replica != nil {
		return nil
	}
	s.mu.Lock()
	s.leaving = true
	jobs := slices.SortedFunc(maps.Values(s.jobs), func(a, b *job) int { return strings.Compare(a.full.String(), b.full.String()) })
	s.mu.Unlock()
	all := make([]Unfinished, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		if all[i] = (Unfinished{Job: j.full.String(), Logged: s.Logs != nil}); !all[i].Logged {
			wg.Go(func() { all[i].Checkpoint, all[i].Err = j.kept(ctx) })
		}
	}
	wg.Wait()
	out := all[:0]
	for i, j := range jobs {
		if !j.done.Load() {
			out = append(out, all[i])
		}
	}
	return out
}

// kept asks the job for a checkpoint, and waits for it.
func (j *job) kept(ctx context.Context) (path string, err error) {
	type answer struct {
		rpc.Moved
		err error
	}
	answered := make(chan answer, 1)
	x := rpc.NewExchange(&rpc.Request{Op: rpc.OpMove}, &rpc.Peer{}, func(_ *rpc.Exchange, r *rpc.Response, err error) {
		a := answer{err: err}
		if err == nil {
			a.err = json.Unmarshal(r.Results[0].Data, &a.Moved)
		}
		answered <- a
	})
	stop := context.AfterFunc(ctx, func() { x.Cancel(context.Cause(ctx)) })
	defer stop()
	j.keep(&request{x: x})
	select {
	case a := <-answered:
		return a.Checkpoint, a.err
	case <-ctx.Done():
		return "", fmt.Errorf("job %q was asked for a checkpoint, and has none yet: %w", j.name, context.Cause(ctx))
	}
}
