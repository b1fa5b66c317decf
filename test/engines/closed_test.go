package engines

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// stranger runs a program with an empty environment in the cluster's network, as a pod without credentials could, and answers with its exit code
// and what it prints.
func stranger(t *testing.T, name string, args ...string) (int, string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env, c.Dir = []string{}, t.TempDir()
	out, err := c.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// leaf is a file with the certificate that a server shows, which a stranger can see and trust.
func leaf(t *testing.T, address string) string {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	file := filepath.Join(t.TempDir(), "leaf.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.ConnectionState().PeerCertificates[0].Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// page is the status and the text of an address, asked with or without a token.
func (k *kube) page(t *testing.T, url, token string) (int, string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	r, err := k.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// refusal is what strangers are told, before anything about jobs.
var refusal = regexp.MustCompile(`no encrypted connection|the server wants a token|HTTP status 400|wants a token that may administer|x509: `)

// attacked has a stranger try all that it can do to a launch that trains: it reads, changes and ends nothing.
func (k *kube) attacked(t *testing.T, name, data string) {
	t.Helper()
	ip := k.pods(t, name, "server")[0].Status.PodIP
	servers, seen := ip+":7001", leaf(t, ip+":7001")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, trust := range [][]string{
		{}, // in clear
		{"--tls"},
		{"--tls-ca", seen, "--tls-name", name + ".default.svc"},
		{"--tls-ca", seen, "--tls-name", name + ".default.svc", "--token-file", token},
	} {
		for _, args := range [][]string{
			{"worker", "--servers", servers, "--job", "evil", "--data", filepath.Join(data, "a.libsvm"), "--model", "model", "--force", "--wait", "2s", "--retry", "1s"},
			{"worker", "--servers", servers, "--job", "train", "--data", filepath.Join(data, "a.libsvm"), "--tasks", "2", "--task", "0", "--wait", "2s", "--retry", "1s"},
			{"psf", servers, "fill", "value=0", "--matrix", "input_weight", "--job", "train"},
			{"status", ip + ":9001"},
		} {
			code, text := stranger(t, k.thole, append(slices.Clone(args), trust...)...)
			if code == 0 || !refusal.MatchString(text) {
				t.Errorf("%q with %q ends with %d:\n%s", args, trust, code, text)
			}
		}
	}
	for _, path := range []string{"/metrics", "/status", "/debug/pprof/"} {
		for _, with := range []string{"", strings.Repeat("0", 64)} {
			if code, text := k.page(t, "https://"+ip+":9001"+path, with); code == http.StatusOK || strings.Contains(text, "train") {
				t.Errorf("%s answers a stranger with %d: %s", path, code, text)
			}
		}
	}
	workers := string(k.secret(t, "default", name)["secret"])
	if code, _ := k.page(t, "https://"+ip+":9001/metrics", workers); code != http.StatusUnauthorized {
		t.Errorf("/metrics answers the token of the workers with %d", code)
	}
}

// TestKubeClosed: while a launch trains, a process without credentials in the cluster's network gets nothing from its servers, and its model has
// the bits of one process.
func TestKubeClosed(t *testing.T) {
	k := kubernetes(t)
	if k == nil {
		return
	}
	data, out := k.folders(t, "closed")
	examples(t, filepath.Join(data, "a.libsvm"), 20000, 8, 800)
	settings := []string{"--data", filepath.Join(data, "a.libsvm"), "--algo", "lr", "--batch", "500", "--epochs", "1000", "--tasks", "2"}
	b := start(t, k.thole, append(k.launch(t, "closed", settings...), "--model", filepath.Join(out, "model"))...)
	k.reached(t, "closed", 100)
	k.attacked(t, "closed", data)
	b.wait(t, 8*time.Minute)
	must(t, k.thole, append([]string{"train", "--model", filepath.Join(out, "one")}, settings...)...)
	k.same(t, filepath.Join(out, "model"), filepath.Join(out, "one"))
	k.gone(t, "closed")
}

// overlay writes an overlay of deploy/kubernetes for a namespace and counts, whose pods have folders of this machine in place of the claim.
func (k *kube) overlay(t *testing.T, namespace, folder string, servers, workers int) string {
	t.Helper()
	base, err := filepath.Abs("../../deploy/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	volume := `[{"op":"replace","path":"/spec/template/spec/volumes/3","value":{"name":"data","hostPath":{"path":"` + folder + `"}}},
{"op":"replace","path":"/spec/template/spec/containers/0/volumeMounts/3/mountPath","value":"` + folder + `"}]`
	text := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: %s
resources: [%s, counts.yaml]
components: [%[2]s/counts]
images: [{name: "thole", newName: thole, newTag: latest}]
patches:
- target: {kind: StatefulSet}
  patch: '%[3]s'
- target: {kind: Job, name: thole-worker}
  patch: '%[3]s'
`, namespace, relative, volume)
	for name, text := range map[string]string{"kustomization.yaml": text, "counts.yaml": fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap,
metadata: {name: thole-counts}, data: {servers: "%d", workers: "%d"}}`, servers, workers)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := k.kubectl(t, "kustomize", "--load-restrictor=LoadRestrictionsNone", dir)
	return strings.NewReplacer("=/data/", "="+folder+"/", "=/data\n", "="+folder+"\n", "thole:latest", "thole").Replace(made)
}

// TestKubeKustomize: an overlay of the base with another namespace and other counts trains to the end, with keys that a Job creates in the
// cluster; what it has made goes with it, the Secret too.
func TestKubeKustomize(t *testing.T) {
	k := kubernetes(t)
	if k == nil {
		return
	}
	folder := filepath.Join(k.dir, "kustomize")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	examples(t, filepath.Join(folder, "train.libsvm"), 4000, 8, 800)
	k.kubectl(t, "create", "namespace", "models")
	text := k.overlay(t, "models", folder, 3, 3)
	for _, want := range []string{"replicas: 3", "completions: 3", "parallelism: 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("the overlay has no %s", want)
		}
	}
	file := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k.kubectl(t, "apply", "-f", file)
	k.kubectl(t, "wait", "-n", "models", "--for=condition=Complete", "--timeout=3m", "job/thole-worker")
	before := k.secret(t, "models", "thole")
	if len(before) != 6 {
		t.Errorf("the Secret has %d keys, want 6", len(before))
	}
	k.kubectl(t, "apply", "-f", file)
	if after := k.secret(t, "models", "thole"); string(after["tls.crt"]) != string(before["tls.crt"]) || string(after["tokens"]) != string(before["tokens"]) {
		t.Error("applied a second time it has other keys")
	}
	must(t, k.thole, "train", "--data", filepath.Join(folder, "train.libsvm"), "--tasks", "3", "--seed", "1", "--model", filepath.Join(folder, "one"))
	k.same(t, filepath.Join(folder, "model"), filepath.Join(folder, "one"))
	k.kubectl(t, "delete", "-f", file)
	until(t, "the Secret goes with the launch", time.Minute, func() bool { return k.secret(t, "models", "thole") == nil })
	k.kubectl(t, "delete", "namespace", "models")
}

// TestKubeNotReady: servers that may not claim their roles are not ready and say why; they are ready once they may, and the job trains.
func TestKubeNotReady(t *testing.T) {
	k := kubernetes(t)
	if k == nil {
		return
	}
	data, out := k.folders(t, "unready")
	examples(t, filepath.Join(data, "a.libsvm"), 4000, 8, 800)
	text := must(t, k.thole, append(k.launch(t, "unready", "--data", filepath.Join(data, "a.libsvm"), "--model", filepath.Join(out, "model")), "--dry-run")...)
	var rest, binding []string
	for _, doc := range strings.Split(text, "---\n") {
		if strings.Contains(doc, "kind: RoleBinding\nmetadata:\n  name: unready\n") {
			binding = append(binding, doc)
		} else {
			rest = append(rest, doc)
		}
	}
	if len(binding) != 1 {
		t.Fatalf("%d bindings in\n%s", len(binding), text)
	}
	k.apply(t, strings.Join(rest, "---\n"))
	until(t, "servers listen", time.Minute, func() bool {
		all := k.pods(t, "unready", "server")
		return len(all) == 3 && !slices.ContainsFunc(all, func(p pod) bool {
			c, err := tls.Dial("tcp", p.Status.PodIP+":9001", &tls.Config{InsecureSkipVerify: true})
			if err == nil {
				c.Close()
			}
			return err != nil
		})
	})
	url := "https://" + k.pods(t, "unready", "server")[0].Status.PodIP + ":9001/readyz"
	until(t, "it says why it is not ready", 10*time.Second, func() bool {
		code, text := k.page(t, url, "")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "no role: ") && strings.Contains(text, "403")
	})
	_, why := k.page(t, url, "")
	t.Logf("%s", why)
	ready := func() string {
		return k.kubectl(t, "get", "statefulset", "unready-server", "-o", "jsonpath={.status.readyReplicas}")
	}
	if n := ready(); n != "" && n != "0" {
		t.Errorf("%s servers are ready without a role", n)
	}
	k.apply(t, binding[0])
	until(t, "servers are ready", time.Minute, func() bool { return ready() == "3" })
	k.kubectl(t, "wait", "--for=condition=Complete", "--timeout=2m", "job/unready-worker")
	must(t, k.thole, "launch", "stop", "--on", "kubernetes", "--name", "unready")
	k.gone(t, "unready")
}

// TestOperatorClosed: a job of the operator is closed to strangers, too.
func TestOperatorClosed(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	data, out := o.folders(t, "opclosed")
	examples(t, filepath.Join(data, "a.libsvm"), 20000, 8, 800)
	o.job(t, "opclosed", "--data", filepath.Join(data, "a.libsvm"), "--batch", "500", "--epochs", "100000", "--model", filepath.Join(out, "model"),
		"--checkpoint", filepath.Join(out, "ck"))
	o.reached(t, "opclosed", 100)
	o.phase(t, "opclosed", "Running", time.Minute)
	o.attacked(t, "opclosed", data)
	o.ends(t, "opclosed")
}

// collected waits until the cluster's garbage collector knows TholeJobs: it looks for new resource types twice a minute.
func (o *operated) collected(t *testing.T) {
	t.Helper()
	o.apply(t, `{"apiVersion":"thole.example/v1alpha1","kind":"TholeJob","metadata":{"name":"owner"},"spec":{"image":"thole"}}`)
	uid := o.kubectl(t, "get", "tj", "owner", "-o", "jsonpath={.metadata.uid}")
	o.apply(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owned","ownerReferences":[
{"apiVersion":"thole.example/v1alpha1","kind":"TholeJob","name":"owner","uid":%q}]}}`, strings.TrimSpace(uid)))
	o.kubectl(t, "delete", "tj", "owner")
	until(t, "what a job owned is collected", 2*time.Minute, func() bool {
		return o.kubectl(t, "get", "configmap", "owned", "--ignore-not-found", "-o", "name") == ""
	})
}

// TestOperatorUninstalled: with a job that has ended, the definition is removed though the operator has gone before.
func TestOperatorUninstalled(t *testing.T) {
	o := operator(t)
	if o == nil {
		return
	}
	data, out := o.folders(t, "oplast")
	examples(t, filepath.Join(data, "a.libsvm"), 1000, 8, 800)
	o.job(t, "oplast", "--data", filepath.Join(data, "a.libsvm"), "--model", filepath.Join(out, "model"))
	o.phase(t, "oplast", "Succeeded", time.Minute)
	until(t, "it has no finalizer", time.Minute, func() bool {
		return o.kubectl(t, "get", "tj", "oplast", "-o", "jsonpath={.metadata.finalizers}") == ""
	})
	_ = o.running.Process.Kill()
	<-o.running.done
	o.collected(t)
	o.kubectl(t, "delete", "-f", "../../deploy/operator/crd.yaml", "--timeout=1m")
	if err := os.RemoveAll(filepath.Join(o.cluster, "cache")); err != nil { // kubectl remembers the resource type there
		t.Error(err)
	}
	until(t, "what the job owned is gone", time.Minute, func() bool {
		return o.kubectl(t, "get", "pods,services,configmaps,secrets", "-o", "name", "-l", "thole.example/launch=oplast") == ""
	})
}
