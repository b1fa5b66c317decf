package access

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Sizes, in bytes.
const (
	SecretSize    = ed25519.SeedSize
	ChallengeSize = 32
	idSize        = 16
	ProofSize     = idSize + ed25519.SignatureSize
)

// Secret is what the holder of a token alone knows: the seed of an Ed25519 key pair. It prints as a word that does not reveal it.
type Secret struct{ b [SecretSize]byte }

// Key is what a list has of a secret: its public key.
type Key [ed25519.PublicKeySize]byte

// String is the key as it stands in a list.
func (k Key) String() string { return keyPrefix + hex.EncodeToString(k[:]) }

// NewSecret is a random secret.
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

// ParseSecret reads 64 hexadecimal digits. The error does not contain the text.
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

// Text is the secret as [ParseSecret] reads it.
func (s Secret) Text() string { return hex.EncodeToString(s.b[:]) }

// String implements fmt.Stringer and reveals nothing.
func (s Secret) String() string { return "(secret)" }

// GoString is as String.
func (s Secret) GoString() string { return s.String() }

// Key is the secret's public key.
func (s Secret) Key() Key { return Key(ed25519.NewKeyFromSeed(s.b[:]).Public().(ed25519.PublicKey)) }

// Proof shows that its sender knows a secret, to a server that knows its key: the id of the key, and a signature.
type Proof [ProofSize]byte

// Prove answers the challenge. The binding is bytes that both ends of the connection know and no other connection has, or nothing.
func (s Secret) Prove(challenge [ChallengeSize]byte, binding []byte) Proof {
	var p Proof
	private := ed25519.NewKeyFromSeed(s.b[:])
	id := Key(private.Public().(ed25519.PublicKey)).id()
	copy(p[:], id[:])
	copy(p[idSize:], ed25519.Sign(private, proven(challenge, binding)))
	return p
}

// id is how a proof names its key.
func (k Key) id() [idSize]byte {
	sum := sha256.Sum256(append([]byte("thole token id"), k[:]...))
	return [idSize]byte(sum[:])
}

// proven is what is signed.
func proven(challenge [ChallengeSize]byte, binding []byte) []byte {
	return append(append([]byte("thole token proof of a client"), challenge[:]...), binding...)
}

// verify reports whether the proof is of the secret with the key.
func (k Key) verify(p Proof, challenge [ChallengeSize]byte, binding []byte) bool {
	return ed25519.Verify(k[:], proven(challenge, binding), p[idSize:])
}
