package coord

import "time"

// Event is something that has happened to a claim; the types of this file are all there are.
type Event interface{ event() }

// Read answers a Get or a Watch.
type Read struct {
	Seq     uint64  // of the request
	Holder  *Holder // nil: nobody ever had the role
	Version Version
	Err     error
}

// Wrote answers a Put: it was done if there is no error, it was not if that is ErrChanged, and nobody knows otherwise.
type Wrote struct {
	Seq     uint64
	Version Version
	Err     error
}

// Deadline says that the time of Claimant.Next has come.
type Deadline struct{}

// Release says that the claim is to end, and the role to be given back if it is held.
type Release struct{}

// Copies says which claims the record is to name from now on as ones that have a copy. It is ignored while the role was never held, and
// after Release.
type Copies struct{ Copies []string }

// Own says that what the holder has lies whole in its own log, which the record is to name from now on, and no copies. It is for a holder
// that came to the role FromCopy or FromLog, once, and before its first Copies: until then the record has the log and the other copies of
// the holder before. It is ignored when Copies is, and of a holder that began anew.
type Own struct{}

func (Read) event()     {}
func (Wrote) event()    {}
func (Deadline) event() {}
func (Release) event()  {}
func (Copies) event()   {}
func (Own) event()      {}

// Effect is something that the shell has to do; the types of this file are all there are. Of requests to the store only
// the last one matters: the shell gives up the one before.
type Effect interface{ effect() }

// Get asks for the record of the role; a Read answers it.
type Get struct{ Seq uint64 }

// Watch waits until the record of the role has another version; a Read answers it.
type Watch struct {
	Seq  uint64
	Seen Version
}

// Put writes the record of the role; a Wrote answers it.
type Put struct {
	Seq    uint64
	Holder Holder
	Old    Version
}

// Hold says that the role is held until a time; all else stays as it was the first time.
type Hold struct {
	Until     time.Duration
	Epoch     uint64
	Since     uint64 // of the Holder
	Continues Continuation
	Copied    bool // others have a copy of what was held before
}

// Stop says that the time of Hold has passed: somebody else may take the role over soon. Nothing may be done under it, until there is
// another Hold.
type Stop struct{}

// End says that the claim has ended: nothing may be done under it any more. By is who has the role now, if that is why. Err is nil after
// a Release.
type End struct {
	By  *Holder
	Err error
}

// Recorded says that the record names the claims of the last Copies, and the holder's own log after Own: whoever takes the role over has
// read that, or what was written later.
type Recorded struct{}

// Say is a line for people: whom the claim waits for, or why the store does not answer.
type Say struct{ Text string }

func (Get) effect()      {}
func (Watch) effect()    {}
func (Put) effect()      {}
func (Hold) effect()     {}
func (Recorded) effect() {}
func (Stop) effect()     {}
func (End) effect()      {}
func (Say) effect()      {}
