package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"thole.example/train"
)

// TestLiveLine: the line of progress fits every terminal, says as much as there is room for, and everything once.
func TestLiveLine(t *testing.T) {
	words := []string{"12.3M rows/s", "left 1m20s"}
	for columns := range 220 {
		line := liveLine(columns, "train lr", "epoch 3/10  loss 0.31415", 0.25, words)
		if n := utf8.RuneCountInString(line); n > max(1, columns-1) {
			t.Errorf("%d columns: the line has %d characters: %q", columns, n, line)
		}
		if columns > 52 && (strings.Count(line, "left") != 1 || strings.Count(line, "loss 0.31415") != 1) {
			t.Errorf("%d columns: %q", columns, line)
		}
		if columns >= 40 && !strings.HasPrefix(line, "train lr   25%  epoch 3/10  loss") && !strings.HasPrefix(line, "train lr  [") {
			t.Errorf("%d columns: %q", columns, line)
		}
		if columns >= 80 && strings.Count(line, "rows/s") != 1 {
			t.Errorf("%d columns: no rate: %q", columns, line)
		}
	}
	if got, want := liveLine(60, "write", "", 0.5, nil), "write  ["+strings.Repeat("=", 19)+strings.Repeat(" ", 19)+"]   50%"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := liveLine(20, "write", "", 1, nil), "write  100%"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSpeed: the rate is that of the last seconds, and the time left follows from it.
func TestSpeed(t *testing.T) {
	at := func(second int, done int64) mark {
		return mark{time.Unix(1000, 0).Add(time.Duration(second) * time.Second), done}
	}
	s := speed{from: at(0, 0)}
	if words := s.words(1000, "rows"); words != nil {
		t.Errorf("before anything is done: %q", words)
	}
	for _, c := range []struct {
		second int
		done   int64
		want   string
	}{
		{1, 100, "100 rows/s left 1m39s"},
		{2, 200, "100 rows/s left 1m38s"},
		{10, 1000, "100 rows/s left 1m30s"},
		{20, 9000, "800 rows/s left 1s"},
		{21, 9000, "727 rows/s left 1s"},
		{1000, 9000, ""},
	} {
		s.see(at(c.second, c.done))
		if got := strings.Join(s.words(10_000, "rows"), " "); got != c.want {
			t.Errorf("after %d s: %q, want %q", c.second, got, c.want)
		}
	}
	for v, want := range map[float64]string{0: "0", 7.4: "7", 999.4: "999", 999.6: "1.0k", 12345: "12.3k", 123456: "123k", 4.2e9: "4.2G", 1e13: "10T"} {
		if got := count(v); got != want {
			t.Errorf("count(%v) is %q, want %q", v, got, want)
		}
	}
}

// TestPlainProgress: what is no terminal gets whole lines, seldom, and nothing that moves the cursor.
func TestPlainProgress(t *testing.T) {
	var out strings.Builder
	p := (&env{err: &out}).progress("read x", "B", 1000)
	for i := range 1000 {
		p.set(int64(i), "")
	}
	p.line("a\x1b[2Jb")
	p.end()
	if got := out.String(); strings.ContainsAny(got, "\r\x1b") || strings.Count(got, "\n") > 2 || !strings.HasSuffix(got, "a\\x1b[2Jb\n") {
		t.Errorf("printed %q", got)
	}
}

// TestProgress: what takes long says how far it is, from nothing to the end, for every command.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var rows strings.Builder
	for range 5000 {
		rows.WriteString("1,0.5,3,4\n")
	}
	for name, text := range map[string]string{
		"a.csv": rows.String(), "same.csv": strings.ReplaceAll(rows.String(), "0.5,3,4", "1"), "more.dummy": smallExamples(),
		"third.dummy": smallExamples(),
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	examples(t, dir)
	thole(t, "convert", "a.csv", "a", "--to", "angel", "--block-rows", "1000")
	thole(t, "train", "--data", "small.dummy", "--epochs", "1", "--model", "lr")
	percent := regexp.MustCompile(`(?m)^(\w+).*: (\d+)%`)
	for command, about := range map[string]string{
		"convert a a.dbdf":      "write",
		"slice a cut --rows 0:": "write",
		"average a a mean":      "write",
		"inspect a":             "inspect",
		"inspect same.csv":      "inspect",
		"verify a":              "verify",
		"diff a a.csv":          "diff",
		"export lr net":         "export",
		"evaluate --model lr --data small.dummy,more.dummy,third.dummy": "score",
		"train --data small.dummy --epochs 2":                           "train",
	} {
		var log strings.Builder
		now := time.Unix(0, 0)
		clock := func() time.Time { now = now.Add(3 * time.Second); return now }
		if code := Main(strings.Fields(command), &env{out: io.Discard, err: &log, clock: clock}); code != 0 {
			t.Fatalf("%s: status %d: %s", command, code, &log)
		}
		var shown []int
		for _, m := range percent.FindAllStringSubmatch(log.String(), -1) {
			if n, _ := strconv.Atoi(m[2]); m[1] == about {
				shown = append(shown, n)
			}
		}
		if n := len(shown); n < 2 || !slices.IsSorted(shown) || shown[0] >= 100 || shown[n-1] != 100 {
			t.Errorf("%s says %d of %s: %s", command, shown, about, &log)
		}
	}
}

// TestProgressDuring: where only time passes, the line has a share and what is left, or how long it has been.
func TestProgressDuring(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := (&env{err: &out, clock: func() time.Time { return now }}).progress("bench row", "keys", 1)
	now = now.Add(plainFirst)
	p.during("creating", time.Second, 0)
	now = now.Add(plainEvery)
	p.during("measuring", 2*time.Second, 8*time.Second)
	p.during("measuring", 3*time.Second, 8*time.Second) // too early for a line
	if got, want := out.String(), "bench row:  creating  for 1s\nbench row: 25%  measuring  left 6s\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := liveLine(60, "bench row", "creating", unknown, []string{"for 1s"}), "bench row  creating  for 1s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPlainSteps: a pipe gets few lines, no two with the same percent, and the last one; work of unknown length ever fewer.
func TestPlainSteps(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	e := &env{err: &out, clock: func() time.Time { return now }}
	p := e.progress("read x", "B", 1000)
	for done := int64(0); done <= 1000; done += 2 {
		now = now.Add(3 * time.Second)
		p.set(done, "")
	}
	seen := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		percent, _, _ := strings.Cut(line, "%")
		if seen[percent] {
			t.Errorf("twice: %s", line)
		}
		seen[percent] = true
	}
	if n := len(seen); n < 10 || n > 40 || !seen["read x: 100"] || !strings.Contains(out.String(), " 0.67 B/s") {
		t.Errorf("%d lines: %s", n, &out)
	}
	out.Reset()
	p = e.progress("wait", "", 1)
	for range 600 {
		now = now.Add(time.Second)
		p.during("", time.Second, 0)
	}
	if n := strings.Count(out.String(), "\n"); n < 10 || n > 20 {
		t.Errorf("%d lines of ten minutes: %s", n, &out)
	}
	for rate, want := range map[float64]string{2.3e6: "2.3 MB/s", 512: "512 B/s", 1.5e4: "15.0 kB/s", 0.25: "0.25 B/s"} {
		if got := perSecond(rate, "B"); got != want {
			t.Errorf("%v: %q, want %q", rate, got, want)
		}
	}
	if got := perSecond(0.4, "permutations"); got != "0.4 permutations/s" {
		t.Error(got)
	}
}

// TestTreesLive: on a terminal the line of progress moves with trees, of which nothing is told before they are done.
func TestTreesLive(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	e := &env{clock: func() time.Time { return now }}
	w := &watcher{env: e, start: now, round: "tree", bar: &progress{w: &out, now: e.now, live: true, what: "train gbdt", unit: "rows", total: 300}}
	for tree := range 3 {
		now = now.Add(time.Second)
		w.event(train.Event{Epoch: tree + 1, Epochs: 3, Rows: int64(tree+1) * 100, Total: 300, Loss: 0.5, Done: true, Last: tree == 2})
	}
	if n := strings.Count(out.String(), "train gbdt"); n != 3 || !strings.Contains(out.String(), "tree 2/3  loss 0.50000") {
		t.Errorf("shown %d times, want 3, tree 2 among them: %q", n, out.String())
	}
}
