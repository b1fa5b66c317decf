// Package rpc says what clients ask of parameter servers: requests, responses and their bytes, and what a network is.
// The networks are packages rpc/mem and rpc/tcp.
package rpc

import (
	"context"
	"io"

	"thole.example/matrix"
)

// Op is what a request wants.
type Op uint8

// The operations. Control operations carry their settings as JSON in Arg; the others use the fields.
const (
	OpInvalid Op = iota
	OpJoin       // control: a task of a job says that it is there
	OpLeave      // a task of a job is done
	OpCreate     // control: matrices of the job, made once however often they are asked for
	OpPull       // pieces of matrices, as of the task's clock
	OpPush       // deltas or gradients of the task's clock; with Tick, the last ones of it
	OpStep       // a push with Tick of the pieces that have Blocks, then a pull of the others as of the next clock
	OpGet        // a get function beside the data
	OpUpdate     // an update function beside the data
	OpSave       // control: put the matrices into a save; answers with Parts
	OpCommit     // control: make a save visible, with every server's Parts
	OpAbort      // control: forget a save
	OpLoad       // control: fill matrices from a path
	OpBarrier    // answered when every task has reached the request's clock, whatever the bound
	OpRoll       // answered when more tasks have joined than the request's clock says, or all: how many, and who is missing
	OpQuit       // a task gives up: its job fails at once
)

// Piece is a part of one matrix: what is wanted of it, or what is sent.
type Piece struct {
	Matrix string
	At     matrix.Rect    // Pull: the place wanted
	Cols   []int64        // Pull: the columns wanted, ascending; nil: all of At
	Blocks []matrix.Block // Push: the deltas; in a response: the values
}

// Request is a message to a server. The handler owns the slices of a request from the call on; the caller must not
// touch them again.
type Request struct {
	Op      Op
	Job     string  // names the set of matrices, tasks and clocks
	Version int64   // of the routing map the caller used; an old one is refused
	Task    int32   // who asks
	Seq     uint64  // number of a change among the task's at this server, from 1 on: it is made once; 0: not numbered
	Clock   int32   // Pull: the task's clock; Push: the clock that the deltas belong to
	Tick    bool    // Push: the task has now pushed everything of its clock
	Weight  float64 // Push with Tick: how many examples the gradients of this clock are the sum over
	Rate    float64 // Push with Tick: learning rate for the update rules
	Pieces  []Piece
	Func    string // Get, Update: name of the function
	Arg     []byte // its argument; settings of control operations
}

// Response is a server's answer. The caller owns its slices.
type Response struct {
	Clock   int32   // the slowest clock of the job, as known when answering
	Pieces  []Piece // Pull: in the order of the request's
	Results []Result
}

// Result is what one partition answered: of a get function, of a save.
type Result struct {
	Matrix string
	Part   int32
	Data   []byte
}

// Peer tells a handler who calls. Gone is closed when the connection has ended.
type Peer struct {
	Name string // address or name of the other side
	Gone <-chan struct{}
}

// Handler serves requests. Serve may block until a clock is reached; it is called by many goroutines at once, and
// requests of one connection may overtake each other.
type Handler interface {
	Serve(ctx context.Context, from *Peer, q *Request) (*Response, error)
}

// Conn is a connection to a server. Many calls may be in flight.
type Conn interface {
	// Start sends the request and returns without waiting for the answer; it blocks only while the window is full.
	Start(ctx context.Context, q *Request) *Call
	io.Closer
}

// Network reaches servers by address.
type Network interface {
	// Listen serves at the address until closed. Addr of the result is where it listens.
	Listen(ctx context.Context, addr string, h Handler) (Listener, error)
	Dial(ctx context.Context, addr string) (Conn, error)
}

// Listener is a served address.
type Listener interface {
	Addr() string
	io.Closer
}

// Call is a request under way.
type Call struct {
	done chan struct{}
	resp *Response
	err  error
}

// NewCall is a call that Finish will end. Only networks make calls.
func NewCall() *Call { return &Call{done: make(chan struct{})} }

// Finish ends the call; it must be called exactly once.
func (c *Call) Finish(r *Response, err error) {
	c.resp, c.err = r, err
	close(c.done)
}

// Wait blocks until the answer is there or the context ends.
func (c *Call) Wait(ctx context.Context) (*Response, error) {
	select {
	case <-c.done:
		return c.resp, c.err
	default:
	}
	select {
	case <-c.done:
		return c.resp, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
