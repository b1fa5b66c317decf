package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"thole.example/coord"
	"thole.example/rpc"
)

// Variables by which engines tell a process who it is.
const (
	indexVariable    = "JOB_COMPLETION_INDEX"    // Kubernetes: of a pod in an Indexed Job, from 0 on
	podVariable      = "POD_NAME"                // Kubernetes: the pod's name, where the manifest gives it
	clusterVariable  = "KUBERNETES_SERVICE_HOST" // Kubernetes: there in every pod
	rankVariable     = "SLURM_PROCID"            // Slurm: of a process in its step, from 0 on
	ranksVariable    = "SLURM_NTASKS"            // Slurm: processes of the step, or of the job
	stepRanks        = "SLURM_STEP_NUM_TASKS"    // Slurm: processes of the step
	stepVariable     = "SLURM_STEP_ID"           // Slurm: there in steps, and not in the script of a batch
	restartsVariable = "SLURM_RESTART_COUNT"     // Slurm: how often the job was requeued, unset before the first time
	slurmVariable    = "SLURM_JOB_ID"            // Slurm: there in every job
)

// surroundings are what a process can find out of who it is.
type surroundings struct {
	getenv   func(name string) string
	hostname func() (string, error)
}

// thisProcess is those of this process.
func thisProcess() surroundings { return surroundings{os.Getenv, os.Hostname} }

// found is a number that an engine tells, and the name of what tells it; from is "" if nothing does.
type found struct {
	n    int
	from string
}

// number is that of a variable.
func (s surroundings) number(name string) (found, error) {
	text := s.getenv(name)
	if text == "" {
		return found{}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return found{}, usageError{fmt.Errorf("%s is %q, want a number from 0 on", name, text)}
	}
	return found{n, name}, nil
}

// specialSteps is the number from which on Slurm numbers steps that are none of the user's, such as the script of a batch.
const specialSteps = 0xfffffff0

// inStep reports whether srun has started this process: elsewhere a rank is that of a script.
func (s surroundings) inStep() bool {
	n, err := strconv.ParseUint(s.getenv(stepVariable), 10, 32)
	return err == nil && n < specialSteps
}

// rank is which of the processes of a step of Slurm this is.
func (s surroundings) rank() (found, error) {
	if !s.inStep() {
		return found{}, nil
	}
	return s.number(rankVariable)
}

// task is the task of a worker to which the user gave none.
func (s surroundings) task() (found, error) {
	if f, err := s.number(indexVariable); err != nil || f.from != "" {
		return f, err
	}
	return s.rank()
}

// tasks is how many there are, where the user does not say it. An Indexed Job does not tell how many completions it has.
func (s surroundings) tasks() (found, error) {
	if s.getenv(indexVariable) != "" || !s.inStep() {
		return found{}, nil
	}
	if f, err := s.number(stepRanks); err != nil || f.from != "" {
		return f, err
	}
	return s.number(ranksVariable)
}

// name is what the process is called: by its pod, or by its machine. "": that is not known.
func (s surroundings) name() (name, from string) {
	if name := s.getenv(podVariable); name != "" {
		return name, podVariable
	}
	name, _ = s.hostname() // a machine may have none
	return name, "the host name"
}

// role is which server of a cluster this is, where the user does not say it: in Kubernetes the number at the end of the pod's name, as a
// StatefulSet gives it.
func (s surroundings) role() (found, error) {
	if s.getenv(clusterVariable) != "" {
		name, from := s.name()
		if n, ok := ordinal(name); ok {
			return found{n, fmt.Sprintf("%s %s", from, name)}, nil
		}
	}
	return s.rank()
}

// ordinal is the number at the end of a name: 2 of "ps-2".
func ordinal(name string) (n int, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 1 {
		return 0, false
	}
	return digits(name[i+1:])
}

// digits is a number without sign and needless zeros.
func digits(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == text
}

// roleNumber is what --role says: a number, or a name that ends in one.
func roleNumber(text string) (int, error) {
	n, ok := digits(text)
	if !ok {
		n, ok = ordinal(text)
	}
	if !ok || n >= coord.ServerLimit {
		return 0, usageError{fmt.Errorf("--role %q, want which server this is, 0 to %d, or a name that ends in that, like ps-2", text,
			coord.ServerLimit-1)}
	}
	return n, nil
}

// nameLimit is how long the name of a server may be, in bytes.
const nameLimit = 100

// identity is how clients know the server: what a process calls itself that was given no name may be anything, and is cut.
func (o *serverOptions) identity() (is rpc.Server, err error) {
	is = rpc.Server{Name: o.name, Number: o.claiming.number, Instance: rand.Text()}
	if is.Name == "" {
		is.Name, _ = thisProcess().name()
		is.Name = strings.Join(strings.FieldsFunc(is.Name, unnamable), "-")
		is.Name = strings.ToValidUTF8(is.Name[:min(nameLimit, len(is.Name))], "")
	}
	if len(is.Name) > nameLimit || strings.ContainsFunc(is.Name, unnamable) {
		return is, usageError{fmt.Errorf("--name %.120q, want at most %d bytes, without blanks", is.Name, nameLimit)}
	}
	return is, nil
}

// unnamable reports whether a letter can be in no name.
func unnamable(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }

// attempt is that of a job which an engine has started again: how often it has. known is false if nobody counts.
func (s surroundings) attempt() (f found, known bool, err error) {
	f, err = s.number(restartsVariable)
	return f, s.getenv(slurmVariable) != "", err
}

// startedAgain finds out how often all processes of the job have been started again, unless the user says it. It says what it found.
func (j *job) startedAgain(s surroundings, say func(format string, args ...any)) error {
	if j.startsKnown = j.given("attempt"); j.startsKnown {
		if j.started < 0 || j.started > startsLimit {
			return usageError{fmt.Errorf("--attempt %d, want 0 to %d", j.started, startsLimit)}
		}
		return nil
	}
	f, known, err := s.attempt()
	if err == nil && f.n > startsLimit {
		err = usageError{fmt.Errorf("%s is %d, want at most %d", f.from, f.n, startsLimit)}
	}
	if j.started, j.startsKnown = f.n, known; err == nil && f.n > 0 {
		say("attempt %d, by %s", f.n, f.from)
	}
	return err
}

// startsLimit is how often all processes of a job can be started again.
const startsLimit = 1 << 30

// isTask gives the worker its task by where it runs, unless the user gave it. It says what it found.
func (j *job) isTask(s surroundings, task *string, say func(format string, args ...any)) error {
	if j.given("task") {
		return nil
	}
	me, err := s.task()
	if err != nil || me.from == "" {
		return err
	}
	all, by := found{n: j.tasks}, me.from
	if !j.given("tasks") {
		if all, err = s.tasks(); err != nil {
			return err
		}
		if all.from == "" {
			all.n = j.tasks
		} else {
			j.tasks, by = all.n, me.from+" and "+all.from
		}
	}
	if me.n >= all.n {
		return usageError{fmt.Errorf("%s is %d, want less than --tasks %d, which is how many processes train; or --task, which says what "+
			"this one does", me.from, me.n, all.n)}
	}
	*task = strconv.Itoa(me.n)
	say("task %d of %d, by %s", me.n, j.tasks, by)
	return nil
}
