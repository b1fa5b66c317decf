package rpc

import (
	"thole.example/matrix"
	"thole.example/ssp"
)

// Join is the argument of OpJoin: what all tasks of a job must agree on, and which of them come together.
type Join struct {
	Tasks  int       `json:"tasks"`
	Bound  ssp.Bound `json:"bound"`
	Plan   string    `json:"plan,omitempty"`   // the settings of the job, words "name=value"; no value agrees with any
	Worker string    `json:"worker,omitempty"` // names the process of the task, unlike any other
	Client string    `json:"client,omitempty"` // names the task's client, unlike any other; it may come back
	Epoch  int       `json:"epoch,omitempty"`  // how many connections of the client were lost before; above 0 it comes back
	Grace  int64     `json:"grace,omitempty"`  // nanoseconds in which it may, before the job fails
	Mine   []int     `json:"mine,omitempty"`   // all tasks of the process: nobody else gets one of them from then on
}

// Create is the argument of OpCreate: the matrices of a job and how they are cut. Every server computes the same
// partitions from it and keeps those that are its own.
type Create struct {
	Matrices []Spec `json:"matrices"`
	Servers  int    `json:"servers"` // how many there are
	Index    int    `json:"index"`   // which of them the receiver is
	Version  int64  `json:"version"` // of the routing map
}

// Spec is a matrix and the name of its partitioner.
type Spec struct {
	Meta        matrix.Meta `json:"meta"`
	Partitioner string      `json:"partitioner"`
}

// Save is the argument of OpSave, OpCommit and OpAbort: what to write, where and how. All servers of a save get the same.
type Save struct {
	Codec    string            `json:"codec"`
	Path     string            `json:"path"`  // within the servers' bucket
	Stage    string            `json:"stage"` // names this save; the same for all servers
	Matrices []string          `json:"matrices"`
	Lossy    bool              `json:"lossy,omitempty"`
	Set      map[string]string `json:"set,omitempty"`
	Files    map[string][]byte `json:"files,omitempty"`
	Parts    [][]byte          `json:"parts,omitempty"` // of all servers, for the commit

	// Trial asks whether a save of the matrices, which may have any values, would go well; nothing becomes visible. Each
	// server leaves a mark in the stage, the commit looks whether all of them are in one place.
	Trial   bool `json:"trial,omitempty"`
	Replace bool `json:"replace,omitempty"` // a model at the path may be replaced
	Servers int  `json:"servers,omitempty"` // of a trial: how many there are
	Index   int  `json:"index,omitempty"`   // of a trial: which of them the receiver is
}

// Load is the argument of OpLoad: which matrices to fill from a path. Rows beyond those of the matrix (the state of an
// optimizer that was saved with it) are left out.
type Load struct {
	Path     string            `json:"path"`            // within the servers' bucket
	Codec    string            `json:"codec,omitempty"` // "": found out
	Set      map[string]string `json:"set,omitempty"`
	Matrices []string          `json:"matrices"`
	Round    bool              `json:"round,omitempty"` // to the type of the matrices, if the values allow it
}
