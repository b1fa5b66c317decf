package matrix

import "fmt"

// Keep says which columns of a sparse matrix on a server are worth their memory. Times are counted in steps of the matrix's
// rule; a step names the columns that gradients of its clock have values for. The zero Keep makes every column that is named
// and keeps it.
type Keep struct {
	// AdmitAfter is how many steps have to name a column before it is made: the last of them makes it and is its first step.
	// What the gradients before had for it is left out, and it reads as initial. 0 and 1: the first step makes it.
	AdmitAfter int64 `json:",omitempty"`
	// ForgetAfter is after how many steps that do not name it the count of a column that was not made yet begins from 0
	// again. 0: never.
	ForgetAfter int64 `json:",omitempty"`
	// ExpireAfter is after how many steps that do not name it a column is removed: it reads as initial again. 0: never.
	ExpireAfter int64 `json:",omitempty"`
}

// KeepLimit is the largest number that a Keep may have.
const KeepLimit = 1 << 30

// Admits reports whether columns have to be named more than once.
func (k Keep) Admits() bool { return k.AdmitAfter > 1 }

// Check reports the first setting that cannot be.
func (k Keep) Check() error {
	for _, s := range []struct {
		name string
		v    int64
	}{{"admit after", k.AdmitAfter}, {"forget after", k.ForgetAfter}, {"expire after", k.ExpireAfter}} {
		if s.v < 0 || s.v > KeepLimit {
			return fmt.Errorf("%s %d steps, want 0 to 2^30", s.name, s.v)
		}
	}
	if k.ForgetAfter > 0 && !k.Admits() {
		return fmt.Errorf("forget after %d steps what is admitted at once, want it with admission after 2 or more", k.ForgetAfter)
	}
	return nil
}

// Late is by how many steps at most a column goes later than after the given number: hashes decide which columns are looked
// at in which step, so that no step has to look at all.
func Late(after int64) int64 { return int64(1)<<TurnBits(after) - 1 }

// TurnBits is how many top bits of a column's hash say in which steps it is looked at: in those whose number ends with them.
// It is such that all have had their turn after an eighth to a quarter of the steps after which they go.
func TurnBits(after int64) int {
	n := 0
	for n < turnBitsMost && after>>(n+3) > 0 {
		n++
	}
	return n
}

// turnBitsMost bounds how late columns may go: 2^16 steps.
const turnBitsMost = 16
