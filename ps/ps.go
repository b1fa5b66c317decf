// Package ps is the client of the parameter servers: matrices that live on servers used as if they were local. A [Client]
// belongs to one task of a job. Names follow the PSModel document: GetRow, GetRows, GetRowsFlow, Get, Increment, Update,
// Flush, Clock, SyncClock. The same client works over any rpc.Network; one machine is a cluster of one over rpc/mem.
//
// # The way of a request
//
// A pull is routed by the matrix's map (package part) to the servers that have some of it: rectangles are cut along the
// partitions, keys are planned ([Keys]). Each server gets one message, whatever was asked for; each answer is checked
// against what was asked, like a request, and its values go straight to where the caller wants them.
//
// What is pushed stays here, in the oplog, until Flush or a Clock. Deltas for different places wait as they came: dense ones as
// blocks, those of keys in the buffer that will be sent, keys before values. Once there are several for one place they are added
// up in the order of the calls, by key or in whole rows ([Model.SetOplogType]), so that each cell is sent once. Flush, the
// Clocks, Next and Update make a change of it: one numbered request for each server, kept in the server's log until it is
// answered. Several changes may be under way (Options.InFlight); they are made in order.
//
// # What is lost, and what is not
//
// When a connection is lost the client makes a new one and says that it is back. The server tells the number of the last
// change that it made; what comes after it is sent again, in order, and what was asked for is asked again. When the
// context of a call ends, what was not sent stays in the oplog, and what was stays in the log: any later call goes on
// with it first. A change that every server refuses, with no other under way, leaves oplog and clocks as they were. A
// change that some servers refuse, or that is refused between others, leaves tasks and servers disagreeing; then every
// later call returns that error.
package ps

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/ssp"
)

// Options say which servers to use and as whom.
type Options struct {
	Network rpc.Network
	Servers []string // addresses; all tasks of a job give them in the same order
	Roles   []uint64 // epochs of the roles that they have to have (package coord); nil: they have none
	// Numbered says that a server which knows its number has to be at that place of Servers: Dial returns ErrServers else.
	Numbered bool
	// Find tells where a server is when a connection to it was lost, or could not be made: another may have taken its role, with all that
	// it held. It is asked on the client's goroutine before each try; with rpc.ErrUnreachable it is asked again. nil: servers stay where
	// they are.
	Find func(ctx context.Context, server int) (addr string, role uint64, err error)
	// Moved waits until what Find has told of a server may have changed: the client tries again at once then, and else after pauses. It is
	// called on the client's goroutine, between two calls of Find. An error says that it does not know. nil: there are pauses alone.
	Moved  func(ctx context.Context, server int) error
	Job    string               // names the matrices and clocks that tasks share
	Task   int                  // which of the tasks this client is
	Tasks  int                  // how many there are
	Bound  ssp.Bound            // staleness
	Bounds map[string]ssp.Bound // of matrices that have a bound of their own, by name; all tasks give the same
	// NonFinite is what the servers do with what is pushed to the matrices of the job with values that are infinite or no
	// number: "refuse" (also "") fails the push, and tells the place of the first such value; "skip" leaves that matrix's part
	// of the push out on that server; "allow" applies it. [Client.NonFinite] counts them. All tasks give the same. What skip
	// leaves out depends on how a matrix is cut for the servers.
	NonFinite string
	Plan      string // settings that all tasks must have alike, words "name=value"; without a value any will do
	Worker    string // names this process, if it has several tasks: they join all or none
	Mine      []int  // the tasks of this process
	// Attempt is the number of this attempt of a job that goes on from checkpoints, from 1 on; 0: it has one attempt. The first Dial of a
	// later attempt ends those before it: their tasks hear that it has begun, and nothing of theirs becomes visible any more. Dial
	// returns a *LaterAttempt if the task has to join in another.
	Attempt int
	// Launch counts how often all processes of the job have been started again, from 0 on. Tasks of lower ones than the servers have seen are
	// refused, until the job has come to its end. Jobs with an Attempt can end those of lower ones that are there.
	Launch int
	// Moves counts how often the job has moved to other servers until it came to these, from 0 on. If tasks of the job join other servers,
	// or in another order, those of fewer moves are outdated: Dial returns a *Moved, and the attempt of those that are there has to end.
	// Tasks with as many moves are refused.
	Moves int
	// Optional says that the job goes on without the task if it finishes or goes away for good.
	Optional bool
	// Replace says that this client may go on in the place of one that went away, in the same attempt of the job, between two of its
	// clocks ([Client.Replaces]).
	Replace bool
	// InFlight is how many changes may be under way; 0: 4.
	InFlight int
	// Retry is how long the client tries to reach a server again when a connection is lost, and how long the servers keep
	// the task's place; 0: a lost connection fails the job.
	Retry time.Duration
	// Grace is how long the servers keep the task's place when its process is gone, if that is longer than Retry: somebody may come in its
	// place.
	Grace time.Duration
	// Lost, if not nil, is told of a lost connection before the client tries to make a new one, on the client's goroutine.
	Lost func(err error)
	// Waiting, if not nil, is told on the client's goroutine when a call has waited 10 s, 20 s, 40 s and so on for an
	// answer: which call it is, and which servers have not answered.
	Waiting func(text string)
	// Local, if not nil, is what tasks of the process share: the rows that they pulled.
	Local *Local
	// ReadFrom says from where a client of Follow reads.
	ReadFrom ReadFrom
	// Replicas returns the addresses of standbys that may answer a reader in place of a server, with values of their copies. It is asked on
	// the client's goroutine before each choice; without an answer the server is read. nil: there are none.
	Replicas func(ctx context.Context, server int) ([]string, error)
	// MaxLag is the highest age of a copy that the reader accepts; in place of an older one it reads another copy or the server. 0:
	// rpc.ReplicaLag.
	MaxLag time.Duration
	// Funcs are the functions that Get and Update know; nil: the built-in ones. The servers have to know those that are used.
	Funcs *psf.Table
}

// Client is one task's access to the servers. It is for one goroutine, but for Close.
type Client struct {
	o       Options
	id      string // unlike that of any other client
	follows bool   // it is none of the job's tasks
	tasks   int
	links   []*link

	mats  map[string]*Matrix
	order []*Matrix // as they were created

	clock   int      // the task's own: how often Clock was called
	goesOn  bool     // in the place of a client that went away
	oplog   []delta  // pushed and not sent, in order
	arenas  []*arena // of each server: the keys and values in oplog
	rounds  []*round // changes under way, in order
	changes int      // how many there were
	leaving bool     // everything is sent that waits, filtered or not
	failed  error    // why the client cannot go on

	spare   []*Keys    // of plans that calls make for themselves
	plans   [2][]*Keys // of Plan, which take turns
	batches []*batch   // that are not in use
	ahead   []*Pull    // as of the next clock, that are not finished by Wait or Next
	// prefetched is that of Prefetch; nil: there is none.
	prefetched *Pull
	watch      stopwatch
	traffic    Traffic

	mu     sync.Mutex // guards what Close touches: the links' connections, and
	closed bool
	joined bool // and has not left
	shared []sharedRows
}

// Dial connects to all servers and joins the job.
func Dial(ctx context.Context, o Options) (*Client, error) {
	c, err := newClient(ctx, o, false)
	if err != nil {
		return nil, err
	}
	err = c.join(ctx)
	if later, is := errors.AsType[*LaterAttempt](err); is && later.Without {
		c.close(&rpc.Quit{Reason: "the others have gone on without it on another server", Without: true})
		return nil, err
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// newClient connects to all servers, as a reader or a task.
func newClient(ctx context.Context, o Options, follows bool) (*Client, error) {
	if len(o.Servers) == 0 {
		return nil, fmt.Errorf("ps: no server addresses")
	}
	for i, addr := range o.Servers {
		if addr == "" || slices.Contains(o.Servers[:i], addr) {
			return nil, fmt.Errorf("ps: server %d of %d has address %q, want one that no other has", i+1, len(o.Servers), addr)
		}
	}
	choice, err := rpc.ParseNonFinite(o.NonFinite)
	if err != nil {
		return nil, fmt.Errorf("ps: NonFinite %w", err)
	}
	o.NonFinite = choice.String()
	if o.Funcs == nil {
		if o.Funcs, err = psf.NewTable(psf.Funcs(), nil); err != nil {
			return nil, err
		}
	}
	if o.Roles != nil && len(o.Roles) != len(o.Servers) {
		return nil, fmt.Errorf("ps: %d epochs of the roles of %d servers, want as many, or none", len(o.Roles), len(o.Servers))
	}
	if o.InFlight <= 0 {
		o.InFlight = 4
	}
	c := &Client{o: o, id: rand.Text(), follows: follows, tasks: o.Tasks, mats: map[string]*Matrix{}, arenas: newArenas(len(o.Servers))}
	for i, addr := range o.Servers {
		l := &link{c: c, index: i, addr: addr}
		if o.Roles != nil {
			l.role = o.Roles[i]
		}
		c.links = append(c.links, l)
	}
	for _, l := range c.links {
		if err := l.first(ctx); err != nil {
			c.Close()
			return nil, err
		}
	}
	addrs, are := make([]string, len(c.links)), make([]rpc.Server, len(c.links))
	for i, l := range c.links {
		addrs[i], are[i] = l.addr, rpc.ServerOf(l.conn)
	}
	if err := CheckServers(addrs, are, o.Numbered); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// begin is the beginning of every call: it tells why there can be none.
func (c *Client) begin(ctx context.Context, what string, m *Matrix) error {
	c.watch.begin(what, m)
	if c.follows {
		c.reconsider()
	}
	switch {
	case c.failed != nil:
		return c.failed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// end is the end of every call.
func (c *Client) end() { c.watch.end() }

// fail makes this and every later call return the error.
func (c *Client) fail(err error) error {
	if c.failed == nil {
		c.failed = err
	}
	return c.failed
}

// Replaces reports whether the client goes on in the place of one that went away: the task's clocks are where that one left them, and
// nothing of its present clock has been pushed.
func (c *Client) Replaces() bool { return c.goesOn }

// Now is the task's clock: how many times Clock has ticked.
func (c *Client) Now() int { return c.clock }

// quitTime is how long a client that gives up tries to tell the servers so.
const quitTime = time.Second

// Close ends the connections; calls under way end with an error. A task that closes before Leave fails its job.
func (c *Client) Close() error { return c.close(&rpc.Quit{}) }

// Part is Close without a word to the servers, as if the process had been killed: they keep the task's place for Options.Grace, for one
// that goes on there (Options.Replace).
func (c *Client) Part() error { return c.close(nil) }

// GiveUp is Close by a task that is going to begin another attempt: the others are told why.
func (c *Client) GiveUp(why error) error { return c.close(told(why, false)) }

// Quit is Close by a task whose own work has failed: the other tasks of its job are told why, and that another attempt is of no use.
func (c *Client) Quit(why error) error { return c.close(told(why, true)) }

func told(why error, final bool) *rpc.Quit {
	text := why.Error()
	return &rpc.Quit{Reason: strings.ToValidUTF8(text[:min(len(text), rpc.ReasonLimit)], ""), Final: final}
}

// close ends the connections; why is what the servers are told, nil if they are told nothing.
func (c *Client) close(why *rpc.Quit) error {
	c.mu.Lock()
	joined := c.joined && !c.closed
	if !c.closed {
		c.unshare()
	}
	c.closed = true
	var conns []rpc.Conn
	for _, l := range c.links {
		if l.conn != nil {
			conns = append(conns, l.conn)
		}
	}
	c.mu.Unlock()
	if joined && why != nil && (c.o.Retry > 0 || *why != (rpc.Quit{})) { // or the servers would wait for it, or not know why
		c.quit(conns, why)
	}
	var first error
	for _, conn := range conns {
		if err := conn.Close(); first == nil {
			first = err
		}
	}
	return first
}

// quit tells the servers that the task gives up.
func (c *Client) quit(conns []rpc.Conn, why *rpc.Quit) {
	ctx, cancel := context.WithTimeout(context.Background(), quitTime)
	defer cancel()
	var calls []*rpc.Call
	for _, conn := range conns {
		q := &rpc.Request{Op: rpc.OpQuit}
		if *why != (rpc.Quit{}) {
			q, _ = control(rpc.OpQuit, why) // a text always can be JSON
		}
		calls = append(calls, conn.Start(ctx, q))
	}
	for _, call := range calls {
		r, _ := call.Wait(ctx) // whoever does not hear it sees the connection end
		r.Release()
	}
}

// unshare gives up what the client shares with other tasks of the process.
func (c *Client) unshare() {
	for _, of := range c.shared {
		c.o.Local.leave(of)
	}
	c.shared = nil
}

// Matrix is the handle of a matrix that Create made.
func (c *Client) Matrix(name string) (*Matrix, error) {
	if m := c.mats[name]; m != nil {
		return m, nil
	}
	names := make([]string, len(c.order))
	for i, m := range c.order {
		names[i] = m.meta.Name
	}
	return nil, fmt.Errorf("ps: no matrix %q, there are %q", name, slices.Clip(names))
}
