package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"thole.example/launch/local"
)

// crew is the processes of a launch on this machine.
type crew struct {
	*launch      // how many servers and workers it is to have
	p            *plan
	e            *env
	s            *local.Supervisor
	dir, sockets string
	progress     string   // file of the job's progress
	running      int      // servers that were started, and have not been left
	told         []string // addresses that workers are told
}

// addresses are those of the first servers. Each is the same after a restart.
func (c *crew) addresses(servers int) (all []string) {
	for i := range servers {
		all = append(all, "unix:"+filepath.Join(c.sockets, fmt.Sprint(i)))
	}
	return all
}

// best is where the servers keep the best epoch while the job lasts.
func (c *crew) best() string { return filepath.Join(c.dir, "best") }

// storeFolder is the servers' --store.
func (c *crew) storeFolder() (string, error) {
	return storeOf(append(c.saved(), c.best())...)
}

// saved are the paths at which the servers save and load, some of which may be empty.
func (c *crew) saved() []string {
	return []string{c.model, c.load, c.loadState, c.checkpoint, c.resume}
}

func serverName(i int) string { return fmt.Sprintf("server.%d", i) }
func workerName(i int) string { return fmt.Sprintf("worker.%d", i) }

// processes are servers, each at a socket of its own, and workers, as so many of them are told.
func (c *crew) processes(servers, workers int) (all []local.Process, err error) {
	store, err := c.storeFolder()
	if err != nil {
		return nil, err
	}
	for i, addr := range c.addresses(servers) {
		args := []string{"server", "--listen=" + addr, "--store=" + store, "--memory=" + c.memoryOf(servers), "--name=" + serverName(i),
			"--" + tiedFlag}
		for _, url := range storesOf(c.saved()...) {
			args = append(args, "--store="+url)
		}
		if c.noChecksum {
			args = append(args, "--no-checksum")
		}
		if c.serverLog {
			args = append(args, "--log="+serverLog(c.dir, i))
		}
		all = append(all, local.Process{Name: serverName(i), Kind: local.Server, Args: args, Address: addr, Ready: "listening at "})
	}
	common := append(c.common(c.told, store), "--"+tiedFlag, "--best="+c.best())
	if c.p.forest == nil { // trees have no bound
		common = append(common, "--memory="+c.memoryOf(workers))
	}
	for i := range workers {
		args := append([]string{"worker", "--task=" + c.share(i)}, common...)
		switch {
		case i > 0:
			args = append(args, "--log=", "--runs="+runsNone) // whatever --job says
			if c.giveUp > 0 {
				args = append(args, "--leave")
			}
		default:
			args = append(args, "--log="+c.progress, "--append-log", "--runs="+runsAt(c.runs))
			if workers < c.most {
				args = append(args, fmt.Sprintf("--%s=%d", awaitedFlag, c.before(workers)))
			}
			for _, word := range c.e.args {
				args = append(args, "--asked="+word)
			}
		}
		all = append(all, local.Process{Name: workerName(i), Kind: local.Worker, Args: args, Shown: i == 0,
			Optional: i > 0 && c.giveUp > 0})
	}
	return all, nil
}

// serverLog is the folder of a server's log, in that of the launch.
func serverLog(dir string, server int) string {
	return filepath.Join(dir, fmt.Sprintf("changes.%d", server))
}

// removeLogs removes the logs of servers that are to begin with new ones.
func (c *crew) removeLogs(from, to int) error {
	for i := from; i < to; i++ {
		if err := os.RemoveAll(serverLog(c.dir, i)); err != nil {
			return err
		}
	}
	return nil
}

// of are the processes of some names.
func of(all []local.Process, names []string) []local.Process {
	return slices.DeleteFunc(slices.Clone(all), func(p local.Process) bool { return !slices.Contains(names, p.Name) })
}

// named are names by numbers.
func named(name func(i int) string, from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, name(i))
	}
	return all
}
