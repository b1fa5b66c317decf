package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"thole.example/rpc"
)

// join makes the job or checks that the task fits it, and watches the connection. The tasks of one process come all or
// not at all: the first to join claims the others' places.
func (s *Server) join(from *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
	var want rpc.Join
	if err := json.Unmarshal(q.Arg, &want); err != nil {
		return nil, fmt.Errorf("join: %w: %w", rpc.ErrMalformed, err)
	}
	task := int(q.Task)
	if want.Tasks < 1 || want.Tasks > maxTasks || task < 0 || task >= want.Tasks || want.Bound < 0 {
		return nil, fmt.Errorf("join: task %d of %d with staleness %d: %w", task, want.Tasks, want.Bound, rpc.ErrMalformed)
	}
	if want.Mine == nil {
		want.Mine = []int{task}
	}
	if !slices.Contains(want.Mine, task) || slices.Min(want.Mine) < 0 || slices.Max(want.Mine) >= want.Tasks {
		return nil, fmt.Errorf("join: task %d among %d of its process, want tasks from 0 to %d: %w",
			task, len(want.Mine), want.Tasks-1, rpc.ErrMalformed)
	}
	if want.Epoch > 0 {
		return s.rejoin(from, q, &want)
	}
	j := s.enter(q.Job, want)
	defer j.mu.Unlock()
	if err := j.admit(task, &want); err != nil {
		return nil, err
	}
	for _, t := range want.Mine {
		j.worker[t] = want.Worker
	}
	j.peers[task], j.came[task], j.clients[task] = from, true, newClient(&want)
	j.arrived()
	go s.watch(j, task, from)
	return &rpc.Response{Clock: int32(j.clocks.Slowest())}, nil
}

// admit tells why the task cannot be one of the job's. The caller holds the lock.
func (j *job) admit(task int, want *rpc.Join) error {
	plan, differ := agreed(j.plan, want.Plan)
	switch {
	case j.failed != nil:
		return j.failed
	case j.tasks != want.Tasks || j.bound != want.Bound:
		return fmt.Errorf("job %q has %d tasks under %v, not %d under %v: %w (start all workers alike)",
			j.name, j.tasks, j.bound, want.Tasks, want.Bound, rpc.ErrRefused)
	case differ != "":
		return fmt.Errorf("job %q is made with %s: %w (start all workers alike; a second job needs another name)",
			j.name, differ, rpc.ErrRefused)
	}
	for _, t := range want.Mine {
		owner, claimed := j.worker[t]
		switch peer := j.peers[t]; {
		case !claimed || owner == want.Worker && t != task:
		case peer != nil && isGone(peer):
			return fmt.Errorf("task %d of job %q, %s, has lost its connection and is waited for: %w (try again in %v)",
				t, j.name, peer.Name, rpc.ErrRefused, j.clients[t].grace)
		case peer != nil:
			return fmt.Errorf("task %d of job %q is %s already: %w (a second job needs another name)",
				t, j.name, peer.Name, rpc.ErrRefused)
		case j.came[t]:
			return fmt.Errorf("task %d of job %q was here before: %w", t, j.name, rpc.ErrRefused)
		case owner != want.Worker:
			return fmt.Errorf("task %d of job %q is another worker's: %w (a second job needs another name)",
				t, j.name, rpc.ErrRefused)
		}
	}
	j.plan = plan
	return nil
}

// agreed is the plan that both are: what one does not say the other decides. If they differ it tells the first
// difference.
func agreed(plan, other string) (both, differ string) {
	one, two := strings.Fields(plan), strings.Fields(other)
	for i := range max(len(one), len(two)) {
		if i >= len(one) || i >= len(two) {
			return "", "other settings"
		}
		name, value, _ := strings.Cut(one[i], "=")
		switch {
		case one[i] == two[i] || two[i] == name+"=":
		case value == "" && strings.HasPrefix(two[i], one[i]) && strings.HasSuffix(one[i], "="):
			one[i] = two[i]
		default:
			return "", fmt.Sprintf("%s, not %s", one[i], two[i])
		}
	}
	return strings.Join(one, " "), ""
}

// arrived lets those look again who wait for tasks. The caller holds the lock.
func (j *job) arrived() {
	close(j.arrival)
	j.arrival = make(chan struct{})
}

// missingLimit is how many missing tasks an answer names.
const missingLimit = 16

// roll answers how many tasks have joined, when there are more than the caller knows of, and names the missing ones.
func (s *Server) roll(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	for {
		j.mu.RLock()
		came, failed, arrival := len(j.came), j.failed, j.arrival
		if failed == nil && (came > int(q.Clock) || came == j.tasks) {
			break
		}
		j.mu.RUnlock()
		if failed != nil {
			return nil, failed
		}
		select {
		case <-arrival:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer j.mu.RUnlock()
	r := &rpc.Response{Clock: int32(len(j.came))}
	for t := 0; t < j.tasks && len(r.Results) < missingLimit; t++ {
		if !j.came[t] {
			r.Results = append(r.Results, rpc.Result{Part: int32(t)})
		}
	}
	return r, nil
}
