package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/algo"
	"thole.example/data"
)

// printed runs a command line that must not fail, and answers with its standard output.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	if code := Main(args, &env{in: strings.NewReader(""), out: &out, err: &log, clock: func() time.Time { return time.Unix(0, 0) }}); code != 0 {
		t.Fatalf("thole %s: status %d: %s", strings.Join(args, " "), code, log.String())
	}
	return out.String()
}

// TestFoldsByHand holds --cv to trainings on files that were dealt out by hand.
func TestFoldsByHand(t *testing.T) {
	scene(t, map[string]string{"small.dummy": smallExamples()})
	lines := strings.SplitAfter(strings.TrimSuffix(smallExamples(), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	all, err := data.LoadFile(t.Context(), "small.dummy", data.Options{Labels: data.AutoTrans})
	if err != nil {
		t.Fatal(err)
	}
	const k = 3
	of := data.Folds(all.Label, k, 5, true)
	args := []string{"train", "--dim", "40", "--seed", "5", "--epochs", "4", "--early-stop", "1"}
	for _, algo := range []string{"lr", "fm"} {
		args := append(args, "--algo", algo)
		said := printed(t, append(args, "--data", "small.dummy", "--cv", fmt.Sprint(k), "--json")...)
		losses := regexp.MustCompile(`"held":\d+,.*?"logloss":([0-9.]+)`).FindAllStringSubmatch(said, -1)
		if len(losses) != k {
			t.Fatalf("%s: %d folds, want %d: %s", algo, len(losses), k, said)
		}
		var sum, squares float64
		for i := range k {
			var rest, held strings.Builder
			for n, line := range lines {
				if of[n] == i {
					held.WriteString(line)
				} else {
					rest.WriteString(line)
				}
			}
			for name, text := range map[string]string{"rest.dummy": rest.String(), "held.dummy": held.String()} {
				if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			printed(t, append(args, "--data", "rest.dummy", "--validate", "held.dummy", "--log", fmt.Sprintf("%s%d.jsonl", algo, i))...)
			log, err := os.ReadFile(fmt.Sprintf("%s%d.jsonl", algo, i))
			if err != nil {
				t.Fatal(err)
			}
			want := regexp.MustCompile(`"event":"end".*"valid":\{"logloss":([0-9.]+)`).FindSubmatch(log)
			if want == nil || string(want[1]) != losses[i][1] {
				t.Errorf("%s, fold %d: logloss %s, by hand %s", algo, i+1, losses[i][1], want)
			}
			v := number64(t, losses[i][1])
			sum, squares = sum+v, squares+v*v
		}
		mean := regexp.MustCompile(`"mean":\{"logloss":([0-9.]+).*"deviation":\{"logloss":([0-9.e-]+)`).FindStringSubmatch(said)
		if got := number64(t, mean[1]); math.Abs(got-sum/k) > 1e-12 {
			t.Errorf("%s: mean %v, want %v", algo, got, sum/k)
		}
		if got, want := number64(t, mean[2]), math.Sqrt((squares-sum*sum/k)/(k-1)); math.Abs(got-want) > 1e-7 {
			t.Errorf("%s: deviation %v, want %v", algo, got, want)
		}
	}
}

func number64(t *testing.T, text string) (v float64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// TestSearchSame holds the table of a search to be the same bytes however many trials run at a time.
func TestSearchSame(t *testing.T) {
	scene(t, map[string]string{"small.dummy": smallExamples()})
	for _, more := range [][]string{
		{"--algo", "fm", "--trials", "6"},
		{"--algo", "lr", "--trials", "9", "--method", "halving", "--resource", "examples", "--sample", "0.9", "--epochs", "3"},
		{"--algo", "fm", "--trials", "3", "--cv", "3"},
	} {
		args := append([]string{"search", "--data", "small.dummy", "--json", "--seed", "11"}, more...)
		one, two := printed(t, append(args, "--parallel", "1")...), printed(t, append(args, "--parallel", "3")...)
		if one != two || !strings.Contains(one, `"trial":2`) {
			t.Errorf("%v: one at a time\n%s\nthree\n%s", more, one, two)
		}
	}
}

// TestDefaultSpaces holds every default space to be one, and to draw trials that can be trained; docs/search.md shows them as they are.
func TestDefaultSpaces(t *testing.T) {
	doc, err := os.ReadFile("../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, s := range defaultSpaces() {
		r := newSpaceReader()
		for _, text := range s.params {
			if err := r.text(text); err != nil {
				t.Errorf("%s: %v", s.of, err)
			}
		}
		fmt.Fprintf(&table, "| %s | `%s` |\n", s.of, strings.ReplaceAll(strings.Join(s.params, "` `"), "|", "\\|"))
	}
	if !bytes.Contains(doc, []byte(table.String())) {
		t.Errorf("docs/search.md has not the table of default spaces:\n%s", table.String())
	}
	var names []string
	for _, s := range searchables() {
		names = append(names, "`"+s.flag+"`")
	}
	if list := strings.Join(names, ", "); !bytes.Contains(doc, []byte(list)) {
		t.Errorf("docs/search.md does not list what can be searched:\n%s", list)
	}
	scene(t, map[string]string{"small.ffm": fieldExamples()})
	for _, a := range algo.Algos() {
		if a.Task == algo.Multiclass {
			continue
		}
		said := printed(t, "search", "--algo", a.Name, "--data", "small.ffm", "--trials", "4", "--json", "--seed", "3")
		if strings.Contains(said, `"failed"`) {
			t.Errorf("%s: %s", a.Name, said)
		}
	}
}

// fieldExamples are examples of two fields.
func fieldExamples() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "%d 0:%d:1 1:%d:1\n", i/7%2, i%5, 5+i%3)
	}
	return b.String()
}

// TestSearchInterrupted holds a search that is interrupted to tell what is finished, and to status 130.
func TestSearchInterrupted(t *testing.T) {
	exe, err := exec.LookPath("thole") // testscript put the test binary on the path under this name
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.dummy"), []byte(smallExamples()), 0o666); err != nil {
		t.Fatal(err)
	}
	// The second trial has more epochs than anybody waits for.
	c := exec.Command(exe, "search", "--algo", "lr", "--data", "small.dummy", "--param", "epochs=1,1000000", "--early-stop", "0", "--rate",
		"0.0001", "--parallel", "1", "--out", "t.csv", "--model", "m", "--best", "best.yaml")
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout = &out
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	var log bytes.Buffer
	for buf := make([]byte, 4096); ; {
		n, err := said.Read(buf)
		log.Write(buf[:n])
		if strings.Contains(log.String(), "trial 2 of 3: ") { // the third one is running, or about to
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			break
		}
		if err != nil {
			t.Fatalf("%v: %s", err, log.String())
		}
	}
	if _, err := log.ReadFrom(said); err != nil {
		t.Fatal(err)
	}
	if c.Wait(); c.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(out.String(), "best   trial ") ||
		strings.Contains(out.String(), "\n3 ") {
		t.Errorf("status %d: %s%s", c.ProcessState.ExitCode(), out.String(), log.String())
	}
	for _, name := range []string{"t.csv", "best.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "m")); err == nil {
		t.Error("a model, of a search that was interrupted")
	}
}
