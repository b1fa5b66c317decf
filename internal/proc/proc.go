// Package proc names processes of this machine, so that a later one can tell whether the process of a name still lives: ids are used
// again, and machines start anew.
package proc

// State is what this process can tell of another one.
type State int

// The states. Of processes of other machines, of other containers, and of systems that cannot be asked, nothing is known.
const (
	Unknown State = iota
	Lives
	Gone // it writes nothing any more
)
