package ssp

import "time"

// Event is something that has happened to a job; the types of this file are all there are. A job owns the slices of an
// event from Step on until the event's request is answered or refused; what Req and Delta.Data refer to it never looks
// at. Conn numbers connections in the order in which they were opened: a later one has the higher number.
type Event interface{ event() }

// Join says that a task is there, over a new connection. The first Join of a job makes its settings; the others must
// agree. A connection carries one task of a job. A Join that comes again because its answer was lost (same client, same
// epoch) is answered again, and the task has the connection over which it came last.
type Join[R any] struct {
	Req    R
	Conn   int64
	Task   int           // its number, from 0
	Name   string        // address or name of the other side, for people
	Tasks  int           // how many the job has
	Bound  Bound         // of all matrices that have none of their own
	Plan   string        // settings of the job, words "name=value"; no value agrees with any
	Worker string        // names the process of the task, unlike any other
	Mine   []int         // all tasks of the process: nobody else gets one of them from now on; nil: this one
	Client string        // names the task's client, unlike any other; "": it cannot come back
	Epoch  int           // how many connections of the client were lost before; above 0 it comes back
	First  bool          // unless no Join of it was answered yet: the job may not have heard of it
	Grace  time.Duration // in which it may come back when its connection is gone, at most an hour
	Lease  time.Duration // its connection is dropped when nothing was heard of it for so long; 0: never
	// Replace says that the task may take the place of one that went away between two of its clocks, in the same attempt: it goes on with that
	// one's clocks and with the number after its last change.
	Replace bool
	// Logged says that the Join was accepted before and is read from a log. A log does not record that connections end, so the Join itself
	// says that the processes in whose place it comes have gone away.
	Logged bool
	// Optional says that if the task goes away for good, the others go on without it instead of failing. In a job with attempts one that
	// is back then waits for the end of the attempt; and that a task gives up its attempt (Quit) is no going away.
	Optional bool
	Attempt  int // of a job that goes on from checkpoints, from 1 on: a first Join of a later one ends those before. 0: it has none
	// Elsewhere says that another server has taken the task. If the others have gone on without it here it does not wait, or those that have
	// not there would wait for it: it is told so (Later.Without).
	Elsewhere bool
}

// Matrix is what a job knows of a matrix: whose clocks it keeps, and when deltas become visible.
type Matrix struct {
	ID    int    // from 1 on, without gaps; 0 is the job's own clock
	Name  string // for people
	Own   bool   // Bound is the matrix's own; otherwise it has the job's
	Bound Bound
	Rule  bool // it has an update rule: deltas are gradients, and a clock makes one step of the weight of all tasks
}

// Create registers matrices. One that is there already must be the same. All tasks are at clock 0 of a new matrix, but for
// those that have finished.
type Create[R any] struct {
	Req      R
	Conn     int64
	Matrices []Matrix
}

// Delta is a change of a matrix in the task's present clock of it.
type Delta[D any] struct {
	Matrix     int
	Clock      int
	Data       D
	Weightless bool // it is no gradient, also of a matrix with a rule: it needs no weight, and is applied after the step
}

// Tick ends the task's clock of a matrix, which goes on to Clock+1. All tasks have to tick a matrix for its clock to be
// folded, also those that have no delta for it.
type Tick struct {
	Matrix int
	Clock  int
	Weight float64 // how many examples the task's gradients of this clock are the sum over; 0: it has none
	Rate   float64 // learning rate of the step; tasks should agree, the largest of those with a weight counts
}

// Need is what a reader at its clock of a matrix waits for, as far as the matrix's bound wants it to.
type Need struct {
	Matrix int
	Clock  int
	Own    bool // with what the reader itself has pushed and is not folded: an effect Own comes before the answer
}

// Push brings deltas and ends clocks. Ticks are in ascending order of their matrices and come after the deltas. If
// anything is wrong nothing is changed, and the number counts as used.
type Push[D, R any] struct {
	Req    R
	Conn   int64
	Seq    uint64 // number among the client's changes, from 1 on
	Deltas []Delta[D]
	Ticks  []Tick
	Then   []Need // a pull that follows in the same message: the push is answered when these are reached
	Err    error  // what the shell found wrong with it: it is refused for that when its turn comes
}

// Pull is answered when all needs are reached; what it reads is the shell's business.
type Pull[R any] struct {
	Req   R
	Conn  int64
	Needs []Need
	Exact bool // clocks are to be reached whatever the bound: a barrier is an exact pull of Need{0, clock}
}

// Look is a pull of somebody who is no task, and so holds nobody back: it is answered when all matrices stand at exactly the
// clocks needed, between what folds them and what would fold more. What is read then is as it was at one moment. When one of
// the clocks has passed already it is refused as Passed. Without needs it is answered at once.
type Look[R any] struct {
	Req   R
	Needs []Need
}

// Update is a numbered change that the shell makes itself, when the effect Run tells it to.
type Update[R any] struct {
	Req  R
	Conn int64
	Seq  uint64
	Err  error // as in Push
}

// Ran is the outcome of an Update: the request is answered, or refused with the error. Every Run wants one Ran.
type Ran struct {
	Task int
	Seq  uint64
	Err  error
}

// Members asks who has joined. It is answered with a Roster when that is more than the caller knows of: at once if it is when the
// question comes, if all have joined and if one more was refused, and within a second if more tasks have joined.
type Members[R any] struct {
	Req      R
	Conn     int64
	Joined   int // how many the caller knows of
	Refusals int
	// Without are tasks that the others go on without from now on: they are away, or have not joined. One that is here after all is
	// dropped, so that all servers that are told the same do the same. None of them is one that is not Optional.
	Without []int
}

// Leave says that a task is done: it counts as finished in all matrices. What it pushed since its last tick is part of its
// clock.
type Leave[R any] struct {
	Req  R
	Conn int64
}

// Quit says that a task gives up and will not come back: its job fails at once.
type Quit[R any] struct {
	Req    R
	Conn   int64
	Reason string // for the others; may be ""
	Final  bool   // its own work has failed: there is no use in another attempt. The others hear Over instead of Aborted
	// Without says that the others have gone on without the task on another server, and do so here if it is optional.
	Without bool
}

// GiveUp gives an optional task up, or one that has not joined, that another job gave up when the same events had come: what a log says of
// it (GivenUp).
type GiveUp struct {
	Task int
	Why  string
}

// Gone says that a connection has ended. Its requests are refused; its task may come back.
type Gone struct{ Conn int64 }

// Alive says that something was heard over a connection that was no request.
type Alive struct{ Conn int64 }

// Cancel says that a caller gave up. If the request waits it is refused. A change that waited for its turn has to come
// again, for its successors wait for it; one that was executed stays.
type Cancel[R any] struct{ Req R }

// Deadline says that the time of Job.Next has come.
type Deadline struct{}

// Abort fails the job, because the shell could not do what an effect said.
type Abort struct {
	Err  error
	Left bool // nobody comes back who is away: the job has left this server
}

func (Join[R]) event()    {}
func (Create[R]) event()  {}
func (Push[D, R]) event() {}
func (Pull[R]) event()    {}
func (Look[R]) event()    {}
func (Update[R]) event()  {}
func (Ran) event()        {}
func (Members[R]) event() {}
func (Leave[R]) event()   {}
func (Quit[R]) event()    {}
func (GiveUp) event()     {}
func (Gone) event()       {}
func (Alive) event()      {}
func (Cancel[R]) event()  {}
func (Deadline) event()   {}
func (Abort) event()      {}
