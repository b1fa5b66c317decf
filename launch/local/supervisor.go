package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"thole.example/internal/proc"
)

// Supervisor runs processes until the workers among them are done.
type Supervisor struct {
	Program   string   // that all processes run
	Env       []string // of all processes, "name=value"; nil: that of this one
	Processes []Process
	Restarts  int // of each process, at most
	// Grace is how long the first worker has to end by itself when the launch is asked to end, before all are told to; 0: no time.
	Grace    time.Duration
	Dir      string    // of logs and record, which the caller has claimed
	Out, Err io.Writer // of the processes that are shown; Err also gets what people have to know
	Record   Record    // what is known before: On, Command, Folder, Progress, Given
	// Carry carries out an order, by Join, Up, Keep, Leave and Left; nil: there are none. It is called by a goroutine of its own, for one
	// order at a time. ctx ends when the launch does, stands then or when the order is withdrawn. say tells how far it is.
	Carry func(ctx, stands context.Context, o Order, say func(text string)) error

	group    *Group
	children []*child
	logs     []*logFile
	events   chan event
	failed   []string // last lines of the process that is to blame
	stderr   shared   // Err
	waits    []wait
	asked    chan wait
	over     chan struct{} // closed: nothing is done any more that is asked
}

// shared is a stream that several goroutines write lines to.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// Error is how a launch ended before its workers were done, by itself.
type Error struct {
	Process string   // that is to blame
	Exit    Exit     // how it ended
	Why     string   // the same for people, with what was tried
	Log     string   // the file of its output
	Lines   []string // the last ones of it; none if they were shown before
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s (its output: %s)", e.Process, e.Why, e.Log)
	if len(e.Lines) > 0 {
		text += "; it said last:\n  " + strings.Join(e.Lines, "\n  ")
	}
	return text
}

// ErrInterrupted is the error of a launch that was asked to end.
var ErrInterrupted = errors.New("interrupted")

// event is something that happened to a process.
type event struct {
	process int
	exit    *Exit // nil: it is up
	lines   []string
}

// Run starts the processes and looks after them until all have ended: nil if the workers are done, ErrInterrupted if ctx ended before, an
// *Error if one failed for good. When kill is closed all processes end at once. No process is left when it returns.
func (s *Supervisor) Run(ctx context.Context, kill <-chan struct{}) (err error) {
	s.children, s.events = make([]*child, len(s.Processes)), make(chan event, 2*len(s.Processes))
	s.asked, s.over = make(chan wait), make(chan struct{})
	s.stderr.w = s.Err
	s.group = NewGroup(s.Processes, s.Restarts, s.say)
	s.group.Grace, s.Record.Grace = s.Grace, s.Grace
	defer s.closeLogs()
	if err := s.openLogs(); err != nil {
		return err
	}
	s.Record.Pid, s.Record.Born, s.Record.State, s.Record.Began = os.Getpid(), proc.Birth(os.Getpid()), Going, time.Now()
	s.Record.Host, _ = os.Hostname()
	if err := s.record(); err != nil { // before anything is started: a launch that cannot be seen cannot be stopped
		return err
	}
	s.apply(s.group.Begin(time.Now()))
	end := s.takeOrders(ctx)
	stop := ctx.Done()
	for s.group.Outcome() == nil {
		if len(s.events) == 0 { // else more is known soon
			_ = s.record() // on a disk that is full the job goes on
		}
		timer := make(<-chan time.Time)
		if next := s.group.Next(); !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case ev := <-s.events:
			s.happened(ev)
		case w := <-s.asked:
			s.waits = append(s.waits, w)
		case <-timer:
			s.apply(s.group.Time(time.Now()))
		case <-stop:
			stop = nil
			s.apply(s.group.Stop(time.Now()))
		case <-kill:
			kill = nil
			s.apply(s.group.Kill(time.Now()))
		}
		s.look()
	}
	end()
	return s.end()
}

// happened tells the group what happened to a process.
func (s *Supervisor) happened(ev event) {
	if ev.exit == nil {
		s.apply(s.group.Up(time.Now(), ev.process))
		return
	}
	i := ev.process
	s.logs[i].say(time.Now(), s.Processes[i].Name+" "+ev.exit.String())
	s.children[i] = nil
	s.ended(i, *ev.exit, ev.lines)
}

func (s *Supervisor) ended(i int, x Exit, lines []string) {
	before := s.group.outcome
	s.apply(s.group.Ended(time.Now(), i, x))
	if o := s.group.outcome; before == nil && o != nil && o.Failed == i {
		s.failed = lines
	}
}

// apply does what the group asks for.
func (s *Supervisor) apply(all []Effect) {
	for _, do := range all {
		switch ch := s.children[do.Process]; {
		case do.Action == Start:
			s.start(do.Process)
		case ch == nil: // it could not be started
		case do.Action == Leave:
			ch.leave()
		case do.Action == Terminate:
			ch.stop()
		case do.Action == Kill:
			_ = ch.cmd.Process.Kill() // it may have ended
		}
	}
}

func (s *Supervisor) start(i int) {
	p, log := &s.Processes[i], s.logs[i]
	var out, err io.Writer
	if p.Shown {
		out, err = s.Out, &s.stderr
	}
	cmd := exec.Command(s.Program, p.Args...)
	cmd.Env = s.Env
	ch, failed := startChild(cmd, p.Ready, log, out, err, ends{
		up:    func() { s.events <- event{process: i} },
		ended: func(x Exit, lines []string) { s.events <- event{i, &x, lines} },
	})
	if failed != nil {
		log.say(time.Now(), fmt.Sprintf("%s cannot be started: %v", p.Name, failed))
		s.ended(i, Exit{Code: -1, Failed: failed.Error()}, nil)
		return
	}
	s.children[i] = ch
	log.say(time.Now(), fmt.Sprintf("%s starts as process %d (restarts: %d)", p.Name, ch.cmd.Process.Pid, s.group.Members[i].Restarts))
}

// say tells people of a process, or of all, and writes it to its log.
func (s *Supervisor) say(i int, text string) {
	if i >= 0 {
		text = s.Processes[i].Name + " " + text
		s.logs[i].say(time.Now(), text)
	}
	fmt.Fprintln(&s.stderr, text)
}

// end says how it all ended.
func (s *Supervisor) end() error {
	var err error
	switch o := s.group.Outcome(); {
	case o.Failed >= 0:
		p := &s.Processes[o.Failed]
		e := &Error{Process: p.Name, Exit: *s.group.Members[o.Failed].Last, Why: o.Why, Log: s.logs[o.Failed].file.Name()}
		if !p.Shown {
			e.Lines = s.failed
		}
		s.Record.State, s.Record.Error, err = Failed, p.Name+" "+o.Why, e
	case o.Stop:
		s.Record.State, err = Interrupted, ErrInterrupted
	default:
		s.Record.State = Finished
	}
	s.Record.Ended = time.Now()
	return errors.Join(err, s.record())
}

// record writes what there is to know now.
func (s *Supervisor) record() error {
	all := make([]Status, len(s.Processes))
	s.Record.Now = s.group.counts()
	for i := range all {
		m := &s.group.Members[i]
		all[i] = Status{Name: m.Name, Kind: m.Kind, Address: m.Address, Phase: m.Phase, Since: m.Since, Restarts: m.Restarts}
		if ch := s.children[i]; ch != nil {
			all[i].Pid = ch.cmd.Process.Pid
			all[i].Born = proc.Birth(all[i].Pid)
		}
		if m.Last != nil {
			all[i].LastExit = m.Last.String()
		}
	}
	s.Record.Processes = all
	return s.Record.write(s.Dir)
}

func (s *Supervisor) openLogs() error {
	for i := range s.Processes {
		f, err := s.openLog(s.Processes[i].Name)
		if err != nil {
			return err
		}
		s.logs = append(s.logs, f)
	}
	return nil
}

func (s *Supervisor) openLog(process string) (*logFile, error) {
	f, err := os.OpenFile(filepath.Join(s.Dir, process+LogEnding), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	return &logFile{file: f}, err
}

func (s *Supervisor) closeLogs() {
	for _, l := range s.logs {
		l.file.Close()
	}
}
