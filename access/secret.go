package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
)

// Sizes, in bytes.
const (
	SecretSize    = 32
	ChallengeSize = 32
	idSize        = 16
	ProofSize     = idSize + SecretSize
)

// Secret is what the holder of a token knows and nobody else. It prints as a word that does not tell it.
type Secret struct{ b [SecretSize]byte }

// Hash is what a list has of a secret.
type Hash [sha256.Size]byte

// NewSecret is a secret that nobody has seen.
func NewSecret() Secret {
	var s Secret
	_, _ = rand.Read(s.b[:]) // it ends the process rather than fail
	return s
}

// NewChallenge is random bytes to be answered by a proof.
func NewChallenge() [ChallengeSize]byte {
	var c [ChallengeSize]byte
	_, _ = rand.Read(c[:])
	return c
}

// ParseSecret reads 64 hexadecimal digits. The error does not have the text.
func ParseSecret(text []byte) (Secret, error) {
	var s Secret
	text = bytes.TrimSpace(text)
	if len(text) != 2*SecretSize {
		return s, errors.New("a secret of another length, want 64 hexadecimal digits")
	}
	if _, err := hex.Decode(s.b[:], text); err != nil {
		return Secret{}, errors.New("a secret with other characters, want 64 hexadecimal digits")
	}
	return s, nil
}

// Text is the secret as [ParseSecret] reads it, for whoever shall have it.
func (s Secret) Text() string { return hex.EncodeToString(s.b[:]) }

// String implements fmt.Stringer, and tells nothing.
func (s Secret) String() string { return "(secret)" }

// GoString is as String.
func (s Secret) GoString() string { return s.String() }

// Hash is the secret's SHA-256.
func (s Secret) Hash() Hash { return sha256.Sum256(s.b[:]) }

// Proof shows that its sender knows a secret, to whoever knows the hash.
type Proof [ProofSize]byte

// Prove answers the challenge. The binding is bytes that both ends of the connection know and nobody else can have the same
// of, or nothing.
func (s Secret) Prove(challenge [ChallengeSize]byte, binding []byte) Proof {
	var p Proof
	h := s.Hash()
	copy(p[:], h.id())
	subtle.XORBytes(p[idSize:], s.b[:], h.mask(challenge, binding))
	return p
}

// id is how a proof says which token it is of.
func (h Hash) id() []byte { return h.mac("thole token id")[:idSize] }

// mask is what a secret is covered with.
func (h Hash) mask(challenge [ChallengeSize]byte, binding []byte) []byte {
	return h.mac("thole token proof of a client", challenge[:], binding)
}

func (h Hash) mac(label string, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, h[:])
	m.Write([]byte(label))
	for _, p := range parts {
		m.Write(p)
	}
	return m.Sum(nil)
}

// proven reports whether the proof is of the secret with the hash.
func (h Hash) proven(p Proof, challenge [ChallengeSize]byte, binding []byte) bool {
	var s Secret
	subtle.XORBytes(s.b[:], p[idSize:], h.mask(challenge, binding))
	found := s.Hash()
	return subtle.ConstantTimeCompare(found[:], h[:]) == 1
}
