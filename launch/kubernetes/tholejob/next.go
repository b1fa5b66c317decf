package tholejob

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"thole.example/launch/kubernetes"
)

// Finalizer keeps a job there until its pods have ended, and what its servers left is removed. A job that has ended has none, so that it
// can be deleted when no operator is there.
const Finalizer = "thole.example/pods"

// State is what there is of a job.
type State struct {
	Now     time.Time
	Objects []Object // with its label, and others that have the name of one of its objects
	Pods    []*Pod   // of it
	Begun   bool     // an attempt of it has begun: its tasks have joined, and its servers have their roles
}

// Object is an object that is there.
type Object struct {
	Kind, Name, UID string
	Owner           string // uid of the controller; "": it has none
	Generation      int64  // of the job for which it was made
	Leaving         bool
}

// Actions are what to do about a job, in this order.
type Actions struct {
	Adopt   bool                // mark the job as the operator's: by the finalizer and the label
	Secret  bool                // create the job's own Secret, unless it is there
	Create  []kubernetes.Object // pods
	Apply   []kubernetes.Object // others, unless an object of the name is there that is not the job's
	Delete  []Removal
	Sweep   bool // remove what the servers left: leases
	Status  *Status
	Tell    []Event
	Release bool          // take the finalizer away
	Remove  bool          // delete the job
	Again   time.Duration // look again, though nothing has happened; 0: no need
}

// Removal is an object to be deleted.
type Removal struct {
	Kind, Name, UID string
	Now             bool // without grace
}

// Event is something that people are told.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Pauses before a worker is made again that ends soon after its start, from the second time on.
const (
	soon       = time.Minute // to end within it is to end soon
	firstPause = time.Second
	lastPause  = 2 * time.Minute
	lookAgain  = 30 * time.Second
)

// How long a server may be there without being ready before that is told, and how often it is looked whether an attempt has begun.
const (
	unreadyTime = time.Minute
	beginLook   = 500 * time.Millisecond
)

// overdue is how long a pod may be there after it had to be gone, before it is removed by force: its node does not answer. The roles of
// servers are leases, and a worker has its task from the servers, so that one which goes on there disturbs nobody.
const overdue = 15 * time.Second

// next is one look at a job.
type next struct {
	job    *Job
	state  *State
	launch *kubernetes.Launch
	due    map[int]int // numbers of pods to be made, by their workers
	*Actions
}

// Next says what to do about a job, whose status is what the operator wrote last.
func Next(j *Job, s *State) *Actions {
	n := &next{job: j, state: s, due: map[int]int{}, Actions: &Actions{Status: j.Status.clone()}}
	status := n.Status
	launch, err := j.Launch()
	n.launch = launch
	switch {
	case j.Metadata.DeletionTimestamp != nil:
		n.end()
	case status.over():
		n.afterwards()
	case !slices.Contains(j.Metadata.Finalizers, Finalizer) || j.Metadata.Labels[kubernetes.LaunchLabel] != j.Metadata.Name:
		n.Adopt = true
		return n.Actions // that is heard of
	case err != nil:
		n.stalled("InvalidSpec", err.Error())
	case j.Spec.Suspend:
		n.windDown(false)
		n.say(SuspendedNow, true, "Suspended", "spec.suspend is true", false)
		n.stalled("", "")
	default:
		n.say(SuspendedNow, false, "Resumed", "", false)
		n.run()
	}
	n.force()
	n.count()
	return n.Actions
}

// say notes a condition, and tells people of it if it is new.
func (n *next) say(kind string, so bool, reason, message string, warning bool) {
	if n.Status.condition(kind, so, reason, message, n.now(), n.job.Metadata.Generation) && so {
		n.tell(warning, reason, "%s", message)
	}
}

// now is the time, as the API has it.
func (n *next) now() time.Time { return n.state.Now.UTC().Truncate(time.Second) }

func (n *next) tell(warning bool, reason, format string, args ...any) {
	e := Event{warning, reason, fmt.Sprintf(format, args...)}
	n.Tell = append(n.Tell, e)
	n.Status.Message = e.Message
}

// stalled says that somebody has to do something, or with "" that nobody has.
func (n *next) stalled(reason, message string) {
	n.say(Stalled, reason != "", cmp.Or(reason, "GoesOn"), message, true)
}

// again has the operator look again after a time.
func (n *next) again(after time.Duration) {
	if after = max(after, 10*time.Millisecond); n.Again == 0 || after < n.Again {
		n.Again = after
	}
}

// pods are those of a component.
func (n *next) pods(component string) (all []*Pod) {
	for _, p := range n.state.Pods {
		if p.Component == component {
			all = append(all, p)
		}
	}
	return all
}

// run is a look at a job that shall run.
func (n *next) run() {
	for _, o := range n.state.Objects {
		if o.Owner != n.job.Metadata.UID && !o.Leaving {
			n.stalled("NameTaken", fmt.Sprintf("there is a %s %s that is no part of this job: want a job of another name, or that one removed",
				o.Kind, o.Name))
			n.again(lookAgain) // nobody tells of that one
			return
		}
	}
	if n.launch.OwnsSecret() && !n.Status.Secret {
		n.Secret, n.Status.Secret = true, true
	}
	for _, o := range n.launch.ServerObjects() {
		i := slices.IndexFunc(n.state.Objects, func(have Object) bool { return have.Kind == o.Kind && have.Name == o.Name })
		if i < 0 || !n.state.Objects[i].Leaving && n.state.Objects[i].Generation != n.job.Metadata.Generation {
			n.Apply = append(n.Apply, o)
		}
	}
	for _, p := range n.pods("server") {
		if p.ExitCode != nil && *p.ExitCode == 2 && !p.Leaving {
			n.fail("ServerFailed", fmt.Sprintf("%s would be started again for ever: %s", p.Name, p.State))
			return
		}
	}
	n.workers()
	if !n.Status.over() {
		n.advise()
	}
}

// fail ends the job.
func (n *next) fail(reason, message string) {
	n.say(Failed, true, reason, message, true)
	n.finish()
}

// finish is what is done when a job has come to its end.
func (n *next) finish() {
	now := n.now()
	n.Status.CompletionTime = &now
	n.Create, n.Apply = nil, nil
	n.stalled("", "")
	n.afterwards()
}

// afterwards is a look at a job that is over: servers go, and pods of workers that have ended stay, for what they wrote.
func (n *next) afterwards() {
	switch left := n.windDown(false); {
	case left:
	case !n.Status.Swept:
		n.Sweep, n.Status.Swept = true, true
		n.again(lookAgain) // if nobody hears of the status
	case n.job.Status.Swept: // which is written
		n.Release = slices.Contains(n.job.Metadata.Finalizers, Finalizer)
	}
	if ttl := n.job.Spec.TTLSecondsAfterFinished; ttl != nil && n.Status.CompletionTime != nil {
		left := n.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second).Sub(n.state.Now)
		if n.Remove = left <= 0; !n.Remove {
			n.again(left)
		}
	}
}

// end is a look at a job that is being deleted. What it owns would go when it has gone, but that may take a while.
func (n *next) end() {
	if !n.windDown(true) && slices.Contains(n.job.Metadata.Finalizers, Finalizer) {
		n.Sweep, n.Release = true, true
	}
}

// windDown deletes servers and workers, or all there is of the job, and reports whether some of their processes are left.
func (n *next) windDown(all bool) (left bool) {
	for _, o := range n.state.Objects {
		ofServers := slices.Contains([]string{"StatefulSet", "PodDisruptionBudget", "Service"}, o.Kind)
		if (all || ofServers) && o.Owner == n.job.Metadata.UID && !o.Leaving {
			n.Delete = append(n.Delete, Removal{Kind: o.Kind, Name: o.Name, UID: o.UID})
			left = left || o.Kind == "StatefulSet" // it could make another one
		}
	}
	for _, p := range n.state.Pods {
		if p.End == nil {
			left = true
		}
		if !p.Leaving && p.Component == "worker" && (all || p.End == nil) {
			n.remove(p, false)
		}
	}
	return left
}

func (n *next) remove(p *Pod, now bool) {
	n.Delete = append(n.Delete, Removal{Kind: "Pod", Name: p.Name, UID: p.UID, Now: now})
}

// force removes pods that should have gone by now.
func (n *next) force() {
	for _, p := range n.state.Pods {
		if !p.Leaving {
			continue
		}
		if late := n.state.Now.Sub(p.Deadline) - overdue; late >= 0 {
			n.remove(p, true)
			n.tell(true, "PodOverdue", "%s has not ended when it was asked to: it is removed by force, its node %s may be gone", p.Name, p.Node)
		} else {
			n.again(-late)
		}
	}
}

// advise tells what to do about pods that do not run.
func (n *next) advise() {
	for _, p := range n.state.Pods {
		if p.Advice != "" && !p.Leaving && p.End == nil {
			n.stalled("PodsDoNotRun", fmt.Sprintf("%s: %s; %s", p.Name, p.State, p.Advice))
			return
		}
	}
	for _, p := range n.pods("server") {
		if !p.Pod.Started() || p.Ready || p.Leaving || p.End != nil {
			continue
		}
		if left := p.Since.Add(unreadyTime).Sub(n.state.Now); left > 0 {
			n.again(left)
			continue
		}
		n.stalled("ServersNotReady", fmt.Sprintf("%s runs, but has had no role for %v or more: its log says why (kubectl logs -n %s %[1]s); "+
			"want its account allowed to read and write the leases of the job", p.Name, unreadyTime, n.job.Metadata.Namespace))
		return
	}
	n.stalled("", "")
}
