package engines

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The node agent of the engines runs a container as a process, without volumes of Secrets, tokens of service accounts and probes by HTTPS. This
// file adds them: the image of the pods is this test's binary, which prepares what a kubelet would and becomes thole, and the agent is built
// with another scheme of probes.

// podImage is the name by which this binary is the image of a pod.
const podImage = "thole-pod"

// bin is the folder of the engines with a node agent that probes by HTTPS.
func (r *run) nodes(t *testing.T) (bin string) {
	t.Helper()
	bin = filepath.Join(r.dir, "bin")
	if _, err := os.Stat(filepath.Join(bin, "nodeagent")); err == nil {
		return bin
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcdone", "kubelite", "kubectl"} {
		if err := os.Symlink(filepath.Join(r.bin, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(r.dir, podImage))
	}
	source := filepath.Join(r.scripts, "src", "nodeagent")
	text, rerr := os.ReadFile(filepath.Join(source, "pod.go"))
	if err != nil || rerr != nil {
		t.Fatal(err, rerr)
	}
	for before, after := range map[string]string{
		`h := http.Client{Timeout: limit}`: `h := http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}`,
		`h.Get("http://" + `: `h.Get(strings.ToLower(string(p.HTTPGet.Scheme)) + "://" + `,
		"import (":           "import (\n\t\"crypto/tls\"",
	} {
		if strings.Count(string(text), before) != 1 {
			t.Fatalf("%s/pod.go does not contain %q once", source, before)
		}
		text = []byte(strings.Replace(string(text), before, after, 1))
	}
	overlay := filepath.Join(r.dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(source, "pod.go"): filepath.Join(r.dir, "pod.go")}})
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "pod.go"), text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(overlay, replace, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-overlay", overlay, "-o", filepath.Join(bin, "nodeagent"), ".")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("nodeagent: %v\n%s", err, out)
	}
	return bin
}

// runPod prepares the Secrets and the token of the pod that this process is, and becomes thole.
func runPod() {
	dir := filepath.Dir(os.Args[0])
	if err := preparePod(dir); err != nil {
		fmt.Fprintln(os.Stderr, "pod:", err)
		os.Exit(1)
	}
	program := filepath.Join(dir, "thole")
	fmt.Fprintln(os.Stderr, "pod:", syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ()))
	os.Exit(1)
}

// secretVolume is what is read of a pod.
type secretVolume struct {
	Spec struct {
		ServiceAccountName string
		Volumes            []struct {
			Name   string
			Secret *struct {
				SecretName string
				Items      []struct{ Key, Path string }
			}
		}
		Containers []struct {
			VolumeMounts []struct{ Name, MountPath string }
		}
	}
}

// preparePod gives this process a file system of its own with the files of the pod.
func preparePod(dir string) error {
	admin, err := os.ReadFile(filepath.Join(dir, "kube", "token"))
	if err != nil {
		return err
	}
	namespace := os.Getenv("POD_NAMESPACE")
	core := "/api/v1/namespaces/" + namespace
	var p secretVolume
	if err := askUntil(string(admin), http.MethodGet, core+"/pods/"+os.Getenv("HOSTNAME"), "", &p); err != nil {
		return err
	}
	const root = "/etc/thole"
	runtime.LockOSThread() // whose file system this is
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("none", root, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	for _, v := range p.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		var at string
		for _, m := range p.Spec.Containers[0].VolumeMounts {
			if m.Name == v.Name {
				at = m.MountPath
			}
		}
		var s struct{ Data map[string][]byte }
		if err := askUntil(string(admin), http.MethodGet, core+"/secrets/"+v.Secret.SecretName, "", &s); err != nil { // as a kubelet waits
			return err
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		for _, item := range v.Secret.Items {
			if err := os.WriteFile(filepath.Join(at, item.Path), s.Data[item.Key], 0o600); err != nil {
				return err
			}
		}
	}
	var token struct{ Status struct{ Token string } }
	if err := askUntil(string(admin), http.MethodPost, core+"/serviceaccounts/"+p.Spec.ServiceAccountName+"/token",
		`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":7200}}`, &token); err != nil {
		return err
	}
	config := filepath.Join(root, "kubeconfig")
	if err := os.WriteFile(config, []byte(kubeconfigText(token.Status.Token)), 0o600); err != nil {
		return err
	}
	return os.Setenv("KUBECONFIG", config)
}

// askUntil asks the API until it answers with an object.
func askUntil(token, method, path, body string, into any) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var last error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		q, err := http.NewRequest(method, "https://127.0.0.1:6443"+path, bytes.NewReader([]byte(body)))
		if err != nil {
			return err
		}
		q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
		q.Header.Set("Content-Type", "application/json")
		r, err := client.Do(q)
		if last = err; err != nil {
			continue
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if last = err; err == nil && r.StatusCode/100 == 2 {
			return json.Unmarshal(text, into)
		}
		last = fmt.Errorf("%s %s: HTTP status %d %.200s", method, path, r.StatusCode, text)
	}
	return last
}

// kubeconfigText is a kubeconfig for the holder of a token.
func kubeconfigText(token string) string {
	return fmt.Sprintf(`current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %q}}]
`, token)
}
