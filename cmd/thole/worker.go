package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"thole.example/blob"
)

func workerCommand(e *env) *cobra.Command {
	j := &job{}
	var servers []string
	var who trust
	var at coordination
	tasks := ""
	c := &cobra.Command{
		Use:   "worker",
		Short: "Train as one worker process of a job on running servers",
		Long: `Runs some tasks of a job on the servers; start one worker process for each set of tasks, all with the same settings.
The worker that has task 0 saves the model, to the path --model below the servers' folder --store; a model to go on from lies there,
too: --load wants beside it --algo, with the flags that say how large that network is, or --graph.
Of boosted trees that worker alone reads --data, --validate and --load, and sends the others what they learn from.

With --coordinate, --servers is how many there are: the roles 0, 1, … of the cluster, which are looked up at the start and whenever the job
goes on after a failure, so that a server may be replaced by one with another address.

With --checkpoint a worker that is asked to end (SIGTERM, SIGUSR1, Ctrl-C) has a checkpoint written, whichever worker writes them, and
ends with exit code 75, or 130 by Ctrl-C, after --grace at the latest. Started again it takes its place.`,
		Example: `  thole worker --servers host1:7001,host2:7001 --tasks 2 --task 0 --data train.libsvm --model lr
  thole worker --servers host1:7001,host2:7001 --tasks 2 --task 1 --data train.libsvm --model lr
  thole worker --servers host1:7001 --tasks 2 --task 0 --algo gbdt --data train.csv --label-column bought --model trees
  thole worker --servers host1:7001 --tasks 2 --task 1 --algo gbdt --model trees
  thole worker --servers 'ps-{0..2}.ps:7001' --tasks 2 --task 0 --data train.libsvm --model lr
  thole worker --coordinate etcd://host0:2379 --servers 3 --tasks 2 --task 0 --data train.libsvm --model lr --checkpoint ck`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			ctx := c.Context()
			say := e.says
			if len(j.asked) > 0 {
				e.args = j.asked
			}
			if err := j.files(ctx, e); err != nil {
				return err
			}
			defer func() { err = j.placed(err) }()
			if len(servers) == 0 {
				return usageError{fmt.Errorf("no --servers, want the addresses that thole server prints, or with --coordinate how many there are")}
			}
			if err := j.isTask(thisProcess(), &tasks, say); err != nil {
				return err
			}
			if err := j.startedAgain(thisProcess(), say); err != nil {
				return err
			}
			if j.wait < 0 || j.retry < 0 {
				return usageError{fmt.Errorf("--wait %v --retry %v, want 0 or more", j.wait, j.retry)}
			}
			if j.tasks < 1 || j.tasks > jobTasksLimit {
				return usageError{fmt.Errorf("--tasks %d, want 1 to %d", j.tasks, jobTasksLimit)}
			}
			mine, err := parseTasks(tasks, j.tasks)
			if err != nil {
				return err
			}
			if len(mine) > tasksLimit {
				return usageError{fmt.Errorf("--task %q: %d tasks, want at most %d in one process", tasks, len(mine), tasksLimit)}
			}
			if err := j.checkAbsence(mine); err != nil {
				return err
			}
			ctx, stop := j.untilAsked(ctx, say)
			defer stop()
			e.until(ctx)
			ctx, ended := j.untilFarewell(ctx, e, func(format string, args ...any) { fmt.Fprintf(e.err, format+"\n", args...) })
			defer func() { err = ended(err) }()
			if j.tied { // also one that takes its time when it is asked to end
				ctx = untilEnd(ctx, e.in)
			}
			net, err := who.network()
			if err != nil {
				return err
			}
			net.NoChecksum = j.noChecksum
			on := &cluster{net: net}
			if on.from, err = at.registry(servers, j.name); err != nil {
				return err
			}
			defer on.from.close()
			if on.from == nil {
				if on.addrs, err = e.serverAddresses(ctx, "--servers", servers, j.wait); err != nil {
					return err
				}
			}
			return j.work(ctx, e, on, mine)
		},
	}
	j.flags(e, c)
	c.Flags().StringVar(&j.jobFile, "job-file", "", "file of settings, as thole train --job takes it")
	c.Flags().StringSliceVar(&servers, "servers", nil, "servers, in the same order for all workers: "+addressesHelp+
		"; with --coordinate how many there are")
	at.flags(c.Flags(), "find the servers there")
	c.Flags().StringVar(&tasks, "task", "", "tasks of this worker, like 0 or 0,2-4, or its share of them, like 0/2 for the first of two "+
		"workers (default: "+indexVariable+" or "+rankVariable+" says it, else all)")
	c.Flags().DurationVar(&j.wait, "wait", defaultWait, "how long to wait for the other workers to join; 0: as long as it takes")
	c.Flags().DurationVar(&j.retry, "retry", defaultRetry, "how long to try to reach a server again when the connection is lost")
	c.Flags().IntVar(&j.started, "attempt", 0, "how often all processes of the job have been started again, from 0 on: what is left of lower "+
		"attempts is shut out (default: "+restartsVariable+", else 0)")
	j.giveUpFlags(c)
	j.leaveFlag(c)
	c.Flags().StringVar(&j.name, "job", "job", "name of the job: the same for all its workers, and for no other job")
	who.flags(c.Flags())
	j.launched.flags(c)
	return c
}

func (j *job) work(ctx context.Context, e *env, c *cluster, tasks []int) error {
	if j.load != "" && j.own == nil && !j.given("algo") && j.store == "" {
		return usageError{fmt.Errorf("--load %s without --algo or --graph, want one of them, which says what that model is: "+
			"it lies at the servers, and this process does not read it", j.load)}
	}
	j.atServers, j.elsewhere = true, tasks[0] > 0
	p, err := j.choose(ctx)
	if err != nil {
		return err
	}
	p.tell(e)
	below := []string{j.model, j.load, j.loadState, j.checkpoint}
	if j.resumes() {
		below = append(below, j.resume)
	}
	if p.forest != nil { // the process of task 0 reads the trees, as it does the examples
		below = below[:1]
	}
	for _, path := range below {
		if err := j.checkThere(path); err != nil {
			return err
		}
	}
	e.appends = j.appendLog || j.goesOnByItself()
	w, err := newWatcher(ctx, e, j.log, j.force)
	if err != nil {
		return err
	}
	defer w.close()
	w.runs = j.runs
	if p.forest != nil && p.giveUp > 0 {
		return usageError{fmt.Errorf("--give-up %v with --algo %s, want it without: trees grow by all workers (one that is started again is "+
			"waited for)", p.giveUp, p.algo)}
	}
	if p.forest != nil && tasks[0] == 0 && j.checkpoint != "" && j.store == "" { // else the launch has it
		release, err := e.lock(ctx, j.checkpoint, "writes its checkpoints")
		if err != nil {
			return err
		}
		defer release()
	}
	if p.forest != nil {
		p.later = func(ctx context.Context) error {
			if err := p.look(ctx); err != nil {
				return err
			}
			return p.read(ctx, e)
		}
		return p.wayOut(p.runAndTell(ctx, e, c, tasks, j.there(j.model), w), w.bar.line)
	}
	if len(tasks) < p.tasks && p.giveUp == 0 { // else others' may become its own
		p.mine = tasks
	}
	if j.store != "" {
		if err := p.look(ctx); err != nil {
			return err
		}
		if p.replaced = blob.Join(j.store, j.there(j.model)) + stateEnding; blob.IsURL(j.model) {
			p.replaced = inBucket(j.model) + stateEnding
		}
	}
	if err := p.read(ctx, e); err != nil {
		return err
	}
	p.loadPath = j.there(j.load)
	if p.moment = p.momentThere(); j.best != "" {
		p.moment = j.there(j.best)
	}
	return p.wayOut(p.runAndTell(ctx, e, c, tasks, j.there(j.model), w), w.bar.line)
}
