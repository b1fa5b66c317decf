package kube_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"thole.example/coord"
	"thole.example/coord/coordtest"
	"thole.example/coord/kube"
	"thole.example/kubeapi"
)

func serve(t *testing.T) (*api, *kubeapi.API) {
	t.Helper()
	a := newAPI()
	s := httptest.NewTLSServer(a)
	t.Cleanup(s.Close)
	return a, &kubeapi.API{Server: s.URL, Client: s.Client(), Token: func() (string, error) { return "secret", nil }}
}

func open(t *testing.T, k *kubeapi.API, name string) *kube.Store {
	t.Helper()
	s, err := kube.Open(k, "default", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	a, k := serve(t)
	coordtest.Store(t, func(t *testing.T) coord.Store { return open(t, k, "models") })
	if keys, err := open(t, k, "other").List(t.Context(), ""); err != nil || len(keys) > 0 {
		t.Errorf("another store has %q, %v", keys, err)
	}
	// What people and their tools see of a role.
	h, err := coord.Claim(t.Context(), open(t, k, "models"), "c", coord.Server(0), "host:1", coord.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for path, o := range a.objects {
		if !strings.HasPrefix(path, "default/models-c-server-0-") {
			continue
		}
		found = true
		spec := o["spec"].(map[string]any)
		_, terr := time.Parse("2006-01-02T15:04:05.000000Z", fmt.Sprint(spec["renewTime"]))
		if spec["holderIdentity"] != "host:1" || spec["leaseDurationSeconds"] != 10.0 || spec["leaseTransitions"] != 1.0 || terr != nil {
			t.Errorf("%s: %v, %v", path, spec, terr)
		}
	}
	if err := h.Release(t.Context()); err != nil || !found {
		t.Errorf("%v, the lease was found: %v", err, found)
	}
}

// TestReal runs the suite on the cluster of the kubeconfig file that THOLE_TEST_KUBECONFIG names, in the namespace default.
func TestReal(t *testing.T) {
	file := os.Getenv("THOLE_TEST_KUBECONFIG")
	if file == "" {
		t.Skip("THOLE_TEST_KUBECONFIG is not set: no real Kubernetes")
	}
	k, err := kubeapi.FromFile(file, "")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test-%d", time.Now().UnixNano()) // what another run has left is another store
	coordtest.Store(t, func(t *testing.T) coord.Store { return open(t, k, name) })
}

// TestWatchEnds: a watch that the API ends is made again.
func TestWatchEnds(t *testing.T) {
	a, k := serve(t)
	a.broken = true
	s := open(t, k, "models")
	v, err := s.Put(t.Context(), "k", []byte("1"), "")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(500*time.Millisecond, func() { _, _ = s.Put(context.Background(), "k", []byte("2"), v) })
	if data, _, err := s.Watch(t.Context(), "k", v); err != nil || string(data) != "2" {
		t.Errorf("watch: %q, %v", data, err)
	}
}

// TestWrong: what the API refuses is told with its words, and what is no lease of ours with its name.
func TestWrong(t *testing.T) {
	a, k := serve(t)
	s := open(t, k, "models")
	v, err := s.Put(t.Context(), "k", []byte("1"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range a.objects {
		o["metadata"].(map[string]any)["annotations"].(map[string]any)["thole.example/key"] = "other"
	}
	if _, _, err := s.Get(t.Context(), "k"); !errors.Is(err, coord.ErrRecord) || !strings.Contains(err.Error(), `is that of "other"`) {
		t.Errorf("get: %v", err)
	}
	clear(a.objects)
	if _, err := s.Put(t.Context(), "k", []byte("2"), v); !errors.Is(err, coord.ErrChanged) {
		t.Errorf("put over what was removed: %v", err)
	}
	a.token = "another"
	_, perr := s.Put(t.Context(), "k", []byte("2"), v)
	_, _, gerr := s.Get(t.Context(), "k")
	_, lerr := s.List(t.Context(), "")
	_, _, werr := s.Watch(t.Context(), "k", "")
	for _, err := range []error{perr, gerr, lerr, werr} {
		if err == nil || !strings.Contains(err.Error(), `HTTP status 401 "Unauthorized"; want a service account`) {
			t.Errorf("without a right: %v", err)
		}
	}
	no := httptest.NewServer(http.NotFoundHandler())
	defer no.Close()
	if _, _, err := open(t, &kubeapi.API{Server: no.URL, Client: no.Client()}, "models").Get(t.Context(), "k"); err == nil {
		t.Error("a server that is no Kubernetes has no value")
	}
	for _, c := range []struct{ namespace, name string }{{"", "a"}, {"a", ""}, {"A", "a"}, {"a/b", "a"}, {"a", "-a"}, {"a", strings.Repeat("a", 64)}} {
		if _, err := kube.Open(k, c.namespace, c.name); err == nil {
			t.Errorf("namespace %q, name %q", c.namespace, c.name)
		}
	}
}

// TestFind: the API is found by a kubeconfig with everything inside, by one that names files, and not without.
func TestFind(t *testing.T) {
	a := newAPI()
	server := httptest.NewTLSServer(a)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("ca.pem", string(ca))
	write("token", "secret\n")
	config := func(server, cluster, user string) string {
		return fmt.Sprintf(`current-context: b
contexts: [{name: a, context: {cluster: x, user: y}}, {name: b, context: {cluster: c, user: u}}]
clusters: [{name: x, cluster: {server: "https://nowhere"}}, {name: c, cluster: {server: %q, %s}}]
users: [{name: y, user: {}}, {name: u, user: {%s}}]
`, server, cluster, user)
	}
	inside := "certificate-authority-data: " + base64.StdEncoding.EncodeToString(ca)
	for _, c := range []struct{ name, text, want string }{
		{"inside", config(server.URL, inside, "token: secret"), ""},
		{"files", config(server.URL, "certificate-authority: ca.pem", "tokenFile: token"), ""},
		{"no trust", config(server.URL, "name: x", "token: secret"), "certificate"},
		{"insecure", config(server.URL, "insecure-skip-tls-verify: true", "token: secret"), ""},
		{"other token", config(server.URL, inside, "token: other"), "401"},
		{"in clear", config("http://127.0.0.1:1", "name: x", "token: secret"), "in clear"},
		{"program", config(server.URL, inside, "exec: {command: aws}"), "has a program"},
		{"no server", config("", inside, "token: secret"), "no cluster with a server"},
		{"no file", config(server.URL, "certificate-authority: no.pem", "token: secret"), "no.pem"},
		{"no pem", config(server.URL, "certificate-authority: token", "token: secret"), "no certificates"},
		{"no base64", config(server.URL, "certificate-authority-data: '?'", "token: secret"), "base64"},
		{"no key", config(server.URL, inside, "client-certificate: ca.pem, client-key: token"), "key"},
		{"no yaml", "a: [", "kubeconfig"},
		{"nothing", "", `current context ""`},
	} {
		k, err := kubeapi.Find(map2func(map[string]string{"KUBECONFIG": write(c.name, c.text)}), "")
		if err == nil {
			_, _, err = open(t, k, "models").Get(t.Context(), "k")
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := kubeapi.Find(map2func(map[string]string{"HOME": dir}), ""); err == nil || !strings.Contains(err.Error(), "no Kubernetes") {
		t.Errorf("nothing is set: %v", err)
	}
	if _, err := kubeapi.Find(map2func(map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}), ""); err == nil || !strings.Contains(err.Error(), "service account") {
		t.Errorf("a pod without an account: %v", err)
	}
}

func map2func(m map[string]string) func(string) string {
	return func(name string) string { return m[name] }
}
