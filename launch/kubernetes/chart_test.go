package kubernetes

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"go.yaml.in/yaml/v4"
)

// chart is the folder of the Helm chart.
const chart = "../../deploy/helm/thole"

// values are those of the chart.
func values(t *testing.T) (v map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// helm renders the chart as Helm would, whose functions are these.
func helm(t *testing.T, name, namespace string, values map[string]any) string {
	t.Helper()
	root := template.New("")
	root.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := root.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"nindent": func(n int, text string) string {
			pad := strings.Repeat(" ", n)
			return "\n" + pad + strings.ReplaceAll(text, "\n", "\n"+pad)
		},
		"toJson":    func(v any) (string, error) { text, err := json.Marshal(v); return string(text), err },
		"quote":     func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"list":      func(v ...any) []any { return v },
		"concat":    func(all ...[]any) []any { return slices.Concat(all...) },
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"trunc":     func(n int, text string) string { return text[:n] },
		"int":       func(n int) int { return n },
		"max":       func(a, b int) int { return max(a, b) },
		"until": func(n int) (all []int) {
			for i := range n {
				all = append(all, i)
			}
			return all
		},
		"dict": func(v ...any) map[string]any {
			m := map[string]any{}
			for i := 0; i+1 < len(v); i += 2 {
				m[fmt.Sprint(v[i])] = v[i+1]
			}
			return m
		},
	})
	text, err := os.ReadFile(filepath.Join(chart, "templates", "launch.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.Parse(string(text)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := root.Execute(&b, map[string]any{"Values": values, "Release": map[string]any{"Name": name, "Namespace": namespace}}); err != nil {
		t.Fatal(err)
	}
	return "---\n" + b.String()
}

// TestChart: the Helm chart says what a launch of the same settings says, with its usual values and with others.
func TestChart(t *testing.T) {
	strs := func(v any) (all []string) {
		for _, one := range v.([]any) {
			all = append(all, fmt.Sprint(one))
		}
		return all
	}
	named := regexp.MustCompile(`^(ctr-(?:worker|keys))-[0-9a-f]{8}$`) // Jobs, by what is in them
	names := map[string]bool{}
	for _, change := range []func(map[string]any){
		func(map[string]any) {},
		func(v map[string]any) {
			v["image"], v["imagePullPolicy"], v["servers"], v["workers"], v["user"] = "registry/thole:2", "Always", 5, 7, 1000
			v["env"] = []any{map[string]any{"name": "AWS_REGION", "value": "eu-1"}}
			v["envFrom"] = []any{map[string]any{"secretRef": map[string]any{"name": "s3"}}}
			v["workerArgs"] = []any{"--note=yes: \"a\" 'b'", "--lossy"}
			v["imagePullSecrets"], v["nodeSelector"] = []any{map[string]any{"name": "registry"}}, map[string]any{"disk": "nvme"}
			v["serverResources"], v["tasks"] = map[string]any{"memory": "8Gi", "cpu": "4"}, 14
		},
		func(v map[string]any) { v["claim"], v["servers"] = "", 20 },
		func(v map[string]any) { v["insecure"] = true },
		func(v map[string]any) { v["tlsSecret"] = "tls" },
		func(v map[string]any) { v["tlsSecret"], v["tokenSecret"] = "tls", "tokens" },
		func(v map[string]any) { v["insecure"], v["tlsSecret"] = true, "tls" },
	} {
		v := values(t)
		change(v)
		resources := func(key string) Resources {
			r := v[key].(map[string]any)
			return Resources{fmt.Sprint(r["memory"]), fmt.Sprint(r["cpu"])}
		}
		l := &Launch{Name: "ctr", Namespace: "models", Image: fmt.Sprint(v["image"]), PullPolicy: fmt.Sprint(v["imagePullPolicy"]),
			Servers: v["servers"].(int), Workers: v["workers"].(int), Server: resources("serverResources"), Worker: resources("workerResources"),
			ServerArgs: strs(v["serverArgs"]), Restarts: v["restarts"].(int), Grace: 30 * time.Second, User: int64(v["user"].(int)),
			TLSSecret: fmt.Sprint(v["tlsSecret"]), TokenSecret: fmt.Sprint(v["tokenSecret"]), Insecure: v["insecure"].(bool)}
		tasks := v["tasks"].(int)
		l.Shares = tasks > 0
		l.WorkerArgs = append([]string{fmt.Sprintf("--tasks=%d", cmp.Or(tasks, l.Workers)), "--job=train", "--log=", "--runs=none", "--wait=15m",
			"--retry=1m"}, strs(v["workerArgs"])...)
		if v["claim"] != "" {
			l.Volumes = []Volume{{Name: "data", Kind: "pvc", Source: "data", Path: "/data"}}
		}
		if len(v["env"].([]any)) > 0 {
			l.Env, l.EnvSecrets = []Variable{{"AWS_REGION", "eu-1"}}, []string{"s3"}
			l.PullSecrets, l.NodeSelector = []string{"registry"}, map[string]string{"disk": "nvme"}
		}
		got, want := documents(t, helm(t, "ctr", "models", v)), documents(t, manifest(t, l))
		if len(got) != len(want) {
			t.Fatalf("%d objects, want %d", len(got), len(want))
		}
		for i := range want {
			metadata := got[i]["metadata"].(map[string]any)
			if full := fmt.Sprint(metadata["name"]); got[i]["kind"] == "Job" {
				metadata["name"] = named.ReplaceAllString(full, "$1")
				names[full] = true
			}
			a, aerr := json.MarshalIndent(got[i], "", " ")
			b, berr := json.MarshalIndent(want[i], "", " ")
			if aerr != nil || berr != nil || string(a) != string(b) {
				t.Errorf("the chart has\n%s\nwant\n%s", a, b)
			}
		}
	}
	if len(names) != 7+2 { // each has other workers; only another image has another Job for the keys
		t.Errorf("%d names of Jobs, want one for each content: %v", len(names), names)
	}
}
