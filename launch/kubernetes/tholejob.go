package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// The resource of which the operator makes a launch (docs/kubernetes.md).
const (
	JobGroup   = "thole.example"
	JobVersion = "v1alpha1"
	JobKind    = "TholeJob"
)

// Labels of worker pods which the operator makes: which worker it is, and how often all of them were started again.
const (
	IndexLabel   = "thole.example/index"
	AttemptLabel = "thole.example/attempt"
)

// JobFields are the fields of a TholeJob for flags that have one of their own, by those; what else is said of a training stands in its
// settings.
func JobFields() map[string]string {
	return map[string]string{"algo": "algorithm", "data": "data", "model": "model", "checkpoint": "checkpoint", "tasks": "tasks",
		"give-up": "giveUp"}
}

// tholeJob is the launch as the operator takes it.
func (l *Launch) tholeJob() Object {
	fields, rest := map[string]any{}, map[string][]string{}
	for _, s := range l.said {
		switch name := JobFields()[s.Flag]; name {
		case "":
			rest[s.Flag] = append(rest[s.Flag], s.Texts...)
		case "data":
			all, _ := fields[name].([]string)
			fields[name] = append(all, s.Texts...)
		case "tasks":
			fields[name], _ = strconv.Atoi(s.Texts[0]) // it was made of a number
		default:
			fields[name] = s.Texts[len(s.Texts)-1] // the last one counts
		}
	}
	delete(rest, "store") // the operator finds it, as we did
	spec := object{{"image", l.Image}, {"imagePullPolicy", l.PullPolicy}, {"imagePullSecrets", l.PullSecrets}}
	for _, name := range []string{"algorithm", "data", "model", "checkpoint", "tasks", "giveUp"} {
		spec = append(spec, field{name, fields[name]})
	}
	servers := map[string][]string{}
	for _, s := range l.serversSaid {
		servers[s.Flag] = s.Texts
	}
	process := func(count int, r Resources, settings object) object {
		return object{{"count", count}, {"memory", r.Memory}, {"cpus", r.CPU}, {"settings", settings}}
	}
	spec = append(spec, object{
		{"settings", settingsObject(rest)},
		{"servers", process(l.Servers, l.Server, settingsObject(servers))},
		{"workers", process(l.Workers, l.Worker, nil)},
		{"store", l.Store},
		{"volumes", l.volumeObjects()},
		{"files", textsObject(l.Files)},
		{"env", l.envObjects()},
		{"envFromSecrets", l.EnvSecrets},
		{"tokenSecret", l.TokenSecret},
		{"tlsSecret", l.TLSSecret},
		{"insecure", l.Insecure},
		{"runAs", l.User},
		{"nodeSelector", textsObject(l.NodeSelector)},
		{"scratchSize", l.ScratchSize},
		{"restarts", always{l.Restarts}},
		{"graceSeconds", int64(l.Grace / time.Second)},
	}...)
	return l.object(JobKind, l.Name, object{{"spec", spec}})
}

// settingsObject are settings by flags: a text, or several.
func settingsObject(all map[string][]string) (o object) {
	for _, flag := range slices.Sorted(maps.Keys(all)) {
		if texts := all[flag]; len(texts) == 1 {
			o = append(o, field{flag, always{texts[0]}})
		} else {
			o = append(o, field{flag, texts})
		}
	}
	return o
}

func textsObject(all map[string]string) (o object) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o = append(o, field{name, always{all[name]}})
	}
	return o
}

func (l *Launch) volumeObjects() (all []object) {
	for _, v := range l.Volumes {
		all = append(all, object{{"name", v.Name}, {"kind", v.Kind}, {"source", v.Source}, {"path", v.Path}, {"readOnly", v.ReadOnly}})
	}
	return all
}

func (l *Launch) envObjects() (all []object) {
	for _, v := range l.Env {
		all = append(all, object{{"name", v.Name}, {"value", always{v.Value}}})
	}
	return all
}

// lastWords is where the cluster makes a file for what a process says last.
const lastWords = "/dev/termination-log"

// WorkerPod is the n-th pod of a worker, from 0 on: one that was lost is made again, under another name. attempt is how often all workers
// have been started again; below 0: they never are, as each goes on by itself.
func (l *Launch) WorkerPod(index, n, attempt int) Object {
	number, of, name := strconv.Itoa(index), *l, fmt.Sprintf("%s-worker-%d-%d", l.Name, index, n)
	of.WorkerArgs = append(slices.Clone(l.WorkerArgs), "--last-words="+lastWords)
	again := ""
	if attempt >= 0 {
		again = strconv.Itoa(attempt)
		of.WorkerArgs = append(of.WorkerArgs, "--attempt="+again)
	}
	template := of.pod(worker, "Never", []object{{{"name", "JOB_COMPLETION_INDEX"}, {"value", number}}})
	labels := append(l.labels(worker), field{IndexLabel, number}, field{AttemptLabel, again})
	body := object{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", object{{"name", name}, {"namespace", l.Namespace}, {"labels", labels}}}}
	return Object{Kind: "Pod", Name: name, resource: resource{"Pod", "v1", "pods"}, namespace: l.Namespace,
		body: append(body, template[1:]...)} // its metadata is that above
}
