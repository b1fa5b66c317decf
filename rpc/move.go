package rpc

import "thole.example/ssp"

// Move is the argument of OpMove, of somebody who is none of the job's tasks.
type Move struct {
	Job string `json:"job"`
	// Servers are the addresses of those that the job is to move to, in their order; none: it is only asked how far an order is.
	Servers []string `json:"servers,omitempty"`
	// Checkpoint asks for a checkpoint, and that the job stays: whoever asks is about to end.
	Checkpoint bool `json:"checkpoint,omitempty"`
	// Gone says that the job has left this server: attempts up to this one end here. 0: nothing is said.
	Gone int `json:"gone,omitempty"`
}

// Limits of what a Move may name.
const (
	MoveServers = 1 << 12 // servers
	MoveAddress = 1 << 12 // bytes of an address
)

// Moved answers OpMove: an order when the checkpoint is there from which the job goes on, and a question at once.
type Moved struct {
	Checkpoint string      `json:"checkpoint,omitempty"` // path within the servers' bucket; "": no step was made that could be lost
	Attempt    int         `json:"attempt,omitempty"`    // that begins there; of a job that stays, the one that runs
	Moving     *ssp.Moving `json:"moving,omitempty"`     // to a question: the order under way, nil if there is none
}

// Order answers OpAwait.
type Order struct {
	Servers    []string `json:"servers,omitempty"`    // to move to
	Checkpoint bool     `json:"checkpoint,omitempty"` // is wanted, and the job stays
}

// Moving is the argument of OpMoving.
type Moving struct {
	Step MovingStep `json:"step"`
	// From and To are between which of their own clocks the others are to quiesce; the response's clock is the one that was chosen.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Checkpoint is where the job goes on from.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Reason is why nothing comes of the order.
	Reason string `json:"reason,omitempty"`
}

// MovingStep is what the task that moves a job tells of it, or asks for.
type MovingStep string

// The steps, as ssp has them.
const (
	MovingQuiesce MovingStep = "quiesce"
	MovingCommit  MovingStep = "commit"
	MovingMoved   MovingStep = "moved"
	MovingVoid    MovingStep = "void" // ssp.Moved with an error
)
