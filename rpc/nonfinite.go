package rpc

import "fmt"

// NonFinite is what becomes of what is pushed with infinite values or values that are no number.
type NonFinite uint8

// The choices.
const (
	RefuseNonFinite NonFinite = iota // the push fails; nothing of it is applied
	SkipNonFinite                    // the part that has the value is left out and counted; the rest of the push is applied
	AllowNonFinite                   // it is applied
)

var nonFinites = [...]string{"refuse", "skip", "allow"}

// String is the name of the choice.
func (n NonFinite) String() string {
	if int(n) < len(nonFinites) {
		return nonFinites[n]
	}
	return "unknown"
}

// ParseNonFinite is the choice of the name; "" is refuse.
func ParseNonFinite(name string) (NonFinite, error) {
	if name == "" {
		return RefuseNonFinite, nil
	}
	for i, choice := range nonFinites {
		if name == choice {
			return NonFinite(i), nil
		}
	}
	return 0, fmt.Errorf("%q, want refuse, skip or allow", name)
}
