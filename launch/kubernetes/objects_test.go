package kubernetes

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// update rewrites the golden files.
var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// small is a launch that says no more than it has to.
func small() *Launch {
	return &Launch{Name: "ctr", Namespace: "models", Image: "registry/thole:1", Servers: 2, Workers: 3, Restarts: 6, Grace: 30 * time.Second,
		Server: Resources{"2Gi", "1"}, Worker: Resources{"4Gi", "500m"}, ServerArgs: []string{"--store=/data"},
		WorkerArgs: []string{"--data=/data/a.libsvm"}, User: 65532}
}

// full is a launch that says all it can.
func full() *Launch {
	l := small()
	l.PullPolicy, l.PullSecrets, l.Shares = "IfNotPresent", []string{"registry"}, true
	for _, text := range []string{"data=pvc:datasets:/data:ro", "host=hostPath:/mnt/out:/out", "keys=secret:keys:/keys", "conf=configMap:conf:/conf",
		"nfs=nfs:files.example/exports/a:/nfs"} {
		v, err := ParseVolume(text)
		if err != nil {
			panic(err)
		}
		l.Volumes = append(l.Volumes, v)
	}
	l.Env = []Variable{{"AWS_REGION", "eu-1"}, {"PRICE", "$(HOME) is 5$"}}
	l.EnvSecrets, l.TokenSecret, l.TLSSecret, l.Queue = []string{"s3"}, "tokens", "tls", "batch"
	l.Files = map[string]string{"job.yaml": "algo: fm\ntrain:\n  epoch: 3\n", "graph.json": "{}"}
	l.NodeSelector, l.ScratchSize = map[string]string{"pool": "train", "disk": "nvme"}, "20Gi"
	l.WorkerArgs = append(l.WorkerArgs, "--note=costs $(HOME) or 5$", "--label-column=yes: no", "--tasks=6")
	return l
}

// manifest is the launch as text, which has to be right YAML.
func manifest(t *testing.T, l *Launch) string {
	t.Helper()
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, "# A head.\n", l.Objects()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// documents are the objects of a manifest, as YAML is read.
func documents(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for _, doc := range strings.Split("\n"+text, "\n---\n")[1:] {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(doc), &v); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		all = append(all, v)
	}
	return all
}

func TestGolden(t *testing.T) {
	set := full()
	set.JobSet = true
	operator := full()
	operator.Operator, operator.Queue = true, ""
	operator.Words([]Setting{{"algo", []string{"fm"}}, {"data", []string{"/data/a.libsvm", "/data/b.libsvm"}}, {"model", []string{"/out/fm"}}, {"tasks", []string{"6"}},
		{"hyper", []string{"eps=1e-3", "beta=0.9"}}, {"note", []string{""}}, {"rate", []string{"1e-3"}}, {"store", []string{"/out"}}},
		[]Setting{{"memory", []string{"1GiB"}}}, []string{"/out"})
	for name, l := range map[string]*Launch{"small": small(), "full": full(), "jobset": set, "operator": operator} {
		got, path := manifest(t, l), filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not that of testdata (-update rewrites it):\n%s", name, got)
		}
		if again := manifest(t, l); again != got {
			t.Errorf("%s has another order the second time", name)
		}
	}
}

// at is what stands in a document at a path of keys and places in lists.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// TestPodsAreHarmless: whatever a launch says, its pods run without root, rights and a file system that can be written; all that is made has
// the label by which it is found, and secrets are in no command line.
func TestPodsAreHarmless(t *testing.T) {
	set := full()
	set.JobSet = true
	for _, l := range []*Launch{small(), full(), set} {
		pods := 0
		for _, doc := range documents(t, manifest(t, l)) {
			if at(doc, "metadata", "labels", LaunchLabel) != "ctr" || at(doc, "metadata", "namespace") != "models" {
				t.Errorf("%v has the labels %v", doc["kind"], at(doc, "metadata", "labels"))
			}
			templates := []any{at(doc, "spec", "template")}
			for i := range 2 {
				templates = append(templates, at(doc, "spec", "replicatedJobs", i, "template", "spec", "template"))
			}
			for _, pod := range templates {
				if pod == nil {
					continue
				}
				pods++
				c := at(pod, "spec", "containers", 0)
				for _, one := range []struct{ what, got, want any }{
					{"runAsNonRoot", at(pod, "spec", "securityContext", "runAsNonRoot"), true},
					{"seccompProfile", at(pod, "spec", "securityContext", "seccompProfile", "type"), "RuntimeDefault"},
					{"allowPrivilegeEscalation", at(c, "securityContext", "allowPrivilegeEscalation"), false},
					{"readOnlyRootFilesystem", at(c, "securityContext", "readOnlyRootFilesystem"), true},
					{"dropped", at(c, "securityContext", "capabilities", "drop", 0), "ALL"},
					{"service links", at(pod, "spec", "enableServiceLinks"), false},
					{"requests", fmt.Sprint(at(c, "resources", "requests")), fmt.Sprint(at(c, "resources", "limits"))},
					{"label", at(pod, "metadata", "labels", LaunchLabel), "ctr"},
				} {
					if one.got != one.want {
						t.Errorf("%s is %v, want %v", one.what, one.got, one.want)
					}
				}
			}
		}
		want := 2
		if l.OwnsSecret() {
			want++ // of the Job that creates it
		}
		if pods != want {
			t.Errorf("%d templates of pods, want %d", pods, want)
		}
	}
}

// TestWordsStay: what a user says comes to the process as it was said, though Kubernetes replaces $(NAME) in command lines and variables, and
// YAML takes some words for numbers.
func TestWordsStay(t *testing.T) {
	reference := regexp.MustCompile(`\$\$|\$\(([-A-Za-z0-9_.]+)\)`) // as Kubernetes replaces it, where all names are known
	for _, word := range []string{"$(HOME)", "$$(HOME)", "$", "$$", "a$(", "yes", "1e3", "null", "a: b", "- a", "# no comment", "'\"", "a\nb", " x ",
		"{{.x}}", "\t", "ü", "0x10", "~", "!tag", "&a", "*a", "%d", "1:30", "On"} {
		l := small()
		l.WorkerArgs, l.Env = []string{word}, []Variable{{"V", word}}
		text := manifest(t, l)
		if bare := "\n        - " + word + "\n"; slices.Contains([]string{"yes", "1e3", "null", "0x10", "1:30", "On"}, word) && strings.Contains(text, bare) {
			t.Errorf("%q is not quoted", word)
		}
		for _, doc := range documents(t, text) {
			if at(doc, "metadata", "name") != "ctr-worker" {
				continue
			}
			args, _ := at(doc, "spec", "template", "spec", "containers", 0, "args").([]any)
			env, _ := at(doc, "spec", "template", "spec", "containers", 0, "env").([]any)
			for _, raw := range []any{args[len(args)-1], at(env[len(env)-1], "value")} {
				text, ok := raw.(string)
				got := reference.ReplaceAllStringFunc(text, func(m string) string {
					if m == "$$" {
						return "$"
					}
					return "REPLACED"
				})
				if !ok || got != word {
					t.Errorf("%q comes as %q (%#v)", word, got, raw)
				}
			}
		}
	}
}

// TestLastWords: what a process said last is told with its end.
func TestLastWords(t *testing.T) {
	for _, c := range []struct{ status, want string }{
		{`{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":1,"reason":"Error","message":"begins\nthole: no such file\n\n"}}}]}`,
			"failed: Error (exit code 1: thole: no such file)"},
		{`{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}`, "failed: OOMKilled (exit code 137)"},
		{`{"phase":"Running","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":2,"message":"a\r\nb"}}}]}`,
			"running: CrashLoopBackOff (exit code 2: b)"},
	} {
		p, err := ParsePod([]byte(`{"metadata":{"name":"a"},"status":` + c.status + `}`))
		if err != nil || p.State != c.want {
			t.Errorf("%s is %q, %v, want %q", c.status, p.State, err, c.want)
		}
	}
	if _, err := ParsePod([]byte(`[]`)); err == nil {
		t.Error("a list is read as a pod")
	}
}

// TestRefused: what the API would refuse is refused before, with what is wanted.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Launch)
		want   string
	}{
		{func(l *Launch) { l.Name = "CTR" }, "a-z, 0-9 and -"},
		{func(l *Launch) { l.Name = "1ctr" }, "beginning with a letter"},
		{func(l *Launch) { l.Name = "ctr-" }, "a-z, 0-9 and -"},
		{func(l *Launch) { l.Name = "a/../b" }, "a-z, 0-9 and -"},
		{func(l *Launch) { l.Name = "a\nb" }, "a-z, 0-9 and -"},
		{func(l *Launch) { l.Name = "" }, "a-z, 0-9 and -"},
		{func(l *Launch) { l.Name = strings.Repeat("a", 41) }, "at most 40"},
		{func(l *Launch) { l.Namespace = "kube/system" }, "as Kubernetes has names"},
		{func(l *Launch) { l.Image = "" }, "nodes can pull"},
		{func(l *Launch) { l.Image = "a b" }, "nodes can pull"},
		{func(l *Launch) { l.PullPolicy = "Sometimes" }, "Always, IfNotPresent or Never"},
		{func(l *Launch) { l.User = 0 }, "do not run as root"},
		{func(l *Launch) { l.TokenSecret, l.Insecure = "tokens", true }, "without TLS"},
		{func(l *Launch) { l.Env = []Variable{{"SERVERS", "3"}} }, "the launch sets it itself"},
		{func(l *Launch) { l.EnvSecrets = []string{"a b"} }, "as Kubernetes has names"},
		{func(l *Launch) { l.Env = []Variable{{"A-B", ""}} }, "letters, digits and _"},
		{func(l *Launch) { l.Files = map[string]string{"job.yaml": strings.Repeat("a", 1<<20)} }, "a ConfigMap holds no more"},
		{func(l *Launch) { l.Volumes = []Volume{{Name: "a", Path: "/a"}, {Name: "a", Path: "/b"}} }, "another name"},
		{func(l *Launch) { l.Volumes = []Volume{{Name: "a", Path: "/a"}, {Name: "b", Path: "/a"}} }, "there is volume a"},
		{func(l *Launch) { l.Volumes = []Volume{{Name: "thole-tls", Path: "/a"}} }, "another name"},
		{func(l *Launch) { l.Volumes = []Volume{{Name: "a", Path: "/etc/thole/tls"}} }, "another path"},
		{func(l *Launch) { l.Volumes = []Volume{{Name: "a", Path: "/"}} }, "another path"},
		{func(l *Launch) { l.Volumes = []Volume{{Name: "a", Path: "/tmp"}} }, "another path"},
	} {
		l := small()
		c.change(l)
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for _, text := range []string{"", "a", "a=pvc", "a=pvc:b", "a=pvc:B:/c", "A=pvc:b:/c", "a=disk:b:/c", "a=pvc:b:c", "a=hostPath:b:/c", "a=pvc:b:/c:rw",
		"a=pvc:b:/c:ro:ro", "a=hostPath:/b/../c:/d", "a=pvc:b:/c/..", "a=nfs:host/../b:/c", "a=nfs:/x:/c", "=pvc:b:/c", "a=pvc:b:/c\n"} {
		if v, err := ParseVolume(text); err == nil {
			t.Errorf("volume %q: %+v", text, v)
		}
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct{ words, want string }{{"lr-20260102-030405", "lr-20260102-030405"}, {"Wide&Deep", "wide-deep"}, {"", "thole"},
		{"1", "thole-1"}, {"---", "thole"}, {"ü", "thole"}, {strings.Repeat("a-", 40), strings.Repeat("a-", 19) + "a"}} {
		if got := Title(c.words); got != c.want || CheckName(got) != nil {
			t.Errorf("%q: %q, want %q (%v)", c.words, got, c.want, CheckName(got))
		}
	}
}

func FuzzParseVolume(f *testing.F) {
	f.Add("data=pvc:datasets:/data:ro")
	f.Add("a=nfs:host/b:/c")
	f.Add("0=pvc:0:/---")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseVolume(text)
		if err != nil {
			return
		}
		again := fmt.Sprintf("%s=%s:%s:%s", v.Name, v.Kind, v.Source, v.Path)
		if v.ReadOnly {
			again += ":ro"
		}
		if w, err := ParseVolume(again); err != nil || w != v {
			t.Errorf("%q is %+v, and that is %+v, %v", text, v, w, err)
		}
		l := small()
		l.Volumes = []Volume{v}
		if l.Check() == nil {
			documents(t, manifest(t, l))
		}
	})
}
