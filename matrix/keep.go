package matrix

import (
	"fmt"
	"math"
)

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
	// ExpireAfter is after how many steps that do not name it a column is removed: it reads as initial again. 0: never. It goes
	// by up to a third of that later, or three quarters with MaxBytes ([TurnBits], [Epochs]).
	ExpireAfter int64 `json:",omitempty"`
	// MaxBytes is how many bytes the columns of the whole matrix may take on all servers, with the rule's state and the index: where
	// there is no room for a new column, those that nothing has named for longest are removed, and read as initial again. It is
	// shared out by hash. 0: any number. Of columns with counts, those of the lowest scores are removed.
	MaxBytes int64 `json:",omitempty"`

	// ShowWeight and ClickWeight have the columns be counted, if one of them is not 0: pushes bring the shows and clicks of their
	// columns in addition to gradients ([Meta.CountRows]), and the score of a column is ShowWeight x shows + ClickWeight x clicks. Counts
	// are a part of the state of a column ([Keep.CountSlots]).
	ShowWeight  float64 `json:",omitempty"`
	ClickWeight float64 `json:",omitempty"`
	// HalfLife is after how many steps counts are half as much. They decay by parts of an eighth to a quarter of it, or of a step if it is
	// below 8; each column in its turn. 0: they do not decay.
	HalfLife int64 `json:",omitempty"`
	// EvictBelow is the score below which a column is removed when it has its turn ([Keep.CountTurns]). 0: none is.
	EvictBelow float64 `json:",omitempty"`
}

// Counts reports whether the shows and clicks of columns are counted.
func (k Keep) Counts() bool { return k.ShowWeight > 0 || k.ClickWeight > 0 }

// CountSlots is how many slots, of as many values as a column has rows, hold the counts of a column after those of the rule: shows and
// clicks are the first two values of them.
func (k Keep) CountSlots(rows int64) int {
	switch {
	case !k.Counts():
		return 0
	case rows == 1:
		return 2
	}
	return 1
}

// CountTurns is [TurnBits] for the turns in which counts decay and are compared with EvictBelow, and by what they are multiplied then.
func (k Keep) CountTurns() (bits int, decay float64) {
	if k.HalfLife == 0 {
		return TurnBits(undecayedTurns), 1
	}
	bits = TurnBits(k.HalfLife)
	return bits, math.Exp2(-float64(int64(1)<<bits) / float64(k.HalfLife))
}

// undecayedTurns is such that scores which do not decay are looked at every 64 steps.
const undecayedTurns = 512

// MaxBytesLimit is the largest budget that a Keep may have: 2^46 bytes.
const MaxBytesLimit = 1 << 46

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
	if k.MaxBytes < 0 || k.MaxBytes > MaxBytesLimit {
		return fmt.Errorf("a budget of %d bytes, want 0 to 2^46", k.MaxBytes)
	}
	for _, s := range []struct {
		name string
		v    float64
	}{{"show weight", k.ShowWeight}, {"click weight", k.ClickWeight}, {"evict below score", k.EvictBelow}} {
		if !(s.v >= 0) || math.IsInf(s.v, 0) {
			return fmt.Errorf("%s %v, want a finite number from 0 on", s.name, s.v)
		}
	}
	switch {
	case k.HalfLife < 0 || k.HalfLife > KeepLimit:
		return fmt.Errorf("half-life of counts of %d steps, want 0 to 2^30", k.HalfLife)
	case !k.Counts() && k.EvictBelow > 0:
		return fmt.Errorf("eviction below score %v without a weight of shows or clicks, want one above 0", k.EvictBelow)
	case !k.Counts() && k.HalfLife > 0:
		return fmt.Errorf("a half-life of counts of %d steps without a weight of shows or clicks, want one above 0", k.HalfLife)
	case k.Counts() && k.EvictBelow == 0 && k.MaxBytes == 0:
		return fmt.Errorf("counts of shows and clicks evict no column, want a score to evict below or a budget of bytes")
	}
	if k.ForgetAfter > 0 && !k.Admits() {
		return fmt.Errorf("forget after %d steps what is admitted at once, want it with admission after 2 or more", k.ForgetAfter)
	}
	return nil
}

// TurnBits is how many top bits of a column's hash say in which steps it is looked at: in those whose number ends with them.
// It is such that all have had their turn after an eighth to a quarter of the steps after which they go.
func TurnBits(after int64) int {
	n := 0
	for n < turnBitsMost && after>>(n+3) > 0 {
		n++
	}
	return n
}

// turnBitsMost bounds how many steps pass until all have had their turn: 2^16.
const turnBitsMost = 16

// Epochs says how finely it is kept which step named a column last: as the epoch of 2^shift steps that the step was of, of which
// 2^bits are told apart. A column goes when it has its turn and all of that epoch is at least the given number of steps ago; an
// epoch is at most a sixteenth of that number, or half of it where columns also go for a budget.
func Epochs(after int64, budget bool) (bits, shift int) {
	if bits = 6; budget {
		bits = 3
	}
	for after>>shift >= 1<<(bits-1) {
		shift++
	}
	return bits, shift
}
