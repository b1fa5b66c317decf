package server_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

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

// locked is a server with tokens.
type locked struct {
	t       *testing.T
	server  *server.Server
	listens rpc.Listener
	addr    string
	table   *access.Table
	secrets map[string]access.Secret
}

// lock starts a server; tokens are rights, scope and limits by name.
func lock(t *testing.T, job string, ledger *budget.Ledger, tokens map[string]string, more ...func(s *server.Server)) *locked {
	t.Helper()
	l := &locked{t: t, secrets: map[string]access.Secret{}}
	var all []access.Token
	for name, text := range tokens {
		s := access.NewSecret()
		l.secrets[name] = s
		one, err := access.ParseTokens(fmt.Appendf(nil, "%s %v %s", name, s.Key(), text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one...)
	}
	l.table = access.NewTable(all)
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	limits, err := access.ParseLimits(job)
	if err != nil {
		t.Fatal(err)
	}
	l.server = &server.Server{Funcs: funcs, Codecs: codecs, Bucket: &blob.Mem{}, JobLimits: limits, Ledger: ledger, Tokens: l.table}
	for _, set := range more {
		set(l.server)
	}
	lis, err := tcp.Network{Tokens: l.table, Ledger: ledger}.Listen(t.Context(), "127.0.0.1:0", l.server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	l.addr, l.listens = lis.Addr(), lis
	return l
}

func (l *locked) network(name string) tcp.Network {
	s := l.secrets[name]
	return tcp.Network{Secret: &s}
}

func (l *locked) dial(name, job string) (*ps.Client, error) {
	return ps.Dial(l.t.Context(), ps.Options{Network: l.network(name), Servers: []string{l.addr}, Job: job, Tasks: 1, Bound: ssp.BSP})
}

// task is a client of a job of its own.
func (l *locked) task(name, job string) *ps.Client {
	l.t.Helper()
	c, err := l.dial(name, job)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	return c
}

// A token that lacks a right is refused every operation that needs it by the right's name alone, whatever is there.
func TestRightsAreNeeded(t *testing.T) {
	l := lock(t, "", nil, map[string]string{"reader": "read jobs=writer/secret-*", "writer": "write", "admin": "administer"})
	w := l.task("writer", "secret-job")
	if err := w.Create(t.Context(), "range", meta("m", 2, 4, matrix.RowDense)); err != nil {
		t.Fatal(err)
	}
	for name, lacks := range map[string]map[rpc.Op]string{
		"reader": {rpc.OpJoin: "write", rpc.OpCreate: "write", rpc.OpPush: "write", rpc.OpUpdate: "write", rpc.OpSave: "write", rpc.OpLoad: "write",
			rpc.OpLeave: "write", rpc.OpQuit: "write", rpc.OpCommit: "write", rpc.OpAbort: "write", rpc.OpDefine: "write", rpc.OpPrune: "write",
			rpc.OpMove: "write", rpc.OpAwait: "write", rpc.OpMoving: "write", 99: "write,administer"},
		"admin": {rpc.OpJoin: "write", rpc.OpPull: "read", rpc.OpGet: "read", rpc.OpMembers: "read", rpc.OpBarrier: "read", rpc.OpFollow: "read",
			rpc.OpCatalog: "read"},
	} {
		conn, err := l.network(name).Dial(t.Context(), l.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for op, right := range lacks {
			for _, arg := range []string{`{"job": "writer/secret-job", "tasks": 1}`, `{"job": "nowhere", "tasks": 1}`, "noise"} {
				_, err := conn.Start(t.Context(), &rpc.Request{Op: op, Arg: []byte(arg)}).Wait(t.Context())
				if want := "server " + l.addr + ": refused: the token has no right to " + right; !errors.Is(err, rpc.ErrRefused) || err.Error() != want {
					t.Errorf("%s: %v with %s: %v, want %s", name, op, arg, err, want)
				}
			}
		}
	}
	conn, err := l.network("reader").Dial(t.Context(), l.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Start(t.Context(), &rpc.Request{Op: rpc.OpPull}).Wait(t.Context()); err == nil || strings.Contains(err.Error(), "right") {
		t.Errorf("a pull of who may read: %v", err)
	}
	makes := []rpc.Part{{Kind: rpc.KindKeys, Make: true}} // columns, which is no reading
	if _, err := conn.Start(t.Context(), &rpc.Request{Op: rpc.OpPull, Parts: makes}).Wait(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "no right to write") {
		t.Errorf("a pull that makes columns: %v", err)
	}
	r, err := ps.Follow(t.Context(), ps.Options{Network: l.network("reader"), Servers: []string{l.addr}, Job: "writer/secret-job"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := r.Matrix("m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.GetRow(t.Context(), 1); err != nil {
		t.Errorf("a reader reads: %v", err)
	}
}

// Matrices that pass the limits of a token or of a job are refused, whatever the job, and what a job had is free when it ends.
func TestTableLimits(t *testing.T) {
	for _, ledger := range []*budget.Ledger{nil, budget.New(1 << 30)} {
		l := lock(t, "partitions=6 bytes=1MiB", ledger, map[string]string{"a": "write bytes=100KiB partitions=8", "b": "write"})
		refused := func(err error, want string) {
			t.Helper()
			if !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "--memory") {
				t.Errorf("got %v, want %q", err, want)
			}
		}
		split := meta("m", 4, 100, matrix.RowDense)
		split.BlockRows, split.BlockCols = 1, 100 // 4 partitions of 800 bytes
		big := meta("big", 1, 20_000, matrix.RowDense)
		big.BlockRows, big.BlockCols = 1, 1<<20
		one := l.task("a", "one")
		if err := one.Create(t.Context(), "range", split); err != nil {
			t.Fatal(err)
		}
		refused(one.Create(t.Context(), "range", big), "the limit of the token is reached: memory=102400")
		more := split
		more.Name = "more"
		refused(one.Create(t.Context(), "range", more), "the limit of the job is reached: partitions=6")
		two := l.task("a", "two")
		if err := two.Create(t.Context(), "range", more); err != nil {
			t.Fatal(err)
		}
		small := meta("small", 1, 1, matrix.RowDense)
		refused(two.Create(t.Context(), "range", small), "the limit of the token is reached: partitions=8")
		if used, n := l.table.Holder(l.secrets["a"]).Account().Used(); used < 30_000 || used > 50_000 || n != 8 {
			t.Errorf("%d bytes and %d partitions are counted, want about 42000, of which 6400 are values and 12000 the two jobs, and 8", used, n)
		}
		b := l.task("b", "three")
		if err := b.Create(t.Context(), "range", big); err != nil {
			t.Fatal(err)
		}
		big.Name, big.Cols = "bigger", 200_000
		refused(b.Create(t.Context(), "range", big), "the limit of the job is reached: memory=1048576")
		for _, c := range []*ps.Client{one, two} {
			if err := c.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for n := int64(1); n > 0; {
			if t.Context().Err() != nil {
				t.Fatalf("%d bytes stay counted", n)
			}
			bytes, partitions := l.table.Holder(l.secrets["a"]).Account().Used()
			n = bytes + partitions
			time.Sleep(time.Millisecond)
		}
	}
}

// A sparse matrix does not grow beyond the limit; what it has stays, and keys that are there can be changed.
func TestGrowthLimit(t *testing.T) {
	for _, ledger := range []*budget.Ledger{nil, budget.New(1 << 30)} {
		l := lock(t, "", ledger, map[string]string{"a": "write bytes=200KiB"})
		c := l.task("a", "j")
		if err := c.Create(t.Context(), "hash", meta("w", 1, 1<<40, matrix.RowSparse)); err != nil {
			t.Fatal(err)
		}
		m, err := c.Matrix("w")
		if err != nil {
			t.Fatal(err)
		}
		push := func(from, n int) error {
			keys, ones := make([]int64, n), make([]float64, n)
			for i := range n {
				keys[i], ones[i] = int64(from+i), 1
			}
			plan, err := m.Plan(nil, keys)
			if err != nil {
				return err
			}
			if err := ps.PushKeys(m, plan, ones); err != nil {
				return err
			}
			return c.SyncClock(t.Context())
		}
		if err := push(0, 1000); err != nil {
			t.Fatal(err)
		}
		for used := int64(0); used < 8000 || used > 200<<10; { // partitions count when they have applied
			if t.Context().Err() != nil {
				t.Fatalf("%d bytes are counted of 1000 columns", used)
			}
			used, _ = l.table.Holder(l.secrets["a"]).Account().Used()
			time.Sleep(time.Millisecond)
		}
		if err := push(0, 1000); err != nil {
			t.Error(err)
		}
		if err := push(1000, 100_000); !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "the limit of the token is reached: memory=204800") {
			t.Errorf("100,000 new columns: %v", err)
		}
	}
}

// Updates that wait for their clock count for the limit of memory, until they are applied.
func TestStagedLimit(t *testing.T) {
	for _, ledger := range []*budget.Ledger{nil, budget.New(1 << 30)} {
		l := lock(t, "", ledger, map[string]string{"a": "write memory=150KiB"})
		c := l.task("a", "j")
		if err := c.Create(t.Context(), "range", meta("w", 1, 10_000, matrix.RowDense)); err != nil {
			t.Fatal(err)
		}
		m, err := c.Matrix("w")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Increment(matrix.NewDense(matrix.F64, m.Meta().Rect())); err != nil {
			t.Fatal(err)
		}
		if err := c.SyncClock(t.Context()); !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "the limit of the token is reached: memory=153600") {
			t.Errorf("80,000 bytes of updates next to a matrix of 80,000: %v", err)
		}
		c.Close()
		for n := int64(1); n > 0; time.Sleep(time.Millisecond) {
			if t.Context().Err() != nil {
				t.Fatalf("%d bytes stay counted", n)
			}
			n, _ = l.table.Owner("a").Account().Used()
		}
	}
}
