package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"thole.example/psf"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/rpctest"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/wasm"
	"thole.example/wire"
)

// outage is what goes wrong in a scenario besides faults that pass.
type outage uint8

const (
	noOutage     outage = iota
	impatience          // clients give up sooner than servers thaw: the job may fail
	taskVanishes        // a task ends in the middle and does not come back
	taskGivesUp         // a task closes its client in the middle
	serverStops         // a server ends in the middle
	outages             // their number
)

// calmScenarios is of how many scenarios one has an outage.
const calmScenarios = 6

// scenario is a job that a seed describes: what its tasks do, and what happens to it.
type scenario struct {
	seed     uint64
	servers  int
	tasks    int
	steps    int
	bound    ssp.Bound
	inFlight int
	chance   float64 // of each fate of a request
	bytes    bool    // requests go through their bytes and are counted; without, they share memory with the client
	outage   outage
	killed   bool          // servers are, and come back
	base     int64         // Server.LogBase of those with logs; 0: any
	modules  *wasm.Runtime // of the servers; nil: they run none
	at       int           // the step of the outage
}

func newScenario(seed uint64) *scenario {
	rng := rand.New(rand.NewPCG(seed, 0))
	sc := &scenario{
		seed: seed, servers: 2 + rng.IntN(2), tasks: 2 + rng.IntN(3), steps: 6 + rng.IntN(6),
		bound: []ssp.Bound{ssp.BSP, 1, ssp.ASP}[rng.IntN(3)], inFlight: 1 + rng.IntN(6),
		chance: []float64{0.002, 0.01, 0.02}[rng.IntN(3)], bytes: rng.IntN(2) == 0,
	}
	if rng.IntN(calmScenarios) == 0 {
		sc.outage = impatience + outage(rng.IntN(int(outages-impatience)))
	}
	sc.at = rng.IntN(sc.steps)
	return sc
}

func (sc *scenario) String() string {
	return fmt.Sprintf("seed %d: %d servers, %d tasks, %d steps, %v, %d changes in flight, chance %v, outage %d at step %d, bytes %v",
		sc.seed, sc.servers, sc.tasks, sc.steps, sc.bound, sc.inFlight, sc.chance, sc.outage, sc.at, sc.bytes)
}

// retry is how long the scenario's clients try to come back.
func (sc *scenario) retry() time.Duration {
	if sc.outage == impatience {
		return 2 * time.Second
	}
	return 30 * time.Minute
}

// more is an update function that adds 1 to every cell: however the tasks' updates are mixed, they can be counted.
var more = changing("more", func(x float64) float64 { return x + 1 })

// moreFuncs are the functions that the tasks of scenarios know.
var moreFuncs = func() *psf.Table { t, _ := psf.NewTable([]psf.Func{more}, nil); return t }()

// farm is the servers of a scenario.
type farm struct {
	bucket    *blob.Mem
	net       *mem.Network
	ways      rpc.Network // with faults
	faults    *rpctest.Faulty
	addrs     []string
	servers   []*server.Server
	listeners []rpc.Listener
	mu        sync.Mutex                                                                  // of servers and listeners, where they are killed
	find      func(ctx context.Context, server int) (addr string, role uint64, err error) // nil: servers stay where they are
	ctx       context.Context
	stop      context.CancelFunc
}

// where is the addresses of the servers now.
func (f *farm) where() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.addrs)
}

// newFarm starts servers, with faults on the way to them if the scenario is not nil.
func newFarm(t *testing.T, servers int, sc *scenario) *farm {
	f := &farm{bucket: &blob.Mem{}, net: &mem.Network{Log: slog.New(slog.DiscardHandler)}}
	f.ways = f.net
	if sc != nil {
		inner := rpc.Network(f.net)
		if sc.bytes {
			inner = &counted{f.net, f}
		}
		f.faults = &rpctest.Faulty{Network: inner, Seed: sc.seed, Chance: rpctest.Even(sc.chance), Refuse: 0.1,
			Delay: 50 * time.Millisecond, Notice: 2 * time.Second, Timeout: 10 * time.Second}
		f.ways = f.faults
	}
	ctx, stop := context.WithCancel(context.Background())
	f.ctx, f.stop = ctx, stop
	for i := range servers {
		s := &server.Server{Funcs: table(t, more), Codecs: codecs, Bucket: f.bucket, Ledger: budget.New(64 << 20)}
		go s.Relieve(ctx)
		addr := fmt.Sprintf("s%d", i)
		f.servers, f.addrs = append(f.servers, s), append(f.addrs, addr)
		l, err := f.ways.Listen(ctx, addr, s)
		if err != nil {
			t.Fatal(err)
		}
		f.listeners = append(f.listeners, l)
	}
	return f
}

// close stops the servers.
func (f *farm) close() {
	for _, l := range f.listeners {
		_ = l.Close()
	}
	f.stop()
}

// counted is a network on which each request becomes bytes, which the server's ledger counts.
type counted struct {
	rpc.Network
	farm *farm
}

func (n *counted) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	c, err := n.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	n.farm.mu.Lock()
	defer n.farm.mu.Unlock()
	for i, a := range n.farm.addrs {
		if a == addr {
			return &countedConn{c, n.farm.servers[i].Ledger}, nil
		}
	}
	return nil, fmt.Errorf("no server %s", addr)
}

type countedConn struct {
	rpc.Conn
	ledger *budget.Ledger
}

func (c *countedConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	var g rpc.Gather
	if err := q.Append(&g); err != nil {
		panic(err)
	}
	memory := rpc.NewBuffer(g.Len(), c.ledger.Force(budget.Frames, int64(g.Len())))
	defer memory.Release()
	copy(memory.Bytes(), g.Bytes())
	out, err := rpc.ReadRequest(memory.Bytes())
	if err != nil {
		panic(err)
	}
	out.Memory = memory
	return c.Conn.Start(ctx, out)
}

// mortal is the network of one task, which may vanish from it.
type mortal struct {
	rpc.Network
	mu    sync.Mutex
	dead  bool
	conns []rpc.Conn
}

func (n *mortal) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	c, err := n.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		_ = c.Close()
		return nil, fmt.Errorf("server %s: %w", addr, rpc.ErrUnreachable)
	}
	n.conns = append(n.conns, c)
	return c, nil
}

func (n *mortal) vanish() {
	n.mu.Lock()
	n.dead = true
	conns := n.conns
	n.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

// The matrices of a scenario. Row 0 of the integers is everybody's, row 1+t that of task t alone.
const (
	scenarioCols  = 70
	scenarioWidth = int64(1) << 40 // columns of the sparse ones
)

func (sc *scenario) matrices() []matrix.Meta {
	all := []matrix.Meta{
		{Name: "n", Rows: int64(1 + sc.tasks), Cols: scenarioCols, DType: matrix.I64, BlockCols: 20},
		{Name: "k", Rows: 2, Cols: scenarioWidth, DType: matrix.I64, Layout: matrix.RowSparse},
		{Name: "f", Rows: 1, Cols: scenarioCols, DType: matrix.F64, BlockCols: 9},
		{Name: "r", Rows: 3, Cols: scenarioWidth, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad",
			Init: matrix.Init{Kind: "normal", Scale: 0.1, Seed: 5}},
		{Name: "u", Rows: 1, Cols: 30, DType: matrix.I64, BlockCols: 10},
	}
	if keys := scenarioKeys(); sc.seed%2 == 0 { // some columns of "r" store one row or two
		slices.Sort(keys)
		all[3].Widths = []matrix.Width{
			{Cols: matrix.Range{Lo: keys[3], Hi: keys[9]}, Rows: 1}, {Cols: matrix.Range{Lo: keys[9], Hi: keys[15]}, Rows: 2},
		}
	}
	return all
}

// scenarioKeys are the columns of sparse matrices that tasks use.
func scenarioKeys() []int64 {
	keys := make([]int64, 24)
	for i := range keys {
		keys[i] = int64(i) * int64(i) * 7919 << (i % 3 * 9)
	}
	return keys
}

// totals is sums of integers that were pushed, or what is there in the end.
type totals struct {
	n []int64           // row-major
	k map[int64][]int64 // by column
	u int64
}

// taskOutcome is what came of a task.
type taskOutcome struct {
	err     error
	saw     []sight // all that it read; under BSP the same in every run
	own     totals  // that it pushed
	last    totals  // that it read in the end
	savedAs []int64 // its own row when it saved last
}

// sight is something that a task read.
type sight struct {
	step  int
	what  string
	bytes string
}

// run runs all tasks of the scenario on the farm.
func (sc *scenario) run(f *farm) []taskOutcome {
	out := make([]taskOutcome, sc.tasks)
	var wg sync.WaitGroup
	for task := range sc.tasks {
		wg.Go(func() { out[task] = newScenarioTask(sc, f, task).run() })
	}
	wg.Wait()
	return out
}

// causes is what an error must have in it: which server or which task it was.
var causes = regexp.MustCompile(`server s\d|task \[?\d`)

// bits is the bytes of a block's values.
func bits(b matrix.Block) string {
	v, _ := wire.ViewAny(b.Data.Values())
	if k, ok := b.Data.(matrix.Keyed); ok {
		return string(wire.View(k.Keys())) + string(v)
	}
	return string(v)
}

// scenarioLimit is the time in which every job ends, come what may.
const scenarioLimit = 10 * time.Hour

// within is the context of a task: if it ends, something hangs.
func within() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.Background(), scenarioLimit, fmt.Errorf("nothing has happened for %v", scenarioLimit))
}

// scenarioStart is when time begins in a bubble.
var scenarioStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
