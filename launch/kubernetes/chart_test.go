package kubernetes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
		"toJson": func(v any) (string, error) { text, err := json.Marshal(v); return string(text), err },
		"quote":  func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"list":   func(v ...any) []any { return v },
		"concat": func(all ...[]any) []any { return slices.Concat(all...) },
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
	for _, change := range []func(map[string]any){
		func(map[string]any) {},
		func(v map[string]any) {
			v["image"], v["imagePullPolicy"], v["servers"], v["workers"], v["user"] = "registry/thole:2", "Always", 5, 7, 1000
			v["env"] = []any{map[string]any{"name": "AWS_REGION", "value": "eu-1"}}
			v["envFrom"] = []any{map[string]any{"secretRef": map[string]any{"name": "s3"}}}
			v["workerArgs"] = []any{"--note=yes: \"a\" 'b'", "--lossy"}
		},
	} {
		v := values(t)
		change(v)
		resources := func(key string) Resources {
			r := v[key].(map[string]any)
			return Resources{fmt.Sprint(r["memory"]), fmt.Sprint(r["cpu"])}
		}
		l := &Launch{Name: "ctr", Namespace: "models", Image: fmt.Sprint(v["image"]), PullPolicy: fmt.Sprint(v["imagePullPolicy"]),
			Servers: v["servers"].(int), Workers: v["workers"].(int), Server: resources("serverResources"), Worker: resources("workerResources"),
			ServerArgs: strs(v["serverArgs"]), WorkerArgs: strs(v["workerArgs"]), Restarts: v["restarts"].(int), Grace: 30 * time.Second,
			User: int64(v["user"].(int)), Volumes: []Volume{{Name: "data", Kind: "pvc", Source: "data", Path: "/data"}}}
		if len(v["env"].([]any)) > 0 {
			l.Env, l.EnvSecrets = []Variable{{"AWS_REGION", "eu-1"}}, []string{"s3"}
		}
		got, want := documents(t, helm(t, "ctr", "models", v)), documents(t, manifest(t, l))
		if len(got) != len(want) {
			t.Fatalf("%d objects, want %d", len(got), len(want))
		}
		for i := range want {
			a, aerr := json.MarshalIndent(got[i], "", " ")
			b, berr := json.MarshalIndent(want[i], "", " ")
			if aerr != nil || berr != nil || string(a) != string(b) {
				t.Errorf("the chart has\n%s\nwant\n%s", a, b)
			}
		}
	}
}
