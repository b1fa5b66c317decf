package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/internal/number"
	"thole.example/launch/local"
	"thole.example/launch/slurm"
)

// launchEnding is how the folder of a launch ends that the user has given no name.
const launchEnding = ".launch"

// progressName is the file of the job's progress in the folder of a launch, where the user wants it nowhere else.
const progressName = "progress.jsonl"

// launchHere trains by processes of this machine.
func launchHere(ctx context.Context, e *env, l *launch) error {
	p, err := l.plan(ctx, e)
	if err != nil {
		return err
	}
	if l.dryRun {
		return l.printCommands(e, p)
	}
	path, err := l.claimed(ctx, e, p)
	if err != nil {
		return err
	}
	defer func() { path.release() }()
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
	asked, scaled := l.counts(), l.goesOnScaled(ctx, dir)
	if l.log != "" {
		if err := l.beginLog(ctx, e); err != nil {
			return err
		}
	}
	if p.forest == nil {
		p.tellLoad(func(format string, args ...any) { fmt.Fprintln(e.err, escaped(fmt.Sprintf(format, args...))) })
	}
	fmt.Fprintf(e.err, "launch %s%s; logs in %s\n", l.countsText(), scaled, escaped(dir))
	e.until(context.WithoutCancel(ctx)) // its processes may take their time to end
	err = l.supervise(ctx, e, p, dir, asked)
	e.until(ctx)
	if err == nil || ctx.Err() != nil {
		remove()
	}
	late := context.WithoutCancel(ctx)
	if err != nil && ctx.Err() != nil && l.goesOnByItself() && len(checkpointsIn(late, l.paths, inBucket(l.checkpoint))) > 0 {
		fmt.Fprintf(e.err, "%s: the same command goes on from the last checkpoint there\n", escaped(l.checkpoint))
	}
	return err
}

// counts is how many processes there are to be.
func (l *launch) counts() local.Counts { return local.Counts{Servers: l.servers, Workers: l.workers} }

func (l *launch) countsText() string {
	return number.Of(l.servers, "server") + " and " + number.Of(l.workers, "worker")
}

// goesOnScaled takes the numbers of processes that the launch had last which was made in the folder by the same numbers, if it goes on with
// that: as they were scaled to since. It tells so.
func (l *launch) goesOnScaled(ctx context.Context, dir string) (scaled string) {
	before, err := local.Open(dir)
	if err != nil || before.Given != l.counts() || before.Now == before.Given || !l.goesOnByItself() ||
		len(checkpointsIn(ctx, l.paths, inBucket(l.checkpoint))) == 0 {
		return ""
	}
	l.servers = max(1, before.Now.Servers)
	if n := before.Now.Workers; l.giveUp > 0 && n >= 1 && n <= l.most {
		l.workers = n
	}
	return ", as it was scaled to"
}

// supervise runs the processes until the training is over. asked is how many the user has asked for.
func (l *launch) supervise(ctx context.Context, e *env, p *plan, dir string, asked local.Counts) error {
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
	s := &local.Supervisor{Program: program, Env: flagsOnly(e.root), Restarts: l.restarts, Dir: dir, Out: e.out, Err: raw(e.err)}
	s.Record = local.Record{
		On: l.on, Command: e.environment().Command, Folder: folder, Progress: l.log, Given: asked}
	if s.Record.Progress == "" {
		s.Record.Progress = filepath.Join(dir, progressName)
		if err := os.WriteFile(s.Record.Progress, nil, 0o666); err != nil { // not that of a launch before
			return err
		}
	}
	c := &crew{launch: l, p: p, e: e, s: s, dir: dir, sockets: sockets, progress: s.Record.Progress, running: l.servers}
	if err := c.removeLogs(0, l.servers); err != nil { // of a launch before, whose job is over
		return err
	}
	c.told = c.addresses(l.servers)
	if s.Processes, err = c.processes(l.servers, l.workers); err != nil {
		return err
	}
	s.Carry = c.scale
	if l.checkpoint != "" && p.forest == nil { // the first worker ends with one
		s.Grace = l.grace
	}
	first, second, over := twice()
	defer over()
	err = s.Run(ctx, second)
	if errors.Is(err, local.ErrInterrupted) && l.checkpoint != "" && len(first) > 0 && <-first != os.Interrupt {
		return exitStatus{unfinished{errors.New("ended as it was asked to")}, exitTemporary}
	}
	return launchError(err)
}

// twice gets the signal that asks this process to end, which ends its context, and is closed when it is asked for the second time, until
// over is called.
func twice() (first <-chan os.Signal, second <-chan struct{}, over func()) {
	signals, one, done, two := make(chan os.Signal, 2), make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, fatal()...)
	go func() {
		for range 2 {
			select {
			case s := <-signals:
				select {
				case one <- s:
				default:
				}
			case <-done:
				return
			}
		}
		close(two)
	}()
	return one, two, func() { signal.Stop(signals); close(done) }
}

// launchError gives an error of a launch the status of the process that is to blame.
func launchError(err error) error {
	var of *local.Error
	if errors.As(err, &of) && of.Exit.Code > 0 {
		return exitStatus{err, of.Exit.Code}
	}
	return err
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
	root := l.root()
	if root == runsNone {
		if dir, err = os.MkdirTemp("", "thole-*"+launchEnding); err == nil && !l.detach {
			remove = func() { os.RemoveAll(dir) }
		}
		return dir, remove, err
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return "", remove, err
	}
	name := l.newFolder(e, root)
	for n := 1; ; n++ {
		if dir = name + launchEnding; n > 1 {
			dir = fmt.Sprintf("%s-%d%s", name, n, launchEnding)
		}
		if err := os.Mkdir(dir, 0o777); !errors.Is(err, os.ErrExist) {
			return dir, remove, err
		}
	}
}

// newFolder is a folder below root for a launch that has not named one, without its ending.
func (l *launch) newFolder(e *env, root string) string {
	return filepath.Join(root, e.now().Format("20060102-150405")+"-"+l.algo)
}

// folderName is the folder that the launch would have, absolute. Nothing is made.
func (l *launch) folderName(e *env) (string, error) {
	dir := l.dir
	if dir == "" {
		root := l.root()
		if root == runsNone {
			root = os.TempDir()
		}
		dir = l.newFolder(e, root) + launchEnding
	}
	return filepath.Abs(dir)
}

// root is the folder in which those of launches are; runsNone: in none that stays. A job of Slurm outlives this process, and its nodes have
// to see its folder: it has one in the working directory at least, as what sbatch writes.
func (l *launch) root() string {
	root := runsAt(l.runs)
	if root == runsNone && l.on == slurm.Place {
		return runsFolder
	}
	return root
}

// socketsLongest is how long the path of a folder of sockets may be: systems take some hundred bytes for the path of a socket.
const socketsLongest = 90

// socketsPrefix is how the name of a folder of sockets begins.
const socketsPrefix = "sockets."

// socketFolder makes a folder that nobody else can enter, for the servers' sockets: in the folder of the launch, if its path is short
// enough. No other launch has had it: checkpoints tell by the addresses of servers where a job is that has moved.
func socketFolder(dir string) (path string, remove func(), err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", nil, err
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	for _, one := range left {
		if !strings.HasPrefix(one.Name(), socketsPrefix) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, one.Name())); err != nil { // of a launch that was killed
			return "", nil, err
		}
	}
	path = filepath.Join(dir, socketsPrefix+strconv.FormatInt(time.Now().UnixMilli(), 36))
	remove = func() { os.RemoveAll(path) }
	if len(path) > socketsLongest {
		path, err = os.MkdirTemp("", "thole-")
		return path, remove, err
	}
	return path, remove, os.Mkdir(path, 0o700)
}

// inBackground is the command line of the launch in the folder, in which nothing asks to go on in the background, no variable
// either.
func (l *launch) inBackground(args []string, dir string) []string {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--detach" || strings.HasPrefix(arg, "--detach=") })
	if os.Getenv(variableOf("detach")) != "" {
		args = append(args, "--detach=false")
	}
	if l.dir == "" {
		args = append(args, "--dir="+dir)
	}
	return args
}
