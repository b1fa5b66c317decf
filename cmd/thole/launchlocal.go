package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"thole.example/data"
	"thole.example/internal/number"
	"thole.example/launch/local"
)

// launchEnding is how the folder of a launch ends that the user has given no name.
const launchEnding = ".launch"

// progressName is the file of the job's progress in the folder of a launch, where the user wants it nowhere else.
const progressName = "progress.jsonl"

// launchHere trains by processes of this machine.
func launchHere(ctx context.Context, e *env, l *launch) error {
	l.seedBefore(ctx)
	p, err := l.choose(ctx)
	if err != nil {
		return err
	}
	for _, paths := range [][]string{l.data, l.valid, l.weights, l.validWeights, l.starts, l.validStarts} {
		if _, err := data.Files(paths); err != nil { // before anything is started
			return err
		}
	}
	path, err := l.target(ctx, e)
	if err != nil {
		return err
	}
	defer func() { path.release() }()
	if p.forest == nil {
		if err := p.statesHere(ctx, path.name); err != nil {
			return err
		}
	}
	dir, remove, err := l.folder(e)
	if err != nil {
		return err
	}
	if l.detach {
		path.release()
		path.release = func() {}
		return l.background(ctx, e, dir)
	}
	release, err := local.Claim(dir)
	if err != nil {
		return err
	}
	defer release()
	e.appends = l.goesOnByItself()
	if l.log != "" {
		if err := l.beginLog(ctx, e); err != nil {
			return err
		}
	}
	if p.forest == nil {
		p.tellLoad(func(format string, args ...any) { fmt.Fprintln(e.err, escaped(fmt.Sprintf(format, args...))) })
	}
	fmt.Fprintf(e.err, "launch %s and %s; logs in %s\n", number.Of(l.servers, "server"), number.Of(l.workers, "worker"), escaped(dir))
	err = l.supervise(ctx, e, p, dir)
	if err == nil || ctx.Err() != nil {
		remove()
	}
	if err != nil && ctx.Err() != nil && l.goesOnByItself() && len(checkpointsIn(inBucket(l.checkpoint))) > 0 {
		fmt.Fprintf(e.err, "%s: the same command goes on from the last checkpoint there\n", escaped(l.checkpoint))
	}
	return err
}

// supervise runs the processes until the training is over.
func (l *launch) supervise(ctx context.Context, e *env, p *plan, dir string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	sockets, remove, err := socketFolder(dir)
	if err != nil {
		return err
	}
	defer remove()
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	s := &local.Supervisor{Program: program, Restarts: l.restarts, Dir: dir, Out: e.out, Err: e.err, Record: local.Record{
		On: l.on, Command: e.environment().Command, Folder: folder, Progress: l.log}}
	if s.Record.Progress == "" {
		s.Record.Progress = filepath.Join(dir, progressName)
		if err := os.WriteFile(s.Record.Progress, nil, 0o666); err != nil { // not that of a launch before
			return err
		}
	}
	for i := range l.servers { // of a launch before, whose job is over
		if err := os.RemoveAll(serverLog(dir, i)); err != nil {
			return err
		}
	}
	if s.Processes, err = l.processes(p, e.args, dir, sockets, s.Record.Progress); err != nil {
		return err
	}
	kill, over := twice()
	defer over()
	return launchError(s.Run(ctx, kill))
}

// twice is closed when this process is asked to end for the second time, until over is called: the first time ends its context.
func twice() (asked <-chan struct{}, over func()) {
	signals, done, second := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, fatal()...)
	go func() {
		for range 2 {
			select {
			case <-signals:
			case <-done:
				return
			}
		}
		close(second)
	}()
	return second, func() { signal.Stop(signals); close(done) }
}

// launchError gives an error of a launch the status of the process that is to blame.
func launchError(err error) error {
	var of *local.Error
	if errors.As(err, &of) && of.Exit.Code > 0 {
		return exitStatus{err, of.Exit.Code}
	}
	return err
}

// processes are those of the launch: servers, each at a socket of its own, which is the same after a restart, and workers.
func (l *launch) processes(p *plan, asked []string, dir, sockets, log string) (all []local.Process, err error) {
	best := filepath.Join(dir, "best")
	store, err := storeOf(l.model, l.load, l.loadState, l.checkpoint, l.resume, best)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for i := range l.servers {
		addrs = append(addrs, "unix:"+filepath.Join(sockets, fmt.Sprint(i)))
		args := []string{"server", "--listen=" + addrs[i], "--store=" + store, "--memory=" + l.memoryOf(l.servers), "--" + tiedFlag}
		if l.noChecksum {
			args = append(args, "--no-checksum")
		}
		if l.serverLog {
			args = append(args, "--log="+serverLog(dir, i))
		}
		all = append(all, local.Process{Name: fmt.Sprintf("server.%d", i), Kind: local.Server, Args: args, Address: addrs[i],
			Ready: "listening at "})
	}
	common := append(l.common(addrs, store), "--best="+best)
	if p.forest == nil { // trees have no bound
		common = append(common, "--memory="+l.memoryOf(l.workers))
	}
	for i := range l.workers {
		args := append([]string{"worker", "--task=" + l.share(i)}, common...)
		if i == 0 {
			args = append(args, "--log="+log, "--append-log", "--runs="+runsAt(l.runs))
			for _, word := range asked {
				args = append(args, "--asked="+word)
			}
		} else {
			args = append(args, "--log=", "--runs="+runsNone) // whatever --job says
		}
		all = append(all, local.Process{Name: fmt.Sprintf("worker.%d", i), Kind: local.Worker, Args: args, Shown: i == 0,
			Optional: i > 0 && l.giveUp > 0})
	}
	return all, nil
}

// serverLog is the folder of a server's log, in that of the launch.
func serverLog(dir string, server int) string {
	return filepath.Join(dir, fmt.Sprintf("changes.%d", server))
}

// memoryOf is the memory of each of n processes: what the user says, or a share of what one would take.
func (l *launch) memoryOf(n int) string {
	if l.memory != "" {
		return l.memory
	}
	if share := defaultMemory() / int64(n); share > 0 {
		return fmt.Sprint(share)
	}
	return "none"
}

// beginLog makes the file of --log, to which the first worker appends, as often as it is started.
func (l *launch) beginLog(ctx context.Context, e *env) error {
	s, err := e.sink(l.log, l.force || e.appends)
	if err != nil {
		return err
	}
	if s.streams() {
		return usageError{fmt.Errorf("--log %s is a stream, and a process that is started again goes on with its lines: want a file", l.log)}
	}
	log, err := s.lines(ctx)
	if err != nil {
		return err
	}
	return log.close()
}

// folder is that of the launch, which is made. remove removes it where nobody has asked for it.
func (l *launch) folder(e *env) (dir string, remove func(), err error) {
	remove = func() {}
	if l.dir != "" {
		return l.dir, remove, os.MkdirAll(l.dir, 0o777)
	}
	root := runsAt(l.runs)
	if root == runsNone {
		if dir, err = os.MkdirTemp("", "thole-*"+launchEnding); err == nil && !l.detach {
			remove = func() { os.RemoveAll(dir) }
		}
		return dir, remove, err
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return "", remove, err
	}
	name := filepath.Join(root, e.now().Format("20060102-150405")+"-"+l.algo)
	for n := 1; ; n++ {
		if dir = name + launchEnding; n > 1 {
			dir = fmt.Sprintf("%s-%d%s", name, n, launchEnding)
		}
		if err := os.Mkdir(dir, 0o777); !errors.Is(err, os.ErrExist) {
			return dir, remove, err
		}
	}
}

// socketsLongest is how long the path of a folder of sockets may be: systems take some hundred bytes for the path of a socket.
const socketsLongest = 90

// socketFolder makes a folder that nobody else can enter, for the servers' sockets: in the folder of the launch, if its path is short
// enough.
func socketFolder(dir string) (path string, remove func(), err error) {
	path, err = filepath.Abs(filepath.Join(dir, "sockets"))
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(path) }
	if len(path) > socketsLongest {
		path, err = os.MkdirTemp("", "thole-")
		return path, remove, err
	}
	if err := os.RemoveAll(path); err != nil { // those of a launch that was killed
		return "", nil, err
	}
	return path, remove, os.Mkdir(path, 0o700)
}

// inBackground is the command line of the launch in the folder, in which nothing asks to go on in the background.
func (l *launch) inBackground(args []string, dir string) []string {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--detach" || strings.HasPrefix(arg, "--detach=") })
	if l.dir == "" {
		args = append(args, "--dir="+dir)
	}
	return args
}
