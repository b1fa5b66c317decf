package tcp

import (
	"errors"
	"fmt"
	"io"
	"net"

	"thole.example/access"
)

// oldProofSize is the size of proofs by clients of earlier versions, which had the secret under a mask: they are told that the version is
// another one.
const oldProofSize = 48

// challenge asks a client that has greeted for the proof of a token. Whatever is wrong with it, the answer is the same.
func (n Network) challenge(nc net.Conn, addr string) (*access.Grant, error) {
	c := access.NewChallenge()
	if _, err := nc.Write(hello{status: helloProve, name: string(c[:])}.bytes()); err != nil {
		return nil, err
	}
	h, err := readHello(nc, addr)
	var shake *HandshakeError
	switch {
	case errors.Is(err, io.EOF):
		return nil, &HandshakeError{addr, ErrToken, "it proved none"} // nobody hears what is answered
	case errors.As(err, &shake):
		return nil, &HandshakeError{addr, ErrToken, shake.Text}
	case err != nil:
		return nil, err
	case h.status == helloProve && len(h.name) == oldProofSize:
		return nil, &HandshakeError{addr, ErrVersion, "its proof of a token is that of an earlier version, want a signature"}
	case h.status != helloProve || len(h.name) != access.ProofSize:
		return nil, &HandshakeError{addr, ErrToken, fmt.Sprintf("%d bytes of status %d, want a proof", len(h.name), h.status)}
	}
	tied, err := binding(nc)
	if err != nil {
		return nil, err
	}
	grant := n.Tokens.Prove(access.Proof([]byte(h.name)), c, tied)
	if grant == nil {
		return nil, &HandshakeError{addr, ErrToken, "its proof is of none"}
	}
	return grant, nil
}

// prove answers a server's challenge, and gives back what it says to that.
func (n Network) prove(nc net.Conn, addr string, asked hello) (hello, error) {
	switch {
	case len(asked.name) != access.ChallengeSize:
		return hello{}, &HandshakeError{addr, ErrMagic, fmt.Sprintf("a challenge of %d bytes, want %d", len(asked.name), access.ChallengeSize)}
	case n.Secret == nil:
		return hello{}, &HandshakeError{addr, ErrToken, "this side has none"}
	}
	tied, err := binding(nc)
	if err != nil {
		return hello{}, err
	}
	p := n.Secret.Prove([access.ChallengeSize]byte([]byte(asked.name)), tied)
	if _, err := nc.Write(hello{status: helloProve, name: string(p[:])}.bytes()); err != nil {
		return hello{}, err
	}
	h, err := readHello(nc, addr)
	if err == nil && h.status == helloProve {
		err = &HandshakeError{addr, ErrMagic, "it asks for a proof a second time"}
	}
	return h, err
}
