// Package ps is the client of the parameter servers: matrices that live on servers used as if they were local. A
// [Client] belongs to one task of a job; it joins the job on every server, routes what is asked to the partitions that
// hold it, keeps increments until they are flushed, and moves the task's clock. Names follow the PSModel document:
// GetRow, GetRows, GetRowsFlow, Get, Increment, Update, Flush, Clock, SyncClock.
//
// The same client works over any rpc.Network; one machine is a cluster of one over rpc/mem.
package ps

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
)

// Options say which servers to use and as whom.
type Options struct {
	Network rpc.Network
	Servers []string  // addresses; all tasks of a job give them in the same order
	Job     string    // names the matrices and clocks that tasks share
	Task    int       // which of the tasks this client is
	Tasks   int       // how many there are
	Bound   ssp.Bound // staleness
	Plan    string    // settings that all tasks must have alike, words "name=value"; without a value any will do
	Worker  string    // names this process, if it has several tasks: they join all or none
	Mine    []int     // the tasks of this process
	// Retry is how long the client tries to reach a server again when a connection is lost, and how long the servers keep
	// the task's place; 0: a lost connection fails the job.
	Retry time.Duration
	// Lost, if not nil, is told of a lost connection before the client tries to make a new one, on the client's goroutine.
	Lost    func(err error)
	Average bool // divide increments by the number of tasks (setAverage)
}

// Client is one task's access to the servers. It is for one goroutine, but for Close.
type Client struct {
	o      Options
	conns  []rpc.Conn
	clock  int
	mats   map[string]*Matrix
	order  []string
	oplog  map[string][]matrix.Block
	behind []*pending // pushes whose answer nobody has waited for yet
	id     string     // unlike that of any other client
	epoch  []int      // of each server: connections lost
	seq    []uint64   // of each server: number of the last change
	joined bool       // and has not left
	asOf   int        // the slowest clock that the servers told with the last values
}

// Dial connects to all servers and joins the job.
func Dial(ctx context.Context, o Options) (*Client, error) {
	if len(o.Servers) == 0 {
		return nil, fmt.Errorf("ps: no server addresses")
	}
	c := &Client{
		o: o, mats: map[string]*Matrix{}, oplog: map[string][]matrix.Block{}, id: rand.Text(),
		epoch: make([]int, len(o.Servers)), seq: make([]uint64, len(o.Servers)),
	}
	for _, addr := range o.Servers {
		conn, err := o.Network.Dial(ctx, addr)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	if err := c.join(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// join says to every server that the task is there: to the first one alone at first, so that of two that claim the same
// task one goes through.
func (c *Client) join(ctx context.Context) error {
	qs := make([]*rpc.Request, len(c.conns))
	for i := range qs {
		q, err := c.control(rpc.OpJoin, c.joining, i)
		if err != nil {
			return err
		}
		qs[i] = q
	}
	first := make([]*rpc.Request, len(qs))
	first[0], qs[0] = qs[0], nil
	if _, err := c.send(ctx, first); err != nil {
		return err
	}
	c.joined = true
	_, err := c.send(ctx, qs)
	return err
}

// joining is what the client says of itself to the server.
func (c *Client) joining(server int) any {
	return rpc.Join{
		Tasks: c.o.Tasks, Bound: c.o.Bound, Plan: c.o.Plan, Worker: c.o.Worker, Mine: c.o.Mine,
		Client: c.id, Epoch: c.epoch[server], Grace: int64(c.o.Retry),
	}
}

// Close ends the connections. A task that closes before Leave fails its job.
func (c *Client) Close() error {
	if c.joined && c.o.Retry > 0 {
		c.quit() // or the servers would wait for it
	}
	var first error
	for _, conn := range c.conns {
		if err := conn.Close(); first == nil {
			first = err
		}
	}
	return first
}

// request is a request of this task with the given pieces.
func (c *Client) request(op rpc.Op, pieces []rpc.Piece) *rpc.Request {
	return &rpc.Request{
		Op: op, Job: c.o.Job, Task: int32(c.o.Task), Clock: int32(c.clock), Version: mapVersion, Pieces: pieces,
	}
}

// all asks every server the same, with an argument of its own as JSON, and waits for all answers.
func (c *Client) all(ctx context.Context, op rpc.Op, arg func(server int) any) ([]*rpc.Response, error) {
	qs := make([]*rpc.Request, len(c.conns))
	for i := range qs {
		q, err := c.control(op, arg, i)
		if err != nil {
			return nil, err
		}
		qs[i] = q
	}
	return c.send(ctx, qs)
}

// control is a request with its argument for the server as JSON.
func (c *Client) control(op rpc.Op, arg func(server int) any, server int) (*rpc.Request, error) {
	q := c.request(op, nil)
	if arg == nil {
		return q, nil
	}
	text, err := json.Marshal(arg(server))
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	q.Arg = text
	return q, nil
}

// send starts a request to every server that has one and waits for the answers; the place of a nil request stays nil.
// It returns the error of the first server that has one, after all have answered.
func (c *Client) send(ctx context.Context, qs []*rpc.Request) ([]*rpc.Response, error) {
	return c.wait(ctx, c.start(ctx, qs))
}

// mapVersion is the version of the routing maps: partitions stay where they were created.
const mapVersion = 1

// Create makes the matrices on the servers, cut by the named partitioner ("": columns). Every task of the job calls it
// with the same descriptions; the first call makes them.
func (c *Client) Create(ctx context.Context, partitioner string, ms ...matrix.Meta) error {
	cut, err := part.Lookup(partitioner)
	if err != nil {
		return err
	}
	specs := make([]rpc.Spec, len(ms))
	for i, m := range ms {
		specs[i] = rpc.Spec{Meta: m, Partitioner: cut.Name}
	}
	_, err = c.all(ctx, rpc.OpCreate, func(i int) any {
		return rpc.Create{Matrices: specs, Servers: len(c.conns), Index: i, Version: mapVersion}
	})
	if err != nil {
		return err
	}
	for _, m := range ms {
		parts, err := part.NewMap(&m, cut, len(c.conns), mapVersion)
		if err != nil {
			return err
		}
		if c.mats[m.Name] == nil {
			c.order = append(c.order, m.Name)
		}
		c.mats[m.Name] = &Matrix{c: c, meta: m.Clone(), parts: parts}
	}
	return nil
}

// Matrix is the handle of a matrix that Create made.
func (c *Client) Matrix(name string) (*Matrix, error) {
	if m := c.mats[name]; m != nil {
		return m, nil
	}
	names := slices.Clone(c.order)
	return nil, fmt.Errorf("ps: no matrix %q, there are %q", name, names)
}

// Barrier waits until every task has ticked as often as this one, whatever the bound.
func (c *Client) Barrier(ctx context.Context) error {
	qs := make([]*rpc.Request, len(c.conns))
	for i := range qs {
		qs[i] = c.request(rpc.OpBarrier, nil)
	}
	_, err := c.ask(ctx, qs)
	return err
}

// Leave says that the task is done; the job ends when all tasks have left. It waits for what was pushed before.
func (c *Client) Leave(ctx context.Context) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	_, err := c.all(ctx, rpc.OpLeave, nil)
	c.joined = c.joined && err != nil
	return err
}

// Now is the task's clock: how many times it has ticked.
func (c *Client) Now() int { return c.clock }
