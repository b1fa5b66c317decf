package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// said is a Slurm that says something for each command.
func said(t *testing.T, by map[string]string) *Slurm {
	return &Slurm{Run: func(_ context.Context, name string, args ...string) ([]byte, error) {
		text, ok := by[name]
		if !ok {
			t.Errorf("%s %q is called", name, args)
		}
		if failed, is := strings.CutPrefix(text, "error: "); is {
			return nil, errors.New(failed)
		}
		return []byte(text), nil
	}}
}

// row is a line of squeue.
func row(id, phase, reason string, status, restarts int, nodes string) string {
	return fmt.Sprintf("%-24s%-24s%-100s%-14d%-14d%-200s\n", id, phase, reason, status, restarts, nodes)
}

func TestLook(t *testing.T) {
	const gone = "error: slurm_load_jobs error: Invalid job id specified"
	for _, c := range []struct {
		queue, account string
		want           State
		text           string
		code           int
		over           bool
	}{
		{row("7", "PENDING", "Resources", 0, 0, ""), "", State{Phase: "PENDING", Reason: "Resources"}, "pending: Resources (waits until nodes are free)", 0, false},
		{row("8", "PENDING", "", 0, 0, "") + row("7", "RUNNING", "None", 0, 2, "n[0-1]"), "", State{Phase: "RUNNING", Nodes: "n[0-1]", Restarts: 2},
			"running on n[0-1] (queued again: 2)", 0, false},
		{row("7", "COMPLETED", "None", 0, 0, "n0"), "", State{Phase: "COMPLETED", Nodes: "n0"}, "completed", 0, true},
		{row("7", "FAILED", "NonZeroExitCode", 3<<8, 0, "n0"), "", State{Phase: "FAILED", Reason: "NonZeroExitCode", Nodes: "n0", Code: 3},
			"failed with status 3", 3, true},
		{row("7", "FAILED", "None", 9, 0, "n0"), "", State{Phase: "FAILED", Nodes: "n0", Signal: 9}, "failed by signal 9", 1, true},
		{row("7", "TIMEOUT", "TimeLimit", 0, 0, "n0"), "", State{Phase: "TIMEOUT", Reason: "TimeLimit", Nodes: "n0"}, "timeout", 75, true},
		{gone, "CANCELLED by 0|0:15|n1\n", State{Phase: "CANCELLED", Nodes: "n1", Signal: 15}, "cancelled", 130, true},
		{"", "OUT_OF_MEMORY|0:125|n1\nFAILED|1:0|n2", State{Phase: "OUT_OF_MEMORY", Nodes: "n1", Signal: 125},
			"out of memory: want more --server-memory or --worker-memory", 1, true},
	} {
		got, err := said(t, map[string]string{"squeue": c.queue, "sacct": c.account}).Look(t.Context(), "7")
		code, over := got.Over()
		if err != nil || got != c.want || got.String() != c.text || code != c.code || over != c.over {
			t.Errorf("%+v, %q, %d, %v, %v; want %+v", got, got, code, over, err, c)
		}
	}
	for _, c := range []struct{ queue, account, want string }{
		{gone, "error: Slurm accounting storage is disabled", "does not know the job any more"},
		{gone, "", "does not know the job any more"},
		{gone, "FAILED|x|n1", "want the state and status"},
		{"7 RUNNING", "", "squeue says"},
		{strings.Repeat("x", 1000), "", "squeue says"},
		{"error: Unable to contact slurm controller (connect failure)", "", "scontrol ping asks"},
	} {
		if s, err := said(t, map[string]string{"squeue": c.queue, "sacct": c.account}).Look(t.Context(), "7"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: %+v, %v; want %s", c.queue, c.account, s, err, c.want)
		}
	}
}

func TestSubmit(t *testing.T) {
	for text, want := range map[string]string{"12\n": "12", "12;cluster\n": "12", "Welcome\n12\n": "12", "": "", "0\n": "", "-1": "", "no": "",
		"error: sbatch: error: invalid partition specified: x": "sinfo -s lists", "error: Invalid qos specification": "want another --qos"} {
		id, err := said(t, map[string]string{"sbatch": text}).Submit(t.Context(), "job.sh")
		if strings.HasPrefix(text, "error: ") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		} else if id != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, id, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := (&Slurm{}).Submit(t.Context(), "job.sh"); !errors.Is(err, ErrNoSlurm) {
		t.Errorf("%v, want %v", err, ErrNoSlurm)
	}
}

func TestRecord(t *testing.T) {
	dir := t.TempDir()
	r := &Record{On: Place, State: Submitted, ID: "12", Command: []string{"a"}, Folder: "/f", Progress: "p", Servers: 1, Workers: 2, Began: time.Unix(5, 0).UTC()}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Open(dir); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, %v; want %+v", got, err, r)
	}
	for _, bad := range []string{"", "{", `{"on":"local","id":"1","servers":1,"workers":1}`, `{"on":"slurm","id":"x","servers":1,"workers":1}`,
		`{"on":"slurm","id":"1","servers":1000000000,"workers":1}`, `{"on":"slurm","id":"1","servers":1,"workers":-1}`} {
		if err := os.WriteFile(filepath.Join(dir, RecordFile), []byte(bad), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := Open(dir); err == nil || !strings.Contains(err.Error(), RecordFile) {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
	kept := []string{"coordination", "job.sh", "server.0.keep", "notes.log"}
	for _, name := range append([]string{"ended", "slurm.log", "failed.1.0", "began.1.0", "server.0.log", "worker.1.now"}, kept...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"x", "a\tb\tc\td\te\tf", "\t\t\t\t\t", ""} {
		if err := os.WriteFile(filepath.Join(dir, "worker.1.now"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if p := r.Processes(dir)[2]; p != (Process{Name: "worker.1", Phase: "waiting"}) {
			t.Errorf("%q: %+v", text, p)
		}
	}
	if code, ok := Ended(dir); ok {
		t.Errorf("x is status %d", code)
	}
	if name, how := Failed(dir); name != "" {
		t.Errorf("x is %s %s", name, how)
	}
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != len(kept) {
		t.Errorf("%v are left, %v; want %v", left, err, kept)
	}
}
