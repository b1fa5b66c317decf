package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// serviceLink is a variable that Kubernetes sets in the pods of a name space for a Service called thole or thole-SOMETHING.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// ownVariables are variables with a meaning of their own.
var ownVariables = []string{tokenVariable, runsVariable}

func allCommands(t *testing.T) (*env, []*cobra.Command) {
	t.Helper()
	e := &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	return e, below(rootCommand(e))
}

// TestNamesOfVariables: no flag has a variable that means something else.
func TestNamesOfVariables(t *testing.T) {
	for _, text := range []string{"THOLE_PORT", "THOLE_SERVICE_HOST", "THOLE_SERVICE_PORT", "THOLE_SERVICE_PORT_DATA", "THOLE_PORT_7001_TCP",
		"THOLE_PORT_7001_TCP_ADDR", "THOLE_PS_PORT"} {
		if !serviceLink.MatchString(text) {
			t.Fatalf("%s is no service link, want that it is", text)
		}
	}
	_, all := allCommands(t)
	for _, c := range all {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			name := variableOf(f.Name)
			if hasVariable(f) && (serviceLink.MatchString(name) || slices.Contains(ownVariables, name)) {
				t.Errorf("%s: the variable of --%s is %s, which is set for something else", c.CommandPath(), f.Name, name)
			}
		})
	}
}

// TestVariables: each flag of each command is taken from its variable, as if it had been given.
func TestVariables(t *testing.T) {
	values := map[string]string{"bool": "true", "int": "7", "int64": "7", "uint64": "7", "float64": "0.5", "intSlice": "3,4", "float64Slice": "1,2",
		"duration": "9s", "string": "text", "stringSlice": "a,b", "stringArray": "a\nb c\n", "stringToString": "a=1,b=2", "quota": "partitions=7"}
	_, wants := allCommands(t)
	for i := range wants {
		e, all := allCommands(t)
		c, want := all[i], wants[i]
		c.Flags().VisitAll(func(f *pflag.Flag) {
			value, ok := values[f.Value.Type()]
			if !ok {
				t.Fatalf("%s: --%s is of type %s, want one with a value in this test", c.CommandPath(), f.Name, f.Value.Type())
			}
			t.Setenv(variableOf(f.Name), value)
			texts := []string{value}
			if f.Value.Type() == "stringArray" {
				texts = []string{"a", "b c"}
			}
			for _, text := range texts {
				if err := want.Flags().Set(f.Name, text); err != nil && hasVariable(f) {
					t.Fatal(err)
				}
			}
		})
		if err := e.variables(c, nil); err != nil {
			t.Fatal(err)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if w := want.Flags().Lookup(f.Name); hasVariable(f) && (!f.Changed || f.Value.String() != w.Value.String()) {
				t.Errorf("%s: --%s is %s, given %v, want %s", c.CommandPath(), f.Name, f.Value, f.Changed, w.Value)
			} else if !hasVariable(f) && f.Changed {
				t.Errorf("%s: --%s is given by a variable, want that it has none", c.CommandPath(), f.Name)
			}
		})
	}
}

// TestBadVariables: what is wrong with a variable is told with its name, also what comes out later.
func TestBadVariables(t *testing.T) {
	for _, tc := range []struct {
		variable, value, args, want string
	}{
		{"THOLE_EPOCHS", "x", "train", `thole: THOLE_EPOCHS is "x", want a whole number; see thole train --help`},
		{"THOLE_EPOCHS", "0", "train --data nothing", "thole: THOLE_EPOCHS: --epochs 0, want at least 1"},
		{"THOLE_RULE", "adamm", "train --data nothing", `thole: THOLE_RULE: update rule "adamm", want `},
		{"THOLE_FORCE", "maybe", "train", `thole: THOLE_FORCE is "maybe", want true or false`},
		{"THOLE_QUIET", "1", "server --listen nowhere:x --store .", "thole: listen at nowhere:x"},
		{"THOLE_EPOCHS", "0", "train --data nothing --epochs 1", "thole: nothing: file does not exist"},
		{"THOLE_HOLDOUT", "0.5", "train --data nothing --validate other", "thole: nothing: file does not exist"}, // which --validate outdoes
		{"THOLE_HOLDOUT", "7", "train --data nothing", "thole: THOLE_HOLDOUT: --holdout 7"},
	} {
		t.Setenv(tc.variable, tc.value)
		var out, said strings.Builder
		status := Main(strings.Fields(tc.args), &env{in: strings.NewReader(""), out: &out, err: &said})
		if status == 0 || !strings.HasPrefix(said.String(), tc.want) {
			t.Errorf("%s=%s thole %s: status %d, %q, want %q", tc.variable, tc.value, tc.args, status, &said, tc.want)
		}
		os.Unsetenv(tc.variable)
	}
}

// TestFileAfterVariables: a variable comes before the job file, and after the command line.
func TestFileAfterVariables(t *testing.T) {
	dir := t.TempDir()
	examples(t, dir)
	job := "data: {path: small.dummy, format: dummy}\ntrain: {epoch: 2, lr: 0.25}\nseed: 9\n"
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(job), 0o666); err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, dir, "train", "--job", "job.yaml", "--seed", "4", "--dry-run")
	p.Env = append(os.Environ(), "THOLE_EPOCHS=3", "THOLE_SEED=5")
	if err := p.Run(); err != nil {
		t.Fatalf("%v: %s", err, &p.err)
	}
	for _, want := range []string{"epoch: 3", "lr: 0.25", "seed: 4"} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("the job is %s, want %s in it", &p.out, want)
		}
	}
}

// TestLaunchKeepsVariables: the variables of a launch are its own flags. Its processes get those as flags, and none of the variables.
func TestLaunchKeepsVariables(t *testing.T) {
	dir := t.TempDir()
	examples(t, dir)
	p := newProcess(t, dir, "launch", "--dir", "l")
	p.Env = append(os.Environ(), "THOLE_SERVERS=2", "THOLE_WORKERS=2", "THOLE_DATA=small.dummy", "THOLE_FORMAT=dummy", "THOLE_EPOCHS=2",
		"THOLE_MODEL=m", "THOLE_LOG=progress", "THOLE_COORDINATE=nothing", "THOLE_ADMIN=nothing", "THOLE_TASK=7") // those of others
	if err := p.Run(); err != nil {
		t.Fatalf("%v: %s", err, &p.err)
	}
	alone := newProcess(t, dir, "train", "--servers", "2", "--tasks", "2", "--data", "small.dummy", "--format", "dummy", "--epochs", "2", "--model", "m2")
	if err := alone.Run(); err != nil {
		t.Fatal(err)
	}
	mustRun(t, dir, "diff", "m", "m2")
	if info, err := os.Stat(filepath.Join(dir, "progress")); err != nil || info.IsDir() {
		t.Errorf("THOLE_LOG of the launch: %v, want a file of its progress", err)
	}
}

// TestDetachVariable: a launch that a variable sends to the background does not send itself there again.
func TestDetachVariable(t *testing.T) {
	dir := t.TempDir()
	examples(t, dir)
	p := newProcess(t, dir, "launch", "--data", "small.dummy", "--format", "dummy", "--epochs", "100000", "--dir", "l")
	p.Env = append(os.Environ(), "THOLE_DETACH=true")
	if err := p.Run(); err != nil || strings.TrimSpace(p.out.String()) != "l" {
		t.Fatalf("%v: %s%s", err, &p.out, &p.err)
	}
	mustRun(t, dir, "launch", "stop", "l")
}

// TestHelpOfVariables: help of a command with flags says where they come from, once.
func TestHelpOfVariables(t *testing.T) {
	if out := thole(t, "server", "--help"); strings.Count(out, "THOLE_LISTEN") != 1 {
		t.Errorf("%s\nwant THOLE_LISTEN in it, once", out)
	}
}
