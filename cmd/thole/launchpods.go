package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"thole.example/internal/number"
	"thole.example/launch/kubernetes"
)

// pods is the launch as Kubernetes is told of it.
func (l *launch) pods(ctx context.Context, e *env, namespace string) (*kubernetes.Launch, error) {
	f := &l.kube
	k := &kubernetes.Launch{Name: l.title, Namespace: namespace, Image: f.image, PullPolicy: f.pullPolicy, PullSecrets: f.pullSecrets,
		Servers: l.servers, Workers: l.workers, Shares: l.tasks != l.workers, Restarts: l.restarts, Grace: kubeGrace,
		EnvSecrets: f.envSecrets, TokenSecret: f.tokenSecret, TLSSecret: f.tlsSecret, User: f.user, NodeSelector: f.nodes,
		JobSet: f.jobSet, Queue: f.queue}
	if f.image == "" {
		return nil, usageError{fmt.Errorf("no --image, want an image of thole that the nodes can pull (deploy/Dockerfile makes one)")}
	}
	if err := l.outfit(k); err != nil {
		return nil, err
	}
	if err := k.Check(); err != nil {
		return nil, usageError{err}
	}
	store, err := l.placesInPods(k)
	if err != nil {
		return nil, err
	}
	if l.load != "" && !l.given("algo") && l.graphFile == "" {
		return nil, usageError{fmt.Errorf("--load %s without --algo or --graph, want one of them, which says what that model is: it lies in a "+
			"volume, and this process does not read it", l.load)}
	}
	l.atServers, l.elsewhere = true, l.load != ""
	p, err := l.choose(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.words(ctx, e, k, store, p.forest != nil); err != nil {
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
		k.Restarts = kubeRestarts
	}
	if f.scratchSize != "" {
		n, err := number.ParseBytes(f.scratchSize)
		if err != nil {
			return usageError{fmt.Errorf("--scratch-size %w", err)}
		}
		k.ScratchSize = quantity(n)
	}
	if k.Server, err = podAsks("server", l.serverMemory, l.serverCPUs); err == nil {
		k.Worker, err = podAsks("worker", l.workerMemory, l.workerCPUs)
	}
	return err
}

// podAsks is what each pod of a component asks for.
func podAsks(component, memory, cpus string) (r kubernetes.Resources, err error) {
	if memory == "" {
		memory = kubeMemory
	}
	if cpus == "" {
		cpus = kubeCPUs
	}
	n, err := number.ParseBytes(memory)
	if err != nil {
		return r, usageError{fmt.Errorf("--%s-memory %w", component, err)}
	}
	v, err := strconv.ParseFloat(cpus, 64)
	if err != nil || !(v >= 0.001 && v <= 1e4) {
		return r, usageError{fmt.Errorf("--%s-cpus %.40q, want a number of processors like 2 or 0.5", component, cpus)}
	}
	r = kubernetes.Resources{Memory: quantity(n), CPU: strconv.Itoa(int(v))}
	if v != float64(int(v)) {
		r.CPU = fmt.Sprintf("%.0fm", v*1000)
	}
	return r, nil
}

// quantity is a number of bytes as Kubernetes has it.
func quantity(bytes int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if bytes%unit.size == 0 {
			return fmt.Sprint(bytes/unit.size, unit.name)
		}
	}
	return fmt.Sprint(bytes)
}

// placesInPods checks paths of the user, which are those of the pods, and answers with the servers' folder.
func (l *launch) placesInPods(k *kubernetes.Launch) (store string, err error) {
	for _, one := range []struct {
		flag  string
		paths []string
	}{{"data", l.data}, {"validate", l.valid}, {"weights", l.weights}, {"validate-weights", l.validWeights}, {"start-scores", l.starts},
		{"validate-start-scores", l.validStarts}, {"scratch", []string{l.scratch}}} {
		for _, text := range one.paths {
			for file := range strings.SplitSeq(text, ",") {
				if file == "" || one.flag == "scratch" && (file == kubernetes.ScratchFolder || strings.HasPrefix(file, kubernetes.ScratchFolder+"/")) {
					continue
				}
				if err := inPods(k, one.flag, file); err != nil {
					return "", err
				}
			}
		}
	}
	return l.storeInPods(k)
}

// storeInPods is the servers' folder: what the user says, or the volume of what they save and load.
func (l *launch) storeInPods(k *kubernetes.Launch) (store string, err error) {
	store = l.kube.store
	if strings.Contains(store, "://") {
		return store, nil // paths are checked by the workers: they are below it
	}
	if store != "" {
		if err := inPods(k, "store", store); err != nil {
			return "", err
		}
	}
	resume := l.resume
	if resume == resumeAuto || resume == resumeNever {
		resume = ""
	}
	for _, one := range []struct{ flag, path string }{{"model", l.model}, {"checkpoint", l.checkpoint}, {"load", l.load},
		{"load-state", l.loadState}, {"resume", resume}} {
		if one.path == "" {
			continue
		}
		if err := inPods(k, one.flag, one.path); err != nil {
			return "", err
		}
		v := k.VolumeAt(one.path)
		switch {
		case strings.Contains(one.path, "://"):
			return "", usageError{fmt.Errorf("--%s %s, want --store with the bucket, and a path below it", one.flag, one.path)}
		case store == "":
			store = v.Path
		case !strings.HasPrefix(path.Clean(one.path), strings.TrimSuffix(path.Clean(store), "/")+"/"):
			return "", usageError{fmt.Errorf("--%s %s is not below %s, want all that servers save and load in one folder: see --store", one.flag,
				one.path, store)}
		}
		if v.ReadOnly && one.flag != "load" && one.flag != "load-state" && one.flag != "resume" {
			return "", usageError{fmt.Errorf("--%s %s is in the volume %s, which is read only: want one without :ro", one.flag, one.path, v.Name)}
		}
	}
	return store, nil
}

// words are the command lines of the pods, and the files that they name.
func (l *launch) words(ctx context.Context, e *env, k *kubernetes.Launch, store string, trees bool) error {
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
	shared := ""
	if !strings.Contains(store, "://") {
		shared = store
	}
	k.WorkerArgs = append(at.common(nil, shared), "--log=", "--runs="+runsNone) // whatever --job says
	for _, one := range []struct{ flag, value string }{{"wait", kubeWait.String()}, {"retry", kubeRetry.String()}} {
		if !l.given(one.flag) {
			k.WorkerArgs = append(k.WorkerArgs, "--"+one.flag+"="+one.value)
		}
	}
	if !trees {
		k.WorkerArgs = append(k.WorkerArgs, "--memory="+l.shareOf(k.Worker))
	}
	if store == "" {
		store = kubernetes.ScratchFolder // nothing is saved
	}
	k.ServerArgs = []string{"--store=" + store, "--scratch=" + kubernetes.ScratchFolder, "--memory=" + l.shareOf(k.Server)}
	if l.noChecksum {
		k.ServerArgs = append(k.ServerArgs, "--no-checksum")
	}
	return nil
}

// shareOf is the memory that a process may take of what its pod has: what the user says, or the share that thole takes of a machine.
func (l *launch) shareOf(r kubernetes.Resources) string {
	if l.memory != "" {
		return l.memory
	}
	n, _ := number.ParseBytes(r.Memory + "B") // it was made of a number
	return fmt.Sprint(n / memoryParts * memoryShare)
}
