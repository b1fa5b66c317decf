// Package slurm runs the processes of a job on a cluster that Slurm schedules: it writes the script that sbatch takes, and asks Slurm how
// the job is.
//
// A script is one allocation with two steps, of servers and of workers, each an srun of as many tasks as there are processes; where
// servers ask for other resources than workers it is a heterogeneous job of two allocations, for an allocation has tasks of one size only.
// In each task a loop of the shell starts a process again that was killed (steps.sh). What a node that dies, preemption, scontrol requeue
// and the time limit end is queued again by Slurm, and begins with a new script, which knows nothing but the folder of the launch:
//
//	job.sh            the script
//	launch.json       what was submitted (Record)
//	slurm.log         what the script and Slurm say
//	server.0.log …    the output of a process, with a line for each start and end, over all restarts
//	server.0.now …    how it is: node, phase, id, restarts, seconds of the clock, how it ended last; separated by tabs
//	began.ID.N        the script of job ID runs for the N-th time (from 0 on): by that nodes see that they share the folder
//	done.ID.N         the first worker is done
//	failed.ID.N       status and name of the first process that failed for good
//	ended             status of the job
//
// The folder has to be on a file system that all nodes share. The package knows nothing of training: which processes there are, and
// what they are told, is said by who launches.
package slurm

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
)

// Job is what a script is made of.
type Job struct {
	Name     string // of the job in Slurm; one line
	Options  Options
	Dir      string // folder of the launch, absolute
	Folder   string // working directory of all processes, absolute
	Program  string // path of the program, absolute
	Servers  Group
	Workers  Group
	Restarts int // how often each process is started again, and the job queued again when its time is over, at most
	// GoesOn says that the job goes on where it was when it is queued again: else it is not when its time is over.
	GoesOn bool
	// Optional says that the workers go on without one, but the first, that has been started again too often.
	Optional bool
}

// Options are what the user asks of Slurm; what is empty is the cluster's default.
type Options struct {
	Partition, Account, QOS string
	Time                    string // as Slurm writes it: minutes, h:m:s, d-h
	Nodes                   int    // 0: as many as there need be
	More                    []string
}

// Group is the processes of a kind.
type Group struct {
	Count  int
	CPUs   int    // of each, at least 1
	Memory int64  // of each, in bytes; 0: the cluster's default
	Args   []Word // of the program, for all
	First  []Word // after those, for process 0
	Others []Word // after those, for the others
}

// Word is a word of a command line as the shell reads it. Quote makes one of a text. In others, $rank is the number of the process,
// $host the node's name or address, $port the port at which a server listened before it was started again, 0 the first time, and $memory
// three quarters of the memory that the process has, as a size, or empty if Slurm does not say.
type Word string

// Quote is a text as a word that the shell leaves as it is.
func Quote(text string) Word { return Word("'" + strings.ReplaceAll(text, "'", `'\''`) + "'") }

//go:embed steps.sh
var steps string

// Script is the script. The error says what of the job cannot be in one.
func (j *Job) Script() ([]byte, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("#!/bin/bash\n")
	common := append(j.Options.directives(), "--job-name="+j.Name, "--output="+strings.ReplaceAll(j.Dir, "%", "%%")+"/"+LogFile,
		"--open-mode=append", "--requeue", "--signal=B:USR1@"+fmt.Sprint(warning))
	groups := j.groups()
	for i, g := range groups {
		if i > 0 {
			b.WriteString("#SBATCH hetjob\n")
		}
		var lines []string
		if i == 0 {
			lines = common
		} else {
			lines = j.Options.directives()
		}
		for _, option := range append(lines, g.size(j.Options.Nodes)...) {
			fmt.Fprintf(&b, "#SBATCH %s\n", directive(option))
		}
	}
	for _, more := range j.Options.More {
		fmt.Fprintf(&b, "#SBATCH %s\n", directive(more))
	}
	b.WriteString("# Written by thole launch --on slurm: sbatch takes it, as often as you like.\n\n")
	j.settings(&b, len(groups) > 1)
	j.process(&b, "server", j.Servers)
	j.process(&b, "worker", j.Workers)
	b.WriteString(steps)
	return b.Bytes(), nil
}

// warning is how many seconds before the end of its time a job is told so.
const warning = 60

// groups are the allocations: one, or two where servers and workers ask for different things.
func (j *Job) groups() []Group {
	if j.Servers.CPUs == j.Workers.CPUs && j.Servers.Memory == j.Workers.Memory {
		return []Group{{Count: j.Servers.Count + j.Workers.Count, CPUs: j.Servers.CPUs, Memory: j.Servers.Memory}}
	}
	return []Group{j.Servers, j.Workers}
}

// directives are the options that each allocation of a job says.
func (o *Options) directives() (all []string) {
	for _, one := range []struct{ flag, text string }{
		{"partition", o.Partition}, {"account", o.Account}, {"qos", o.QOS}, {"time", o.Time},
	} {
		if one.text != "" {
			all = append(all, "--"+one.flag+"="+one.text)
		}
	}
	return all
}

// size is what an allocation, or a step of it, asks for.
func (g *Group) size(nodes int) []string {
	all := []string{fmt.Sprintf("--ntasks=%d", g.Count), fmt.Sprintf("--cpus-per-task=%d", g.CPUs)}
	if nodes > 0 {
		all = append(all, fmt.Sprintf("--nodes=%d", min(nodes, g.Count)))
	}
	if g.Memory > 0 {
		const mib = 1 << 20
		each := (g.Memory + mib - 1) / mib
		all = append(all, fmt.Sprintf("--mem-per-cpu=%dM", (each+int64(g.CPUs)-1)/int64(g.CPUs)))
	}
	return all
}

// directive is an option in a line of #SBATCH, which is read by other rules than those of the shell.
func directive(option string) string {
	if !strings.ContainsAny(option, " \t'\"#") {
		return option
	}
	return `"` + strings.ReplaceAll(option, `"`, `\"`) + `"`
}

// settings sets the variables of the steps.
func (j *Job) settings(b *bytes.Buffer, apart bool) {
	truth := map[bool]string{true: "1"}
	for _, v := range []struct{ name, text string }{
		{"dir", j.Dir}, {"folder", j.Folder}, {"program", j.Program}, {"restarts", fmt.Sprint(j.Restarts)},
		{"goes_on", truth[j.GoesOn]}, {"optional", truth[j.Optional]},
		{"server_cpus", fmt.Sprint(j.Servers.CPUs)}, {"worker_cpus", fmt.Sprint(j.Workers.CPUs)},
	} {
		fmt.Fprintf(b, "%s=%s\n", v.name, Quote(v.text))
	}
	for i, g := range []Group{j.Servers, j.Workers} {
		options := append(g.size(0), fmt.Sprintf("--nodes=1-%d", g.Count)) // else a step wants something of each node
		if g.Memory == 0 {
			options = append(options, "--mem=0") // else the first step takes all that the job has of a node, and the other waits for ever
		}
		if apart {
			options = append([]string{fmt.Sprintf("--het-group=%d", i)}, options...)
		}
		kind := []string{"server", "worker"}[i]
		fmt.Fprintf(b, "%s_memory=%s\n%[1]s_step=(%[3]s)\n", kind, g.share(apart), strings.Join(options, " "))
	}
}

// share is three quarters of the memory of a process, as the shell finds it out.
func (g *Group) share(apart bool) string {
	const share, parts, mib = 3, 4, 1 << 20
	switch {
	case g.Memory > 0:
		return fmt.Sprintf("%dMiB", max(1, g.Memory/parts*share/mib))
	case apart: // the variable is that of the other allocation
		return "''"
	}
	return fmt.Sprintf("${SLURM_MEM_PER_CPU:+$((SLURM_MEM_PER_CPU * %d * %d / %d))MiB}", g.CPUs, share, parts)
}

// process is a function of the shell that becomes the process.
func (j *Job) process(b *bytes.Buffer, kind string, g Group) {
	fmt.Fprintf(b, "\n%s() {\n\tset -- %s", kind, kind)
	writeWords(b, g.Args)
	for _, one := range []struct {
		test  string
		words []Word
	}{{"-eq", g.First}, {"-ne", g.Others}} {
		if len(one.words) > 0 {
			fmt.Fprintf(b, "\t[ \"$rank\" %s 0 ] && set -- \"$@\"", one.test)
			writeWords(b, one.words)
		}
	}
	b.WriteString("\texec \"$program\" \"$@\"\n}\n")
}

// writeWords writes some words on a line each, and the end of the command.
func writeWords(b *bytes.Buffer, all []Word) {
	for _, w := range all {
		fmt.Fprintf(b, " \\\n\t\t%s", w)
	}
	b.WriteString("\n")
}
