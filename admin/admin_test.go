package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"thole.example/access"
	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// world is a server with a job of two tasks, of which task 1 has made a step that task 0 has not.
type world struct {
	*Admin
	tasks [2]*ps.Client
	boss  access.Secret
	ann   access.Secret
}

func newWorld(t *testing.T, ledger *budget.Ledger) *world {
	t.Helper()
	w := &world{boss: access.NewSecret(), ann: access.NewSecret()}
	all := access.Read | access.Write | access.Administer
	table := access.NewTable([]access.Token{{Name: "boss", Key: w.boss.Key(), Rights: all},
		{Name: "ann", Key: w.ann.Key(), Rights: access.Write, Limits: access.Limits{Partitions: 100}}})
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	logs, err := server.OpenLogDir(filepath.Join(t.TempDir(), "logs"), "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // when the log of the job, which has failed, was removed
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if names, err := logs.List(); err != nil || len(names) == 0 {
				break
			}
		}
		_ = logs.Close()
	})
	s := &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, Ledger: ledger, Logs: logs, Role: role{}, Replicas: 2, Tokens: table}
	if err := s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := tcp.Network{Tokens: table, Ledger: ledger, Log: slog.New(slog.DiscardHandler)}.Listen(t.Context(), "127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w.Admin = &Admin{Server: s, Listener: l, Ledger: ledger, Tokens: table, Version: "test"}
	for i := range w.tasks {
		w.tasks[i], err = ps.Dial(t.Context(), ps.Options{Network: tcp.Network{Secret: &w.ann}, Servers: []string{l.Addr()}, Job: "ctr\xff", Task: i,
			Tasks: 2, Bound: ssp.BSP, Worker: string(rune('a' + i))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.tasks[i].Close() })
		m := matrix.Meta{Name: "w", Rows: 2, Cols: 100, DType: matrix.F32, Rule: "sgd", BlockRows: 2, BlockCols: 100}
		if err := w.tasks[i].Create(t.Context(), "range", m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.tasks[1].StartClock(t.Context(), 1, 0.1).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// role is one that a server has.
type role struct{}

func (role) Check() error                           { return nil }
func (role) Epoch() uint64                          { return 1 }
func (role) Copied(context.Context, []string) error { return nil }
func (role) Resign(error)                           {}

// follow has a standby ask for the logs of the server, and gives its address once the server has named it.
func (w *world) follow(t *testing.T) string {
	t.Helper()
	conn, err := tcp.Network{Secret: &w.boss}.Dial(t.Context(), w.Listener.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	a, err := conn.Start(t.Context(), &rpc.Request{Op: rpc.OpCopy, Arg: []byte(`{"claim":"standby"}`)}).Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.Release()
	all := w.Status(t.Context()).Standbys
	if len(all) != 1 || all[0].Uncopied == 0 || all[0].Synchronous {
		t.Fatalf("standbys are %+v, want one that lacks something", all)
	}
	return all[0].At
}

func (w *world) get(t *testing.T, path string, secret *access.Secret) (int, string) {
	t.Helper()
	q := httptest.NewRequest("GET", path, nil)
	if secret != nil {
		q.Header.Set("Authorization", "Bearer "+secret.Text())
	}
	r := httptest.NewRecorder()
	w.Handler().ServeHTTP(r, q)
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.Code, string(text)
}

// Health is for everybody; the rest wants a token that may administer, and tells others nothing, whatever they ask.
func TestGuarded(t *testing.T) {
	w := newWorld(t, nil)
	stranger := access.NewSecret()
	refusal := ""
	for _, path := range []string{"/metrics", "/status"} {
		for name, s := range map[string]*access.Secret{"none": nil, "unknown": &stranger, "no right": &w.ann} {
			code, text := w.get(t, path, s)
			if refusal == "" {
				refusal = text
			}
			if code != http.StatusUnauthorized || text != refusal || strings.Contains(text, "ctr") {
				t.Errorf("%s, %s: %d %s", path, name, code, text)
			}
		}
		if code, text := w.get(t, path, &w.boss); code != http.StatusOK || !strings.Contains(text, "ctr") || strings.Contains(text, "boss.") {
			t.Errorf("%s: %d %.300s", path, code, text)
		}
	}
	if code, text := w.get(t, "/healthz", nil); code != 200 || text != "ok\n" {
		t.Errorf("%d %s", code, text)
	}
	if code, text := w.get(t, "/readyz", nil); code != 200 || text != "ready\n" {
		t.Errorf("%d %s", code, text)
	}
	w.Ready = func() error { return errors.New("no role: waits for server 0") }
	if code, text := w.get(t, "/readyz", nil); code != 503 || text != "no role: waits for server 0\n" {
		t.Errorf("%d %s", code, text)
	}
	if code, text := w.get(t, "/healthz", nil); code != 200 || text != "ok\n" {
		t.Errorf("without a role: %d %s", code, text)
	}
	w.Ready = func() error { return nil }
	if code, text := w.get(t, "/readyz", nil); code != 200 || text != "ready\n" {
		t.Errorf("%d %s", code, text)
	}
	w.Stop()
	if code, text := w.get(t, "/readyz", nil); code != 503 || text != "stopping\n" {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := w.get(t, "/debug/pprof/", &w.boss); code != http.StatusNotFound {
		t.Errorf("profiles without Pprof: %d", code)
	}
	w.Pprof = true
	if code, _ := w.get(t, "/debug/pprof/cmdline", nil); code != http.StatusUnauthorized {
		t.Errorf("profiles without a token: %d", code)
	}
	if code, text := w.get(t, "/debug/pprof/", &w.boss); code != 200 || !strings.Contains(text, "goroutine") {
		t.Errorf("profiles: %d %.100s", code, text)
	}
	w.Tokens = nil
	if code, _ := w.get(t, "/status", nil); code != 200 {
		t.Errorf("without tokens: %d", code)
	}
}

// The status says who waits for whom, for which clock of which matrix, and what there is.
func TestStatus(t *testing.T) {
	for _, ledger := range []*budget.Ledger{nil, budget.New(1 << 30)} {
		w := newWorld(t, ledger)
		w.Handler()
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() {
			_, err := w.tasks[1].Pull(ctx, []matrix.Lookup{{Matrix: "w"}})
			waited <- err
		}()
		var s Status
		for len(s.Jobs) == 0 || len(s.Jobs[0].Waits) == 0 {
			if t.Context().Err() != nil {
				t.Fatalf("nobody waits: %+v", s)
			}
			s = w.Status(t.Context())
			time.Sleep(time.Millisecond)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Status
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		j := back.Jobs[0]
		wait := j.Waits[0]
		if wait.Task != 1 || wait.Clock != 1 || wait.Matrix != "w" || !slices.Equal(wait.For, []int{0}) || wait.Since < 0 ||
			!slices.Equal(wait.Partitions, []int{0}) {
			t.Errorf("%+v", wait)
		}
		if j.All != 2 || j.Joined != 2 || j.Bound != "BSP" || len(j.Tasks) != 2 || !slices.Equal(j.Tasks[0].Clocks, []int{0, 0}) ||
			!slices.Equal(j.Tasks[1].Clocks, []int{1, 1}) || j.Clocks[1].Slowest != 0 || j.Clocks[1].Fastest != 1 || j.Tasks[0].Status != "here" {
			t.Errorf("%+v", j.Report)
		}
		m := j.Tables[0]
		if m.Name != "w" || m.Type != "f32" || m.Layout != "dense" || m.Rule != "sgd" || m.Bound != "BSP" || m.Rows != 2 || m.Cols != 100 ||
			m.Partitions != 1 || m.Everywhere != 1 || m.Bytes < 800 || m.Slowest != 0 || m.Columns != 100 {
			t.Errorf("%+v", m)
		}
		if back.Memory.Used["tables"] != m.Bytes || back.Memory.Limit != ledger.Total() {
			t.Errorf("%+v", back.Memory)
		}
		if len(back.Tokens) != 2 || back.Tokens[0].Name != "ann" || back.Tokens[0].Connections != 2 || back.Tokens[0].Bytes < m.Bytes || // and updates that wait

			back.Tokens[0].Partitions != 1 || back.Tokens[0].Limits != "partitions=100" || back.Tokens[1].Requests != 0 {
			t.Errorf("%+v", back.Tokens)
		}
		seen := map[string]uint64{}
		for _, o := range back.Operations {
			seen[o.Name] = o.Requests
			if o.P50 <= 0 || o.P99 < o.P50 || o.Measure.Requests() != o.Requests {
				t.Errorf("%+v", o)
			}
		}
		if seen["join"] != 2 || seen["create"] != 2 || seen["push"] != 1 || back.Stats.Connections != 2 || back.Stats.Running != 1 {
			t.Errorf("%v, %+v", seen, back.Stats)
		}
		if l := j.Log; l == nil || l.End == 0 || l.Since != l.End || !l.Synced || l.Most < 1<<20 || l.Base != nil || l.Replay != nil || l.Error != "" {
			t.Errorf("%+v", l)
		}
		if !strings.Contains(j.String(), "task 1 waits for clock 1 of matrix w, partition 0 for ") {
			t.Errorf("%s", j)
		}
		cancel()
		<-waited
	}
}

// Every metric of the table is measured in a server that does everything, and no other.
func TestMetrics(t *testing.T) {
	w := newWorld(t, budget.New(1<<30))
	w.Handler()
	standby := w.follow(t)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(collector{w.Admin}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range families {
		found[f.GetName()] = true
	}
	for _, m := range metrics() {
		if !found[m.name] {
			t.Errorf("%s is not measured", m.name)
		}
		delete(found, m.name)
	}
	if len(found) > 0 {
		t.Errorf("measured and in no table: %v", found)
	}
	want := "# HELP thole_partitions partitions on this server\n# TYPE thole_partitions gauge\nthole_partitions{job=\"ann/ctr\uFFFD\",matrix=\"w\"} 1\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "thole_partitions"); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, error %v", problems, err)
	}
	_, text := w.get(t, "/metrics", &w.boss)
	for _, line := range []string{`thole_clock{job="ann/ctr` + "\uFFFD" + `",matrix="w",which="fastest"} 1`, `thole_request_seconds_count{op="join"} 2`,
		`thole_refused_total{reason="token"} 0`, `thole_memory_bytes{class="small requests"}`, "go_goroutines ",
		`thole_log_synced{job="ann/ctr` + "\uFFFD" + `"} 1`, `thole_token_connections{token="ann"} 2`,
		`thole_standby_synchronous{standby="` + standby + `"} 0`, "thole_standbys_dropped_total 0", "thole_copy_uncopied_bytes 0"} {
		if !strings.Contains(text, line) {
			t.Errorf("no line %q", line)
		}
	}
}

// The page has the table of metrics as it is here, no row more and none less.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if regexp.MustCompile("^\\| `thole_").MatchString(line) {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	var want []string
	for _, m := range metrics() {
		want = append(want, "| `"+m.name+"` | "+string(m.kind)+" | "+strings.Join(strings.Fields(m.labels), ", ")+" | "+m.help+" |")
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the page has\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}
