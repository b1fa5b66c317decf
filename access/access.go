// Package access says who may use a server, and how much of it: tokens with rights and limits, the file that lists them, and
// how the holder of a secret proves it without saying it. It knows nothing of networks, and asks nobody what time it is.
//
// # Proof
//
// A secret is 32 random bytes. The list has its SHA-256 alone. To prove a secret s of hash h against a challenge of 32 random
// bytes, a client sends which token it means and s XOR HMAC-SHA256(h, what is proven). Whoever has h takes the HMAC off and
// finds a secret whose hash must be h. So a list that was read by others is of no use to them, an eavesdropper learns nothing,
// and a proof is good for one challenge. Bytes of both sides' transport (see [Secret.Prove]) bind it to a connection.
package access

import (
	"fmt"
	"strings"
)

// Right is what a token allows, one or more of the constants.
type Right uint8

// The rights. Who may write may read, as every task does both.
const (
	Read       Right = 1 << iota // pull values, call get functions, ask who is there
	Write                        // everything that a task does
	Administer                   // see the state of the server and of all jobs, at its admin address
)

var rights = [...]string{"read", "write", "administer"}

// ParseRights reads names of rights between commas.
func ParseRights(text string) (Right, error) {
	var all Right
	for name := range strings.SplitSeq(text, ",") {
		one := Right(0)
		for i, known := range rights {
			if name == known {
				one = 1 << i
			}
		}
		if one == 0 {
			return 0, fmt.Errorf("right %.20q, want some of %s, between commas", name, strings.Join(rights[:], ", "))
		}
		all |= one
	}
	return all, nil
}

// String is the names between commas.
func (r Right) String() string {
	var names []string
	for i, name := range rights {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Has reports whether who has r may do what needs need.
func (r Right) Has(need Right) bool {
	if r&Write != 0 {
		r |= Read
	}
	return r&need == need
}

// LackError says which right is missing, and nothing else.
type LackError struct{ Right Right }

// Error implements error.
func (e *LackError) Error() string { return fmt.Sprintf("the token has no right to %v", e.Right) }
