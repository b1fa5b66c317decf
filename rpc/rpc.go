// Package rpc says what clients ask of parameter servers: requests, responses and their bytes, and what a network is.
// The networks are packages rpc/mem and rpc/tcp.
//
// # Whose memory is whose
//
// Keys that are asked for stay the caller's and must not change until the call was answered; if the connection ended
// first, they must never change, as a server in the same process may still read them. What is pushed lies in a [Buffer],
// which the network and the server retain as long as they use it. A server's [Exchange] releases the request's memory
// once it is answered; who needs it longer retains it. The values of a response lie in a buffer too, which is the
// network's once it is answered with; who gets the response releases it.
package rpc

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"thole.example/access"
	"thole.example/matrix"
)

// Op is what a request asks for.
type Op uint8

// The operations. Control operations carry their settings as JSON in Arg; the others use the fields.
const (
	OpInvalid Op = iota
	OpJoin       // control: a task of a job says that it is there; everything else on the connection is this task's
	OpLeave      // the task is done
	OpQuit       // the task gives up: its job fails at once
	OpMembers    // control: answered when the membership is not what the caller knows: who has joined and who is missing
	OpCreate     // control: matrices of the job, made once however often they are asked for; answers with [Created]
	OpPull       // values as of the task's clocks
	OpPush       // a change: deltas of the task's clocks, the ticks that end them, and values as of the clocks after them
	OpBarrier    // answered when every task's own clock has reached Clock
	OpGet        // a get function beside the data
	OpUpdate     // a change: an update function beside the data
	OpSave       // control: put the matrices into a save; answers with Parts
	OpCommit     // control: make a save visible, with every server's Parts
	OpAbort      // control: forget a save
	OpLoad       // a change, control: fill matrices from a path
	OpFollow     // control: somebody who is no task reads from a job over the connection; answers with [Followed]
	OpDefine     // a function of the job under the name Func: Arg is its WebAssembly module
	OpLook       // control: how large a stored matrix is, and how many values it has; answers with [Looked]
	OpDirect     // a change: values of one matrix that are added to its cells at once, or with Assign replace them
	OpCatalog    // control: the checkpoints of a folder; answers with some [Kept]
	OpPrune      // control: removes checkpoints of a folder
	OpMove       // control: somebody who is no task orders the job to other servers; answers with [Moved]
	OpAwait      // control: answered when there is an order to move the job, with [Order]
	OpMoving     // control: what the task tells that moves the job
	OpCopy       // control: a standby asks for what has come to the server's logs; answers with [Copied]

	opsEnd // what follows the last one
)

// ops names the operations, for errors and logs.
var ops = [Ops]string{
	"nothing", "join", "leave", "quit", "members", "create", "pull", "push", "barrier", "get", "update", "save", "commit",
	"abort", "load", "follow", "define", "look", "direct",
	"catalog", "prune", "move", "await", "moving", "copy",
}

// String is the name of the operation.
func (o Op) String() string {
	if int(o) < Ops {
		return ops[o]
	}
	return "unknown operation"
}

// Kind is what a [Part] says of its place.
type Kind uint8

// The kinds of parts.
const (
	KindInvalid Kind = iota
	KindDense        // every cell of Rows x Cols, which lie in one partition: Groups has it alone, with no keys
	KindKeys         // the columns Keys of Rows, in any order and none twice, grouped by partition
	KindStored       // all stored columns of a partition of a sparse matrix; the answer has their keys, ascending
	KindFunc         // of a push: an update function that waits for its clock; Values is a [Staged] as JSON, Groups are none
)

// Part is a part of one matrix in a request or a response. With values it is pushed or answered, without it is asked for.
type Part struct {
	Kind    Kind
	DType   matrix.DType // of Values
	Matrix  uint32       // its number in the job, which the server told when it was created
	Version uint32       // of the routing map that the caller used
	// Clock is the task's for the matrix; of a reader the one at which everything is read, or -1 for as it is; in a response
	// the slowest clock of the matrix.
	Clock  int32
	Make   bool // of keys that are asked for: columns that are not there are made
	Own    bool // of what is asked for: with what the task itself has pushed and is not folded yet
	Assign bool // of what is pushed: the cells become the values, which are no gradients
	Rows   matrix.Range
	Cols   matrix.Range
	Groups []Group
	Keys   []int64
	// Values are aligned to 8 bytes and in the order of this machine: row-major for dense cells, column by column for keys
	// (in their order, each with a value for every row of Rows).
	Values []byte
}

// Staged is an update function that is staged like a delta.
type Staged struct {
	Func string          `json:"func"`
	Arg  json.RawMessage `json:"arg,omitempty"`
}

// Group is how many of a part's keys, one group after the other, lie in a partition.
type Group struct{ Partition, Keys uint32 }

// Tick ends a task's clock for a matrix. Matrix 0 is none: its clock is the task's own.
type Tick struct {
	Matrix uint32
	Clock  int32   // that ends
	Weight float64 // how many examples the gradients of the clock are the sum over; 0: no step of the rule
	Rate   float64 // learning rate of the step
}

// Request is a message to a server.
type Request struct {
	Op     Op
	Clock  int32  // Barrier: the task's own clock
	Seq    uint64 // number of a change among the task's at this server, from 1 on; it is made once. 0: no change
	Ticks  []Tick // Push
	Parts  []Part
	Func   string  // Get, Update: name of the function
	Arg    []byte  // its argument; settings of control operations
	Memory *Buffer // where what is pushed lies; nil: in memory that nobody uses again
}

// Response is a server's answer.
type Response struct {
	Clock   int32  // the slowest of the tasks' own clocks, as known when answering
	Parts   []Part // answers to the request's parts without values, in their order
	Results []Result
	Memory  *Buffer // where Values lie; nil: in memory that nobody uses again
}

// Release gives the response's memory back; its slices must not be used any more. A nil response has none.
func (r *Response) Release() {
	if r != nil {
		r.Memory.Release()
		r.Memory = nil
	}
}

// Result is what one partition answered: of a get function, of a save; or the answer to a control operation.
type Result struct {
	Matrix    uint32
	Partition uint32
	Data      []byte
}

// Peer tells a handler who calls. Gone is closed when the connection has ended.
type Peer struct {
	Name string // address or name of the other side
	Gone <-chan struct{}
	// Grant is what the peer may do; nil: everything, as nobody asked who it is.
	Grant *access.Grant
	// State is the handler's: what it knows of the connection. Serve alone reads and sets it.
	State any
}

// Handler serves requests. The requests of one connection come one after the other in the order in which they were sent;
// those of several connections at once. Serve must not wait for clocks, disks or other requests: it answers at once, or
// hands the exchange to somebody who will. Every exchange is answered exactly once. A panic of Serve is answered as
// ErrInternal.
type Handler interface {
	Serve(x *Exchange)
}

// Urgent is a handler that knows whose requests free memory that others hold: requests of a task at the slowest clock. While
// the reader of a connection waits for room in the ledger it asks, and asks again after [budget.Ledger.Wake], which the
// server calls when a clock has moved. Urgent is called by the goroutine that calls Serve for the connection, with no lock.
type Urgent interface {
	Urgent(from *Peer) bool
}

// Sizer is a handler that knows, from the request alone, about how many bytes its answer takes. The network takes them from
// the ledger before it calls Serve, so that a server full of answers reads no more requests, and [Exchange.Buffer] uses
// them. Size is called by the goroutine that calls Serve, before it; 0: few.
type Sizer interface {
	Size(x *Exchange) int64
}

// Pacer is a handler that bounds how many requests come in a time. Pace is called once for each request, by the goroutine that
// calls Serve for the connection, before it, with no lock; the network does not read the connection for so long.
type Pacer interface {
	Pace(from *Peer) time.Duration
}

// Accountant is a handler whose accounts bound how many bytes of requests and answers are in flight for the other side of a connection.
// Accounts is called by the goroutine that calls Serve for the connection, before the body of a request is read, with no lock; any of the
// accounts may be nil.
type Accountant interface {
	Accounts(from *Peer) [2]*access.Account
}

// Scheduler is a handler that bounds how many requests are served at once. Its methods may wait, and call waits before they do; they end
// when from is gone. The network calls end, if that is not nil, when what the turn is for has been done.
type Scheduler interface {
	// Turn is called by the goroutine that calls Serve, before it.
	Turn(x *Exchange, waits func()) (end func())
	// TurnToRead is called by the same goroutine before it copies what has come of a large request from the network: not while it waits for
	// more.
	TurnToRead(from *Peer, waits func()) (end func())
}

// Conn is a connection to a server. Many calls may be under way; requests arrive in the order in which Start was called.
type Conn interface {
	// Start sends the request and returns without waiting for the answer; it blocks only while the window is full. The
	// network retains q.Memory until it needs it no more; q itself must not change until the call has ended.
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
