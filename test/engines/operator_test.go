package engines

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// operated is a cluster whose operator is installed.
type operated struct {
	*kube
	config  string // the operator's own rights
	running *background
}

// operator installs the operator: its definition and rights are those of deploy/operator, and it runs by these rights alone. nil: outside.
func operator(t *testing.T) *operated {
	t.Helper()
	r := ready(t)
	program := filepath.Join(r.dir, "thole-operator")
	if os.Getenv(inside) == "" {
		build := exec.Command("go", "build", "-o", program, "./thole-operator")
		build.Dir, build.Env = "../../operator", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	k := kubernetes(t)
	if k == nil {
		return nil
	}
	dir := t.TempDir()
	text, err := os.ReadFile("../../deploy/operator/operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := filepath.Join(dir, "operator.yaml") // this process takes the place of its pod
	if err := os.WriteFile(all, []byte(strings.Replace(string(text), "replicas: 1", "replicas: 0", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	k.kubectl(t, "apply", "--server-side", "--validate=strict", "-f", "../../deploy/operator/crd.yaml", "-f", all)
	k.kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "crd/tholejobs.thole.example")
	o := &operated{kube: k, config: filepath.Join(dir, "operator.kubeconfig")}
	k.kubeconfig(t, o.config, strings.TrimSpace(k.kubectl(t, "create", "token", "thole-operator", "-n", "thole-system", "--duration=2h")))
	o.begin(t)
	return o
}

// begin starts the operator.
func (o *operated) begin(t *testing.T) {
	t.Helper()
	t.Setenv("KUBECONFIG", o.config)
	o.running = start(t, filepath.Join(o.dir, "thole-operator"), "--lease-namespace", "thole-system", "--lease", "3s", "--metrics", "0", "--health", "127.0.0.1:8081")
	t.Setenv("KUBECONFIG", filepath.Join(o.cluster, "kubeconfig"))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operator:\n%s", o.running.out.String())
		}
	})
}

// job makes a TholeJob of what thole launch --operator prints for these arguments.
func (o *operated) job(t *testing.T, name string, args ...string) {
	t.Helper()
	data, out := o.folders(t, name)
	o.apply(t, must(t, o.thole, append([]string{"launch", "--on", "kubernetes", "--operator", "--dry-run", "--name", name, "--image", "thole",
		"--volume", "data=hostPath:" + data + ":" + data + ":ro", "--volume", "out=hostPath:" + out + ":" + out, "--servers", "3", "--workers", "2"},
		args...)...))
	delete(o.monitors, name)
}

// apply applies a manifest.
func (k *kube) apply(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k.kubectl(t, "apply", "-f", file)
}

// tholeJob is what is read of one.
type tholeJob struct {
	Status struct {
		Phase, Servers, Workers, Message string
		Restarts                         int
		Conditions                       []struct{ Type, Status, Reason, Message string }
	}
}

func (o *operated) status(t *testing.T, name string) (j tholeJob) {
	t.Helper()
	o.get(t, "/apis/thole.example/v1alpha1/namespaces/default/tholejobs/"+name, &j)
	return j
}

// phase waits until a job is in a phase, and answers with it.
func (o *operated) phase(t *testing.T, name, want string, most time.Duration) (j tholeJob) {
	t.Helper()
	until(t, name+" is "+want, most, func() bool {
		j = o.status(t, name)
		if want != "Failed" && j.Status.Phase == "Failed" {
			t.Fatalf("%s has failed: %+v", name, j.Status)
		}
		return j.Status.Phase == want
	})
	return j
}

// ends deletes a job, and checks that nothing of it is left.
func (o *operated) ends(t *testing.T, name string) {
	t.Helper()
	o.kubectl(t, "delete", "tj", name, "--timeout=1m")
	until(t, "what "+name+" owned is gone", 30*time.Second, func() bool {
		return o.kubectl(t, "get", "pods,services,statefulsets,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets,networkpolicies,secrets", "-o", "name", "-l",
			"thole.example/launch="+name) == ""
	})
	o.gone(t, name)
}

// TestOperatorTrains: a TholeJob trains to the end by the rights of its own account and of the operator's alone; its servers go, kubectl shows it,
// its model has the bits of one process, and when it is deleted nothing is left.
func TestOperatorTrains(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	data, out := o.folders(t, "optrains")
	examples(t, filepath.Join(data, "a.libsvm"), 4000, 8, 800)
	settings := []string{"--data", filepath.Join(data, "a.libsvm"), "--algo", "fm", "--epochs", "5", "--tasks", "4"}
	began := time.Now()
	o.job(t, "optrains", append(settings, "--model", filepath.Join(out, "model"))...)
	o.phase(t, "optrains", "Succeeded", time.Minute)
	t.Logf("trained after %v", time.Since(began).Round(time.Millisecond))
	must(t, o.thole, append([]string{"train", "--model", filepath.Join(out, "one")}, settings...)...)
	o.same(t, filepath.Join(out, "model"), filepath.Join(out, "one"))
	until(t, "its servers are gone", time.Minute, func() bool { return len(o.pods(t, "optrains", "server")) == 0 })
	table := o.kubectl(t, "get", "tholejobs")
	t.Logf("kubectl get tholejobs:\n%s", table)
	if !regexp.MustCompile(`(?m)^NAME +PHASE +SERVERS +WORKERS +RESTARTS +AGE\noptrains +Succeeded +0/3 +2/2 +0 `).MatchString(table) {
		t.Errorf("the table is\n%s", table)
	}
	if text := o.kubectl(t, "explain", "tholejob.spec.settings"); !strings.Contains(text, "Flags of thole worker") {
		t.Errorf("explain:\n%s", text)
	}
	if text := o.kubectl(t, "get", "events", "--field-selector", "involvedObject.name=optrains"); !strings.Contains(text, "all 2 workers are done") {
		t.Errorf("events:\n%s", text)
	}
	if text := must(t, o.thole, "launch", "status", "--on", "kubernetes", "--name", "optrains"); !strings.Contains(text, "done") {
		t.Errorf("thole launch status:\n%s", text)
	}
	o.ends(t, "optrains")
}

// TestOperatorDefinition: the API refuses what cannot be, and says where it is.
func TestOperatorDefinition(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	for _, c := range []struct{ spec, want string }{
		{`{}`, "spec.image: Required"},
		{`{"image":"i","servers":{"count":0}}`, "spec.servers.count"},
		{`{"image":"i","volumes":[{"name":"a","kind":"claim","source":"b","path":"/b"}]}`, "volumes[0].kind"},
		{`{"image":"i","tokenSecret":"a","insecure":true}`, "tokenSecret without tlsSecret"},
		{`{"image":"i","tasks":1,"workers":{"count":2}}`, "at least one task"},
		{`{"image":"i","giveUp":"soon"}`, "giveUp"},
		{`{"image":"i","workers":{"memory":"much"}}`, "memory"},
		{`{"image":"i","server":{}}`, `unknown field "spec.server"`},
	} {
		file := filepath.Join(t.TempDir(), "j.json")
		text := fmt.Sprintf(`{"apiVersion":"thole.example/v1alpha1","kind":"TholeJob","metadata":{"name":"a"},"spec":%s}`, c.spec)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := exec.Command(filepath.Join(o.bin, "kubectl"), "create", "--validate=strict", "--dry-run=server", "-f", file).CombinedOutput()
		if err == nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %v %s, want an error with %q", c.spec, err, got, c.want)
		}
	}
}

// pause is how long nobody trains after something is done, until both that is over and the job goes on: the longest time between two
// steps within so long, as a server tells that stays.
func (o *operated) pause(t *testing.T, name string, watch time.Duration, do func()) time.Duration {
	t.Helper()
	watched := o.pods(t, name, "server")[0].Status.PodIP
	last, gap := o.clock(t, name, watched), time.Duration(0)
	do()
	began := time.Now()
	for at := began; time.Since(began) < watch || time.Since(at) > gap; time.Sleep(3 * time.Millisecond) {
		if now := o.clock(t, name, watched); now != last {
			gap, last, at = max(gap, time.Since(at)), now, time.Now()
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%s does not go on after a minute: %+v", name, o.status(t, name).Status)
		}
	}
	return gap
}

// process is that of a pod of a job, which this finds by its command line.
func process(t *testing.T, name, component, task string) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		text, _ := os.ReadFile(file) // it may have ended
		words := strings.Split(string(text), "\x00")
		if len(words) > 3 && words[1] == component && strings.Contains(string(text), "/default/"+name+"\x00") && strings.Contains(string(text), "\x00--task="+task+"\x00") {
			var pid int
			if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil {
				return pid
			}
		}
	}
	t.Fatalf("no process of %s %s of %s", component, task, name)
	return 0
}

// TestOperatorRecovery measures how long nobody trains after a pod of a worker was deleted, its process killed, or a pod of a server deleted,
// with 100 MB of tables.
func TestOperatorRecovery(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	data, out := o.folders(t, "oprecovery")
	examples(t, filepath.Join(data, "a.libsvm"), 20000, 8, 34000)
	o.job(t, "oprecovery", "--data", filepath.Join(data, "a.libsvm"), "--algo", "fm", "--factors", "256", "--rule", "adam", "--batch", "500",
		"--epochs", "10000", "--model", filepath.Join(out, "model"), "--checkpoint", filepath.Join(out, "ck"), "--checkpoint-every", "100")
	o.reached(t, "oprecovery", 150)
	newest := func(component string) string {
		all := o.pods(t, "oprecovery", component)
		return all[len(all)-1].Metadata.Name
	}
	for _, c := range []struct {
		what string
		do   func()
	}{
		{"a worker's pod was deleted", func() { o.kubectl(t, "delete", "pod", newest("worker"), "--wait=false") }},
		{"a worker's process was killed", func() { _ = syscall.Kill(process(t, "oprecovery", "worker", "1"), syscall.SIGKILL) }},
		{"worker 0's process was killed", func() { _ = syscall.Kill(process(t, "oprecovery", "worker", "0"), syscall.SIGKILL) }},
		{"a server's pod was deleted", func() { o.kubectl(t, "delete", "pod", "oprecovery-server-2", "--wait=false") }},
	} {
		gap := o.pause(t, "oprecovery", 8*time.Second, c.do)
		t.Logf("%s: the longest pause between two steps was %v", c.what, gap.Round(time.Millisecond))
		if gap > 3*time.Second {
			t.Errorf("%s: the job stood for %v, want 3 s at most", c.what, gap)
		}
		o.phase(t, "oprecovery", "Running", time.Minute)
	}
	text, _ := json.Marshal(o.status(t, "oprecovery").Status) // it is JSON
	t.Logf("%s", text)
	o.ends(t, "oprecovery")
}

// TestOperatorDisturbed: a worker's pod and a server's are deleted, the operator is killed, a worker's pod is deleted while there is none, and
// another operator begins; the model has the bits of a training that nothing happened to.
func TestOperatorDisturbed(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	const name = "opdisturbed"
	data, out := o.folders(t, name)
	examples(t, filepath.Join(data, "a.libsvm"), 20000, 8, 800)
	settings := []string{"--data", filepath.Join(data, "a.libsvm"), "--algo", "lr", "--batch", "500", "--epochs", "1500", "--tasks", "2"}
	o.job(t, name, append(settings, "--model", filepath.Join(out, "model"), "--checkpoint", filepath.Join(out, "ck"), "--checkpoint-every", "500")...)
	worker := func() string {
		all := o.pods(t, name, "worker")
		return all[len(all)-1].Metadata.Name
	}
	o.reached(t, name, 2000)
	o.kubectl(t, "delete", "pod", worker(), "--wait=false")
	until(t, "a worker was made again", 10*time.Second, func() bool { return o.status(t, name).Status.Restarts == 1 })
	o.reached(t, name, 6000)
	o.kubectl(t, "delete", "pod", name+"-server-1", "--wait=false")
	until(t, "it goes on from a checkpoint", time.Minute, func() bool { return strings.Contains(o.log(t, name+"-worker-0"), "goes on from ") })
	o.reached(t, name, 12000)
	_ = o.running.Process.Kill()
	<-o.running.done
	lost := worker()
	o.kubectl(t, "delete", "pod", lost) // until it is gone
	o.begin(t)
	began := time.Now()
	until(t, "the next operator makes a worker", 30*time.Second, func() bool { return len(o.pods(t, name, "worker")) == 2 })
	t.Logf("another operator works after %v", time.Since(began).Round(time.Millisecond))
	j := o.phase(t, name, "Succeeded", 5*time.Minute)
	if j.Status.Restarts < 1 {
		t.Errorf("%+v, want restarts", j.Status)
	}
	must(t, o.thole, append([]string{"train", "--model", filepath.Join(out, "one")}, settings...)...)
	o.same(t, filepath.Join(out, "model"), filepath.Join(out, "one"))
	o.ends(t, name)
	_ = o.running.Process.Signal(syscall.SIGTERM)
	o.running.wait(t, 20*time.Second)
}

// TestOperatorFails: a job whose worker cannot do what it is asked fails and says which; its servers go. One whose pods have no room says what to
// do, and goes on when it is changed; one that has the name of something else leaves that alone.
func TestOperatorFails(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	_, out := o.folders(t, "opfails")
	o.job(t, "opfails", "--data", filepath.Join(out, "none.libsvm"), "--model", filepath.Join(out, "model"))
	j := o.phase(t, "opfails", "Failed", time.Minute)
	if !regexp.MustCompile(`worker [01] \(opfails-worker-[01]-0\) ended with exit code 1`).MatchString(j.Status.Message) || j.Status.Restarts != 0 {
		t.Errorf("%+v", j.Status)
	}
	until(t, "its servers are gone", time.Minute, func() bool { return len(o.pods(t, "opfails", "server")) == 0 })
	o.ends(t, "opfails")

	data, _ := o.folders(t, "opwaits")
	examples(t, filepath.Join(data, "a.libsvm"), 1000, 8, 800)
	o.job(t, "opwaits", "--data", filepath.Join(data, "a.libsvm"), "--server-cpus", "9000")
	until(t, "it says that no node has room", time.Minute, func() bool {
		return strings.Contains(o.status(t, "opwaits").Status.Message, "want nodes with room, or less --server-memory")
	})
	o.kubectl(t, "patch", "tj", "opwaits", "--type=merge", "-p", `{"spec":{"servers":{"cpus":"1"}}}`)
	o.phase(t, "opwaits", "Succeeded", 2*time.Minute)
	o.ends(t, "opwaits")

	o.kubectl(t, "create", "configmap", "optaken")
	o.kubectl(t, "create", "service", "clusterip", "optaken", "--tcp=80")
	o.apply(t, `{"apiVersion":"thole.example/v1alpha1","kind":"TholeJob","metadata":{"name":"optaken"},"spec":{"image":"thole"}}`)
	until(t, "it says that its name is taken", time.Minute, func() bool {
		return strings.Contains(o.status(t, "optaken").Status.Message, "there is a Service optaken that is no part of this job")
	})
	o.kubectl(t, "delete", "tj", "optaken", "--timeout=1m")
	if text := o.kubectl(t, "get", "service,configmap", "-o", "name"); !strings.Contains(text, "service/optaken") || !strings.Contains(text, "configmap/optaken") {
		t.Errorf("what is left is %s", text)
	}
}

// TestOperatorLaunch: thole launch --operator follows the job that it makes, ends as its workers end, and removes it.
func TestOperatorLaunch(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	data, out := o.folders(t, "oplaunch")
	examples(t, filepath.Join(data, "a.libsvm"), 4000, 8, 800)
	args := func(file string) []string {
		return []string{"launch", "--on", "kubernetes", "--operator", "--name", "oplaunch", "--image", "thole", "--volume",
			"data=hostPath:" + data + ":" + data + ":ro", "--volume", "out=hostPath:" + out + ":" + out, "--servers", "2", "--workers", "2",
			"--data", filepath.Join(data, file), "--epochs", "5", "--model", filepath.Join(out, "model")}
	}
	text, err := exec.Command(o.thole, args("a.libsvm")...).CombinedOutput()
	if err != nil || !strings.Contains(string(text), "worker-1: succeeded") {
		t.Errorf("%v\n%s", err, text)
	}
	o.gone(t, "oplaunch")
	text, err = exec.Command(o.thole, args("none.libsvm")...).CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 || !strings.Contains(string(text), "ended with exit code 1") {
		t.Errorf("%v, want exit code 1\n%s", err, text)
	}
	o.gone(t, "oplaunch")
	began := start(t, o.thole, append(args("a.libsvm"), "--epochs", "100000", "--model", filepath.Join(out, "another"))...)
	o.phase(t, "oplaunch", "Running", time.Minute)
	if text := must(t, o.thole, "launch", "status", "--on", "kubernetes", "--name", "oplaunch"); !strings.Contains(text, "going") || !strings.Contains(text, "oplaunch-worker-1-0") {
		t.Errorf("status:\n%s", text)
	}
	must(t, o.thole, "launch", "stop", "--on", "kubernetes", "--name", "oplaunch")
	<-began.done
	o.gone(t, "oplaunch")
}

// TestOperatorAnew: a job without checkpoints begins anew when a worker is lost, and comes to the same model.
func TestOperatorAnew(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	data, out := o.folders(t, "opanew")
	examples(t, filepath.Join(data, "a.libsvm"), 20000, 8, 800)
	settings := []string{"--data", filepath.Join(data, "a.libsvm"), "--algo", "lr", "--batch", "500", "--epochs", "300", "--tasks", "2"}
	o.job(t, "opanew", append(settings, "--model", filepath.Join(out, "model"))...)
	for i, lose := range []func(){
		func() { o.kubectl(t, "delete", "pod", "opanew-worker-1-0", "--wait=false") },
		func() { _ = syscall.Kill(process(t, "opanew", "worker", "0"), syscall.SIGKILL) },
	} {
		o.reached(t, "opanew", 500)
		lose()
		until(t, "a worker was made again", 30*time.Second, func() bool { return o.status(t, "opanew").Status.Restarts > i })
		o.phase(t, "opanew", "Running", time.Minute)
		time.Sleep(time.Second) // until the servers tell of the new one
	}
	j := o.phase(t, "opanew", "Succeeded", 3*time.Minute)
	t.Logf("%+v", j.Status)
	must(t, o.thole, append([]string{"train", "--model", filepath.Join(out, "one")}, settings...)...)
	o.same(t, filepath.Join(out, "model"), filepath.Join(out, "one"))
	o.ends(t, "opanew")
}
