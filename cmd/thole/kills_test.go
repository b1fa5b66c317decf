//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/launch/local"
)

// How often TestKills kills, and how many epochs it first makes to see how long one takes.
const (
	killEvery  = 2 * time.Second
	killSample = 20
)

// TestKills trains by three servers and three workers for about KILL_TIME, kills one of the six at random every two seconds, and wants
// the model of a training that nobody disturbed. KILL_SEED says which are killed, KILL_ARGS has more flags of the training. It takes more
// than twice KILL_TIME: make kills.
func TestKills(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("KILL_TIME"))
	if err != nil {
		t.Skip("KILL_TIME says for how long processes are killed, as 5m: make kills")
	}
	seed, err := strconv.ParseUint(os.Getenv("KILL_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		p := free(t, dir, args...)
		if out, err := p.CombinedOutput(); err != nil {
			t.Fatalf("thole %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	run("data", "clicks", "--rows", "20000", "--out", "clicks.libsvm")
	settings := append([]string{"--data", "clicks.libsvm", "--batch", "600", "--servers", "3", "--tasks", "3"},
		strings.Fields(os.Getenv("KILL_ARGS"))...)
	launch := append([]string{"launch", "--workers", "3"}, settings...)
	began := time.Now()
	run(append(launch, "--epochs", fmt.Sprint(killSample), "--dir", "sample")...)
	epochs := fmt.Sprint(1 + int(killSample*lasts/time.Since(began)))

	var out bytes.Buffer
	p := free(t, dir, append(launch, "--epochs", epochs, "--model", "killed", "--dir", "kills", "--restarts", "1000000",
		"--checkpoint", "checkpoints", "--checkpoint-every", "200")...)
	p.Stdout, p.Stderr = &out, &out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	killed, err := killSome(filepath.Join(dir, "kills"), rand.New(rand.NewPCG(seed, 0)), lasts, ended)
	t.Logf("seed %d, %s epochs; killed: %s", seed, epochs, strings.Join(killed, " "))
	if err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	run(append(append([]string{"train"}, settings...), "--epochs", epochs, "--model", "alone")...)
	run("diff", "alone", "killed")
}

// free is a process of its own that may take as long as the test.
func free(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := exec.LookPath("thole")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe, args...)
	c.Dir = dir
	return c
}

// killSome kills processes of a launch for some time, or until it has ended; then it waits for its end.
func killSome(dir string, rng *rand.Rand, lasts time.Duration, ended <-chan error) (killed []string, err error) {
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	over := time.After(lasts)
	for {
		select {
		case err := <-ended:
			return killed, err
		case <-over:
			return killed, <-ended
		case <-tick.C:
		}
		r, err := local.Open(dir)
		if err != nil || r.State != local.Going {
			continue
		}
		var running []local.Status
		for _, p := range r.Processes {
			if p.Pid > 0 && p.Phase == local.Running {
				running = append(running, p)
			}
		}
		if len(running) > 0 {
			one := running[rng.IntN(len(running))]
			killed = append(killed, one.Name)
			_ = syscall.Kill(one.Pid, syscall.SIGKILL) // it may have ended
		}
	}
}
