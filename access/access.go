// Package access decides who may use a server, for which jobs and stores, and how much of it. A [Token] is a line of a list: its name,
// a public key, rights, jobs, stores and limits. The holder of the private key proves it without revealing it. The package knows no
// network and no clock.
//
// # Owners
//
// The name of a token is the owner of all jobs that are started with it. Several lines may have one name with different keys and are
// otherwise equal: the holder of either key is the same owner, so a secret is replaced without a change of owner. On a server with
// tokens, names of jobs are local to their owner: jobs "ctr" of owners ads and search are two jobs, ads/ctr and search/ctr.
//
// # Proof
//
// A secret is 32 random bytes, the seed of an Ed25519 key pair (RFC 8032). The list has the public key. To prove a secret a client signs
// a challenge of 32 random bytes together with bytes of both ends' transport (see [Secret.Prove]). The list and any number of overheard
// proofs together do not reveal the secret and do not suffice for another proof.
package access

import (
	"fmt"
	"strings"
)

// Right is what a token allows, one or more of the constants.
type Right uint8

// The rights. Write includes Read, as every task does both.
const (
	Read       Right = 1 << iota // pull values, call get functions, list members
	Write                        // everything that a task does
	Administer                   // see the state of the server; other rights of the token extend to the jobs of all owners
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

// Has reports whether a token with r allows what needs need.
func (r Right) Has(need Right) bool {
	if r&Write != 0 {
		r |= Read
	}
	return r&need == need
}

// LackError names the missing right, and nothing else.
type LackError struct{ Right Right }

// Error implements error.
func (e *LackError) Error() string { return fmt.Sprintf("the token has no right to %v", e.Right) }

// ScopeError says that a job or a path is outside what a token is for, whether it exists or not.
type ScopeError struct {
	What string // such as job "x" or path "a/b"
	Want string // what the token is for
}

// Error implements error.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("%s is outside of the token's scope (want %s)", e.What, e.Want)
}
