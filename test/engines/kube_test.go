package engines

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kube is a cluster of Kubernetes that runs.
type kube struct {
	*run
	cluster string // its folder
	token   string // of its administrator
	client  *http.Client

	monitors map[string][]byte // tokens of monitoring, by launches
}

// kubernetes starts the cluster, once for all tests, and is where the test goes on within it; nil: outside, where it is over.
func kubernetes(t *testing.T) *kube {
	t.Helper()
	r := ready(t)
	k := &kube{run: r, cluster: filepath.Join(r.dir, "kube"), monitors: map[string][]byte{}, client: &http.Client{Timeout: 20 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}} // as its kubeconfig has it
	if os.Getenv(inside) == "" {
		build := exec.Command(filepath.Join(r.scripts, "build.sh"), r.bin)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		must(t, filepath.Join(r.scripts, "kube-up.sh"), k.cluster, r.nodes(t), "thole="+filepath.Join(r.dir, podImage))
	}
	if !within(t, r, k.cluster) {
		return nil
	}
	token, err := os.ReadFile(filepath.Join(k.cluster, "token"))
	if err != nil {
		t.Fatal(err)
	}
	k.token = string(token)
	t.Setenv("KUBECONFIG", filepath.Join(k.cluster, "kubeconfig"))
	return k
}

// kubectl runs it.
func (k *kube) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return must(t, filepath.Join(k.bin, "kubectl"), append([]string{"--cache-dir=" + filepath.Join(k.cluster, "cache")}, args...)...)
}

// folders are those that pods share with this process: data, and what is written.
func (k *kube) folders(t *testing.T, name string) (data, out string) {
	t.Helper()
	root := filepath.Join(k.dir, name)
	data, out = filepath.Join(root, "data"), filepath.Join(root, "out")
	for _, folder := range []string{data, out} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return data, out
}

// kubeconfig writes one for whoever has a token.
func (k *kube) kubeconfig(t *testing.T, file, token string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(kubeconfigText(token)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// launch is the command line of a launch, whose pods have the rights of their accounts alone.
func (k *kube) launch(t *testing.T, name string, args ...string) []string {
	t.Helper()
	data, out := k.folders(t, name)
	return append([]string{"launch", "--on", "kubernetes", "--name", name, "--image", "thole", "--volume", "data=hostPath:" + data + ":" + data + ":ro",
		"--volume", "out=hostPath:" + out + ":" + out, "--servers", "3", "--workers", "2"}, args...)
}

// get reads an object or a list of the API.
func (k *kube) get(t *testing.T, path string, into any) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, "https://127.0.0.1:6443"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+k.token)
	r, err := k.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil && r.StatusCode == http.StatusOK {
		t.Fatal(err)
	}
}

// pod is what is read of one.
type pod struct {
	Metadata struct {
		Name, UID         string
		DeletionTimestamp *time.Time
	}
	Spec   struct{ NodeName string }
	Status struct{ Phase, PodIP string }
}

// pods are those of a component that have an address and are not leaving.
func (k *kube) pods(t *testing.T, name, component string) []pod {
	t.Helper()
	var list struct{ Items []pod }
	k.get(t, "/api/v1/namespaces/default/pods?labelSelector=thole.example/launch="+name+",app.kubernetes.io/component="+component, &list)
	return slices.DeleteFunc(list.Items, func(p pod) bool { return p.Status.PodIP == "" || p.Metadata.DeletionTimestamp != nil })
}

var clockLine = regexp.MustCompile(`(?m)^thole_clock\{job="workers/train",matrix="",which="slowest"\} (\d+)$`)

// secret is the Secret of a launch, by its keys; nil: there is none.
func (k *kube) secret(t *testing.T, namespace, name string) map[string][]byte {
	t.Helper()
	var list struct {
		Items []struct{ Data map[string][]byte }
	}
	k.get(t, "/api/v1/namespaces/"+namespace+"/secrets?labelSelector=thole.example/launch="+name, &list)
	if len(list.Items) == 0 {
		return nil
	}
	return list.Items[len(list.Items)-1].Data
}

// clock is the step at which a server of the job is, as monitoring sees it; -1: it has no such job, or is not there.
func (k *kube) clock(t *testing.T, name, address string) int {
	q, err := http.NewRequest(http.MethodGet, "https://"+address+":9001/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if k.monitors[name] == nil {
		k.monitors[name] = k.secret(t, "default", name)["monitor"]
	}
	q.Header.Set("Authorization", "Bearer "+string(k.monitors[name]))
	r, err := k.client.Do(q)
	if err != nil {
		return -1
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if m := clockLine.FindSubmatch(text); err == nil && m != nil {
		n, _ := strconv.Atoi(string(m[1])) // they are digits
		return n
	}
	return -1
}

// reached waits until all servers of a launch are at a step.
func (k *kube) reached(t *testing.T, name string, step int) {
	t.Helper()
	until(t, fmt.Sprintf("step %d", step), 2*time.Minute, func() bool {
		all := k.pods(t, name, "server")
		return len(all) == 3 && !slices.ContainsFunc(all, func(p pod) bool { return k.clock(t, name, p.Status.PodIP) < step })
	})
}

// log is what the pods of a component with an index have printed, the last one last.
func (k *kube) log(t *testing.T, prefix string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(k.cluster, "pods", prefix+"*_*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no log of %s: %v", prefix, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// same checks that two models have the same bits.
func (k *kube) same(t *testing.T, a, b string) {
	t.Helper()
	must(t, k.thole, "diff", a, b) // which fails if they differ
}

// gone checks that nothing of a launch is left.
func (k *kube) gone(t *testing.T, name string) {
	t.Helper()
	for _, selector := range []string{"thole.example/launch=" + name, "thole.example/store=" + name} {
		if left := k.kubectl(t, "get", "all,leases,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets,networkpolicies,secrets", "-o", "name", "-l", selector); left != "" {
			t.Errorf("left of %s:\n%s", name, left)
		}
	}
}

// jobSetDefinition is the file that defines JobSets, which is outside put where the test inside finds it.
func jobSetDefinition(t *testing.T) string {
	t.Helper()
	file := filepath.Join(ready(t).dir, "jobset.yaml")
	if os.Getenv(inside) != "" {
		return file
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(must(t, "go", "mod", "download", "-json", "sigs.k8s.io/jobset@v0.8.0")), &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "config", "components", "crd", "bases", "jobset.x-k8s.io_jobsets.yaml"))
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestKubeManifest: what --dry-run prints is taken by the API, which knows all of its fields.
func TestKubeManifest(t *testing.T) {
	jobSets := jobSetDefinition(t)
	k := kubernetes(t)
	if k == nil {
		return
	}
	k.kubectl(t, "apply", "--server-side", "-f", jobSets)
	until(t, "the API knows JobSets", time.Minute, func() bool {
		var list struct{ Kind string } // until then it is no list that the API answers with
		k.get(t, "/apis/jobset.x-k8s.io/v1alpha2/jobsets", &list)
		return list.Kind == "JobSetList"
	})
	dir := t.TempDir()
	job := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(job, []byte("on: kubernetes\nimage: thole\nvolume: [data=pvc:d:/data]\ndata: {path: /data/a}\nmodel: {savepath: /data/m}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, args := range [][]string{
		{"--on", "kubernetes", "--image", "thole", "--volume", "data=pvc:d:/data", "--data", "/data/a", "--model", "/data/m"},
		{"--job", job, "--servers", "2"},
		{"--job", job, "--jobset", "--queue", "q", "--workers", "2"},
		{"--on", "kubernetes", "--image", "registry.example/thole:1", "--image-pull-policy", "IfNotPresent", "--image-pull-secret", "r", "--servers", "3",
			"--workers", "4", "--tasks", "8", "--volume", "data=pvc:d:/data:ro", "--volume", "h=hostPath:/mnt/a:/h", "--volume", "s=secret:s:/s",
			"--volume", "c=configMap:c:/c", "--volume", "n=nfs:files/exports:/n", "--env", "A=yes", "--env", "B=1e3", "--env", "C=12:30", "--env-from-secret", "s3",
			"--tls-secret", "tls", "--token-secret", "tokens", "--queue", "q", "--run-as", "1000", "--node-selector", "on=yes", "--scratch-size", "20GiB",
			"--server-memory", "4Gi", "--server-cpus", "1.5", "--data", "/data/a", "--model", "/h/m", "--note", "$(HOME): a 'b' \"c\"\n# d"},
	} {
		text := must(t, k.thole, append(append([]string{"launch"}, args...), "--name", fmt.Sprint("m", i), "--dry-run")...)
		file := filepath.Join(dir, "m.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := k.kubectl(t, "apply", "--dry-run=server", "--validate=strict", "-f", file)
		if strings.Count(got, "created (server dry run)") != strings.Count(text, "---\n") {
			t.Errorf("%q: of %d objects\n%s", args, strings.Count(text, "---\n"), got)
		}
	}
}

// TestKubeTrains: a launch trains to the end by the rights of its own account alone, leaves nothing, and its model has the bits of one process.
func TestKubeTrains(t *testing.T) {
	k := kubernetes(t)
	if k == nil {
		return
	}
	data, out := k.folders(t, "trains")
	examples(t, filepath.Join(data, "a.libsvm"), 4000, 8, 800)
	settings := []string{"--data", filepath.Join(data, "a.libsvm"), "--algo", "fm", "--epochs", "5", "--tasks", "4"}
	began := time.Now()
	text := must(t, k.thole, append(k.launch(t, "trains", settings...), "--model", filepath.Join(out, "model"))...)
	t.Logf("trained and removed after %v: %s", time.Since(began).Round(time.Millisecond), text)
	must(t, k.thole, append([]string{"train", "--model", filepath.Join(out, "one")}, settings...)...)
	k.same(t, filepath.Join(out, "model"), filepath.Join(out, "one"))
	k.gone(t, "trains")
}

// TestKubeDisturbed: pods of a server and of a worker are deleted, and a node is drained, in the middle of a training; its model has the bits of
// one that nothing happened to.
func TestKubeDisturbed(t *testing.T) {
	k := kubernetes(t)
	if k == nil {
		return
	}
	data, out := k.folders(t, "disturbed")
	examples(t, filepath.Join(data, "a.libsvm"), 20000, 8, 800)
	settings := []string{"--data", filepath.Join(data, "a.libsvm"), "--algo", "lr", "--batch", "500", "--epochs", "1500", "--tasks", "2"}
	b := start(t, k.thole, append(k.launch(t, "disturbed", settings...), "--model", filepath.Join(out, "model"), "--checkpoint",
		filepath.Join(out, "ck"), "--checkpoint-every", "500")...)
	k.reached(t, "disturbed", 2000)
	k.kubectl(t, "delete", "pod", "disturbed-server-1", "--wait=false")
	until(t, "another pod is server 1", time.Minute, func() bool {
		return strings.Contains(b.out.String(), "server-1: ready") && len(k.pods(t, "disturbed", "server")) == 3
	})
	k.reached(t, "disturbed", 5000)
	w := k.pods(t, "disturbed", "worker")
	k.kubectl(t, "delete", "pod", w[len(w)-1].Metadata.Name, "--wait=false")
	time.Sleep(time.Second)
	k.reached(t, "disturbed", 8000)
	node := k.pods(t, "disturbed", "server")[0].Spec.NodeName
	k.kubectl(t, "drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=2m")
	t.Cleanup(func() { k.kubectl(t, "uncordon", node) })
	for _, p := range k.pods(t, "disturbed", "server") {
		if p.Spec.NodeName == node {
			t.Errorf("%s is on the drained node", p.Metadata.Name)
		}
	}
	b.wait(t, 5*time.Minute)
	if n := strings.Count(k.log(t, "disturbed-worker-0"), "goes on from "); n < 2 {
		t.Errorf("the job went on %d times, want 2 or more: it was not disturbed\n%s", n, b.out.String())
	}
	t.Logf("%s", b.out.String())
	must(t, k.thole, append([]string{"train", "--model", filepath.Join(out, "one")}, settings...)...)
	k.same(t, filepath.Join(out, "model"), filepath.Join(out, "one"))
	k.gone(t, "disturbed")
}

// TestKubeInterrupted: a launch that is asked to end removes what it made, and one that is detached is shown and stopped by its name.
func TestKubeInterrupted(t *testing.T) {
	k := kubernetes(t)
	if k == nil {
		return
	}
	data, out := k.folders(t, "stopped")
	examples(t, filepath.Join(data, "a.libsvm"), 20000, 8, 800)
	settings := []string{"--data", filepath.Join(data, "a.libsvm"), "--epochs", "100000", "--batch", "100", "--model", filepath.Join(out, "model")}
	b := start(t, k.thole, k.launch(t, "stopped", settings...)...)
	k.reached(t, "stopped", 10)
	delete(k.monitors, "stopped") // the next launch has other keys
	if err := b.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-b.done
	if code := b.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130:\n%s", code, b.out.String())
	}
	k.gone(t, "stopped")

	args := append(k.launch(t, "stopped", settings...), "--detach")
	if name := strings.TrimSpace(must(t, k.thole, args...)); name != "stopped" {
		t.Errorf("printed %q, want its name", name)
	}
	k.reached(t, "stopped", 10)
	if text := must(t, k.thole, "launch", "status", "--on", "kubernetes", "--name", "stopped"); !strings.Contains(text, "going") ||
		!strings.Contains(text, "stopped-server-2") {
		t.Errorf("status:\n%s", text)
	}
	if again, err := exec.Command(k.thole, args...).CombinedOutput(); err == nil || !strings.Contains(string(again), "already") {
		t.Errorf("a second time: %v\n%s", err, again)
	}
	must(t, k.thole, "launch", "stop", "--on", "kubernetes", "--name", "stopped")
	k.gone(t, "stopped")
}

// TestKubeFails: a launch whose workers cannot do what they are asked ends with their exit code, and one whose pods cannot begin says why.
func TestKubeFails(t *testing.T) {
	k := kubernetes(t)
	if k == nil {
		return
	}
	_, out := k.folders(t, "fails")
	settings := []string{"--data", filepath.Join(out, "none.libsvm"), "--model", filepath.Join(out, "model")}
	text, err := exec.Command(k.thole, k.launch(t, "fails", settings...)...).CombinedOutput()
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != 1 || !strings.Contains(string(text), "ended with exit code 1") {
		t.Errorf("%v\n%s", err, text)
	}
	k.gone(t, "fails")
	b := start(t, k.thole, append(k.launch(t, "fails", settings...), "--server-cpus", "9000")...)
	until(t, "it says that no node has room", time.Minute, func() bool { return strings.Contains(b.out.String(), "want nodes with room, or less --server-memory") })
	_ = b.Process.Signal(os.Interrupt)
	<-b.done
	k.gone(t, "fails")
}

// TestKubeRecovery measures how long nobody trains after a pod of a server, and of a worker, was deleted, with 100 MB of tables.
func TestKubeRecovery(t *testing.T) {
	k := kubernetes(t)
	if k == nil {
		return
	}
	data, out := k.folders(t, "recovery")
	examples(t, filepath.Join(data, "a.libsvm"), 20000, 8, 34000)
	b := start(t, k.thole, append(k.launch(t, "recovery", "--data", filepath.Join(data, "a.libsvm"), "--algo", "fm", "--factors", "256", "--rule", "adam",
		"--batch", "500", "--epochs", "1000"), "--model", filepath.Join(out, "model"), "--checkpoint", filepath.Join(out, "ck"), "--checkpoint-every", "100")...)
	k.reached(t, "recovery", 150)
	went := func() int { return strings.Count(k.log(t, "recovery-worker-0"), "goes on from ") }
	for _, name := range []string{"server", "worker"} {
		all, before := k.pods(t, "recovery", name), went()
		victim := all[len(all)-1]
		watched := k.pods(t, "recovery", "server")[0].Status.PodIP // it stays, if the last one goes
		stood := k.clock(t, "recovery", watched)
		began := time.Now()
		k.kubectl(t, "delete", "pod", victim.Metadata.Name, "--wait=false")
		deleted := time.Now()
		last, gap, at := stood, time.Duration(0), deleted // the longest time between two steps
		for time.Since(deleted) < 40*time.Second {
			if now := k.clock(t, "recovery", watched); now != last {
				if d := time.Since(at); d > gap {
					gap = d
				}
				last, at = now, time.Now()
			}
			if went() > before && at.Sub(deleted) > gap && time.Since(deleted) > 15*time.Second {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Logf("a pod of a %s was deleted (kubectl took %v): the longest pause of the job after that was %v; it went back %d times", name,
			deleted.Sub(began).Round(time.Millisecond), gap.Round(time.Millisecond), went()-before)
		if name == "server" && gap > 3*time.Second {
			t.Errorf("the job stood for %v, want 3 s at most", gap)
		}
		k.reached(t, "recovery", last+50)
	}
	_ = b.Process.Signal(os.Interrupt)
	<-b.done
	k.gone(t, "recovery")
}
