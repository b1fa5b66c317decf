package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 25, 12, 30, 0, 0, time.UTC)

// begin begins a run of lr in the root.
func begin(t *testing.T, root string) *Recorder {
	t.Helper()
	r, err := Begin(root, "lr", Environment{Algorithm: "lr", Began: noon}, []byte("algo: lr\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// open reads the run, which has to be there.
func open(t *testing.T, folder string) *Run {
	t.Helper()
	r, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// events are those of a run of three epochs, of which the second was the best.
func events() []any {
	all := []any{Start{Algo: "lr", Data: []string{"a"}, Examples: 10, Epochs: 5, Metric: "auc", Better: "max"}}
	for i, auc := range []float64{0.6, 0.8, 0.7} {
		all = append(all, Epoch{Epoch: i + 1, Loss: Number(0.5 - 0.1*float64(i)), Rows: int64(10 * (i + 1)), RowsPerSecond: 100, Seconds: Number(i),
			Valid: Values{{"logloss", 1 - auc}, {"auc", auc}}})
	}
	return append(all, End{Epochs: 3, Best: 2, Stopped: true, Train: Values{{"logloss", 0.25}}, Valid: Values{{"logloss", 0.2}, {"auc", 0.8}}})
}

// TestRecord: what is recorded is read again, while the run goes on and after it.
func TestRecord(t *testing.T) {
	root := filepath.Join(t.TempDir(), "deep", "runs")
	rec := begin(t, root)
	if got, want := rec.Folder(), filepath.Join(root, "20261125-123000-lr"); got != want {
		t.Errorf("folder %s, want %s", got, want)
	}
	all := events()
	for i, e := range all {
		if err := rec.Append(e); err != nil {
			t.Fatal(err)
		}
		r := open(t, rec.Folder())
		if r.State != Running || len(r.Epochs) != min(i, 3) || r.Bad > 0 || (r.End != nil) != (i == 4) {
			t.Fatalf("after event %d: %s, %d epochs, %d bad lines, end %v", i+1, r.State, len(r.Epochs), r.Bad, r.End)
		}
	}
	if err := rec.End(Stopped, "", noon.Add(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	r := open(t, rec.Folder())
	job, err := r.Job()
	if r.State != Stopped || r.Lasted(noon) != 90*time.Second || r.Made() != 3 || r.RowsPerSecond() != 100 || r.Loss() != 0.25 ||
		string(job) != "algo: lr\n" || err != nil || r.Start.Metric != "auc" {
		t.Errorf("read %+v with job %q, %v", r, job, err)
	}
	if v, at := r.Held("auc", true); v != 0.8 || at != 2 {
		t.Errorf("auc %v of epoch %d", v, at)
	}
	if got := fmt.Sprint(r.Curves(), r.Metrics()); got != "[loss logloss auc] [logloss auc]" {
		t.Errorf("curves and metrics %s", got)
	}
	if x, y := r.Curve("auc"); fmt.Sprint(x, y) != "[1 2 3] [0.6 0.8 0.7]" {
		t.Errorf("curve %v %v", x, y)
	}
	again, err := json.Marshal(r.Environment)
	var env Environment
	if err != nil || json.Unmarshal(again, &env) != nil || !env.Ended.Equal(r.Ended) {
		t.Errorf("environment %s, %v", again, err)
	}
}

// TestBestSoFar: a run without an end tells the best value until now.
func TestBestSoFar(t *testing.T) {
	rec := begin(t, t.TempDir())
	for _, e := range events()[:4] {
		if err := rec.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.End(Failed, "it diverged", noon); err != nil {
		t.Fatal(err)
	}
	r := open(t, rec.Folder())
	for metric, want := range map[string]string{"auc": "0.8 2", "logloss": "0.2 2", "other": "NaN 0"} {
		v, at := r.Held(metric, metric == "auc")
		if got := fmt.Sprintf("%.3g %d", v, at); got != want {
			t.Errorf("%s: %s, want %s", metric, got, want)
		}
	}
	if r.State != Failed || r.Error != "it diverged" || fmt.Sprintf("%.3g", r.Loss()) != "0.3" {
		t.Errorf("%s, %q, loss %v", r.State, r.Error, r.Loss())
	}
}

// TestTogether: runs that begin at once in one root all have folders of their own.
func TestTogether(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r, err := Begin(root, "lr", Environment{Began: noon}, nil)
			if err == nil {
				err = errors.Join(r.Append(Start{Algo: "lr"}), r.End(Finished, "", noon))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := List(root)
	if err != nil || len(all) != 20 {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	for i, r := range all {
		want := fmt.Sprintf("20261125-123000-lr-%d", 20-i)
		if i == 19 {
			want = "20261125-123000-lr"
		}
		if r.Name != want || r.State != Finished {
			t.Errorf("run %d is %s, %s, want %s", i, r.Name, r.State, want)
		}
	}
}

// TestDead: a run whose process is gone is not running, whatever it says.
func TestDead(t *testing.T) {
	rec := begin(t, t.TempDir())
	rec.events.Close() // as the system does when it ends a process
	if r := open(t, rec.Folder()); r.State != Dead {
		t.Errorf("%s, want %s", r.State, Dead)
	}
}

// TestDamage: what is damaged is listed as such, and what is no run is not.
func TestDamage(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		state      State
		bad, made  int
	}{
		"whole":            {EventsFile, `{"event":"epoch","epoch":7,"loss":1}` + "\n", Finished, 0, 7},
		"half a line":      {EventsFile, `{"event":"epoch","epoch":7,"loss":1}` + "\n" + `{"event":"ep`, Finished, 0, 7},
		"no events":        {EventsFile, "", Finished, 0, 0},
		"lines in between": {EventsFile, "\x00\n{}\n[1]\n" + `{"event":"epoch","epoch":"x"}` + "\n" + `{"event":"epoch","epoch":2}` + "\n", Finished, 4, 2},
		"later events":     {EventsFile, `{"event":"moon","phase":3}` + "\n", Finished, 0, 0},
		"bad metrics":      {EventsFile, `{"event":"epoch","epoch":1,"valid":{"auc":"x"}}` + "\n" + `{"event":"end","valid":3}` + "\n", Finished, 2, 0},
		"no numbers":       {EventsFile, `{"event":"epoch","epoch":1,"loss":null,"valid":null}` + "\n", Finished, 0, 1},
		"environment cut":  {EnvironmentFile, `{"state":"fin`, Damaged, 0, 0},
		"odd state":        {EnvironmentFile, `{"state":"dancing"}`, Damaged, 0, 0},
		"found-out state":  {EnvironmentFile, `{"state":"dead"}`, Damaged, 0, 0},
		"much environment": {EnvironmentFile, `{"state":"finished","note":"` + strings.Repeat("x", fileLimit) + `"}`, Damaged, 0, 0},
	} {
		root := t.TempDir()
		rec := begin(t, root)
		if err := rec.End(Finished, "", noon); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(rec.Folder(), c.file), []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		all, err := List(root)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d runs, %v", name, len(all), err)
		}
		if r := all[0]; r.State != c.state || r.Bad != c.bad || r.Made() != c.made || (r.Error != "") != (c.state == Damaged) {
			t.Errorf("%s: %s, %d bad lines, %d epochs, %q", name, r.State, r.Bad, r.Made(), r.Error)
		}
	}
	root := t.TempDir()
	for _, path := range []string{"other/file", ".hidden/environment.json", "file"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o777), os.WriteFile(filepath.Join(root, path), nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := List(root); err != nil || len(all) != 0 {
		t.Errorf("%d runs where there are none, %v", len(all), err)
	}
	if all, err := List(filepath.Join(root, "nowhere")); err != nil || all != nil {
		t.Errorf("%v, %v of a root that is not there", all, err)
	}
}

// TestManyEvents: of more events than are read the first and the last ones are kept, and the end.
func TestManyEvents(t *testing.T) {
	rec := begin(t, t.TempDir())
	var b strings.Builder
	n := 0
	for ; b.Len() <= eventsLimit+1000; n++ {
		fmt.Fprintf(&b, `{"event":"epoch","epoch":%d,"loss":1,"pad":"%s"}`+"\n", n+1, strings.Repeat("x", 5000))
	}
	b.WriteString(`{"event":"end","epochs":1}` + "\n")
	if err := errors.Join(rec.End(Finished, "", noon), os.WriteFile(filepath.Join(rec.Folder(), EventsFile), []byte(b.String()), 0o666)); err != nil {
		t.Fatal(err)
	}
	r := open(t, rec.Folder())
	if !r.Cut || r.Bad != 0 || r.End == nil || r.Epochs[0].Epoch != 1 || r.Made() != n || len(r.Epochs) >= n {
		t.Errorf("cut %v, %d bad lines, end %v, %d of %d epochs", r.Cut, r.Bad, r.End, len(r.Epochs), n)
	}
}

// TestUnwritable: where no folder can be made there is an error and nothing is left.
func TestUnwritable(t *testing.T) {
	root := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(root, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err := Begin(root, "lr", Environment{Began: noon}, nil); err == nil {
		t.Errorf("a run in a file: %v", r.Folder())
	}
	var none *Recorder
	if err := errors.Join(none.Append(Start{}), none.End(Finished, "", noon), none.Failed()); err != nil || none.Folder() != "" {
		t.Errorf("no recorder: %v", err)
	}
	rec := begin(t, t.TempDir())
	rec.events.Close()
	first := rec.Append(Start{})
	if again := rec.Append(Start{}); first == nil || again != first || rec.Failed() != first {
		t.Errorf("errors %v, then %v", first, again)
	}
}

// TestFind: runs are named by what no other has.
func TestFind(t *testing.T) {
	var all []*Run
	for _, name := range []string{"20261126-090000-fm", "20261125-123000-lr-2", "20261125-123000-lr", "20261125-120000-deepfm"} {
		all = append(all, &Run{Name: name, Folder: filepath.Join("runs", name)})
	}
	for name, want := range map[string]string{
		"last": "20261126-090000-fm", "last-0": "20261126-090000-fm", "last-3": "20261125-120000-deepfm", "last-4": "there are 4",
		"last-x": "want last, or last-1", "last--1": "want last, or last-1", "20261126": "20261126-090000-fm", "deepfm": "20261125-120000-deepfm",
		"20261125-123000-lr": "20261125-123000-lr", "lr-2": "20261125-123000-lr-2", "runs/20261126-090000-fm/": "20261126-090000-fm",
		"fm": "may be 2 runs", "20261125": "may be 3 runs", "": "no run", "svm": "no run", "20261126-090000-fn": "did you mean 20261126-090000-fm?",
	} {
		got := ""
		if r, err := Find(all, name); err != nil {
			got = err.Error()
		} else if got = r.Name; got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	if _, err := Find(nil, Last); err == nil {
		t.Error("the last of none")
	}
}

// TestRemove: only what belongs to a run that has ended is removed.
func TestRemove(t *testing.T) {
	root := t.TempDir()
	rec := begin(t, root)
	if err := open(t, rec.Folder()).Remove(false); err == nil || !strings.Contains(err.Error(), "still running") {
		t.Errorf("a run that goes on: %v", err)
	}
	if err := rec.End(Finished, "", noon); err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(rec.Folder(), "note")
	if err := os.WriteFile(note, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := open(t, rec.Folder()).Remove(false); err == nil || !strings.Contains(err.Error(), "note") {
		t.Errorf("a run with a note in it: %v", err)
	}
	open(t, rec.Folder()) // is whole
	if err := errors.Join(os.Remove(note), open(t, rec.Folder()).Remove(false)); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestRedact: secrets are not written; paths of files with secrets are.
func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"train --data a.ffm --seed 3":                "train --data a.ffm --seed 3",
		"worker --token abc --data a":                "worker --token *** --data a",
		"worker --token=abc --data a":                "worker --token=*** --data a",
		"worker --token-file t.secret --tls-key k":   "worker --token-file t.secret --tls-key k",
		"train --set password=x --hyper l1=1":        "train --set password=*** --hyper l1=1",
		"train --data https://me:pass@host/a?b=1":    "train --data https://me:***@host/a?b=1",
		"train --data s3://b/a?X-Signature=abc&c=2":  "train --data s3://b/a?X-Signature=***&c=2",
		"train --secret --data a":                    "train --secret --data a",
		"train --data tokens/password.csv --holdout": "train --data tokens/password.csv --holdout",
	} {
		args := strings.Fields(in)
		if got := strings.Join(Redact(args), " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestTitle: names are good for folders, whatever the label.
func TestTitle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := title(noon, rapid.String().Draw(t, "label"))
		if !strings.HasPrefix(name, "20261125-123000") || strings.ContainsAny(name, "/\\ .\x00") || strings.HasSuffix(name, "-") || len(name) > 60 {
			t.Fatalf("%q", name)
		}
	})
	for label, want := range map[string]string{"": "", "deepfm": "-deepfm", "../x y": "-x-y", "a--b": "-a-b"} {
		if got := title(noon, label); got != "20261125-123000"+want {
			t.Errorf("%q: %s", label, got)
		}
	}
}

// TestValues: metrics keep their order, and what is no number is null.
func TestValues(t *testing.T) {
	vs := Values{{"z", 1.5}, {"a", math.NaN()}, {"m\"", math.Inf(1)}}
	text, err := json.Marshal(vs)
	if err != nil || string(text) != `{"z":1.5,"a":null,"m\"":null}` {
		t.Fatalf("%s, %v", text, err)
	}
	var got Values
	if err := json.Unmarshal(text, &got); err != nil || len(got) != 3 || got[0] != vs[0] || got[2].Name != `m"` || !math.IsNaN(got.Get("a")) {
		t.Errorf("%v, %v", got, err)
	}
	if !slices.Equal(States()[:5], []State{Running, Finished, Stopped, Failed, Interrupted}) {
		t.Error("the states that are written are not the first five")
	}
}

// FuzzRun: no bytes make reading a run fail in other ways than by an error.
func FuzzRun(f *testing.F) {
	f.Add([]byte(`{"state":"finished"}`), []byte(`{"event":"epoch","epoch":1,"loss":0.5,"valid":{"auc":0.7}}`+"\n"))
	f.Add([]byte(`{"state":"running","began":"2026-11-25T12:00:00Z"}`), []byte(`{"event":"end","train":null,"best":-3}`+"\n{"))
	f.Fuzz(func(t *testing.T, env, events []byte) {
		folder := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(folder, EnvironmentFile), env, 0o666), os.WriteFile(filepath.Join(folder, EventsFile), events, 0o666)); err != nil {
			t.Fatal(err)
		}
		r := open(t, folder)
		for _, name := range append(r.Curves(), r.Metrics()...) {
			x, y := r.Curve(name)
			if len(x) != len(y) || len(x) > len(r.Epochs) {
				t.Errorf("%s: %d and %d of %d epochs", name, len(x), len(y), len(r.Epochs))
			}
			r.Held(name, true)
		}
		r.Lasted(noon)
		r.Loss()
	})
}
