package tholejob

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"thole.example/launch/kubernetes"
)

// world is a cluster in which what is to be done is done at once, but for processes, of which a test says what becomes of them.
type world struct {
	t       *testing.T
	job     *Job
	now     time.Time
	objects []Object
	pods    []*Pod
	told    []string
	last    *Actions
	uids    int
	unbegun bool // no attempt has begun
	secrets int  // that were created
}

// newWorld has a job of two servers and two workers; change is made to its spec, as JSON has it.
func newWorld(t *testing.T, change string) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), job: &Job{Metadata: Metadata{Name: "clicks", Namespace: "models", UID: "job",
		Generation: 1}}}
	for _, text := range []string{`{"image":"i","data":["/d/a"],"model":"/d/m","servers":{"count":2},"workers":{"count":2},"restarts":2,
		"volumes":[{"name":"d","kind":"pvc","source":"d","path":"/d"}]}`, change} {
		if err := json.Unmarshal([]byte(text), &w.job.Spec); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// step looks at the job once, and does what is to be done.
func (w *world) step() *Actions {
	w.t.Helper()
	before, err := json.Marshal(w.job.Status)
	if err != nil {
		w.t.Fatal(err)
	}
	a := Next(w.job, &State{Now: w.now, Objects: w.objects, Pods: w.pods, Begun: !w.unbegun})
	if after, _ := json.Marshal(w.job.Status); string(after) != string(before) { // it was marshalled before
		w.t.Errorf("the status that was given has changed")
	}
	w.last = a
	if a.Adopt {
		w.job.Metadata.Finalizers, w.job.Metadata.Labels = []string{Finalizer}, map[string]string{kubernetes.LaunchLabel: "clicks"}
		return a
	}
	if a.Release {
		w.job.Metadata.Finalizers = nil
	}
	if a.Secret {
		w.secrets++
	}
	for i := range a.Create {
		w.create(&a.Create[i])
	}
	for _, o := range a.Apply {
		w.apply(o.Kind, o.Name)
	}
	for _, r := range a.Delete {
		w.delete(r)
	}
	text, err := json.Marshal(a.Status) // as the API keeps it
	if err == nil {
		w.job.Status = Status{}
		err = json.Unmarshal(text, &w.job.Status)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range a.Tell {
		w.told = append(w.told, e.Reason+": "+e.Message)
	}
	return a
}

// settle looks until there is nothing more to be done.
func (w *world) settle() {
	w.t.Helper()
	for range 20 {
		if a := w.step(); !a.Adopt && !a.Sweep && !a.Release && len(a.Create)+len(a.Apply)+len(a.Delete)+len(a.Tell) == 0 {
			return
		}
	}
	w.t.Fatalf("it does not come to rest: %+v", w.last)
}

// create makes a pod, by what the launcher says of it, unless there is one of the name.
func (w *world) create(o *kubernetes.Object) {
	w.t.Helper()
	if w.find(o.Name) != nil {
		w.t.Fatalf("%s is made twice", o.Name)
	}
	var index, number int
	if _, err := fmt.Sscanf(o.Name, "clicks-worker-%d-%d", &index, &number); err != nil {
		w.t.Fatalf("%s: %v", o.Name, err)
	}
	p := w.pod(o.Name, "worker", index, `"status":{"phase":"Pending"}`)
	text, err := o.YAML()
	if err != nil {
		w.t.Fatal(err)
	}
	if found := attemptLabel.FindSubmatch(text); found != nil {
		p.Attempt, _ = strconv.Atoi(string(found[1])) // it is a digit
	}
	w.pods = append(w.pods, p)
}

var attemptLabel = regexp.MustCompile(`thole.example/attempt: "(\d)"`)

// pod is a pod of the job, of which a test says the rest as the API would.
func (w *world) pod(name, component string, index int, rest string) *Pod {
	w.t.Helper()
	w.uids++
	p, err := ReadPod([]byte(fmt.Sprintf(`{"metadata":{"name":%q,"uid":"%d","annotations":{%q:"%d"},"labels":{"app.kubernetes.io/component":%q,
		"thole.example/index":"%d"}},"spec":{"nodeName":"n"},%s}`, name, w.uids, GenerationMark, w.job.Metadata.Generation, component, index, rest)))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) apply(kind, name string) {
	i := slices.IndexFunc(w.objects, func(o Object) bool { return o.Kind == kind && o.Name == name })
	if i < 0 {
		i = len(w.objects)
		w.objects = append(w.objects, Object{Kind: kind, Name: name, UID: kind + name, Owner: "job"})
		for n := 0; kind == "StatefulSet" && n < w.job.Spec.Servers.Count; n++ {
			w.pods = append(w.pods, w.pod(fmt.Sprintf("clicks-server-%d", n), "server", n,
				`"status":{"phase":"Running","containerStatuses":[{"ready":true,"state":{"running":{}}}]}`))
		}
	}
	w.objects[i].Generation = w.job.Metadata.Generation
}

// delete deletes an object at once, and has a pod leave, or go if that is for now. Servers go with their StatefulSet.
func (w *world) delete(r Removal) {
	w.objects = slices.DeleteFunc(w.objects, func(o Object) bool { return o.UID == r.UID })
	for _, p := range w.pods {
		if p.UID == r.UID || r.Kind == "StatefulSet" && p.Component == "server" {
			p.Leaving, p.Deadline = true, w.now.Add(30*time.Second)
		}
	}
	if r.Now {
		w.gone(r.Name)
	}
	w.pods = slices.DeleteFunc(w.pods, func(p *Pod) bool { return p.Leaving && p.End != nil })
}

func (w *world) find(name string) *Pod {
	i := slices.IndexFunc(w.pods, func(p *Pod) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return w.pods[i]
}

// gone has pods go; none: all that leave.
func (w *world) gone(names ...string) {
	w.pods = slices.DeleteFunc(w.pods, func(p *Pod) bool { return slices.Contains(names, p.Name) || len(names) == 0 && p.Leaving })
}

// leaves has somebody delete a pod.
func (w *world) leaves(name string) {
	p := w.find(name)
	p.Leaving, p.Deadline = true, w.now.Add(30*time.Second)
}

// becomes is what the API says of a pod from now on.
func (w *world) becomes(name, status string) {
	w.t.Helper()
	p := w.find(name)
	if p == nil {
		w.t.Fatalf("no pod %s, there are %s", name, w.names())
	}
	before := *p
	*p = *w.pod(name, p.Component, p.Index, `"status":`+status)
	p.UID, p.Leaving, p.Deadline, p.Generation, p.Attempt = before.UID, before.Leaving, before.Deadline, before.Generation, before.Attempt
}

// run has pods of workers run.
func (w *world) run(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.becomes(name, `{"phase":"Running","containerStatuses":[{"ready":true,"state":{"running":{}}}]}`)
	}
}

// ends has the process of a pod end so many seconds after its start.
func (w *world) ends(name string, code, seconds int, words string) {
	w.t.Helper()
	phase := map[bool]string{true: "Succeeded", false: "Failed"}[code == 0]
	w.becomes(name, fmt.Sprintf(`{"phase":%q,"containerStatuses":[{"state":{"terminated":{"exitCode":%d,"message":%q,"startedAt":%q,"finishedAt":%q}}}]}`,
		phase, code, words, w.now.Add(-time.Duration(seconds)*time.Second).Format(time.RFC3339), w.now.Format(time.RFC3339)))
}

// names are those of the workers' pods that do not leave, in order.
func (w *world) names() string {
	var all []string
	for _, p := range w.pods {
		if p.Component == "worker" && !p.Leaving {
			all = append(all, strings.TrimPrefix(p.Name, "clicks-worker-"))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// running is a job whose workers run.
func running(t *testing.T, change string) *world {
	t.Helper()
	w := newWorld(t, change)
	w.settle()
	w.run("clicks-worker-0-0", "clicks-worker-1-0")
	w.settle()
	if s := w.job.Status; s.Phase != Running || s.Servers != "2/2" || s.Workers != "2/2" || s.StartTime == nil || w.names() != "0-0 1-0" || len(w.objects) != 7 || w.secrets != 1 {
		t.Fatalf("%+v, workers %s, objects %+v", s, w.names(), w.objects)
	}
	return w
}

// checkpoints is a job whose workers may begin before those in their place have ended.
const checkpoints = `{"checkpoint":"/d/ck"}`

func TestSucceeds(t *testing.T) {
	w := running(t, checkpoints)
	w.ends("clicks-worker-1-0", 0, 100, "")
	w.settle()
	if s := w.job.Status; s.Phase != Running || s.CompletedIndexes != "1" || s.SucceededWorkers != 1 || s.ActiveWorkers != 1 {
		t.Errorf("one worker is done: %+v", s)
	}
	w.gone("clicks-worker-1-0") // somebody cleans up
	w.settle()
	w.ends("clicks-worker-0-0", 0, 100, "fm: 400 examples, 5 epochs\n")
	w.step()
	if s := w.job.Status; s.Result != "fm: 400 examples, 5 epochs" || s.Message != "all 2 workers are done: "+s.Result {
		t.Errorf("it does not say how it went: %+v", s)
	}
	if s := w.job.Status; s.Phase != Succeeded || !s.is(Complete) || s.CompletedIndexes != "0-1" || s.CompletionTime == nil || s.Swept {
		t.Errorf("both are done: %+v", s)
	}
	if w.step(); w.last.Sweep {
		t.Error("what servers left is removed while they are there")
	}
	w.gone()
	if w.step(); !w.last.Sweep || !w.job.Status.Swept {
		t.Error("what servers left is not removed when they have gone")
	}
	w.settle()
	if len(w.last.Create)+len(w.last.Apply) > 0 || w.names() != "0-0" || len(w.pods) != 1 || w.last.Sweep {
		t.Errorf("it is over: %+v, pods %s", w.last, w.names())
	}
}

// TestLost: what becomes of a worker, and what follows.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		name, change string
		lose         func(w *world)
		pods         string // that are there afterwards
		restarts     int
		failures     int
		why          string
	}{
		{"deleted, and goes on from checkpoints", checkpoints, func(w *world) { w.leaves("clicks-worker-1-0") }, "0-0 1-1", 1, 0, "is being deleted"},
		{"deleted, without checkpoints", "{}", func(w *world) { w.leaves("clicks-worker-1-0") }, "0-1 1-1", 2, 0, "is being deleted"},
		{"killed, without checkpoints", "{}", func(w *world) { w.ends("clicks-worker-1-0", 137, 9, "") }, "0-1 1-0 1-1", 2, 1, "exit code 137"},
		{"killed, without checkpoints, when another is done", "{}", func(w *world) {
			w.ends("clicks-worker-1-0", 0, 9, "")
			w.step()
			w.ends("clicks-worker-0-0", 137, 9, "")
		}, "0-0 0-1 1-0 1-1", 2, 0, "another worker was lost"},
		{"both lost at once, without checkpoints", "{}", func(w *world) {
			w.ends("clicks-worker-0-0", 75, 9, "")
			w.leaves("clicks-worker-1-0")
		}, "0-0 0-1 1-1", 2, 0, "another worker was lost"},
		{"evicted", checkpoints, func(w *world) { w.becomes("clicks-worker-1-0", `{"phase":"Failed","reason":"Evicted"}`) }, "0-0 1-0 1-1", 1, 0, "by the cluster (Evicted)"},
		{"preempted", checkpoints, func(w *world) {
			w.becomes("clicks-worker-1-0", `{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True"}],"containerStatuses":[
				{"state":{"terminated":{"exitCode":137}}}]}`)
		}, "0-0 1-0 1-1", 1, 0, "exit code 137"},
		{"a retry cures it", checkpoints, func(w *world) { w.ends("clicks-worker-1-0", 75, 9, "a server was lost\n") }, "0-0 1-0 1-1", 1, 0, "code 75: a server was lost"},
		{"killed", checkpoints, func(w *world) { w.ends("clicks-worker-1-0", 137, 9, "") }, "0-0 1-0 1-1", 1, 1, "exit code 137"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := running(t, c.change)
			c.lose(w)
			w.step()
			s := w.job.Status
			if w.names() != c.pods || s.Restarts != c.restarts || s.over() {
				t.Fatalf("pods %s, want %s; %+v", w.names(), c.pods, s)
			}
			if m := s.lost(1); c.restarts > 0 && (m == nil || m.Failures != c.failures || !strings.Contains(m.Why, c.why)) {
				t.Errorf("remembered %+v, want %d failures and %q", m, c.failures, c.why)
			}
			for _, p := range w.pods {
				if p.Component == "worker" && p.End == nil && !p.Leaving && p.Attempt != s.Attempt {
					t.Errorf("%s is of attempt %d, and the job is in %d", p.Name, p.Attempt, s.Attempt)
				}
			}
			if w.step(); s.Phase != Recovering || w.job.Status.Restarts != c.restarts || w.names() != c.pods {
				t.Errorf("looked at once more: %+v, pods %s", w.job.Status, w.names())
			}
			w.gone()
			w.settle()
			for _, p := range w.pods {
				if p.Component == "worker" && p.End == nil {
					w.run(p.Name)
				}
			}
			if w.settle(); w.job.Status.Phase != Running {
				t.Errorf("it does not go on: %+v", w.job.Status)
			}
		})
	}
}

// TestSaved: when worker 0 is done the model is saved, and one that is lost after that is not made again.
func TestSaved(t *testing.T) {
	for _, change := range []string{"{}", checkpoints} {
		for name, lose := range map[string]func(w *world){
			"killed":  func(w *world) { w.ends("clicks-worker-1-0", 137, 9, "") },
			"deleted": func(w *world) { w.leaves("clicks-worker-1-0") },
			"gone":    func(w *world) { w.gone("clicks-worker-1-0") },
		} {
			w := running(t, change)
			w.ends("clicks-worker-0-0", 0, 9, "")
			w.settle()
			if w.job.Status.Phase != Running {
				t.Errorf("%s, %s: worker 1 still runs: %+v", change, name, w.job.Status)
			}
			lose(w)
			if w.step(); w.job.Status.Phase != Succeeded || len(w.last.Create) > 0 {
				t.Errorf("%s, %s: %+v, %d pods are made", change, name, w.job.Status, len(w.last.Create))
			}
		}
	}
}

// TestForgotten: whoever looks with a status that is older than the pods makes no worker twice.
func TestForgotten(t *testing.T) {
	w := running(t, checkpoints)
	w.ends("clicks-worker-0-0", 75, 100, "")
	old := w.job.Status
	w.step()
	w.job.Status = old
	if w.step(); len(w.last.Create) != 0 || w.names() != "0-0 0-1 1-0" {
		t.Errorf("made %d pods, there are %s", len(w.last.Create), w.names())
	}
	w.ends("clicks-worker-0-1", 75, 100, "")
	if w.settle(); w.names() != "0-1 0-2 1-0" {
		t.Errorf("pods %s, want the last one that has ended and its successor", w.names())
	}
}

// TestFails: what no retry cures ends the job, and says why.
func TestFails(t *testing.T) {
	for _, c := range []struct {
		name, reason, message string
		lose                  func(w *world)
	}{
		{"an error", "WorkerFailed", "worker 1 (clicks-worker-1-0) ended with exit code 1: thole: no such file", func(w *world) {
			w.ends("clicks-worker-1-0", 1, 9, "reads\nthole: no such file\n\n")
		}},
		{"a wrong command line", "WorkerFailed", "ended with exit code 2", func(w *world) { w.ends("clicks-worker-0-0", 2, 9, "") }},
		{"a server's command line", "ServerFailed", "clicks-server-1 would be started again for ever", func(w *world) {
			w.becomes("clicks-server-1", `{"phase":"Running","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}},
				"lastState":{"terminated":{"exitCode":2,"message":"thole: no store"}}}]}`)
		}},
		{"killed too often", "TooManyRestarts", "it failed 3 times, and spec.restarts is 2", func(w *world) {
			for n := range 3 {
				w.ends(fmt.Sprintf("clicks-worker-1-%d", n), 139, 100, "")
				w.settle()
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := running(t, checkpoints)
			c.lose(w)
			w.settle()
			s := w.job.Status
			i := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == Failed })
			if s.Phase != FailedNow || i < 0 || s.Conditions[i].Reason != c.reason || !strings.Contains(s.Conditions[i].Message, c.message) || s.CompletionTime == nil {
				t.Fatalf("%+v, want %s: %s", s, c.reason, c.message)
			}
			w.gone()
			w.settle()
			for _, p := range w.pods {
				if p.End == nil {
					t.Errorf("%s is left", p.Name)
				}
			}
			if !w.job.Status.Swept || slices.ContainsFunc(w.objects, func(o Object) bool { return o.Kind == "StatefulSet" }) {
				t.Errorf("servers are left: %+v", w.objects)
			}
		})
	}
}

// TestPauses: a worker that ends soon again and again waits, one that ran for a while does not.
func TestPauses(t *testing.T) {
	w := running(t, `{"restarts":1000,"checkpoint":"/d/ck"}`)
	var pauses []time.Duration
	for n := range 12 {
		lasted := 3
		if n == 10 {
			lasted = 600
		}
		w.ends(fmt.Sprintf("clicks-worker-1-%d", n), 137, lasted, "")
		w.step()
		began := w.now
		for w.find(fmt.Sprintf("clicks-worker-1-%d", n+1)) == nil {
			if w.last.Again <= 0 {
				t.Fatalf("after pod %d nobody looks again", n)
			}
			w.now = w.now.Add(w.last.Again)
			w.step()
		}
		pauses = append(pauses, w.now.Sub(began))
	}
	want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 120, 120, 0, 0}
	for i := range want {
		if want[i] *= time.Second; pauses[i] != want[i] {
			t.Fatalf("pauses %v, want seconds 0 1 2 4 … 120 120, and 0 after one that ran for long", pauses)
		}
	}
}

// TestDeleted: a job that is deleted takes all with it, and its name is free when its processes have ended.
func TestDeleted(t *testing.T) {
	w := running(t, checkpoints)
	now := w.now
	w.job.Metadata.DeletionTimestamp = &now
	if w.step(); w.last.Release || w.job.Status.Phase != Ending {
		t.Errorf("released while pods are there: %+v", w.last)
	}
	if w.step(); w.last.Release || w.names() != "" || len(w.objects) > 0 {
		t.Errorf("released while pods are there: %+v", w.last)
	}
	w.gone("clicks-server-0", "clicks-server-1", "clicks-worker-0-0")
	w.now = w.now.Add(44 * time.Second)
	if w.step(); w.last.Again != time.Second || len(w.last.Delete) > 0 {
		t.Errorf("a pod has a second left: %+v", w.last)
	}
	w.now = w.now.Add(time.Second)
	if w.step(); len(w.pods) != 0 || !strings.Contains(strings.Join(w.told, "\n"), "clicks-worker-1-0 has not ended") {
		t.Errorf("a pod of a node that is gone stays: %+v, %q", w.last, w.told)
	}
	if w.step(); !w.last.Release || !w.last.Sweep {
		t.Errorf("it is not released: %+v", w.last)
	}
}

// TestForeign: what is not the job's is left alone, and told of.
func TestForeign(t *testing.T) {
	w := newWorld(t, checkpoints)
	w.step()
	w.objects = []Object{{Kind: "Service", Name: "clicks", UID: "s", Owner: "somebody"}}
	w.settle()
	if s := w.job.Status; len(w.pods) > 0 || len(w.objects) != 1 || !s.is(Stalled) || s.Phase != Pending || !strings.Contains(s.Message, "Service clicks") || w.last.Again == 0 {
		t.Errorf("%+v, objects %+v", s, w.objects)
	}
	w.objects = nil
	if w.settle(); w.job.Status.is(Stalled) || w.names() != "0-0 1-0" {
		t.Errorf("it does not begin: %+v", w.job.Status)
	}
}

// TestSuspended: a job that is suspended has no processes, and goes on when it is not any more.
func TestSuspended(t *testing.T) {
	w := running(t, checkpoints)
	w.job.Spec.Suspend = true
	w.settle()
	w.gone()
	w.settle()
	if s := w.job.Status; s.Phase != Suspended || len(w.pods) > 0 || w.last.Sweep {
		t.Errorf("suspended: %+v, pods %s", s, w.names())
	}
	w.job.Spec.Suspend = false
	w.settle()
	if s := w.job.Status; s.is(SuspendedNow) || w.names() != "0-0 1-0" || s.Servers != "2/2" {
		t.Errorf("resumed: %+v, pods %s", s, w.names())
	}
}

// TestChanged: a spec that is changed replaces the processes, and one that is wrong leaves them.
func TestChanged(t *testing.T) {
	w := running(t, checkpoints)
	w.job.Spec.Workers.Memory, w.job.Metadata.Generation = "much", 2
	if w.settle(); !w.job.Status.is(Stalled) || w.names() != "0-0 1-0" || !strings.Contains(w.job.Status.Message, `spec.workers.memory "much"`) {
		t.Errorf("wrong: %+v, pods %s", w.job.Status, w.names())
	}
	w.job.Spec.Workers, w.job.Metadata.Generation = Process{Count: 1, Memory: "8GiB"}, 3
	w.settle()
	w.gone()
	w.settle()
	if s := w.job.Status; s.is(Stalled) || w.names() != "0-1" || s.Workers != "0/1" || slices.ContainsFunc(w.objects, func(o Object) bool { return o.Generation != 3 }) {
		t.Errorf("changed: %+v, pods %s, objects %+v", s, w.names(), w.objects)
	}
}

// TestAdvised: what keeps pods from running is told with what to do.
func TestAdvised(t *testing.T) {
	w := newWorld(t, checkpoints)
	w.settle()
	w.becomes("clicks-worker-1-0", `{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff","message":"no i"}}}]}`)
	w.settle()
	if s := w.job.Status; !s.is(Stalled) || !strings.Contains(s.Message, "clicks-worker-1-0: pending: ErrImagePull (no i); want an --image") {
		t.Errorf("%+v", s)
	}
	w.run("clicks-worker-0-0", "clicks-worker-1-0")
	if w.settle(); w.job.Status.is(Stalled) || w.job.Status.Phase != Running {
		t.Errorf("%+v", w.job.Status)
	}
}

// TestBegun: a job whose pods all run is not Running before an attempt of it has begun; servers that run without a role are reported.
func TestBegun(t *testing.T) {
	w := newWorld(t, checkpoints)
	w.unbegun = true
	w.settle()
	w.run("clicks-worker-0-0", "clicks-worker-1-0")
	w.settle()
	if s := w.job.Status; s.Phase != Pending || s.StartTime != nil || s.Servers != "2/2" || s.Workers != "2/2" || w.last.Again == 0 {
		t.Errorf("without an attempt: %+v, looks again after %v", s, w.last.Again)
	}
	const waiting = `{"phase":"Running","containerStatuses":[{"ready":false,"state":{"running":{}}}]}`
	w.becomes("clicks-server-1", waiting)
	w.find("clicks-server-1").Since = w.now
	w.settle()
	if s := w.job.Status; s.is(Stalled) || s.Phase != Pending || s.Servers != "1/2" || w.last.Again > unreadyTime {
		t.Errorf("a server has no role yet: %+v", s)
	}
	w.now = w.now.Add(unreadyTime)
	w.settle()
	if s := w.job.Status; !s.is(Stalled) || !strings.Contains(s.Message, "clicks-server-1 runs, but has had no role for 1m0s") || !strings.Contains(s.Message,
		"kubectl logs -n models clicks-server-1") {
		t.Errorf("a server has no role for a minute: %+v", s)
	}
	w.run("clicks-server-1")
	w.unbegun = false
	w.settle()
	if s := w.job.Status; s.is(Stalled) || s.Phase != Running || s.StartTime == nil || w.secrets != 1 {
		t.Errorf("an attempt has begun: %+v, %d Secrets", s, w.secrets)
	}
}

// TestBegunWithoutCheckpoint: attempts of a job without checkpoints are not recorded: it is Running when its servers are ready and its workers run.
func TestBegunWithoutCheckpoint(t *testing.T) {
	w := newWorld(t, `{}`)
	w.unbegun = true
	w.settle()
	w.run("clicks-worker-0-0", "clicks-worker-1-0")
	if w.settle(); w.job.Status.Phase != Running {
		t.Errorf("%+v", w.job.Status)
	}
}

// TestReleased: a job that has ended has no finalizer, so that it can be deleted when the operator is gone, and so can the definition.
func TestReleased(t *testing.T) {
	for _, code := range []int{0, 1} {
		w := running(t, checkpoints)
		w.ends("clicks-worker-0-0", code, 100, "")
		w.ends("clicks-worker-1-0", code, 100, "")
		w.settle()
		if !w.job.Status.over() || len(w.job.Metadata.Finalizers) != 1 {
			t.Fatalf("code %d, servers are there: %+v, %v", code, w.job.Status, w.job.Metadata.Finalizers)
		}
		w.gone()
		if w.step(); !w.last.Sweep || w.last.Release {
			t.Errorf("code %d: what servers left is removed: %v, and the job released at once: %v", code, w.last.Sweep, w.last.Release)
		}
		w.settle()
		if len(w.job.Metadata.Finalizers) > 0 || w.names() != "0-0 1-0" {
			t.Errorf("code %d: finalizers %v, pods %s", code, w.job.Metadata.Finalizers, w.names())
		}
		if w.step(); w.last.Adopt || w.last.Release {
			t.Errorf("code %d: it is adopted again", code)
		}
	}
}

// TestOpen: a job with Secrets of the user, or none, has none of its own.
func TestOpen(t *testing.T) {
	for change, want := range map[string]int{`{"insecure":true}`: 0, `{"tlsSecret":"a","tokenSecret":"b"}`: 0, `{"tlsSecret":"a"}`: 1, `{"tokenSecret":"b"}`: 1} {
		w := newWorld(t, change)
		if w.settle(); w.secrets != want {
			t.Errorf("%s: %d Secrets, want %d", change, w.secrets, want)
		}
	}
}

// TestKept: a job that is over goes when its time has come.
func TestKept(t *testing.T) {
	w := running(t, `{"ttlSecondsAfterFinished":60}`)
	w.ends("clicks-worker-0-0", 1, 1, "")
	w.settle()
	w.gone()
	w.settle()
	w.now = w.now.Add(59 * time.Second)
	if w.step(); w.last.Remove || w.last.Again != time.Second {
		t.Errorf("a second before: %+v", w.last)
	}
	w.now = w.now.Add(time.Second)
	if w.step(); !w.last.Remove {
		t.Errorf("when its time has come: %+v", w.last)
	}
}

func TestIndexes(t *testing.T) {
	for _, text := range []string{"", "0", "0-2", "1,3-4,9", "0-1023"} {
		if got := indexText(indexes(text)); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := indexText(indexes("x,-1,5-3,0-99999999,7")); got != "7" {
		t.Errorf("of nonsense comes %q, want 7", got)
	}
}

// TestCheckpointLater: a job that has begun anew, and is given a checkpoint, has attempts no more.
func TestCheckpointLater(t *testing.T) {
	w := running(t, "{}")
	w.ends("clicks-worker-1-0", 75, 100, "")
	w.settle()
	w.gone()
	w.job.Spec.Checkpoint, w.job.Metadata.Generation = "/d/ck", 2
	w.settle()
	w.gone()
	w.settle()
	w.run("clicks-worker-0-2", "clicks-worker-1-2")
	if w.settle(); w.job.Status.Phase != Running || w.find("clicks-worker-0-2").Attempt != 0 {
		t.Errorf("%+v, pods %s", w.job.Status, w.names())
	}
}
