package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Slurm is the commands of a cluster's Slurm. Its zero value runs those that the system finds.
type Slurm struct {
	// Run runs a command and gives what it wrote as output; an error says what it wrote as error. nil: as a process.
	Run func(ctx context.Context, name string, args ...string) ([]byte, error)
}

// Errors of commands.
var (
	ErrNoSlurm = errors.New("no such command on this machine: want one of the cluster, or --dry-run")
	ErrUnknown = errors.New("Slurm does not know the job any more") //nolint:staticcheck // a name
)

func (s *Slurm) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	if s.Run != nil {
		return s.Run(ctx, name, args...)
	}
	c := exec.CommandContext(ctx, name, args...)
	var failed bytes.Buffer
	c.Stderr = &failed
	out, err := c.Output()
	switch text := strings.TrimSpace(failed.String()); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s: %w", name, ErrNoSlurm)
	case err != nil && text != "":
		return nil, fmt.Errorf("%s: %w: %s", name, err, text)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// Submit gives Slurm a script, and gives the number of the job. An error says what to do where that is known.
func (s *Slurm) Submit(ctx context.Context, script string) (id string, err error) {
	out, err := s.run(ctx, "sbatch", "--parsable", script)
	if err != nil {
		return "", advise(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n") // sites may greet
	id, _, _ = strings.Cut(strings.TrimSpace(lines[len(lines)-1]), ";")
	if !isID(id) {
		return "", fmt.Errorf("sbatch says %q, want the number of a job", out)
	}
	return id, nil
}

// isID reports whether a text is the number of a job.
func isID(text string) bool {
	n, err := strconv.ParseUint(text, 10, 63)
	return err == nil && n > 0
}

// Cancel has Slurm end a job: its processes are told to end, and killed when they take too long. With hard they are killed at once.
func (s *Slurm) Cancel(ctx context.Context, id string, hard bool) error {
	args := []string{id}
	if hard {
		args = []string{"--signal=KILL", "--full", id}
	}
	_, err := s.run(ctx, "scancel", args...)
	return err
}

// State is how Slurm says that a job is.
type State struct {
	Phase    string `json:"phase"`            // as squeue writes it, like PENDING
	Reason   string `json:"reason,omitempty"` // why it does not run, or failed
	Nodes    string `json:"nodes,omitempty"`  // as Slurm writes them, like n[0-2]
	Restarts int    `json:"restarts"`         // how often it was queued again
	Code     int    `json:"code"`             // status of the script when it is over
	Signal   int    `json:"signal,omitempty"` // that killed it
}

// columns are what squeue is asked for, with the widths at which it cuts.
var columns = [...]struct {
	name  string
	width int
}{{"JobID", 24}, {"State", 24}, {"Reason", 100}, {"exit_code", 14}, {"RestartCnt", 14}, {"NodeList", 200}}

// Look asks how a job is. Of one that nobody knows any more it is ErrUnknown.
func (s *Slurm) Look(ctx context.Context, id string) (State, error) {
	var fields []string
	for _, c := range columns {
		fields = append(fields, fmt.Sprintf("%s:%d", c.name, c.width))
	}
	out, err := s.run(ctx, "squeue", "--noheader", "--states=all", "--jobs="+id, "--Format="+strings.Join(fields, ","))
	if err != nil && !strings.Contains(err.Error(), "Invalid job id") {
		return State{}, advise(err)
	}
	for line := range strings.Lines(string(out)) {
		if state, of, err := parse(line); err != nil || of == id {
			return state, err
		}
	}
	if out, err = s.run(ctx, "sacct", "-X", "-n", "-P", "-j", id, "-o", "State,ExitCode,NodeList"); err != nil {
		return State{}, fmt.Errorf("job %s: %w (%w)", id, ErrUnknown, err)
	}
	return parseAccount(id, string(out))
}

// parse reads a line of squeue.
func parse(line string) (state State, id string, err error) {
	line = strings.TrimRight(line, "\r\n")
	var all [len(columns)]string
	for i, c := range columns {
		n := min(c.width, len(line))
		all[i], line = strings.TrimSpace(line[:n]), line[n:]
	}
	status, err := strconv.Atoi(all[3])
	restarts, rerr := strconv.Atoi(all[4])
	if all[1] == "" || err != nil || rerr != nil {
		return State{}, "", fmt.Errorf("squeue says %q, want the state, status and restarts of a job", strings.Join(all[:], " "))
	}
	state = State{Phase: all[1], Reason: all[2], Nodes: all[5], Restarts: restarts, Code: status >> 8, Signal: status & 127}
	if state.Reason == "None" {
		state.Reason = ""
	}
	return state, all[0], nil
}

// parseAccount reads what sacct says of a job that squeue has forgotten.
func parseAccount(id, text string) (State, error) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	parts := strings.Split(first, "|")
	if len(parts) != 3 || parts[0] == "" {
		return State{}, fmt.Errorf("job %s: %w", id, ErrUnknown)
	}
	phase, _, _ := strings.Cut(parts[0], " ") // CANCELLED by 1000
	s := State{Phase: phase, Nodes: parts[2]}
	if _, err := fmt.Sscanf(parts[1], "%d:%d", &s.Code, &s.Signal); err != nil {
		return State{}, fmt.Errorf("sacct says %q, want the state and status of job %s", first, id)
	}
	return s, nil
}

// ends are the phases in which a job is over, and the status of one that has none of its own.
func ends() map[string]int {
	return map[string]int{"COMPLETED": 0, "FAILED": 1, "OUT_OF_MEMORY": 1, "BOOT_FAIL": tempFail, "NODE_FAIL": tempFail, "TIMEOUT": tempFail,
		"DEADLINE": tempFail, "PREEMPTED": tempFail, "REVOKED": tempFail, "CANCELLED": interrupted}
}

// Statuses as thole has them.
const (
	tempFail    = 75  // EX_TEMPFAIL: another try may do
	interrupted = 130 // somebody has ended it
)

// Over reports whether the job has ended for good, and with which status.
func (s State) Over() (code int, over bool) {
	code, over = ends()[s.Phase]
	if over && s.Phase == "FAILED" && s.Code > 0 {
		code = s.Code
	}
	return code, over
}

// String says it for people, with what to do where that is known.
func (s State) String() string {
	text := strings.ToLower(strings.ReplaceAll(s.Phase, "_", " "))
	switch {
	case s.Phase == "PENDING" && s.Reason != "":
		text += ": " + s.Reason + reasonOf(s.Reason)
	case s.Phase == "FAILED" && s.Signal > 0:
		text += fmt.Sprintf(" by signal %d", s.Signal)
	case s.Phase == "FAILED":
		text += fmt.Sprintf(" with status %d", s.Code)
	case s.Phase == "RUNNING" && s.Nodes != "":
		text += " on " + s.Nodes
	}
	if s.Phase == "OUT_OF_MEMORY" {
		text += ": want more --server-memory or --worker-memory"
	}
	if s.Restarts > 0 {
		text += fmt.Sprintf(" (queued again: %d)", s.Restarts)
	}
	return text
}
