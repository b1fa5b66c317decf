// Package budget is the ledger of a process's bytes: what requests, answers, staged deltas, tables, saves, connections, metadata
// and modules take, and the program itself, against one total. A [Charge] is bytes that are counted; it moves with them
// from class to class and is given back once.
//
// # Who gets what is left
//
// Each class has a floor, which nobody else can take, and a ceiling. A part of the total, the reserve, is for urgent
// takers alone: those who free what others hold. Who finds no room waits: the urgent first, then first come, first
// served. A small taker does not pass a large one that waits for room in the total, except within the floor of its class.
// Who could not even be served if all others but the tables gave back what they have is told so after a while: tables go
// only with their job.
//
//	room of a class = floor not yet used + max(0, total - reserve - sum over classes of max(used, floor))
//	                  and not beyond its ceiling; for the urgent: without the reserve and the ceiling
//
// What is staged may pass its ceiling and take from floors, because it was read before; then it is time to spill it, and
// until that is done those floors are not there.
package budget

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// Class is what bytes are used for.
type Class uint8

// The classes.
const (
	Frames      Class = iota // requests of more than 1 MiB that were read and are not done
	Queues                   // answers that wait to be written
	Stage                    // deltas that wait for their clock
	Tables                   // partitions
	Saves                    // blocks on their way to a bucket
	Small                    // requests of up to 1 MiB, which have a floor of their own: they do not wait for large ones
	Program                  // the process itself: its code, its runtime and what it has at the start
	Connections              // what each connection takes while it does nothing
	Metadata                 // jobs, tasks and matrices apart from their values: names, attributes, partitions without columns
	Modules                  // functions of users: their code, and the memory of those that run
	Classes                  // their number
)

var names = [Classes]string{"frames", "queues", "stage", "tables", "saves", "small requests",
	"program", "connections", "metadata", "modules"}

// lasting are the classes whose bytes stay as long as the job, connection or module that they are for. A request for more of them
// than there is room for beside the others does not wait: it is refused.
var lasting = [Classes]bool{Tables: true, Program: true, Connections: true, Metadata: true, Modules: true}

// String is the name of the class.
func (c Class) String() string {
	if c < Classes {
		return names[c]
	}
	return "unknown class"
}

// Usage is bytes by class.
type Usage [Classes]int64

// Total is the sum over the classes.
func (u Usage) Total() int64 {
	sum := int64(0)
	for _, n := range u {
		sum += n
	}
	return sum
}

// Bounds are what a class always has and what it has at most, in bytes.
type Bounds struct{ Floor, Ceiling int64 }

// Ledger counts bytes. A nil Ledger counts nothing and has no limit. Methods may be called by many goroutines.
type Ledger struct {
	mu      sync.Mutex
	total   int64
	reserve int64
	bounds  [Classes]Bounds
	used    Usage
	waiting []*waiter // in order of arrival
	claims  []*Claim
	// What the first waiters of each kind wait for, as of the last change: nobody passes them.
	shared  bool // room in the total
	blocked [Classes]bool
	starved chan struct{}
	short   atomic.Bool // somebody waits
}

// New is a ledger of total bytes, of which an eighth is the reserve. Frames, queues, small requests and connections have a floor of
// a 32nd each; frames and stage a ceiling of a half, queues, saves, small requests and connections of a quarter, the others of
// everything.
func New(total int64) *Ledger { return NewWithProgram(total, 0) }

// NewWithProgram is a ledger of total bytes, of which the process itself takes some; the shares of the others are of the rest.
func NewWithProgram(total, program int64) *Ledger {
	rest := total - program
	l := &Ledger{total: total, reserve: rest / 8, starved: make(chan struct{}, 1)}
	l.bounds = [Classes]Bounds{
		Frames: {rest / 32, rest / 2}, Queues: {rest / 32, rest / 4}, Stage: {0, rest / 2}, Tables: {0, rest}, Saves: {0, rest / 4},
		Small: {rest / 32, rest / 4}, Program: {program, program}, Connections: {rest / 32, rest / 4}, Metadata: {0, rest}, Modules: {0, rest},
	}
	l.used[Program] = program
	return l
}

// Bound sets the floor and the ceiling of a class. It must be called before the ledger is used. The floors and the reserve
// together must not be more than the total.
func (l *Ledger) Bound(c Class, b Bounds) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.reserve + b.Floor
	for k, other := range l.bounds {
		if Class(k) != c {
			sum += other.Floor
		}
	}
	if b.Floor < 0 || b.Ceiling < b.Floor || sum > l.total {
		return fmt.Errorf("%v: floor %d and ceiling %d, floors and reserve of %d together, want at most the total of %d",
			c, b.Floor, b.Ceiling, sum, l.total)
	}
	l.bounds[c] = b
	return nil
}

// Reserve sets how many bytes only urgent takers get. It must be called before the ledger is used.
func (l *Ledger) Reserve(n int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := n
	for _, b := range l.bounds {
		sum += b.Floor
	}
	if n < 0 || sum > l.total {
		return fmt.Errorf("a reserve of %d, with the floors %d, want at most the total of %d", n, sum, l.total)
	}
	l.reserve = n
	return nil
}

// Used is how many bytes each class takes now, credits included.
func (l *Ledger) Used() Usage {
	if l == nil {
		return Usage{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// Total is the bytes of the ledger; 0 for a nil one.
func (l *Ledger) Total() int64 {
	if l == nil {
		return 0
	}
	return l.total
}

// Most is the largest single charge that a class ever has room for, if nobody else takes anything.
func (l *Ledger) Most(c Class) int64 {
	if l == nil {
		return math.MaxInt64
	}
	most := l.total - l.reserve
	for k, b := range l.bounds {
		if Class(k) != c {
			most -= b.Floor
		}
	}
	return min(most, l.bounds[c].Ceiling)
}

// Starved gets a token whenever an urgent taker has to wait, or more is staged than there is room for, and again after each
// change that leaves it so: then what is staged should be spilled or given up, since those who would free it are waiting
// themselves.
func (l *Ledger) Starved() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.starved
}

// room is how many bytes the class may still take. The ledger is locked.
func (l *Ledger) room(c Class, urgent bool) int64 {
	shared, floor := l.left(), l.floorLeft(c)
	if shared < 0 && l.used[Stage] > 0 {
		floor = max(floor+shared, 0) // what is staged goes first
	}
	if urgent {
		return max(shared, 0) + floor
	}
	return min(max(shared-l.reserve, 0)+floor, l.bounds[c].Ceiling-l.used[c])
}

// left is what nobody has and no floor keeps; below 0 where charges that were moved or forced have taken from floors.
func (l *Ledger) left() int64 {
	left := l.total
	for k, used := range l.used {
		left -= max(used, l.bounds[k].Floor)
	}
	return left
}

// floorLeft is how much of the class's floor is not used.
func (l *Ledger) floorLeft(c Class) int64 { return max(l.bounds[c].Floor-l.used[c], 0) }

// mostBeside is the largest single charge of a class that an urgent taker has room for beside what lasts. The ledger is locked.
func (l *Ledger) mostBeside(c Class) int64 {
	most := l.total
	for k, b := range l.bounds {
		switch {
		case lasting[k]:
			most -= max(l.used[k], b.Floor)
		case Class(k) != c:
			most -= b.Floor
		}
	}
	return max(most, l.bounds[c].Floor)
}

// Lasting is how many bytes the lasting classes have, without the program.
func (l *Ledger) Lasting() int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lasts()
}

// lasts is Lasting of a locked ledger.
func (l *Ledger) lasts() (n int64) {
	for k, used := range l.used {
		if lasting[k] && Class(k) != Program {
			n += used
		}
	}
	return n
}

// TooLarge says that a charge never has room, or has none beside the matrices, jobs, connections and modules that are there.
type TooLarge struct {
	Class        Class
	Wanted, Most int64
	Beside       int64 // bytes of those; 0: whatever there is
}

// Error implements error.
func (e *TooLarge) Error() string {
	if e.Beside > 0 {
		return fmt.Sprintf("%d bytes of %v, want at most %d beside %d of matrices, jobs, connections and modules: give the server more "+
			"memory, or bring less at once", e.Wanted, e.Class, e.Most, e.Beside)
	}
	return fmt.Sprintf("%d bytes of %v, want at most %d: give the server more memory, or bring less at once", e.Wanted, e.Class, e.Most)
}
