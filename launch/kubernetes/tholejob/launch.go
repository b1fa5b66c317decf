package tholejob

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/internal/number"
	"thole.example/launch/kubernetes"
)

// Limits of what a job may ask for, as thole launch has them.
const (
	countLimit = 1024
	tasksLimit = 1 << 16
)

// nodePatience is how long pods wait for a node that does not answer: leases and the servers tell a successor from one that is left there.
const nodePatience = 10 * time.Second

// flagName is what a flag may be called, and fileName a file of a ConfigMap.
var (
	flagName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	fileName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)
)

// ours are flags that the operator gives, which settings cannot say, by component.
func ours() map[string][]string {
	return map[string][]string{
		"settings": {"coordinate", "cluster", "servers", "task", "attempt", "store", "tls-ca", "tls-name", "token", "token-file", "log", "runs",
			"asked", "append-log", "best", "servers-back", "help"},
		"servers.settings": {"listen", "admin", "advertise", "coordinate", "cluster", "role", "name", "store", "scratch", "tls-cert", "tls-key",
			"tokens", "log", "replicas", "config", "help"},
	}
}

// Launch is the job as pods. Errors name fields.
func (j *Job) Launch() (*kubernetes.Launch, error) {
	s := &j.Spec
	servers, workers := max(s.Servers.Count, 1), max(s.Workers.Count, 1)
	tasks := cmp.Or(s.Tasks, workers)
	l := &kubernetes.Launch{Name: j.Metadata.Name, Namespace: j.Metadata.Namespace, Image: s.Image, PullPolicy: s.ImagePullPolicy,
		PullSecrets: s.ImagePullSecrets, Servers: servers, Workers: workers, Shares: tasks != workers, Restarts: kubernetes.Restarts,
		Grace: kubernetes.Grace, EnvSecrets: s.EnvFromSecrets, TokenSecret: s.TokenSecret, TLSSecret: s.TLSSecret, Insecure: s.Insecure,
		SecretMark: mark(j.Metadata.UID), Files: s.Files, User: cmp.Or(s.RunAs, kubernetes.User), NodeSelector: s.NodeSelector,
		NodePatience: nodePatience}
	if s.Restarts != nil {
		l.Restarts = *s.Restarts
	}
	if s.GraceSeconds != nil {
		l.Grace = time.Duration(*s.GraceSeconds) * time.Second
	}
	switch {
	case servers > countLimit || workers > countLimit:
		return nil, fmt.Errorf("spec.servers.count %d, spec.workers.count %d, want at most %d of each", servers, workers, countLimit)
	case tasks < workers || tasks > tasksLimit:
		return nil, fmt.Errorf("spec.tasks %d, want %d (spec.workers.count) to %d", tasks, workers, tasksLimit)
	case l.Restarts < 0 || l.Grace < 0:
		return nil, fmt.Errorf("spec.restarts %d, spec.graceSeconds %.0f, want 0 or more", l.Restarts, l.Grace.Seconds())
	}
	if err := j.outfit(l); err != nil {
		return nil, err
	}
	if err := l.Check(); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	if err := j.words(l, tasks); err != nil {
		return nil, err
	}
	return l, nil
}

// mark tells the Secret of a job from that of an earlier job of the same name, which may not be gone yet.
func mark(uid string) string { return strings.Trim(uid[:min(len(uid), 8)], "-") }

// outfit is what the pods have and ask for.
func (j *Job) outfit(l *kubernetes.Launch) (err error) {
	s := &j.Spec
	if l.Server, err = kubernetes.Asks("spec.servers.", string(s.Servers.Memory), string(s.Servers.CPUs)); err == nil {
		l.Worker, err = kubernetes.Asks("spec.workers.", string(s.Workers.Memory), string(s.Workers.CPUs))
	}
	if err != nil {
		return err
	}
	for i, v := range s.Volumes {
		text := fmt.Sprintf("%s=%s:%s:%s", v.Name, v.Kind, v.Source, v.Path)
		if v.ReadOnly {
			text += ":ro"
		}
		volume, err := kubernetes.ParseVolume(text)
		if err != nil {
			return fmt.Errorf("spec.volumes[%d]: %w", i, err)
		}
		l.Volumes = append(l.Volumes, volume)
	}
	for _, v := range s.Env {
		l.Env = append(l.Env, kubernetes.Variable{Name: v.Name, Value: v.Value})
	}
	for name := range s.Files {
		if !fileName.MatchString(name) || len(name) > 253 {
			return fmt.Errorf("spec.files %.80q, want letters, digits, -, _ and .: it is a file in %s", name, kubernetes.FilesFolder)
		}
	}
	if s.ScratchSize != "" {
		n, err := number.ParseBytes(s.ScratchSize)
		if err != nil {
			return fmt.Errorf("spec.scratchSize %w", err)
		}
		l.ScratchSize = kubernetes.Quantity(n)
	}
	return nil
}

// said are the settings of the training, those that have a field of their own before the others, and the field of each.
func (j *Job) said(tasks int) (all []kubernetes.Setting, err error) {
	s, fields := &j.Spec, kubernetes.JobFields()
	one := func(text string) []string {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	for _, own := range []kubernetes.Setting{{Flag: "algo", Texts: one(s.Algorithm)}, {Flag: "data", Texts: s.Data},
		{Flag: "model", Texts: one(s.Model)}, {Flag: "checkpoint", Texts: one(s.Checkpoint)}, {Flag: "tasks", Texts: one(strconv.Itoa(tasks))},
		{Flag: "give-up", Texts: one(s.GiveUp)}} {
		if len(own.Texts) > 0 {
			all = append(all, own)
		}
	}
	rest, err := settingsOf("settings", s.Settings)
	for _, other := range rest {
		if field := fields[other.Flag]; field != "" {
			return nil, fmt.Errorf("spec.settings.%s, want it as spec.%s", other.Flag, field)
		}
	}
	if s.Settings["job"] == nil {
		all = append(all, kubernetes.Setting{Flag: "job", Texts: []string{"train"}})
	}
	return append(all, rest...), err
}

// settingsOf are settings in an order, which the operator does not give itself.
func settingsOf(where string, settings map[string]Texts) (all []kubernetes.Setting, err error) {
	for _, flag := range slices.Sorted(maps.Keys(settings)) {
		switch {
		case !flagName.MatchString(flag):
			return nil, fmt.Errorf("spec.%s.%.60q, want the name of a flag, without dashes before it", where, flag)
		case slices.Contains(ours()[where], flag):
			return nil, fmt.Errorf("spec.%s.%s, want it left out: the operator says it, or pods do not have it", where, flag)
		}
		if len(settings[flag]) == 0 {
			return nil, fmt.Errorf("spec.%s.%s, want a text, a number, true or false, or a list of those", where, flag)
		}
		all = append(all, kubernetes.Setting{Flag: flag, Texts: settings[flag]})
	}
	return all, nil
}

// words makes the command lines.
func (j *Job) words(l *kubernetes.Launch, tasks int) error {
	said, err := j.said(tasks)
	if err != nil {
		return err
	}
	servers, err := settingsOf("servers.settings", j.Spec.Servers.Settings)
	if err != nil {
		return err
	}
	var places []kubernetes.Place
	for _, s := range said {
		p := kubernetes.Place{Name: "spec." + cmp.Or(kubernetes.JobFields()[s.Flag], "settings."+s.Flag), Path: s.Texts[len(s.Texts)-1]}
		switch s.Flag {
		case "data", "validate", "weights", "validate-weights", "start-scores", "validate-start-scores":
			for file := range strings.SplitSeq(strings.Join(s.Texts, ","), ",") {
				if p.Path = file; file != "" {
					if err := l.InPods(p); err != nil {
						return err
					}
				}
			}
		case "resume":
			if p.Path == "auto" || p.Path == "never" {
				continue
			}
			places = append(places, p)
		case "model", "checkpoint", "load", "load-state":
			p.Written = s.Flag == "model" || s.Flag == "checkpoint"
			places = append(places, p)
		}
	}
	folder, stores, err := l.Stores(kubernetes.Place{Name: "spec.store", Path: j.Spec.Store}, places)
	if err != nil {
		return err
	}
	if folder != "" {
		said = append(said, kubernetes.Setting{Flag: "store", Texts: []string{folder}})
	}
	l.Words(said, servers, stores)
	return nil
}

// goesOn reports whether a worker of the job takes the place of one that was lost; else all begin anew.
func (j *Job) goesOn() bool { return j.Spec.Checkpoint != "" }
