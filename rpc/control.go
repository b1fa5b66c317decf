package rpc

import (
	"encoding/json"
	"time"

	"thole.example/matrix"
	"thole.example/ssp"
)

// Join is the argument of OpJoin: what all tasks of a job must agree on, and which of them come together.
type Join struct {
	Job      string    `json:"job"`  // names the set of matrices, tasks and clocks
	Task     int       `json:"task"` // who is there
	Tasks    int       `json:"tasks"`
	Bound    ssp.Bound `json:"bound"`              // of matrices that have none of their own
	Plan     string    `json:"plan,omitempty"`     // the settings of the job, words "name=value"; no value agrees with any
	Worker   string    `json:"worker,omitempty"`   // names the process of the task, unlike any other
	Client   string    `json:"client,omitempty"`   // names the task's client, unlike any other; it may come back
	Epoch    int       `json:"epoch,omitempty"`    // how many connections of the client were lost before; above 0 it comes back
	First    bool      `json:"first,omitempty"`    // unless no Join of it was answered yet: the server may not have heard of it
	Grace    int64     `json:"grace,omitempty"`    // nanoseconds in which it may, before the job fails
	Mine     []int     `json:"mine,omitempty"`     // all tasks of the process: nobody else gets one of them from then on
	Optional bool      `json:"optional,omitempty"` // if the task finishes or goes away for good the others go on without it
	// Replace says that the task may go on in the place of one that went away between two of its clocks, in the same attempt.
	Replace bool `json:"replace,omitempty"`
	// Attempt counts how often a job that goes on from checkpoints has begun, from 1 on: a task of a later one ends those before. 0:
	// the job has one attempt.
	Attempt int `json:"attempt,omitempty"`
	// Elsewhere says that the first server has taken the task already: if the others have gone on without it here it does not wait.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Launch counts how often all processes of the job have been started again by whoever starts them: a task of a lower one than that of
	// another is refused, and one of a higher one has the others' attempt end.
	Launch int `json:"launch,omitempty"`
	// Place is which of the job's servers the task takes this one for, from 1 on, of Places; 0: it does not say. All tasks of an attempt have
	// to agree.
	Place  int `json:"place,omitempty"`
	Places int `json:"places,omitempty"`
	// Moves counts how often the job has moved to other servers, as far as the task knows: of tasks that disagree on the places, those that
	// know of fewer moves have to look where the job is, and those that know of more have the others' attempt end.
	Moves int `json:"moves,omitempty"`
	// Role is the epoch of the role that the server has to have (package coord): under another one it is not the server that the task looks
	// for. 0: any, or none.
	Role uint64 `json:"role,omitempty"`
}

// Joined answers OpJoin.
type Joined struct {
	Seq   uint64 `json:"seq"`             // the last change that was made, of a client that comes back or is in the place of another
	Clock int    `json:"clock,omitempty"` // the task's own
	// Attempt is above that of the Join if the task has not joined, and has to come with this one: a later attempt has begun, or has to,
	// because who was this task has gone.
	Attempt int `json:"attempt,omitempty"`
	// Without says, with Attempt, that the others have gone on without the task, which another server has taken: it has to give its place
	// there up so that they do there, too (Quit.Without), and to wait for that attempt.
	Without bool `json:"without,omitempty"`
	// Ended says that the task has not joined, and need not: the others had gone on without it, and the job has ended.
	Ended bool `json:"ended,omitempty"`
	// Moved says that the task has not joined: the job has moved to other servers than the task knows (Join.Moves).
	Moved bool `json:"moved,omitempty"`
}

// Follow is the argument of OpFollow.
type Follow struct {
	Job string `json:"job"`
	// Replica accepts values of a copy of the job, which a standby has: it may lag behind the server by MaxLag, in nanoseconds, 0:
	// ReplicaLag. A copy that lags further answers with ErrLag, whatever it is asked.
	Replica bool  `json:"replica,omitempty"`
	MaxLag  int64 `json:"maxLag,omitempty"`
}

// ReplicaLag is how far a copy that a reader accepts may lag behind unless the reader says more.
const ReplicaLag = 5 * time.Second

// Followed answers OpFollow: what there is to read, and how far the job is.
type Followed struct {
	Tasks    int              `json:"tasks"`
	Clock    int              `json:"clock"` // the slowest of the tasks' own
	Matrices []FollowedMatrix `json:"matrices"`
	Attempt  int              `json:"attempt,omitempty"` // of the job (Join.Attempt); 0: it has one
	// Place and Places are which of the job's servers this one is, from 1 on, and how many there are; 0: no task has said it (Join.Place).
	Place   int  `json:"place,omitempty"`
	Places  int  `json:"places,omitempty"`
	Replica *Lag `json:"replica,omitempty"` // nil: the values are the server's own, not those of a copy
	// Checkpoint is the one from which the values are; nil: tasks push them.
	Checkpoint *ServedCheckpoint `json:"checkpoint,omitempty"`
}

// ServedCheckpoint is a checkpoint that a server has loaded for readers.
type ServedCheckpoint struct {
	Path string `json:"path"`         // within the server's bucket
	ID   string `json:"id,omitempty"` // what tells it from others at that path; "": not known
	// Step is how many steps the training had made, and the clock of the matrices.
	Step     int       `json:"step"`
	Modified time.Time `json:"modified,omitzero"` // when it was written; zero: the bucket does not know
}

// Lag is how far the copy of a job lags behind the server from which it is copied.
type Lag struct {
	Bytes uint64 `json:"bytes"` // of the job's log that are durable at the server, as it last said, and not replayed in the copy
	// Seconds is the age of the copy: it has everything that was durable at the server so long ago. An idle server says twice a second
	// that nothing has come.
	Seconds float64 `json:"seconds"`
}

// FollowedMatrix is a matrix that can be read.
type FollowedMatrix struct {
	Spec
	Number uint32          `json:"number"`
	Map    json.RawMessage `json:"map"`
	Clock  int             `json:"clock"` // the slowest task's
}

// Quit is the argument of OpQuit, which may be without.
type Quit struct {
	Reason string `json:"reason"`          // for the other tasks
	Final  bool   `json:"final,omitempty"` // the task's own work has failed: another attempt is of no use
	// Without says that the others have gone on without the task on another server: they do so here if it is optional.
	Without bool `json:"without,omitempty"`
}

// ReasonLimit is how many bytes of a reason they are told at most.
const ReasonLimit = 1 << 10

// Members is the argument of OpMembers: what the caller knows.
type Members struct {
	Joined  int `json:"joined"`
	Refused int `json:"refused"`
	// Without are tasks that the others go on without from now on, unless they are not optional. All servers are told the same.
	Without []int `json:"without,omitempty"`
}

// Membership answers OpMembers: how many tasks have joined, some of the missing ones, how many workers were refused, and
// why the last one was; and how much of what the tasks pushed is not finite.
type Membership struct {
	Joined  int    `json:"joined"`
	Missing []int  `json:"missing,omitempty"`
	Refused int    `json:"refused,omitempty"`
	Why     string `json:"why,omitempty"`
	// Here is how many tasks are connected, or expected back.
	Here int `json:"here,omitempty"`
	// Waiting is how many tasks that were given up are back, and wait for the next attempt.
	Waiting int `json:"waiting,omitempty"`
	// Ended says that a job of the same name and settings has come to its end on the server before.
	Ended bool `json:"ended,omitempty"`
	// NonFinite is how many parts of pushes had values that are not finite, and were refused, left out or applied as their
	// matrix says ([NonFinite]); of those that were not refused, as of the slowest clock of each matrix.
	NonFinite int64 `json:"nonfinite,omitempty"`
}

// Create is the argument of OpCreate: the matrices of a job and how they are partitioned. Every server computes the same
// partitions from it and keeps those that are its own.
type Create struct {
	Matrices []Spec `json:"matrices"`
	Servers  int    `json:"servers"` // how many there are
	Index    int    `json:"index"`   // which of them the receiver is
	// Maps are digests of the routing maps that the sender computes (package part's Map.Digest), in the order of the matrices; a map
	// that has it need not be told. None: all are told.
	Maps []string `json:"maps,omitempty"`
}

// Spec is a matrix and the name of its partitioner.
type Spec struct {
	Meta        matrix.Meta `json:"meta"`
	Partitioner string      `json:"partitioner"`
	Bound       *ssp.Bound  `json:"bound,omitempty"`     // nil: the job's
	NonFinite   string      `json:"nonfinite,omitempty"` // name of a [NonFinite]; "": refuse
}

// Created answers OpCreate: the number of each matrix, in the order of the request, and the task's clock for it. Where a map has not
// the digest that was asked about, Maps has the routing map of each matrix (package part's Map as JSON, null for a matrix whose map
// has it).
type Created struct {
	Numbers []uint32          `json:"numbers"`
	Clocks  []int32           `json:"clocks"`
	Maps    []json.RawMessage `json:"maps,omitempty"`
}

// Save is the argument of OpSave, OpCommit and OpAbort: what to write, where and how. All servers of a save get the same.
type Save struct {
	Codec    string            `json:"codec"`
	Path     string            `json:"path"`            // within the servers' bucket
	State    bool              `json:"state,omitempty"` // the state of the model was saved before it
	Stage    string            `json:"stage"`           // names this save; the same for all servers
	Matrices []string          `json:"matrices"`
	Lossy    bool              `json:"lossy,omitempty"`
	Set      map[string]string `json:"set,omitempty"`
	Files    map[string][]byte `json:"files,omitempty"`
	Parts    [][]byte          `json:"parts,omitempty"` // of all servers, for the commit
	// Rehearsal asks whether a save of the matrices, which may have any values, would go well; nothing becomes visible.
	// Each server leaves a mark in the stage, the commit looks whether all of them are in one place.
	Rehearsal bool `json:"rehearsal,omitempty"`
	Replace   bool `json:"replace,omitempty"` // a model at the path may be replaced
	// Same, of a rehearsal, names one of Files: a model at the path beside which it lies as it is given may be replaced, for it is of the
	// same job, which was interrupted after it had saved.
	Same    string `json:"same,omitempty"`
	Servers int    `json:"servers,omitempty"` // of a rehearsal or a checkpoint: how many there are
	Index   int    `json:"index,omitempty"`   // of a rehearsal or a checkpoint: which of them the receiver is
	// Checkpoint asks for the state of training of all matrices of the job instead of a model (package state). The codec and
	// its options have no meaning then.
	Checkpoint bool `json:"checkpoint,omitempty"`
	// Interim has the checkpoint removed when the job ends.
	Interim bool `json:"interim,omitempty"`
	// Track says that later checkpoints may be based on this one: what changes from now on is remembered.
	Track bool `json:"track,omitempty"`
	// Base asks for a checkpoint, also to be tracked, of only what has changed since the one at this path. "": of everything.
	Base string `json:"base,omitempty"`
	// Committed tells, with an abort, that the first server has made it visible: what is left of it is to be forgotten.
	Committed bool `json:"committed,omitempty"`
	// Keep, above 0, has the other checkpoints beside this one removed once it is there, but for the last so many of its run with what they
	// need.
	Keep int `json:"keep,omitempty"`
	// Moment is where the training is, for whoever goes on from the checkpoint (state.Moment as JSON).
	Moment json.RawMessage `json:"moment,omitempty"`
}

// Load is the argument of OpLoad: which matrices to fill from a path. Rows beyond those of the matrix (the state of an
// optimizer that was saved with it) are left out.
type Load struct {
	Path     string            `json:"path"`            // within the servers' bucket
	Codec    string            `json:"codec,omitempty"` // "": found out
	Set      map[string]string `json:"set,omitempty"`
	Matrices []string          `json:"matrices"`
	Round    bool              `json:"round,omitempty"` // to the type of the matrices, if the values allow it
	// Partial says that what is stored may have fewer rows than the matrices: the others get their initial values.
	Partial bool `json:"partial,omitempty"`
	// Checkpoint says that the path has a checkpoint: slots and steps are filled too, and the answer is [Restored].
	Checkpoint bool `json:"checkpoint,omitempty"`
}

// Look is the argument of OpLook: which matrix at a path it is about; without a name only the state of the path is asked for.
type Look struct {
	Path   string            `json:"path"`            // within the servers' bucket
	Codec  string            `json:"codec,omitempty"` // "": found out
	Set    map[string]string `json:"set,omitempty"`
	Matrix string            `json:"matrix"`
}

// Looked answers OpLook.
type Looked struct {
	Rows   int64 `json:"rows"`
	Cols   int64 `json:"cols"`
	Values int64 `json:"values"` // cells that have a value other than zero

	State string `json:"state,omitempty"` // of the path, where no matrix was named
}

// Restored answers OpLoad of a checkpoint: what it was of.
type Restored struct {
	Job      string           `json:"job"`
	Plan     string           `json:"plan,omitempty"` // the settings of that job, as in Join; "": not known
	Clock    int              `json:"clock"`          // own clock of the task that asked for the checkpoint
	Matrices []RestoredMatrix `json:"matrices"`
}

// RestoredMatrix is a matrix that was filled.
type RestoredMatrix struct {
	Name  string `json:"name"`
	Clock int    `json:"clock"` // for it of the task that asked for the checkpoint
	Steps int64  `json:"steps"` // that its rule has made; of a matrix kept in a narrow type without a rule its clocks
}
