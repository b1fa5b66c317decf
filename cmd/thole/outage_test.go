package main

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"thole.example/blob/s3/s3test"
)

// outageStore is a store that cuts all connections while it is down, and the environment for it, with few attempts of each request.
func outageStore(t *testing.T, fails func(r *http.Request) bool) (down *atomic.Bool) {
	s := s3test.New("bucket")
	t.Cleanup(s.Close)
	for name, value := range storeVariables(s) {
		t.Setenv(name, value)
	}
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	down = new(atomic.Bool)
	s.Plan(func(_ int, r *http.Request) s3test.Action {
		if fails != nil && fails(r) {
			down.Store(true)
		}
		if down.Load() {
			return s3test.Cut
		}
		return s3test.Pass
	})
	return down
}

// inModel reports whether a request writes an object of the model m.
func inModel(r *http.Request) bool { return notClaims(r) && strings.Contains(r.URL.Path, "_tmp.m.") }

// TestStoreReturns: a training with checkpoints whose store becomes unavailable while it saves the model waits for it, resumes from the last
// checkpoint and saves the model that it would have saved.
func TestStoreReturns(t *testing.T) {
	for _, command := range []string{"train", "launch --on local --servers 2 --workers 1"} {
		t.Run(command, func(t *testing.T) { storeReturns(t, strings.Fields(command)) })
	}
}

func storeReturns(t *testing.T, command []string) {
	dir := t.TempDir()
	examples(t, dir)
	args := []string{"--data", "small.dummy", "--format", "dummy", "--epochs", "3", "--seed", "3"}
	mustRun(t, dir, append([]string{"train", "--model", "want"}, args...)...)
	var kept, once atomic.Bool
	down := outageStore(t, func(r *http.Request) bool {
		if notClaims(r) && strings.Contains(r.URL.Path, "/ck/") {
			kept.Store(true)
		}
		return kept.Load() && inModel(r) && once.CompareAndSwap(false, true)
	})
	all := append(command, "--model", "s3://bucket/m", "--checkpoint", "s3://bucket/ck", "--checkpoint-every", "1")
	p := newProcess(t, dir, append(all, args...)...)
	said, err := p.linesOf()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	said.wait(t, "goes back to the last checkpoint")
	down.Store(false)
	var text []string
	for said.Scan() {
		text = append(text, said.Text())
	}
	if err := p.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, strings.Join(text, "\n"))
	}
	mustRun(t, dir, "diff", "want", "s3://bucket/m")
}

// TestStoreStaysAway: a job whose store never returns gives up after the time that it waits, with the status of a temporary failure; so does
// one without checkpoints, at once.
func TestStoreStaysAway(t *testing.T) {
	for name, c := range map[string]struct{ args, want string }{
		"worker": {"worker --servers ADDR --tasks 1 --checkpoint s3://bucket/ck --checkpoint-every 1 --wait 1s", "did not begin again within 1s"},
		"train":  {"train", "the store does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			examples(t, dir)
			down := outageStore(t, inModel)
			if strings.Contains(c.args, "ADDR") {
				_, addr := startServer(t, dir, "--store", "s3://bucket")
				c.args = strings.Replace(c.args, "ADDR", addr, 1)
			}
			p := newProcess(t, dir, append(strings.Fields(c.args), "--data", "small.dummy", "--format", "dummy", "--epochs", "2", "--model", "s3://bucket/m")...)
			if err := p.Run(); p.ProcessState.ExitCode() != exitTemporary || !strings.Contains(p.err.String(), c.want) || !down.Load() {
				t.Errorf("%v, want exit status %d and %q:\n%s", err, exitTemporary, c.want, &p.err)
			}
		})
	}
}

// TestStoreAwayCommands: whatever a command wants of a store that does not answer, its status says that it may do later.
func TestStoreAwayCommands(t *testing.T) {
	dir := t.TempDir()
	examples(t, dir)
	mustRun(t, dir, "train", "--data", "small.dummy", "--format", "dummy", "--epochs", "1", "--model", "lr")
	outageStore(t, func(*http.Request) bool { return true })
	for _, args := range []string{
		"inspect s3://bucket/m", "verify s3://bucket/m", "cat s3://bucket/m", "explain s3://bucket/m", "diff lr s3://bucket/m",
		"convert s3://bucket/m out --to angel", "convert lr s3://bucket/out --to angel", "convert lr s3://bucket/out.npz",
		"export s3://bucket/m program", "pack s3://bucket/m packed", "weights s3://bucket/m", "average s3://bucket/m lr avg", "clean s3://bucket/m",
		"predict --model s3://bucket/m --data small.dummy --format dummy", "predict --model lr --data s3://bucket/d --format dummy",
		"evaluate --model lr --data s3://bucket/d --format dummy", "data describe s3://bucket/d.csv", "data split s3://bucket/d.csv --out parts",
		"data convert small.dummy s3://bucket/d.libsvm --format dummy", "data clicks --rows 10 --out s3://bucket/d.libsvm",
		"train --data s3://bucket/d --format dummy --model m", "train --data small.dummy --format dummy --load s3://bucket/m --model m",
		"train --data small.dummy --format dummy --model s3://bucket/m", "checkpoint ls s3://bucket/ck",
		"checkpoint verify s3://bucket/ck", "search --data s3://bucket/d --format dummy --trials 1",
		"launch --on local --servers 1 --workers 1 --data s3://bucket/d --format dummy --model m",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, dir, strings.Fields(args)...)
			if err := p.Run(); p.ProcessState.ExitCode() != exitTemporary {
				t.Errorf("%v, want exit status %d:\n%s", err, exitTemporary, &p.err)
			}
		})
	}
}
