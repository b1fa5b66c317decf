package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

// atEngine are surroundings with these words NAME=VALUE as variables, on a machine of a name.
func atEngine(host, variables string) surroundings {
	set := map[string]string{}
	for _, word := range strings.Fields(variables) {
		name, value, _ := strings.Cut(word, "=")
		set[name] = value
	}
	return surroundings{func(name string) string { return set[name] }, func() (string, error) {
		if host == "" {
			return "", errors.New("no name")
		}
		return host, nil
	}}
}

// TestTaskFound: a worker to which nobody gave a task has that which Kubernetes or a step of Slurm gave the process, and says so.
func TestTaskFound(t *testing.T) {
	const step = "SLURM_JOB_ID=5 SLURM_STEP_ID=0 "
	for _, tc := range []struct {
		variables, args  string
		task, said, fail string
		tasks            int
	}{
		{"", "", "", "", "", 1},
		{"JOB_COMPLETION_INDEX=3", "--tasks 8", "3", "task 3 of 8, by JOB_COMPLETION_INDEX", "", 8},
		{"JOB_COMPLETION_INDEX=3", "--tasks 8 --task 5", "5", "", "", 8},
		{"JOB_COMPLETION_INDEX=0", "", "0", "task 0 of 1, by JOB_COMPLETION_INDEX", "", 1},
		{"JOB_COMPLETION_INDEX=1", "", "", "", "JOB_COMPLETION_INDEX is 1, want less than --tasks 1, ", 1},
		{"JOB_COMPLETION_INDEX=x", "--tasks 8", "", "", `JOB_COMPLETION_INDEX is "x", want a number from 0 on`, 8},
		{"JOB_COMPLETION_INDEX=-1", "--tasks 8", "", "", `JOB_COMPLETION_INDEX is "-1"`, 8},
		{step + "SLURM_PROCID=1 SLURM_NTASKS=4", "", "1", "task 1 of 4, by SLURM_PROCID and SLURM_NTASKS", "", 4},
		{step + "SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=3", "", "1", "task 1 of 3, by SLURM_PROCID and SLURM_STEP_NUM_TASKS", "", 3},
		{step + "SLURM_PROCID=1 SLURM_NTASKS=4", "--tasks 2", "1", "task 1 of 2, by SLURM_PROCID", "", 2},
		{step + "SLURM_PROCID=2 SLURM_NTASKS=4", "--tasks 2", "", "", "SLURM_PROCID is 2, want less than --tasks 2", 2},
		{step + "SLURM_PROCID=2 SLURM_NTASKS=many", "", "", "", `SLURM_NTASKS is "many"`, 1},
		{"SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_NTASKS=4", "--tasks 4", "", "", "", 4}, // the script of a batch
		{"SLURM_JOB_ID=5 SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=4", "--tasks 4", "", "", "", 4},
	} {
		j, task, said := &job{}, "", ""
		c := workerCommand(&env{})
		if err := c.ParseFlags(strings.Fields(tc.args)); err != nil {
			t.Fatal(err)
		}
		j.command, task = c, c.Flags().Lookup("task").Value.String()
		j.tasks, _ = c.Flags().GetInt("tasks")
		err := j.isTask(atEngine("h", tc.variables), &task, func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
		if tc.fail != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tc.fail) || statusOf(err) != exitUsage {
				t.Errorf("%s %s: %v, want %s", tc.variables, tc.args, err, tc.fail)
			}
			continue
		}
		if err != nil || task != tc.task || said != tc.said || j.tasks != tc.tasks {
			t.Errorf("%s %s: task %q of %d, %q, %v, want task %q of %d, %q", tc.variables, tc.args, task, j.tasks, said, err, tc.task, tc.tasks, tc.said)
		}
	}
}

// TestRoleFound: a server has the role that it was given, as a number or at the end of a name, or with a store of roles that of its pod in a
// StatefulSet or of its place in a step of Slurm.
func TestRoleFound(t *testing.T) {
	const pod = "KUBERNETES_SERVICE_HOST=10.0.0.1 "
	for _, tc := range []struct {
		role, url, host, variables string
		want                       int
		said, fail                 string
	}{
		{"", "", "ps-2", pod, noRole, "", ""},
		{"2", "", "h", "", 2, "", ""},
		{"ps-2", "", "h", "", 2, "", ""},
		{"a-b-10", "dir:x", "h", "", 10, "", ""},
		{"", "dir:x", "ps-2", pod, 2, "server 2, by the host name ps-2", ""},
		{"", "dir:x", "h", pod + "POD_NAME=ps-3", 3, "server 3, by POD_NAME ps-3", ""},
		{"", "dir:x", "ps-2", "", noRole, "", ""}, // any machine may be called so
		{"", "dir:x", "", pod, noRole, "", ""},
		{"", "dir:x", "ps-x2", pod, noRole, "", ""},
		{"", "dir:x", "h", "SLURM_STEP_ID=1 SLURM_PROCID=4", 4, "server 4, by SLURM_PROCID", ""},
		{"", "dir:x", "h", "SLURM_PROCID=4", noRole, "", ""},
		{"7", "dir:x", "ps-2", pod, 7, "", ""},
		{"", "dir:x", "ps-5000", pod, noRole, "", "server 5000, by the host name ps-5000: want 0 to 1023"},
		{"-1", "dir:x", "h", "", noRole, "", `--role "-1", want which server this is, 0 to 1023, or a name that ends in that, like ps-2`},
		{"ps", "", "h", "", noRole, "", `--role "ps", want `},
		{"ps-02", "", "h", "", noRole, "", `--role "ps-02", want `},
		{"-", "", "h", "", noRole, "", `--role "-", want `},
		{"1024", "", "h", "", noRole, "", `--role "1024", want `},
		{"ps-99999999999999999999", "", "h", "", noRole, "", `--role "ps-9`},
	} {
		c, said := claiming{role: tc.role}, ""
		c.url = tc.url
		err := c.find(atEngine(tc.host, tc.variables), func(text string) { said += text })
		if tc.fail != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tc.fail) || statusOf(err) != exitUsage {
				t.Errorf("%+v: %v", tc, err)
			}
			continue
		}
		if err != nil || c.number != tc.want || said != tc.said {
			t.Errorf("%+v: %d, %q, %v", tc, c.number, said, err)
		}
	}
}

// TestReached: the address that a server prints is one at which others reach it.
func TestReached(t *testing.T) {
	of := func(texts ...string) func() ([]net.Addr, error) {
		return func() (all []net.Addr, err error) {
			for _, text := range texts {
				ip, network, err := net.ParseCIDR(text)
				if err != nil {
					return nil, err
				}
				all = append(all, &net.IPNet{IP: ip, Mask: network.Mask})
			}
			return all, nil
		}
	}
	machine := of("127.0.0.1/8", "::1/128", "fe80::1/64", "2001:db8::5/64", "10.0.0.5/24", "10.1.0.5/24")
	for _, tc := range []struct {
		at, advertise string
		addresses     func() ([]net.Addr, error)
		want          string
	}{
		{"127.0.0.1:7001", "", machine, "127.0.0.1:7001"},
		{"unix:/run/s.sock", "", machine, "unix:/run/s.sock"},
		{"[::]:7001", "", machine, "10.0.0.5:7001"},
		{"0.0.0.0:7001", "", machine, "10.0.0.5:7001"},
		{"[::]:7001", "", of("127.0.0.1/8", "2001:db8::5/64"), "[2001:db8::5]:7001"},
		{"[::]:7001", "", of("127.0.0.1/8"), "127.0.0.1:7001"},
		{"[::]:7001", "", func() ([]net.Addr, error) { return nil, errors.New("none") }, "127.0.0.1:7001"},
		{"[::]:7001", "ps-0.ps", machine, "ps-0.ps:7001"},
		{"[::]:7001", "ps-0.ps:80", machine, "ps-0.ps:80"},
		{"127.0.0.1:7001", "2001:db8::7", machine, "[2001:db8::7]:7001"},
		{"unix:/run/s.sock", "host:7001", machine, "host:7001"}, // a proxy
	} {
		c := claiming{advertise: tc.advertise}
		if got := c.reached(tc.at, tc.addresses); got != tc.want {
			t.Errorf("%s, advertised %q: %s, want %s", tc.at, tc.advertise, got, tc.want)
		}
	}
}

// TestStartedAgain: a worker knows how often all processes of its job were started again, by its user or by Slurm.
func TestStartedAgain(t *testing.T) {
	for _, tc := range []struct {
		variables, args string
		started         int
		counted         bool
		said, fail      string
	}{
		{"", "", 0, false, "", ""},
		{"", "--attempt 0", 0, true, "", ""},
		{"", "--attempt 3", 3, true, "", ""},
		{"SLURM_JOB_ID=5", "", 0, true, "", ""},
		{"SLURM_JOB_ID=5 SLURM_RESTART_COUNT=2", "", 2, true, "attempt 2, by SLURM_RESTART_COUNT", ""},
		{"SLURM_JOB_ID=5 SLURM_RESTART_COUNT=2", "--attempt 1", 1, true, "", ""},
		{"SLURM_RESTART_COUNT=x", "", 0, false, "", `SLURM_RESTART_COUNT is "x", want a number from 0 on`},
		{"SLURM_RESTART_COUNT=9999999999", "", 0, false, "", "SLURM_RESTART_COUNT is 9999999999, want at most"},
		{"", "--attempt -1", 0, false, "", "--attempt -1, want 0 to "},
	} {
		c, said := workerCommand(&env{}), ""
		if err := c.ParseFlags(strings.Fields(tc.args)); err != nil {
			t.Fatal(err)
		}
		j := &job{command: c}
		j.started, _ = c.Flags().GetInt("attempt")
		err := j.startedAgain(atEngine("h", tc.variables), func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
		if tc.fail != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tc.fail) || statusOf(err) != exitUsage {
				t.Errorf("%s %s: %v, want %s", tc.variables, tc.args, err, tc.fail)
			}
			continue
		}
		if err != nil || j.started != tc.started || j.startsKnown != tc.counted || said != tc.said {
			t.Errorf("%s %s: %d, counted %v, %q, %v", tc.variables, tc.args, j.started, j.startsKnown, said, err)
		}
	}
}

// TestAttemptFlag: workers of a higher --attempt shut out those of a lower one that are left, and train to the end; the others end and say why.
func TestAttemptFlag(t *testing.T) {
	for _, tc := range []struct {
		name, said string
		status     int // 75: that attempt was replaced, as it hears; 1: it has come back, and is refused
		more       []string
	}{
		{"checkpoints", "attempt 1 of all its processes, and attempt 2 has begun: refused", exitError, []string{"--checkpoint", "ck"}},
		{"none", `attempt 2 of job "job" has begun with task 1`, exitTemporary, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			examples(t, dir)
			_, addr := startServer(t, dir)
			worker := func(task, attempt string) *process {
				return newProcess(t, dir, append([]string{"worker", "--servers", addr, "--tasks", "2", "--task", task, "--attempt", attempt,
					"--data", "small.dummy", "--format", "dummy", "--epochs", "2", "--model", "m"}, tc.more...)...)
			}
			left := worker("0", "1")
			lines, err := left.linesOf()
			if err != nil {
				t.Fatal(err)
			}
			if err := left.Start(); err != nil {
				t.Fatal(err)
			}
			lines.wait(t, "waiting for 1 of 2 tasks (1) to join job")
			one, two := worker("1", "2"), worker("0", "2")
			if err := one.Start(); err != nil {
				t.Fatal(err)
			}
			lines.wait(t, tc.said)
			lines.end()
			if err := left.Wait(); err == nil || left.ProcessState.ExitCode() != tc.status {
				t.Errorf("what is left of the attempt before: %v, want status %d", err, tc.status)
			}
			if err := two.Run(); err != nil {
				t.Errorf("%v: %s", err, &two.err)
			}
			if err := one.Wait(); err != nil {
				t.Errorf("%v: %s", err, &one.err)
			}
		})
	}
}
