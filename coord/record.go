package coord

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Holder is the record of a role.
type Holder struct {
	ID    string        `json:"id,omitempty"`   // tells the claim from all others that ever were; "": the role was given back
	Addr  string        `json:"addr,omitempty"` // where it is reached
	Epoch uint64        `json:"epoch"`          // how often the role has changed hands, from 1 on
	Beat  uint64        `json:"beat,omitempty"` // how often the claim was written
	Lease time.Duration `json:"lease_ns,omitempty"`
	// Log is the identity of the log from which what the holder holds comes back, on its disk; "": it has none. It stays when the role is
	// given back, as Since and Copies do. A holder that continues what was held has those of the one before, until it owns what it has.
	Log string `json:"log,omitempty"`
	// Copies are the IDs of claims that have all that was acknowledged, at most CopiesLimit.
	Copies []string `json:"copies,omitempty"`
	Since  uint64   `json:"since,omitempty"` // the first epoch from which on nothing was lost that was acknowledged; 0: Epoch
	// Standbys is how far the standbys that copy the log were behind when the record was written, at most CopiesLimit. It decides
	// nothing, but readers find standbys by it.
	Standbys []Standby `json:"standbys,omitempty"`
}

// Standby is how far the copy of a standby is behind, for people, and where it answers readers.
type Standby struct {
	Addr        string  `json:"addr"`
	Reads       string  `json:"reads,omitempty"` // where readers reach the standby; "": they do not
	Synchronous bool    `json:"synchronous"`     // acknowledgements wait for it
	Uncopied    uint64  `json:"uncopied"`        // bytes that it has not acknowledged
	Unreplayed  uint64  `json:"unreplayed"`      // bytes that it has and has not replayed
	Idle        float64 `json:"idle"`            // seconds since its last progress; 0: it has everything
	Stalled     bool    `json:"stalled,omitempty"`
	Throttled   bool    `json:"throttled,omitempty"` // pushes are throttled until it has caught up
}

// Continuation is how a holder comes to what those before it have held.
type Continuation int

// The continuations.
const (
	Anew     Continuation = iota // not at all: nobody held the role before, or what was held is lost, and Since is the holder's own epoch
	FromLog                      // the holder has the log of the one before
	FromCopy                     // the one before has named it as one that has a copy
)

// String says how, as text for people.
func (c Continuation) String() string {
	switch c {
	case FromLog:
		return "from the log"
	case FromCopy:
		return "from a copy"
	}
	return "anew"
}

// since is Since, of old records too.
func (h *Holder) since() uint64 { return cmp.Or(h.Since, h.Epoch) }

// Holds reports whether what was acknowledged under an epoch is there still.
func (h *Holder) Holds(epoch uint64) bool { return h.since() <= epoch && epoch <= h.Epoch }

// continued is how a claim continues what the record tells of, should it take the role over.
func (h *Holder) continued(id, log string) Continuation {
	switch {
	case slices.Contains(h.Copies, id):
		return FromCopy
	case h.Log != "" && h.Log == log:
		return FromLog
	}
	return Anew
}

// CopiesLimit is how many copies a record names at most, and IDLimit how many bytes an identity has at most, of a claim or of a log.
const (
	CopiesLimit = 16
	IDLimit     = 256
)

// Limits of leases: shorter ones lapse when the process or the store takes a breath; longer ones hold everybody up.
const (
	LeaseMin     = 100 * time.Millisecond
	LeaseMax     = time.Hour
	LeaseDefault = 10 * time.Second
)

// ErrRecord is that of bytes in a store that are no record of ours.
var ErrRecord = errors.New("not a record of this program")

// check says what cannot be.
func (h *Holder) check() error {
	switch {
	case h.Epoch == 0:
		return errors.New("epoch 0, want 1 or more")
	case h.Since > h.Epoch:
		return fmt.Errorf("since %d with epoch %d, want at most that", h.Since, h.Epoch)
	case max(len(h.ID), len(h.Log)) > IDLimit:
		return fmt.Errorf("an identity of %d bytes, want at most %d", max(len(h.ID), len(h.Log)), IDLimit)
	}
	if err := checkCopies(h.Copies); err != nil {
		return err
	}
	if len(h.Standbys) > CopiesLimit {
		return fmt.Errorf("%d standbys, want at most %d", len(h.Standbys), CopiesLimit)
	}
	for i := range h.Standbys {
		if n := max(len(h.Standbys[i].Addr), len(h.Standbys[i].Reads)); n > IDLimit {
			return fmt.Errorf("standby %d has an address of %d bytes, want at most %d", i, n, IDLimit)
		}
	}
	switch {
	case h.ID == "":
		return nil
	case h.Lease < LeaseMin || h.Lease > LeaseMax:
		return fmt.Errorf("a lease of %v, want %v to %v", h.Lease, LeaseMin, LeaseMax)
	}
	return nil
}

// checkCopies says what is wrong with the IDs of claims that have a copy.
func checkCopies(ids []string) error {
	if len(ids) > CopiesLimit {
		return fmt.Errorf("%d copies, want at most %d", len(ids), CopiesLimit)
	}
	for i, id := range ids {
		if id == "" || len(id) > IDLimit {
			return fmt.Errorf("copy %d has an identity of %d bytes, want 1 to %d", i, len(id), IDLimit)
		}
	}
	return nil
}

// decodeHolder is the record of a role; nil if there are no bytes, as of a role that nobody ever had.
func decodeHolder(key string, data []byte) (*Holder, error) {
	if data == nil {
		return nil, nil
	}
	h := &Holder{}
	if err := decode(key, data, h); err != nil {
		return nil, err
	}
	return h, nil
}

// checked is a record that knows what of it cannot be.
type checked interface{ check() error }

// encode is the bytes of a record, which is one that can be read again.
func encode(key string, r checked) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("coord: %s: %w", key, err)
	}
	return json.Marshal(r)
}

// decode reads the record of a key. Fields that are not known are those of a later version.
func decode(key string, data []byte, r checked) error {
	if err := CheckValue(key, data); err != nil {
		return err
	}
	err := json.Unmarshal(data, r)
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("coord: %s at byte %d: %w: %w", key, syntax.Offset, err, ErrRecord)
	case errors.As(err, &kind):
		return fmt.Errorf("coord: %s at byte %d: %w: %w", key, kind.Offset, err, ErrRecord)
	case err == nil:
		err = r.check()
	}
	if err != nil {
		return fmt.Errorf("coord: %s: %w: %w", key, err, ErrRecord)
	}
	return nil
}
