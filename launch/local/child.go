package local

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// child is a process that runs. Its output goes to its log, line by line, and what it printed last is kept. It ends when its input does,
// if it looks after that: the system closes the input also when the supervisor is killed.
type child struct {
	cmd   *exec.Cmd
	input io.Closer
	log   *logFile
	asked atomic.Bool // to end
}

// lastLines is how many lines of a process are shown when it has failed.
const lastLines = 12

// ends are what happens to a child, each told by the child's own goroutine.
type ends struct {
	up    func()
	ended func(Exit, []string) // with its last lines
}

// startChild starts a process. out and err get its output too; nil: they do not.
func startChild(c *exec.Cmd, ready string, log *logFile, out, err io.Writer, tell ends) (*child, error) {
	apart(c)
	input, ierr := c.StdinPipe()
	stdout, oerr := c.StdoutPipe()
	stderr, eerr := c.StderrPipe()
	if err := errors.Join(ierr, oerr, eerr); err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	ch := &child{cmd: c, input: input, log: log}
	go ch.follow(ready, stdout, stderr, out, err, tell)
	return ch, nil
}

// follow reads what the process prints until it ends.
func (ch *child) follow(ready string, stdout, stderr io.Reader, out, err io.Writer, tell ends) {
	var both sync.WaitGroup
	var last tail
	both.Go(func() {
		told := ready == ""
		ch.pump(stdout, out, func(line string) {
			last.add(line)
			if !told && strings.HasPrefix(line, ready) {
				told = true
				tell.up()
			}
		})
	})
	both.Go(func() { ch.pump(stderr, err, last.add) })
	both.Wait()
	_ = ch.cmd.Wait() // its state has all that there is to know
	tell.ended(exitOf(ch.cmd.ProcessState), last.lines)
}

// exitOf is how a process ended.
func exitOf(s *os.ProcessState) Exit { return Exit{Code: s.ExitCode(), Signal: signalOf(s)} }

// lineLimit is where a line is cut in two.
const lineLimit = 64 << 10

// pump copies lines to the log, to more, which may be nil, and to each. Where nobody takes them any more the process goes on.
func (ch *child) pump(r io.Reader, more io.Writer, each func(line string)) {
	in := bufio.NewReaderSize(r, lineLimit)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			if more != nil && !ch.asked.Load() {
				_, _ = more.Write(line)
			}
			text := strings.TrimRight(string(line), "\r\n")
			ch.log.add(text)
			each(text)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// leave asks the process to end, at a time that it chooses.
func (ch *child) leave() {
	if terminate(ch.cmd.Process) != nil { // where processes cannot be asked; or it has ended
		_ = ch.input.Close()
	}
}

// stop asks the process to end at once. What it says from then on is in its log alone: that it was asked is known.
func (ch *child) stop() {
	ch.asked.Store(true)
	_ = terminate(ch.cmd.Process)
	_ = ch.input.Close()
}

// tail is the last lines of something. It may be used by many goroutines.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > lastLines {
		t.lines = t.lines[1:]
	}
}

// logFile is the log of a process, over all restarts. It may be used by many goroutines.
type logFile struct {
	mu   sync.Mutex
	file *os.File
}

// mark begins the lines of the supervisor in logs of processes.
const mark = "==== "

// add appends a line. A disk that is full does not end the job.
func (l *logFile) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.file.WriteString(line + "\n")
}

// say appends a line of the supervisor.
func (l *logFile) say(now time.Time, text string) {
	l.add(mark + now.Format(time.DateTime) + " " + text)
}
