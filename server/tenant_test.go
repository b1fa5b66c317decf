package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"thole.example/access"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// start begins a job with a matrix "m" that has a value, and leaves its only task in it.
func (l *locked) start(token, job string, v float64) *ps.Client {
	l.t.Helper()
	c := l.task(token, job)
	if err := c.Create(l.t.Context(), "range", meta("m", 1, 4, matrix.RowDense)); err != nil {
		l.t.Fatal(err)
	}
	m, err := c.Matrix("m")
	if err == nil {
		err = m.Increment(cells(v))
	}
	if err == nil {
		err = c.SyncClock(l.t.Context())
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// held is the first value of matrix "m".
func held(t *testing.T, c *ps.Client) float64 {
	t.Helper()
	m, err := c.Matrix("m")
	if err != nil {
		t.Fatal(err)
	}
	row, err := m.GetRow(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return row.Data.Values().([]float64)[0]
}

// cells is a row of matrix "m".
func cells(v float64) matrix.Block {
	b := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 4))
	b.Data.Values().([]float64)[0] = v
	return b
}

// Whatever a token asks with any operation, a job that is another's answers as one that does not exist, and is not changed.
func TestForeignJobsDoNotExist(t *testing.T) {
	l := lock(t, "", nil, map[string]string{"ads": "write", "eve": "write", "see": "read", "narrow": "write jobs=n-*",
		"boss": "administer", "chief": "write,administer"})
	mine := l.start("ads", "secret", 7)
	defer mine.Close()
	for _, token := range []string{"eve", "see", "narrow", "boss"} {
		for i := range rpc.Ops {
			op := rpc.Op(i)
			answer := func(arg string) string {
				conn, err := l.network(token).Dial(t.Context(), l.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				q := &rpc.Request{Op: op, Arg: []byte(arg), Seq: 1, Parts: []rpc.Part{{Kind: rpc.KindDense, Matrix: 1, Version: 1,
					Rows: matrix.Range{Hi: 1}, Cols: matrix.Range{Hi: 4}, Groups: []rpc.Group{{}}}}}
				r, err := conn.Start(ctx, q).Wait(ctx)
				if err != nil {
					return err.Error()
				}
				defer r.Release()
				var text []string
				for _, one := range r.Results {
					text = append(text, string(one.Data))
				}
				return strings.Join(text, " ")
			}
			for _, form := range []string{"%s", "ads/%s"} {
				arg := func(name string) string {
					text, _ := json.Marshal(map[string]any{"job": fmt.Sprintf(form, name), "tasks": 1, "path": "none", "gone": 9,
						"claim": "c", "reason": fmt.Sprintf(form, name)})
					return string(text)
				}
				there, not := answer(arg("secret")), answer(arg("absent"))
				if strings.ReplaceAll(there, "secret", "absent") != not || strings.Contains(not, "secret") {
					t.Errorf("%s: %v of a job of another answers\n  %s, and of none\n  %s", token, op, there, not)
				}
			}
		}
	}
	if got := held(t, mine); got != 7 {
		t.Errorf("the value of the job is %v, want 7", got)
	}
	if err := mine.SyncClock(t.Context()); err != nil {
		t.Errorf("the job: %v", err)
	}
	// Hints for misspelled names are of jobs of one's own.
	net := l.network("eve")
	if _, err := ps.Move(t.Context(), &net, l.addr, rpc.Move{Job: "secrets"}); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("eve: %v", err)
	}
	net = l.network("ads")
	if _, err := ps.Move(t.Context(), &net, l.addr, rpc.Move{Job: "secrets"}); err == nil || !strings.Contains(err.Error(), `did you mean secret?`) {
		t.Errorf("ads: %v", err)
	}
	net = l.network("chief")
	if _, err := ps.Move(t.Context(), &net, l.addr, rpc.Move{Job: "ads/secret"}); err != nil {
		t.Errorf("a token that may administer and write: %v", err)
	}
}

// Jobs of one name under two owners are two jobs, and the attempt of one does not end the other.
func TestOwnersHaveTheirNames(t *testing.T) {
	l := lock(t, "", nil, map[string]string{"a": "write", "b": "write", "boss": "read,administer", "see": "read jobs=a/*"})
	one, two := l.start("a", "job", 1), l.start("b", "job", 2)
	conn, err := l.network("b").Dial(t.Context(), l.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	arg := []byte(`{"job": "job", "tasks": 1, "attempt": 5, "first": true, "launch": 3}`)
	_, _ = conn.Start(t.Context(), &rpc.Request{Op: rpc.OpJoin, Arg: arg}).Wait(t.Context())
	if x := held(t, one); x != 1 {
		t.Errorf("job a/job has %v, want 1", x)
	}
	if err := one.SyncClock(t.Context()); err != nil {
		t.Errorf("job a/job: %v", err)
	}
	var names []string
	for _, j := range l.server.Status(t.Context()) {
		names = append(names, j.Job)
	}
	if slices.Sort(names); !slices.Contains(names, "a/job") {
		t.Errorf("the status has jobs %q", names)
	}
	for token, jobs := range map[string]map[string]float64{"boss": {"a/job": 1}, "see": {"a/job": 1}} {
		for job, want := range jobs {
			r, err := ps.Follow(t.Context(), ps.Options{Network: l.network(token), Servers: []string{l.addr}, Job: job})
			if err != nil {
				t.Errorf("%s follows %s: %v", token, job, err)
				continue
			}
			if got := held(t, r); got != want {
				t.Errorf("%s reads %v of %s, want %v", token, got, job, want)
			}
			r.Close()
		}
	}
	if _, err := ps.Follow(t.Context(), ps.Options{Network: l.network("see"), Servers: []string{l.addr}, Job: "b/job"}); !errors.Is(err, rpc.ErrNotFound) {
		t.Errorf("see follows b/job: %v", err)
	}
	if err := two.Close(); err != nil {
		t.Error(err)
	}
}

// A pattern bounds the names of the jobs that are started, and what a list takes away is refused over connections that are there.
func TestPatternsBoundNames(t *testing.T) {
	l := lock(t, "", nil, map[string]string{"ads": "write jobs=ads-*"})
	c := l.start("ads", "ads-1", 3)
	if _, err := l.dial("ads", "other"); !errors.Is(err, rpc.ErrRefused) ||
		!strings.Contains(err.Error(), `job "ads/other" is outside of the token's scope (want jobs=ads-*)`) {
		t.Errorf("another name: %v", err)
	}
	if _, err := l.dial("ads", "ads-1/x"); !errors.Is(err, rpc.ErrRefused) {
		t.Errorf("a name with a slash: %v", err)
	}
	one, err := access.ParseTokens(fmt.Appendf(nil, "ads %v write jobs=new-*", l.secrets["ads"].Key()))
	if err != nil {
		t.Fatal(err)
	}
	l.table.Replace(one)
	m, err := c.Matrix("m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.GetRow(t.Context(), 0); !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "outside of the token's scope") {
		t.Errorf("after the list has changed: %v", err)
	}
}

// asKilled returns a copy of a folder of logs as a killed server leaves it: one during which no file came or went, as bases do.
func asKilled(t *testing.T, dir string) string {
	t.Helper()
	files := func() (names []string) {
		if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
			names = append(names, name)
			return err
		}); err != nil {
			return []string{err.Error()}
		}
		return names
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		to, before := t.TempDir(), files()
		err := os.CopyFS(to, os.DirFS(dir))
		if err == nil && slices.Equal(before, files()) {
			return to
		}
		if time.Now().After(end) {
			t.Fatalf("a copy of %s: %v, want one while no file comes or goes: %v", dir, err, before)
		}
	}
}

// A job comes back from its log, and from the base of one, as its owner's, also after the owner's secret was replaced.
func TestOwnerComesBack(t *testing.T) {
	for _, base := range []int64{0, 1} { // 1: a base after each record
		dir := t.TempDir()
		logs := func() *server.LogDir {
			d, err := server.OpenLogDir(dir, "test")
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		first := logs()
		l := lock(t, "", nil, map[string]string{"ads": "write memory=1MiB", "eve": "write"},
			func(s *server.Server) { s.Logs, s.LogUnsynced, s.LogBase = first, true, base })
		c, err := ps.Dial(t.Context(), ps.Options{Network: l.network("ads"), Servers: []string{l.addr}, Job: "j", Tasks: 1, Bound: ssp.BSP,
			Retry: time.Minute, Replace: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.Create(t.Context(), "range", meta("m", 1, 4, matrix.RowDense)); err != nil {
			t.Fatal(err)
		}
		m, err := c.Matrix("m")
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if err := m.Increment(cells(1)); err != nil {
				t.Fatal(err)
			}
			if err := c.SyncClock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		dir = asKilled(t, dir)
		fresh := access.NewSecret()
		tokens, err := access.ParseTokens(fmt.Appendf(nil, "ads %v write memory=1MiB\neve %v write\n", fresh.Key(), l.secrets["eve"].Key()))
		if err != nil {
			t.Fatal(err)
		}
		again := *l
		again.secrets = map[string]access.Secret{"ads": fresh, "eve": l.secrets["eve"]}
		again.table = access.NewTable(tokens)
		d := logs()
		again.server = &server.Server{Funcs: l.server.Funcs, Codecs: codecs, Bucket: l.server.Bucket, Tokens: again.table, Logs: d, LogUnsynced: true}
		if err := again.server.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		lis, err := tcp.Network{Tokens: again.table}.Listen(t.Context(), "127.0.0.1:0", again.server)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lis.Close() })
		again.addr = lis.Addr()
		if used, n := again.table.Owner("ads").Account().Used(); used == 0 || n == 0 {
			t.Errorf("base %d: the owner uses %d bytes and %d partitions after the restart", base, used, n)
		}
		if _, err := ps.Follow(t.Context(), ps.Options{Network: again.network("eve"), Servers: []string{again.addr}, Job: "j"}); !errors.Is(err, rpc.ErrNotFound) {
			t.Errorf("base %d: another token follows the job: %v", base, err)
		}
		r, err := ps.Follow(t.Context(), ps.Options{Network: again.network("ads"), Servers: []string{again.addr}, Job: "j"})
		if err != nil {
			t.Fatalf("base %d: %v", base, err)
		}
		if got := held(t, r); got != 50 {
			t.Errorf("base %d: the job has %v, want 50", base, got)
		}
		r.Close()
		back, err := ps.Dial(t.Context(), ps.Options{Network: again.network("ads"), Servers: []string{again.addr}, Job: "j", Tasks: 1,
			Bound: ssp.BSP, Retry: time.Minute, Replace: true})
		if err != nil {
			t.Fatalf("base %d: the owner comes back with its new secret: %v", base, err)
		}
		for _, end := range []struct {
			c    *ps.Client
			logs *server.LogDir
		}{{c, first}, {back, d}} {
			if err := end.c.Leave(t.Context()); err != nil {
				t.Error(err)
			}
			for names := []string{""}; len(names) > 0; time.Sleep(time.Millisecond) {
				if names, err = end.logs.List(); err != nil || t.Context().Err() != nil {
					t.Fatalf("logs %q when the job has ended, error %v", names, err)
				}
			}
		}
	}
}

// Paths of the store outside of the token's are refused, whatever is there, to every operation that has one.
func TestStoresOfTokens(t *testing.T) {
	l := lock(t, "", nil, map[string]string{"ads": "write store=m/ads load=base", "bob": "write"})
	bob, ads := l.start("bob", "b", 5), l.start("ads", "a", 3)
	ctx := t.Context()
	save := func(c *ps.Client, path string) error {
		return c.Save(ctx, ps.SaveOptions{Path: path, Codec: "npz"})
	}
	for _, path := range []string{"m/bob/x", "base/x", "m/ads/theirs"} {
		if err := save(bob, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := bob.Checkpoint(ctx, "m/bob/check"); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "is outside of the token's scope (want store=m/ads load=base)") {
			t.Errorf("%s: %v", what, err)
		}
	}
	fine := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, path := range []string{"m/bob/x", "m/bob/none", "m/adsx", "m", "base/y", "m/ads/../bob/y"} {
		refused("save to "+path, save(ads, path))
		refused("checkpoint to "+path, ads.Checkpoint(ctx, path))
	}
	for _, path := range []string{"m/bob/x", "m/bob/none"} {
		refused("load "+path, ads.Load(ctx, ps.LoadOptions{Path: path}))
	}
	_, err := ads.Restore(ctx, "m/bob/check")
	refused("restore", err)
	refused("an increment of another's", ads.CheckpointSince(ctx, "m/ads/c", "m/bob/check"))
	fine("save", save(ads, "m/ads/x"))
	fine("checkpoint", ads.Checkpoint(ctx, "m/ads/check"))
	fine("load", ads.Load(ctx, ps.LoadOptions{Path: "base/x"}))
	_, err = ads.Restore(ctx, "m/ads/check")
	fine("restore", err)
	if got := held(t, ads); got != 3 {
		t.Errorf("the matrix has %v, want 3 as in the checkpoint", got)
	}
	conn, err := l.network("ads").Dial(ctx, l.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.Start(ctx, &rpc.Request{Op: rpc.OpCatalog, Arg: []byte(`{"path":"m/bob"}`)}).Wait(ctx)
	refused("the checkpoints of another", err)
	_, err = conn.Start(ctx, &rpc.Request{Op: rpc.OpCatalog, Arg: []byte(`{"path":"m/ads"}`)}).Wait(ctx)
	fine("its own checkpoints", err)
}
