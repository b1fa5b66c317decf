package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"thole.example/internal/number"
	"thole.example/launch/kubernetes"
)

// pods is the launch as Kubernetes is told of it.
func (l *launch) pods(ctx context.Context, e *env, namespace string) (*kubernetes.Launch, error) {
	f := &l.kube
	k := &kubernetes.Launch{Name: l.title, Namespace: namespace, Image: f.image, PullPolicy: f.pullPolicy, PullSecrets: f.pullSecrets,
		Servers: l.servers, Workers: l.workers, Shares: l.tasks != l.workers, Restarts: l.restarts, Grace: kubernetes.Grace,
		EnvSecrets: f.envSecrets, TokenSecret: f.tokenSecret, TLSSecret: f.tlsSecret, Insecure: f.insecure, User: f.user, NodeSelector: f.nodes,
		JobSet: f.jobSet, Queue: f.queue, Operator: f.operator, Store: f.store}
	if f.image == "" {
		return nil, usageError{fmt.Errorf("no --image, want an image of thole that the nodes can pull (deploy/Dockerfile makes one)")}
	}
	if err := l.outfit(k); err != nil {
		return nil, err
	}
	if err := k.Check(); err != nil {
		return nil, usageError{err}
	}
	folder, stores, err := l.placesInPods(k)
	if err != nil {
		return nil, err
	}
	if l.load != "" && !l.given("algo") && l.graphFile == "" {
		return nil, usageError{fmt.Errorf("--load %s without --algo or --graph, want one of them, which says what that model is: it lies in a "+
			"volume, and this process does not read it", l.load)}
	}
	load := l.load
	l.atServers, l.load = true, "" // it is read by the pods
	p, err := l.choose(ctx)
	l.load = load
	if err != nil {
		return nil, err
	}
	if err := l.words(ctx, e, k, folder, stores, p.forest != nil); err != nil {
		return nil, err
	}
	if err := k.Check(); err != nil { // with the files
		return nil, usageError{err}
	}
	return k, nil
}

// outfit is what the pods have and ask for.
func (l *launch) outfit(k *kubernetes.Launch) (err error) {
	f := &l.kube
	for _, text := range f.volumes {
		v, err := kubernetes.ParseVolume(text)
		if err != nil {
			return usageError{fmt.Errorf("--volume %w", err)}
		}
		k.Volumes = append(k.Volumes, v)
	}
	for _, text := range f.env {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return usageError{fmt.Errorf("--env %.40q, want NAME=VALUE", text)}
		}
		k.Env = append(k.Env, kubernetes.Variable{Name: name, Value: value})
	}
	if !l.given("restarts") {
		k.Restarts = kubernetes.Restarts
	}
	if f.scratchSize != "" {
		n, err := number.ParseBytes(f.scratchSize)
		if err != nil {
			return usageError{fmt.Errorf("--scratch-size %w", err)}
		}
		k.ScratchSize = kubernetes.Quantity(n)
	}
	if k.Server, err = kubernetes.Asks("--server-", l.serverMemory, l.serverCPUs); err == nil {
		k.Worker, err = kubernetes.Asks("--worker-", l.workerMemory, l.workerCPUs)
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// placesInPods checks paths of the user, which are those of the pods, and answers with the servers' folder and all their stores.
func (l *launch) placesInPods(k *kubernetes.Launch) (folder string, stores []string, err error) {
	for _, one := range []setting{{"data", l.data}, {"validate", l.valid}, {"weights", l.weights}, {"validate-weights", l.validWeights},
		{"start-scores", l.starts}, {"validate-start-scores", l.validStarts}, {"scratch", []string{l.scratch}}} {
		for file := range strings.SplitSeq(strings.Join(one.texts, ","), ",") {
			if file == "" || one.flag == "scratch" && (file == kubernetes.ScratchFolder || strings.HasPrefix(file, kubernetes.ScratchFolder+"/")) {
				continue
			}
			if err := k.InPods(kubernetes.Place{Name: "--" + one.flag, Path: file}); err != nil {
				return "", nil, usageError{err}
			}
		}
	}
	var places []kubernetes.Place
	for _, one := range l.storePaths() {
		places = append(places, kubernetes.Place{Name: "--" + one.flag, Path: one.texts[0],
			Written: one.flag == "model" || one.flag == "checkpoint"})
	}
	folder, stores, err = k.Stores(kubernetes.Place{Name: "--store", Path: l.kube.store}, places)
	if err != nil {
		return "", nil, usageError{err}
	}
	return folder, stores, nil
}

// storePaths are the paths at which the servers save and load, some of which may be empty, by their flags.
func (l *launch) storePaths() []setting {
	resume := l.resume
	if resume == resumeAuto || resume == resumeNever {
		resume = ""
	}
	return []setting{{"model", []string{l.model}}, {"checkpoint", []string{l.checkpoint}}, {"load", []string{l.load}},
		{"load-state", []string{l.loadState}}, {"resume", []string{resume}}}
}

// words are the command lines of the pods, and the files that they name.
func (l *launch) words(ctx context.Context, e *env, k *kubernetes.Launch, folder string, stores []string, trees bool) error {
	own := *l.job // with paths of the pods
	at := &launch{job: &own, user: slices.Clone(l.user)}
	k.Files = map[string]string{}
	for _, one := range []struct{ flag, name, path string }{
		{"job", "job.yaml", l.jobFile}, {"graph", "graph.json", l.graphFile}, {"columns", "columns.yaml", l.columns}} {
		if one.path == "" {
			continue
		}
		text, err := e.small(ctx, one.path)
		if err != nil {
			return err
		}
		k.Files[one.name] = string(text)
		there := kubernetes.FilesFolder + "/" + one.name
		at.user = slices.DeleteFunc(at.user, func(s setting) bool { return s.flag == one.flag })
		if at.user = append(at.user, setting{one.flag, []string{there}}); one.flag == "job" {
			own.jobFile = there
		}
	}
	if k.Operator { // which does not read what files say
		for _, one := range l.storePaths() {
			if one.texts[0] != "" && !gives(at.user, one.flag) {
				at.user = append(at.user, one)
			}
		}
	}
	var servers []kubernetes.Setting
	said := kubernetes.Settings(at.common(nil, folder))
	if l.memory != "" { // else processes find out what their pods have
		memory := kubernetes.Setting{Flag: "memory", Texts: []string{l.memory}}
		servers = append(servers, memory)
		if !trees {
			said = append(said, memory)
		}
	}
	if l.noChecksum {
		servers = append(servers, kubernetes.Setting{Flag: "no-checksum", Texts: []string{"true"}})
	}
	k.Words(said, servers, stores)
	return nil
}
