package ssp

// Effect is something that the shell has to do; the types of this file are all there are. Effects are done in their order:
// a pull that is answered reads what was applied before it, and nothing later.
//
// Every request is answered (Answer, Roster, Later, Ended), refused, or handed back (Anew) once. Every delta of a push that was executed
// comes back once, in an Apply or a Discard. Those of a push that was refused and is not Done, or that is answered Again, do not come
// back.
type Effect interface{ effect() }

// Apply adds the deltas of one clock of a matrix, in this order: by task, and for each task as they were pushed. With Step,
// the partitions of the matrix make one step of its rule, also those that have no delta: what a partition does must not
// depend on how the matrix is cut or spread.
type Apply[D any] struct {
	Matrix int
	Clock  int
	Deltas []D     // the receiver's to keep
	Weight float64 // Step: of all tasks together
	Rate   float64 // Step: the largest of the tasks that have a weight
	Step   bool
}

// Discard hands back deltas that will not be applied, because the job failed or their task is lost.
type Discard[D any] struct {
	Matrix int
	Deltas []D
}

// Run tells the shell to execute an Update now, after the effects before it, and to say Ran when it is done.
type Run[R any] struct {
	Req  R
	Task int
	Seq  uint64
}

// Made says, in a job that is recorded, that a change has its turn now, right before what follows from it: it is executed, or with Err
// it is refused and its number is used.
type Made[R any] struct {
	Req  R
	Task int
	Seq  uint64
	Err  error
}

// GivenUp says, in a job that is recorded, that an optional task is lost, right before what follows from it.
type GivenUp struct {
	Task int
	Why  string
}

// Published says that the slowest clock of a matrix has moved on: whoever needs no more may read without asking.
type Published struct {
	Matrix  int
	Slowest int // Finished: no task will tick it again
}

// Own is what the task of a request has pushed to the matrices that it wants to read with its own writes, and is not folded yet, in
// the order in which it came. It comes right before the request's Answer, if there is anything; the deltas stay the job's.
type Own[D, R any] struct {
	Req    R
	Deltas []D
}

// Answer says that what was asked is done, or its time has come.
type Answer[R any] struct {
	Req   R
	Clock int  // the slowest clock: of the matrices that were needed, the smallest; of the job if there were none
	Again bool // a change or Join that came before: what it changed was made then
}

// Later answers a Join whose task has not joined: it has to come in another attempt of the job.
type Later[R any] struct {
	Req     R
	Attempt int
	Without bool // the others have gone on without the task, which another server has taken (Join.Elsewhere)
}

// Ended answers a Join that waited for the end of the attempt, where this was the end of the job: all others have left.
type Ended[R any] struct{ Req R }

// Anew hands back the Join of a later attempt, which has ended this job, or waited for that: the shell brings it to the job once more.
type Anew[R any] struct{ Req R }

// Roster answers Members.
type Roster[R any] struct {
	Req      R
	Joined   int   // tasks that have joined, also those that have left
	Missing  []int // the first 16 tasks that have not, ascending
	Here     int   // tasks that are members: connected, or expected back
	Waiting  int   // tasks that were given up, are back and wait for the next attempt
	Refusals int   // how many joins were refused
	Reason   error // of the last of them, nil if there is none
}

// Refuse says that a request cannot be done, and why; the error is of a Kind unless it came from the shell.
type Refuse[R any] struct {
	Req  R
	Err  error
	Done bool // a push that was executed, while the pull that follows it cannot be answered, or the job failed by it
}

// Fail says that the job has failed: everything that waits is refused after this, and everything that comes.
type Fail struct{ Err error }

// End says that nobody is part of the job any more: the shell drops it.
type End struct{}

// Say is a line for people: why something waits for long, or who is missing.
type Say struct{ Text string }

// DropConn tells the shell to close a connection that the job does not listen to any more.
type DropConn struct {
	Conn int64
	Back bool // its task came back over another
}

func (Apply[D]) effect()   {}
func (Discard[D]) effect() {}
func (Run[R]) effect()     {}
func (Made[R]) effect()    {}
func (GivenUp) effect()    {}
func (Published) effect()  {}
func (Own[D, R]) effect()  {}
func (Answer[R]) effect()  {}
func (Later[R]) effect()   {}
func (Ended[R]) effect()   {}
func (Anew[R]) effect()    {}
func (Roster[R]) effect()  {}
func (Refuse[R]) effect()  {}
func (Fail) effect()       {}
func (End) effect()        {}
func (Say) effect()        {}
func (DropConn) effect()   {}

// Kind is a sort of error of a job: errors.Is(err, ssp.Refused) tells it, errors.As(err, &kind) finds it.
type Kind string

// The kinds. Refused does not fit the job, NotFound is not or no more there, Malformed is a mistake of the caller, Aborted
// was right and is not done because of somebody else, Over is Aborted by somebody who knows that trying again does not help,
// Passed comes too late, Taken may be free soon.
const (
	Refused   Kind = "refused"
	NotFound  Kind = "not found"
	Malformed Kind = "malformed request"
	Aborted   Kind = "aborted"
	Over      Kind = "aborted for good"
	Passed    Kind = "clock has passed"
	Taken     Kind = "exists already"
)

// Error implements error.
func (k Kind) Error() string { return string(k) }
