package tholejob

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Exit codes of workers that mean something (docs/identity.md).
const (
	exitError     = 1  // the same command line would not do better
	exitUsage     = 2  // the command line is wrong, or the program
	exitTemporary = 75 // it may do better later
)

// workers makes the pods that workers need, and finds out whether all are done.
func (n *next) workers() {
	done := indexes(n.Status.CompletedIndexes)
	of := map[int][]*Pod{}
	for _, p := range n.pods("worker") {
		of[p.Index] = append(of[p.Index], p)
	}
	for index, pods := range of {
		slices.SortFunc(pods, func(a, b *Pod) int { return cmp.Compare(a.Number, b.Number) })
		if index >= n.launch.Workers { // the job was given fewer
			for _, p := range pods {
				if !p.Leaving {
					n.remove(p, false)
				}
			}
		}
	}
	for _, pods := range of {
		n.Status.Attempt = max(n.Status.Attempt, pods[len(pods)-1].Attempt)
	}
	all := n.each(done, of)
	if n.Status.over() {
		return
	}
	attempt := n.Status.Attempt
	if n.job.goesOn() {
		attempt = -1
	}
	for i := range n.launch.Workers {
		if number, ok := n.due[i]; ok {
			n.Create = append(n.Create, n.launch.WorkerPod(i, number, attempt))
		}
	}
	n.Status.CompletedIndexes = indexText(done)
	if all {
		text := fmt.Sprintf("all %d workers are done", n.launch.Workers)
		if n.Status.Result != "" {
			text += ": " + n.Status.Result
		}
		n.say(Complete, true, "Trained", text, false)
		n.finish()
	}
}

// each looks at each worker, and reports whether all are done. When one is lost, and none can go on without it, all begin anew.
func (n *next) each(done map[int]bool, of map[int][]*Pod) (all bool) {
	attempt := n.Status.Attempt
	all = true
	for i := range n.launch.Workers {
		if !done[i] && n.worker(i, of[i], done[0]) {
			done[i] = true
			n.tell(false, "WorkerDone", "worker %d is done", i)
		}
		if all = all && done[i]; n.Status.over() {
			return false
		}
	}
	if n.Status.Attempt == attempt {
		return all
	}
	clear(done) // what they made is not there in the next attempt
	n.Status.Result = ""
	for i := range n.launch.Workers {
		if pods := of[i]; len(pods) > 0 && pods[len(pods)-1].Attempt < n.Status.Attempt {
			n.anew(i, pods[len(pods)-1])
		}
	}
	return false
}

// anew has a worker begin anew, because another one was lost.
func (n *next) anew(index int, p *Pod) {
	m := n.Status.remember(index)
	if m.Next > p.Number {
		return // it was lost itself
	}
	m.Next, m.NotBefore, m.Why = p.Number+1, nil, "another worker was lost, and there is no checkpoint"
	n.Status.Restarts++
	if !p.Leaving && p.End == nil {
		n.remove(p, false)
	}
	n.create(index, m.Next)
}

// worker looks at a worker whose pods these are, the last one last, makes one if it needs one, and reports whether it is done. When the
// model is saved, as worker 0 is done, one that is lost has nothing left to do.
func (n *next) worker(index int, pods []*Pod, saved bool) (done bool) {
	number := 0
	if known := n.Status.lost(index); known != nil {
		number = known.Next
	}
	if len(pods) == 0 {
		if !saved {
			n.create(index, number)
		}
		return saved
	}
	last := pods[len(pods)-1]
	for _, p := range pods[:max(0, len(pods)-2)] { // the one before stays, for what it wrote
		if p.End != nil && !p.Leaving {
			n.remove(p, false)
		}
	}
	switch {
	case last.Number < number && saved:
		return true
	case last.Number < number: // its successor is not there yet
		n.create(index, number)
	case !n.job.goesOn() && last.Attempt < n.Status.Attempt: // it was to begin anew, and nobody has heard of that
		n.anew(index, last)
	case last.End != nil && last.End.Code == 0:
		if index == 0 {
			n.Status.Result = fmt.Sprintf("%.500s", last.End.Words)
		}
		return true
	case saved && (last.End == nil || last.End.Code != exitError && last.End.Code != exitUsage):
		return last.Leaving || last.End != nil
	case last.Leaving, last.End != nil:
		n.replace(index, last)
	case last.Generation != n.job.Metadata.Generation:
		n.remove(last, false)
	}
	return false
}

// replace makes another pod of a worker that has lost one, unless the job has failed by that.
func (n *next) replace(index int, p *Pod) {
	m := n.Status.remember(index)
	m.Next, m.NotBefore = p.Number+1, nil
	why, counts := "its pod is being deleted", false
	switch {
	case p.Leaving:
	case p.Disrupted:
		why = "its pod " + p.End.text()
	case p.End.Code == exitError || p.End.Code == exitUsage:
		n.fail("WorkerFailed", fmt.Sprintf("worker %d (%s) %s", index, p.Name, p.End.text()))
		return
	default:
		why, counts = "it "+p.End.text(), p.End.Code != exitTemporary
	}
	m.Why = why
	if counts {
		if m.Failures++; m.Failures > n.launch.Restarts {
			n.fail("TooManyRestarts", fmt.Sprintf("worker %d (%s) %s; it failed %d times, and spec.restarts is %d", index, p.Name, p.End.text(),
				m.Failures, n.launch.Restarts))
			return
		}
	}
	m.wait(p, n.state.Now)
	n.Status.Restarts++
	how := "another pod takes its place"
	if !n.job.goesOn() {
		n.Status.Attempt, how = max(n.Status.Attempt, p.Attempt+1), "without a checkpoint all workers begin anew"
	}
	n.tell(counts, "WorkerReplaced", "worker %d (%s): %s; %s", index, p.Name, why, how)
	n.create(index, m.Next)
}

// wait has the successor of a pod wait, if it and the one before ended soon.
func (m *Lost) wait(p *Pod, now time.Time) {
	if p.Leaving || p.Disrupted || p.End.Lasted > soon {
		m.Quick = 0
		return
	}
	if m.Quick++; m.Quick > 1 {
		at := now.Add(min(firstPause<<min(m.Quick-2, 10), lastPause)).UTC()
		m.NotBefore = &at
	}
}

// create makes a pod of a worker, when it is time.
func (n *next) create(index, number int) {
	if m := n.Status.lost(index); m != nil && m.NotBefore != nil && m.NotBefore.After(n.state.Now) {
		n.again(m.NotBefore.Sub(n.state.Now))
		return
	}
	n.due[index] = number
}

// count says how many there are of what.
func (n *next) count() {
	s, ready, newest := n.Status, 0, map[int]*Pod{}
	for _, p := range n.state.Pods {
		if p.Component == "server" && p.Ready && !p.Leaving {
			ready++
		}
		if before := newest[p.Index]; p.Component == "worker" && (before == nil || before.Number < p.Number) {
			newest[p.Index] = p
		}
	}
	done, active := indexes(s.CompletedIndexes), 0
	for i, p := range newest {
		if !done[i] && !p.Leaving && p.Pod.Started() && p.End == nil {
			active++
		}
	}
	s.ReadyServers, s.ActiveWorkers, s.SucceededWorkers = ready, active, len(done)
	s.ObservedGeneration = n.job.Metadata.Generation
	if n.launch != nil {
		servers, workers := n.launch.Servers, n.launch.Workers
		s.Servers, s.Workers = fmt.Sprintf("%d/%d", ready, servers), fmt.Sprintf("%d/%d", active+len(done), workers)
		whole := ready >= servers
		reason := map[bool]string{true: "AllReady", false: "NotAllReady"}[whole]
		n.say(ServersReady, whole, reason, fmt.Sprintf("%s servers are ready", s.Servers), false)
		whole = whole && active+len(done) == workers
		if whole && s.StartTime == nil && !s.over() {
			if n.state.Begun || !n.job.goesOn() { // without checkpoints attempts are not recorded, but servers that are ready have their roles
				now := n.now()
				s.StartTime = &now
				n.tell(false, "Started", "the first attempt has begun: all %d servers and %d workers run", servers, workers)
			} else {
				n.again(beginLook)
			}
		}
		n.phase(whole && s.StartTime != nil)
		return
	}
	n.phase(false)
}

// phase says in a word how the job is.
func (n *next) phase(whole bool) {
	s := n.Status
	switch {
	case n.job.Metadata.DeletionTimestamp != nil:
		s.Phase = Ending
	case s.is(Complete):
		s.Phase = Succeeded
	case s.is(Failed):
		s.Phase = FailedNow
	case s.is(SuspendedNow):
		s.Phase = Suspended
	case whole:
		s.Phase = Running
	case s.StartTime != nil:
		s.Phase = Recovering
	default:
		s.Phase = Pending
	}
}
