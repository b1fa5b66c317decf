package coord

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Holder is the record of a role.
type Holder struct {
	ID    string        `json:"id,omitempty"`   // tells the claim from all others; "": the role was given back
	Addr  string        `json:"addr,omitempty"` // where it is reached
	Epoch uint64        `json:"epoch"`          // how often the role has changed hands, from 1 on
	Beat  uint64        `json:"beat,omitempty"` // how often the claim was written
	Lease time.Duration `json:"lease_ns,omitempty"`
}

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
	case h.ID == "":
		return nil
	case h.Lease < LeaseMin || h.Lease > LeaseMax:
		return fmt.Errorf("a lease of %v, want %v to %v", h.Lease, LeaseMin, LeaseMax)
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
