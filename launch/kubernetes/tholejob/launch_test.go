package tholejob

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"go.yaml.in/yaml/v4"

	"thole.example/launch/kubernetes"
)

// object reads a manifest of one object as the API would, which gives JSON.
func object(t *testing.T, text string) (asJSON []byte) {
	t.Helper()
	var v map[string]any
	err := yaml.Unmarshal([]byte(text), &v)
	if err == nil {
		asJSON, err = json.Marshal(v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return asJSON
}

// TestRoundTrip: the job that thole launch --operator makes is the launch that it would make otherwise, but for what processes find out.
func TestRoundTrip(t *testing.T) {
	l := &kubernetes.Launch{Name: "clicks", Namespace: "models", Image: "i", PullPolicy: "Always", PullSecrets: []string{"r"}, Servers: 3, Workers: 2, Shares: true,
		Server: kubernetes.Resources{Memory: "4Gi", CPU: "1"}, Worker: kubernetes.Resources{Memory: "512Mi", CPU: "500m"}, Restarts: 0, Grace: time.Minute,
		Volumes: []kubernetes.Volume{{Name: "d", Kind: "pvc", Source: "d", Path: "/d"}, {Name: "n", Kind: "nfs", Source: "h/f", Path: "/n", ReadOnly: true}},
		Env:     []kubernetes.Variable{{Name: "A", Value: "yes"}, {Name: "B"}}, EnvSecrets: []string{"s3"}, TokenSecret: "t", TLSSecret: "tls",
		Files: map[string]string{"graph.json": "{}"}, User: 1000, NodeSelector: map[string]string{"pool": "on"}, ScratchSize: "20Gi", NodePatience: nodePatience}
	said := []kubernetes.Setting{{Flag: "algo", Texts: []string{"fm"}}, {Flag: "data", Texts: []string{"/n/a", "/n/b"}}, {Flag: "model", Texts: []string{"/d/m"}},
		{Flag: "checkpoint", Texts: []string{"s3://b/ck"}}, {Flag: "tasks", Texts: []string{"4"}}, {Flag: "give-up", Texts: []string{"2m"}},
		{Flag: "graph", Texts: []string{"/etc/thole/files/graph.json"}}, {Flag: "hyper", Texts: []string{"eps=1e-3", "beta=0.9"}}, {Flag: "job", Texts: []string{"train"}},
		{Flag: "note", Texts: []string{""}}, {Flag: "rate", Texts: []string{"1e-3"}}, {Flag: "seed", Texts: []string{"1"}}, {Flag: "store", Texts: []string{"/d"}}}
	l.Words(said, []kubernetes.Setting{{Flag: "memory", Texts: []string{"3GiB"}}}, []string{"/d", "s3://b"})
	of := *l
	of.Operator = true
	var b bytes.Buffer
	if err := kubernetes.Write(&b, "", of.Objects()); err != nil {
		t.Fatal(err)
	}
	j, err := Read(object(t, strings.TrimPrefix(b.String(), "---\n")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Launch()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range [][2]any{{got.ServerArgs, l.ServerArgs}, {got.WorkerArgs, l.WorkerArgs}} {
		if !reflect.DeepEqual(one[0], one[1]) {
			t.Errorf("words %q,\nwant  %q", one[0], one[1])
		}
	}
	want, all := documents(t, l.ServerObjects()), documents(t, got.ServerObjects())
	if want != all {
		t.Errorf("objects\n%s\nwant\n%s", all, want)
	}
	pod := documents(t, []kubernetes.Object{got.WorkerPod(1, 7, 3)})
	for _, text := range []string{"name: clicks-worker-1-7", "thole.example/index: \"1\"", "--task=$(JOB_COMPLETION_INDEX)/$(WORKERS)", "name: WORKERS", "--attempt=3",
		"thole.example/attempt: \"3\"", "restartPolicy: Never", "tolerationSeconds: 10"} {
		if !strings.Contains(pod, text) {
			t.Errorf("the pod has no %s:\n%s", text, pod)
		}
	}
}

func documents(t *testing.T, all []kubernetes.Object) string {
	t.Helper()
	var b bytes.Buffer
	if err := kubernetes.Write(&b, "", all); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWrong: what a job cannot have is told by the name of its field.
func TestWrong(t *testing.T) {
	const base = "image: i\nvolumes: [{name: d, kind: pvc, source: d, path: /d}, {name: r, kind: pvc, source: d, path: /r, readOnly: true}]\n"
	for spec, want := range map[string]string{
		"settings: {task: 0}":                 "spec.settings.task, want it left out",
		"settings: {epochs: []}":              "spec.settings.epochs, want a text, a number, true or false, or a list of those",
		"settings: {--epochs: 3}":             `spec.settings."--epochs", want the name of a flag`,
		"settings: {model: /d/m}":             "spec.settings.model, want it as spec.model",
		"servers: {settings: {log: /d/log}}":  "spec.servers.settings.log, want it left out",
		"servers: {memory: much}":             `spec.servers.memory "much", want a size`,
		"workers: {cpus: -1}":                 `spec.workers.cpus "-1"`,
		"workers: {count: 5000}":              "spec.workers.count 5000, want at most 1024",
		"tasks: 2\nworkers: {count: 3}":       "spec.tasks 2, want 3 (spec.workers.count)",
		"data: [/elsewhere/a]":                "spec.data /elsewhere/a is in none of the volumes",
		"data: [a.libsvm]":                    "spec.data a.libsvm, want an absolute path",
		"model: /r/m":                         "spec.model /r/m is in the volume r, which is read only",
		"model: /d/m\nsettings: {load: /r/m}": "spec.settings.load /r/m is not below /d",
		"files: {../a: b}":                    `spec.files "../a"`,
		"scratchSize: some":                   "spec.scratchSize",
		"tokenSecret: t\ninsecure: true":      "tokens without TLS",
		"restarts: -1":                        "spec.restarts -1",
		"store: /r\nmodel: /d/m":              "spec.model /d/m is not below /r",
		"env: [{name: A-B}]":                  "A-B",
	} {
		j, err := Read(object(t, "metadata: {name: a, namespace: b}\nspec:\n  "+strings.ReplaceAll(base+spec, "\n", "\n  ")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Launch(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
	j := &Job{Metadata: Metadata{Name: "a", Namespace: "b"}, Spec: Spec{Image: "i", Volumes: []Volume{{Name: "d", Kind: "e", Source: "d", Path: "/d"}}}}
	if _, err := j.Launch(); err == nil || !strings.Contains(err.Error(), "spec.volumes[0]") {
		t.Errorf("a volume of a kind that is not: %v", err)
	}
	for _, value := range []string{`{}`, `null`, `[[]]`, `[1,null]`} { // which the API lets through
		j, err := Read([]byte(`{"metadata":{"name":"a","namespace":"b"},"spec":{"image":"i","settings":{"a":` + value + `}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Launch(); err == nil || !strings.Contains(err.Error(), "spec.settings.a, want a text") {
			t.Errorf("%s: %v", value, err)
		}
	}
	if j, err := Read([]byte(`{"spec":{"servers":{"cpus":[]}}}`)); err == nil {
		t.Errorf("processors are %+v, want an error", j.Spec)
	}
}

// FuzzNext: whatever somebody asks for, and whatever pods are there, an answer comes, and no worker has two pods at once.
func FuzzNext(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a","namespace":"b","finalizers":["thole.example/pods"],"labels":{"thole.example/launch":"a"}},"spec":{"image":"i",
		"settings":{"a":[1,"b"]},"workers":{"count":2}}}`), []byte(`{"metadata":{"name":"a-worker-0-7","labels":{"thole.example/index":"0",
		"app.kubernetes.io/component":"worker"}},"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":137}}}]}}`), int64(0))
	f.Fuzz(func(t *testing.T, job, pod []byte, now int64) {
		j, err := Read(job)
		if err != nil {
			return
		}
		s := &State{Now: time.Unix(now, 0)}
		if p, err := ReadPod(pod); err == nil {
			s.Pods = append(s.Pods, p)
		}
		seen := map[string]bool{}
		for _, o := range Next(j, s).Create {
			worker := o.Name[:strings.LastIndex(o.Name, "-")]
			if seen[worker] {
				t.Errorf("two pods of %s", worker)
			}
			seen[worker] = true
		}
	})
}

// TestDefinition: the definition in deploy/operator has the fields that there are, says what each is, and no others.
func TestDefinition(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/operator/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Spec struct {
			Versions []struct {
				Schema map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(text, &d); err != nil || len(d.Spec.Versions) != 1 {
		t.Fatalf("%d versions, %v", len(d.Spec.Versions), err)
	}
	schema := d.Spec.Versions[0].Schema["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)
	compare(t, "spec", schema["spec"].(map[string]any), reflect.TypeFor[Spec]())
	compare(t, "status", schema["status"].(map[string]any), reflect.TypeFor[Status]())
}

// compare holds a schema to a type.
func compare(t *testing.T, path string, schema map[string]any, of reflect.Type) {
	t.Helper()
	if text, _ := schema["description"].(string); strings.Count(path, ".") > 0 && !strings.HasSuffix(strings.TrimSpace(text), ".") && !strings.HasSuffix(text, ")") {
		t.Errorf("%s: described by %q, want a sentence", path, text)
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if items, ok := schema["items"].(map[string]any); ok && of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct {
		items["description"] = schema["description"]
		compare(t, path, items, of.Elem())
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		kinds := map[reflect.Kind]string{reflect.Int: "integer", reflect.Int64: "integer", reflect.Bool: "boolean", reflect.Slice: "array", reflect.Map: "object"}
		want, kind := kinds[of.Kind()], schema["type"]
		if want == "" {
			want = "string"
		}
		if kind != want && !(kind == nil && schema["x-kubernetes-int-or-string"] == true) {
			t.Errorf("%s: type %v, want %s", path, kind, want)
		}
		return
	}
	var names []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
		if one, ok := properties[name].(map[string]any); ok {
			compare(t, path+"."+name, one, of.Field(i).Type)
		} else if path+"."+name != "spec.workers.settings" {
			t.Errorf("%s.%s is not in the definition", path, name)
		}
	}
	for name := range properties {
		if !slices.Contains(names, name) {
			t.Errorf("%s.%s is in the definition, and nobody reads it", path, name)
		}
	}
}

// TestChart: the chart of the operator says what its manifest says, in the same words.
func TestChart(t *testing.T) {
	const deploy = "../../../deploy/"
	want, err := os.ReadFile(deploy + "operator/operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	chart, err := template.New("operator.yaml").Funcs(template.FuncMap{
		"toJson": func(v any) (string, error) { text, err := json.Marshal(v); return string(text), err },
		"quote":  strconv.Quote,
	}).ParseFiles(deploy + "helm/thole-operator/templates/operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	text, err := os.ReadFile(deploy + "helm/thole-operator/values.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := chart.Execute(&b, map[string]any{"Values": values, "Release": map[string]string{"Namespace": "thole-system"}}); err != nil {
		t.Fatal(err)
	}
	all, wanted := strings.Split(b.String(), "\n---\n"), strings.Split(string(want), "\n---\n")[1:] // the namespace is Helm's
	if len(all) != len(wanted) {
		t.Fatalf("%d objects, want %d", len(all), len(wanted))
	}
	for i := range all {
		if got, want := string(object(t, all[i])), string(object(t, wanted[i])); got != want {
			t.Errorf("the chart has\n%s\nwant\n%s", got, want)
		}
	}
	if crd, err := os.ReadFile(deploy + "helm/thole-operator/crds/crd.yaml"); err != nil || !strings.Contains(string(crd), "tholejobs.thole.example") {
		t.Errorf("the chart has no definition: %v", err)
	}
}
