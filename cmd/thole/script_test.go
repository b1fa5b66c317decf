package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "thole" { // the tests themselves, of which some train in this folder; scripts have their own
		os.Setenv(runsVariable, runsNone)
		os.Setenv("PATH", withoutCoordinator(os.Getenv("PATH")))
		letSmallHeapsBe()
	}
	testscript.Main(m, map[string]func(){"thole": main})
}

// withoutCoordinator is PATH without the folders that have an installed thole-coordinate: tests ask what happens where there is none.
func withoutCoordinator(path string) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		_, err := exec.LookPath(filepath.Join(dir, coordinator))
		return err == nil
	}), string(os.PathListSeparator))
}

// TestScript runs the scripts of testdata/script: each is a session at the command line. $DATA is the folder of real
// data and may not be there; what a script does with it and with $GOLDEN and $REAL stands at its end, behind [!data] stop. $SAVED
// has models that Paddle saved.
func TestScript(t *testing.T) { runScripts(t, "testdata/script") }

// runScripts runs the scripts of a folder.
func runScripts(t *testing.T, dir string) {
	t.Helper()
	runScriptsWith(t, dir, func(*testscript.Env) error { return nil })
}

// runScriptsWith runs the scripts of a folder, of which each is set up by more.
func runScriptsWith(t *testing.T, dir string, more func(*testscript.Env) error) {
	t.Helper()
	shared, err := filepath.Abs("../../../shared")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(filepath.Join(shared, "data"))
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", filepath.Join(shared, "data"))
			containers, err := filepath.Abs("testdata/containers")
			if err != nil {
				return err
			}
			e.Setenv("CONTAINERS", containers)
			saved, err := filepath.Abs("../../program/testdata")
			if err != nil {
				return err
			}
			module, err := filepath.Abs("../../examples/functions/affine/affine.wasm")
			if err != nil {
				return err
			}
			examples, err := filepath.Abs("../../examples")
			if err != nil {
				return err
			}
			times, err := filepath.Abs("testdata/times")
			if err != nil {
				return err
			}
			e.Setenv("TIMES", times)
			e.Setenv("INDICES", filepath.Join(filepath.Dir(times), "indices"))
			e.Setenv("EXAMPLES", examples)
			e.Setenv("SAVED", saved)
			e.Setenv("AFFINE", module)
			e.Setenv("GOLDEN", filepath.Join(shared, "golden"))
			e.Setenv("REAL", filepath.Join(shared, "paddle-real"))
			return errors.Join(more(e), os.WriteFile(filepath.Join(e.WorkDir, "small.dummy"), []byte(smallExamples()), 0o666))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"truncate": truncate, "usage": usage, "examples": helpExamples, "full": full, "status": status,
			"differ": differ, "weights": weights, "certificates": certificates, "await": await, "limited": limited,
			"trees": makeTrees, "series": makeSeries,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "data" {
				return missing == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// usage runs thole and wants the status of a wrong command line.
func usage(ts *testscript.TestScript, neg bool, args []string) {
	status(ts, neg, append([]string{fmt.Sprint(exitUsage)}, args...))
}

// status runs thole and wants the status, which is not 0.
func status(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("thole", args[1:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || fmt.Sprint(exit.ExitCode()) != args[0] {
		ts.Fatalf("thole %s: %v, want exit status %s", strings.Join(args[1:], " "), err, args[0])
	}
}

// full runs thole with a standard output that has no room, and wants the status.
func full(ts *testscript.TestScript, _ bool, args []string) {
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	ts.Check(err)
	defer file.Close()
	exe, err := exec.LookPath("thole")
	ts.Check(err)
	var said strings.Builder
	c := exec.Command(exe, args[1:]...)
	c.Dir, c.Stdout, c.Stderr = ts.MkAbs("."), file, &said
	err = c.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || fmt.Sprint(exit.ExitCode()) != args[0] {
		ts.Fatalf("thole %s > /dev/full: %v, want exit status %s", strings.Join(args[1:], " "), err, args[0])
	}
	if !strings.HasSuffix(said.String(), "thole: standard output: no space left on device\n") {
		ts.Fatalf("thole %s > /dev/full says %q", strings.Join(args[1:], " "), &said)
	}
}

// differ NAME A B LO HI wants the last number behind the name in A, less that in B, to be from LO to HI.
func differ(ts *testscript.TestScript, _ bool, args []string) {
	last := regexp.MustCompile(`(?s).*\b` + args[0] + `\W+([0-9.e-]*[0-9])`)
	var n [4]float64
	for i, text := range []string{args[1], args[2], args[3], args[4]} {
		if i < 2 {
			found := last.FindStringSubmatch(ts.ReadFile(text))
			if found == nil {
				ts.Fatalf("%s: no number behind %q", text, args[0])
			}
			text = found[1]
		}
		var err error
		n[i], err = strconv.ParseFloat(text, 64)
		ts.Check(err)
	}
	if d := n[0] - n[1]; !(n[2] <= d && d <= n[3]) {
		ts.Fatalf("%s: %v in %s, %v in %s: %v more, want %v to %v", args[0], n[0], args[1], n[1], args[2], d, n[2], n[3])
	}
}

// weights DIR makes a folder of tables with the weights and the bias that clicks of seed 1 are drawn by.
func weights(ts *testscript.TestScript, _ bool, args []string) {
	model, err := clicks(1, 1)
	ts.Check(err)
	all := make([]string, model.Dim())
	for c := range all {
		all[c] = fmt.Sprint(model.Weight(int64(c)))
	}
	ts.Check(os.Mkdir(ts.MkAbs(args[0]), 0o777))
	for name, row := range map[string]string{"input_weight": strings.Join(all, ","), "input_bias": fmt.Sprint(model.Bias)} {
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), name+".csv"), []byte(row+"\n"), 0o666))
	}
}

// truncate cuts the last byte off a file.
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	ts.Check(os.WriteFile(file, data[:len(data)-1], 0o666))
}

// smallExamples is 300 examples of 40 features, of which the first few decide the label.
func smallExamples() string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range 300 {
		score, row := 0, ""
		for f := range 40 {
			if rng.IntN(4) == 0 {
				row += fmt.Sprintf(" %d", f)
				if f < 4 {
					score++
				}
			}
		}
		label := "-1"
		if score > 0 {
			label = "1"
		}
		b.WriteString(label + row + "\n")
	}
	return b.String()
}
