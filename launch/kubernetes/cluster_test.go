package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"thole.example/kubeapi"
)

// fakeAPI is as much of a Kubernetes API as launches ask: objects that are applied, listed by a label and deleted, and logs of pods.
type fakeAPI struct {
	mu      sync.Mutex
	objects map[string]map[string]any // by path
	logs    map[string][]string       // answers of each request for the log of a pod; an answer that ends in "…" is broken off there
	since   []string                  // what was asked of logs
	asked   []string                  // methods and paths that change something
	each    func(*fakeAPI)            // is called before each list of pods
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	place := r.URL.Path
	if r.Method != http.MethodGet {
		f.asked = append(f.asked, r.Method+" "+place)
	}
	label, value, list := strings.Cut(r.URL.Query().Get("labelSelector"), "=")
	switch object := f.objects[place]; {
	case strings.HasSuffix(place, "/log"):
		f.log(w, r, path.Base(path.Dir(place)))
	case list:
		if f.each != nil && strings.HasSuffix(place, "/pods") {
			f.each(f)
		}
		items := []any{}
		for _, name := range slices.Sorted(maps.Keys(f.objects)) {
			labels, _ := at(f.objects[name], "metadata", "labels").(map[string]any)
			if path.Dir(name) == place && labels[label] == value {
				items = append(items, f.objects[name])
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		if err := yaml.Unmarshal(body, &object); err != nil || r.Header.Get("Content-Type") != kubeapi.Apply ||
			r.URL.Query().Get("fieldValidation") != "Strict" {
			f.refuse(w, http.StatusBadRequest, fmt.Sprint("no apply: ", err))
			return
		}
		f.objects[place] = object
		_ = json.NewEncoder(w).Encode(object)
	case r.Method == http.MethodPost:
		var made map[string]any
		body, _ := io.ReadAll(r.Body)
		if err := yaml.Unmarshal(body, &made); err != nil || r.Header.Get("Content-Type") != kubeapi.YAML {
			f.refuse(w, http.StatusBadRequest, fmt.Sprint("no object: ", err))
			return
		}
		name, _ := at(made, "metadata", "name").(string)
		if place += "/" + name; f.objects[place] != nil {
			f.refuse(w, http.StatusConflict, "already exists")
			return
		}
		f.objects[place] = made
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(made)
	case object == nil:
		f.refuse(w, http.StatusNotFound, path.Base(place)+" not found")
	case r.Method == http.MethodDelete:
		delete(f.objects, place)
		fmt.Fprint(w, "{}")
	default:
		_ = json.NewEncoder(w).Encode(object)
	}
}

func (f *fakeAPI) refuse(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","message":%q,"details":{"kind":"jobsets"}}`, message)
}

func (f *fakeAPI) log(w http.ResponseWriter, r *http.Request, pod string) {
	f.since = append(f.since, r.URL.Query().Get("sinceTime"))
	answers := f.logs[pod]
	if len(answers) == 0 {
		f.refuse(w, http.StatusInternalServerError, "dial tcp: no such host")
		return
	}
	text := answers[0]
	f.logs[pod] = answers[1:]
	if whole, broken := strings.CutSuffix(text, "…"); broken {
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)+1))
		text = whole
	}
	_, _ = io.WriteString(w, text)
}

// cluster is a namespace of the API.
func (f *fakeAPI) cluster(t *testing.T) *Cluster {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return &Cluster{&kubeapi.API{Server: server.URL, Client: server.Client()}, "models"}
}

// put puts an object of JSON or YAML.
func (f *fakeAPI) put(t *testing.T, at, text string) {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	f.objects[at] = v
}

const (
	pods = "/api/v1/namespaces/models/pods/"
	job  = "/apis/batch/v1/namespaces/models/jobs/ctr-worker"
)

func podText(name, component string, index int, status string) string {
	return fmt.Sprintf(`{metadata: {name: %s, uid: %[1]s, labels: {%s: ctr, %s: %s, batch.kubernetes.io/job-completion-index: "%d"}}, spec: {nodeName: n1}, status: %s}`,
		name, LaunchLabel, componentLabel, component, index, status)
}

// TestApply: what is applied is found again, none of it replaces what is no part of the launch, and all of it goes with it: also the leases of
// its servers, when its pods have ended, and nothing of another launch.
func TestApply(t *testing.T) {
	f := &fakeAPI{objects: map[string]map[string]any{}}
	c, l := f.cluster(t), small()
	apply := func(l *Launch) error {
		return cmp.Or(c.Free(t.Context(), l), c.Apply(t.Context(), l))
	}
	secret, err := l.Secret(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.Generated = &secret
	if err := apply(l); err != nil {
		t.Fatal(err)
	}
	if n := len(f.objects); n != 9 {
		t.Errorf("%d objects, want 9: %q", n, f.asked)
	}
	if err := c.Free(t.Context(), l); err == nil || !strings.Contains(err.Error(), "is in the namespace models already") {
		t.Errorf("twice: %v", err)
	}
	if j, err := c.Job(t.Context(), "ctr"); err != nil || j.wanted != 3 || j.Done || j.Failed {
		t.Errorf("its job: %+v, %v", j, err)
	}
	other := small()
	other.Name = "other"
	f.put(t, "/api/v1/namespaces/models/services/other", "{metadata: {name: other}}")
	if err := c.Free(t.Context(), other); err == nil || !strings.Contains(err.Error(), "a Service other in the namespace models that is no part") {
		t.Errorf("beside what is of somebody else: %v", err)
	}
	f.put(t, pods+"a", podText("a", "server", 0, "{}"))
	f.put(t, "/apis/coordination.k8s.io/v1/namespaces/models/leases/a", "{metadata: {name: a, labels: {thole.example/store: ctr}}}")
	f.put(t, "/apis/coordination.k8s.io/v1/namespaces/models/leases/b", "{metadata: {name: b, labels: {thole.example/store: other}}}")
	looks := 0
	f.each = func(f *fakeAPI) {
		if looks++; looks == 2 {
			if f.objects["/apis/coordination.k8s.io/v1/namespaces/models/leases/a"] == nil {
				t.Error("a lease is gone while a pod is there")
			}
			delete(f.objects, pods+"a")
		}
	}
	n, err := c.Remove(t.Context(), "ctr", nil)
	if left := slices.Sorted(maps.Keys(f.objects)); err != nil || n != 9 || len(left) != 2 {
		t.Errorf("removed %d, %v; left %q", n, err, left)
	}
	if _, err := c.Job(t.Context(), "ctr"); !errors.Is(err, ErrNone) {
		t.Errorf("its job, when it is gone: %v", err)
	}
	set := small()
	set.JobSet = true
	if err := apply(set); err != nil { // the API says that it knows JobSets
		t.Error(err)
	}
	if j, err := c.Job(t.Context(), "ctr"); err != nil || j.Done {
		t.Errorf("a JobSet: %+v, %v", j, err)
	}
}

// TestHurry: pods that are still there are ended at once when somebody is in a hurry.
func TestHurry(t *testing.T) {
	f := &fakeAPI{objects: map[string]map[string]any{}}
	f.put(t, pods+"a", podText("a", "server", 0, "{}"))
	hurry := make(chan struct{})
	close(hurry)
	if _, err := f.cluster(t).Remove(t.Context(), "ctr", hurry); err != nil || len(f.objects) != 0 {
		t.Errorf("%v, left %d", err, len(f.objects))
	}
}

// told is what a Watcher has said and printed.
type told struct {
	mu    sync.Mutex
	lines []string
	out   strings.Builder
}

func (w *told) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *told) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}

// TestWatch: states are told when they change, the log of worker 0 is printed once, over connections that break and pods that follow each other,
// and the end is the Job's.
func TestWatch(t *testing.T) {
	const first, second, third = "2026-01-02T03:04:05.1Z one\n", "2026-01-02T03:04:05.2Z two\n", "2026-01-02T03:04:06Z three\n"
	f := &fakeAPI{objects: map[string]map[string]any{}, logs: map[string][]string{"w0": {first + "…", first + second}, "w0b": {third}}}
	f.put(t, job, "{metadata: {name: ctr-worker, labels: {thole.example/launch: ctr}}}")
	f.put(t, pods+"s0", podText("s0", "server", 0, "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 'no nodes'}]}"))
	look := 0
	f.each = func(f *fakeAPI) {
		running := "{phase: Running, containerStatuses: [{ready: true, state: {running: {}}}]}"
		switch look++; look {
		case 2:
			f.put(t, pods+"s0", podText("s0", "server", 0, running))
			f.put(t, pods+"w0", podText("w0", "worker", 0, running))
		case 4:
			f.put(t, pods+"w0", podText("w0", "worker", 0, "{phase: Failed, containerStatuses: [{state: {terminated: {exitCode: 137, reason: OOMKilled}}}]}"))
			f.put(t, pods+"w0b", strings.Replace(podText("w0b", "worker", 0, running), "labels:", "creationTimestamp: 2026-01-02T03:04:05Z, labels:", 1))
		case 6:
			f.put(t, job, "{metadata: {name: ctr-worker, labels: {thole.example/launch: ctr}}, status: {conditions: [{type: Complete, status: 'True'}]}}")
		}
	}
	var w told
	if err := (&Watcher{Cluster: f.cluster(t), Name: "ctr", Out: &w, Say: w.say}).Watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"server-0: pending: Unschedulable (no nodes); want nodes with room, or less --server-memory and --server-cpus, or a claim that can be bound",
		"server-0: ready", "worker-0: running on n1",
		"worker-0: failed: OOMKilled (exit code 137); it took more memory than its limit: want more --worker-memory, or a smaller --memory",
		"worker-0: running on n1",
	}
	if !slices.Equal(w.lines, want) {
		t.Errorf("said\n%s\nwant\n%s", strings.Join(w.lines, "\n"), strings.Join(want, "\n"))
	}
	if got := w.out.String(); got != "one\ntwo\nthree\n" {
		t.Errorf("printed %q", got)
	}
	if !slices.Equal(f.since, []string{"", "2026-01-02T03:04:05Z", ""}) {
		t.Errorf("logs were asked since %q", f.since)
	}
}

// TestFailed: a launch that has failed says which pod is to blame, with its exit code and the end of what it wrote, whoever it is.
func TestFailed(t *testing.T) {
	const failed = "{metadata: {name: ctr-worker, labels: {thole.example/launch: ctr}}, status: {conditions: [{type: Failed, status: 'True', " +
		"reason: PodFailurePolicy, message: why}]}}"
	const going = "{metadata: {name: ctr-worker, labels: {thole.example/launch: ctr}}}"
	ended := func(code int) string {
		return fmt.Sprintf("{phase: Failed, containerStatuses: [{state: {terminated: {exitCode: %d, reason: Error}}}]}", code)
	}
	for _, c := range []struct {
		job    string
		pods   map[string]string
		blamed string
		code   int
	}{
		{failed, map[string]string{"w1": podText("w1", "worker", 1, ended(2)), "w2": podText("w2", "worker", 2, ended(75))}, "w1", 2},
		{failed, map[string]string{"w2": podText("w2", "worker", 2, ended(1))}, "w2", 1},
		{failed, nil, "", 0},
		{going, map[string]string{"s1": podText("s1", "server", 1, "{phase: Running, containerStatuses: [{restartCount: 1, "+
			"state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2}}}]}")}, "s1", 2},
	} {
		f := &fakeAPI{objects: map[string]map[string]any{}, logs: map[string][]string{c.blamed: {"thole: no\n"}}}
		f.put(t, job, c.job)
		for name, text := range c.pods {
			f.put(t, pods+name, text)
		}
		var w told
		err := (&Watcher{Cluster: f.cluster(t), Name: "ctr", Out: &w, Say: w.say}).Watch(t.Context())
		bad, ok := errors.AsType[*Failed](err)
		if !ok || bad.Pod != c.blamed || bad.Code != c.code {
			t.Errorf("%+v, want %s with %d", err, c.blamed, c.code)
		}
		if c.blamed != "" && w.out.String() != "thole: no\n" {
			t.Errorf("printed %q of %s", w.out.String(), c.blamed)
		}
	}
}

// TestNoLogs: where logs cannot be read it is told once, and states go on.
func TestNoLogs(t *testing.T) {
	f := &fakeAPI{objects: map[string]map[string]any{}}
	f.put(t, job, "{metadata: {name: ctr-worker, labels: {thole.example/launch: ctr}}, status: {conditions: [{type: Complete, status: 'True'}]}}")
	f.put(t, pods+"w0", podText("w0", "worker", 0, "{phase: Succeeded, containerStatuses: [{state: {terminated: {reason: Completed}}}]}"))
	var w told
	if err := (&Watcher{Cluster: f.cluster(t), Name: "ctr", Out: &w, Say: w.say}).Watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(w.lines, "\n"); strings.Count(text, "what worker-0 prints cannot be read here") != 1 || !strings.Contains(text, "no such host") {
		t.Errorf("said %s", text)
	}
}

// TestWatchEnds: a watch ends with its context, and with the removal of the launch by somebody else.
func TestWatchEnds(t *testing.T) {
	f := &fakeAPI{objects: map[string]map[string]any{}}
	f.put(t, job, "{metadata: {name: ctr-worker, labels: {thole.example/launch: ctr}}}")
	ctx, cancel := context.WithCancel(t.Context())
	var w told
	f.each = func(*fakeAPI) { cancel() }
	c := f.cluster(t)
	if err := (&Watcher{Cluster: c, Name: "ctr", Out: &w, Say: w.say}).Watch(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	f.each = func(f *fakeAPI) { delete(f.objects, job) }
	if err := (&Watcher{Cluster: c, Name: "ctr", Out: &w, Say: w.say}).Watch(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("after its removal: %v", err)
	}
}

// TestCrowd: pods with the same news share a line.
func TestCrowd(t *testing.T) {
	var all []Pod
	for i := range 10 {
		all = append(all, Pod{Component: "worker", Index: i, State: "succeeded", uid: fmt.Sprint(i)})
	}
	seen := map[string]string{}
	if got := changes(all, seen); len(got) != 1 || got[0] != "worker-0, worker-1, worker-2, worker-3 and 6 others: succeeded" {
		t.Errorf("%q", got)
	}
	if got := changes(all, seen); got != nil {
		t.Errorf("said twice: %q", got)
	}
}

// TestTrouble: an API that does not answer for a while is told of once, and the launch goes on; one that refuses at first is an error.
func TestTrouble(t *testing.T) {
	f := &fakeAPI{objects: map[string]map[string]any{}}
	f.put(t, job, "{metadata: {name: ctr-worker, labels: {thole.example/launch: ctr}}}")
	looks, down := 0, false
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lists := strings.HasSuffix(r.URL.Path, "/pods")
		if lists {
			looks++
		}
		if down || lists && (looks == 2 || looks == 3) {
			f.refuse(w, http.StatusServiceUnavailable, "etcd is away")
			return
		}
		if looks == 4 {
			f.put(t, job, "{metadata: {name: ctr-worker, labels: {thole.example/launch: ctr}}, status: {conditions: [{type: Complete, status: 'True'}]}}")
		}
		f.ServeHTTP(w, r)
	}))
	defer front.Close()
	c := &Cluster{&kubeapi.API{Server: front.URL, Client: front.Client()}, "models"}
	var w told
	if err := (&Watcher{Cluster: c, Name: "ctr", Out: &w, Say: w.say}).Watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(w.lines, "\n"); strings.Count(text, "etcd is away") != 1 || !strings.Contains(text, "trying again") {
		t.Errorf("said %s", text)
	}
	down = true
	if err := (&Watcher{Cluster: c, Name: "ctr", Out: &w, Say: w.say}).Watch(t.Context()); err == nil || !strings.Contains(err.Error(), "etcd is away") {
		t.Errorf("at first: %v", err)
	}
}
