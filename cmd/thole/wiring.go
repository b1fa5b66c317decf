package main

import (
	"context"
	"fmt"
	"log/slog"

	"thole.example/blob"
	"thole.example/blob/hdfs"
	"thole.example/blob/s3"
	"thole.example/budget"
	"thole.example/format"
	"thole.example/format/all"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/wasm"
)

// codecs is every storage format.
func codecs() format.Set { return all.Codecs() }

// stores is every store whose URLs may stand for paths. tell is called when one has been away for a while.
func stores(tell func(text string)) []blob.Store {
	return []blob.Store{s3.Store(tell), hdfs.Store(tell)}
}

// syncHelp says what --sync does.
const syncHelp = "wait until models and checkpoints are on the disk before they count as saved"

// modulesKept is how many compiled modules of users a server keeps.
const modulesKept = 64

// newServer is a parameter server with everything that this binary has, keeping models in the bucket; ledger may be nil.
func newServer(ctx context.Context, bucket blob.Bucket, ledger *budget.Ledger, log *slog.Logger) (*server.Server, error) {
	funcs, err := psf.NewTable(functions(), optim.Rules())
	if err != nil {
		return nil, err
	}
	modules, err := wasm.NewRuntime(ctx, modulesKept)
	if err != nil {
		return nil, err
	}
	modules.Ledger = ledger
	return &server.Server{Funcs: funcs, Codecs: codecs(), Bucket: bucket, Ledger: ledger, Log: log, Modules: modules}, nil
}

// cluster is servers that a task can dial.
type cluster struct {
	net   rpc.Network
	addrs []string
	moves int       // how often the job has moved until it came to them
	roles []uint64  // epochs of the servers' roles; nil: they have none
	from  *registry // where the servers are found, before each attempt; nil: they are always the same
	stop  func()
}

// embed starts n servers in this process, over memory, where they are called 0, 1, ..., or, if there is one, over the
// network's loopback. They save where this process would.
func embed(ctx context.Context, n int, over *tcp.Network, files *blob.Paths) (*cluster, error) {
	c := &cluster{net: &mem.Network{}, stop: func() {}}
	if over != nil {
		c.net = over
	}
	ledger, err := memoryBound("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c.stop = cancel
	for i := range n {
		addr := fmt.Sprint(i)
		if over != nil {
			addr = "127.0.0.1:0"
		}
		s, err := newServer(ctx, files, ledger, nil)
		if err != nil {
			return nil, err
		}
		l, err := c.net.Listen(ctx, addr, s)
		if err != nil {
			c.stop()
			return nil, err
		}
		go s.Relieve(ctx)
		before := c.stop
		c.stop = func() { l.Close(); endSaves(s); before() }
		c.addrs = append(c.addrs, l.Addr())
	}
	return c, nil
}

// endSaves has a server that nobody can reach any more remove what it has begun to save: it would stay there until the next start.
func endSaves(s *server.Server) {
	within, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	s.EndSaves(within)
}
