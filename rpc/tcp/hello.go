package tcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"thole.example/access"
	"thole.example/kernel"
	"thole.example/rpc"
	"thole.example/wire"
)

// version of the protocol. Magic and version stand at the same place in every one.
const version = 3

// magic begins with a byte that is no text and holds both line ends, so that a connection that is not 8-bit clean is
// noticed.
const magic = "\x89THOLE\r\n"

const (
	helloSize = 32
	helloHead = 12 // magic and version
	nameLimit = 256
)

// What a hello says of the one that it answers.
const (
	helloFine uint16 = iota
	helloMagic
	helloVersion
	helloProve   // from a server: prove a token, against the challenge in the name's place; from a client: the proof is there
	helloRefused // the proof is of no token
	helloTLS     // the server speaks through TLS alone
)

// What can be wrong with a greeting, or before it.
var (
	ErrMagic   = errors.New("the other side does not speak Thole's protocol")
	ErrVersion = errors.New("the other side speaks another version of the protocol")
	ErrTLS     = errors.New("no encrypted connection")
	ErrToken   = errors.New("the server wants a token that it knows")
)

// HandshakeError says that the two sides of a connection do not understand or trust each other.
type HandshakeError struct {
	Addr string // of the other side
	Kind error  // ErrMagic, ErrVersion, ErrTLS or ErrToken
	Text string // what was found and what was wanted
}

// Error implements error.
func (e *HandshakeError) Error() string { return fmt.Sprintf("%s: %v: %s", e.Addr, e.Kind, e.Text) }

// Unwrap gives the kind.
func (e *HandshakeError) Unwrap() error { return e.Kind }

// hello is the first thing that each side sends; docs/format/wire.md has its bytes.
type hello struct {
	status  uint16
	limit   uint32 // the largest body that the sender of the hello accepts
	window  uint32 // requests that it takes at once; 0 from a client
	timeout uint32 // after how many milliseconds of silence it ends the connection
	name    string // or with status helloProve the challenge, or the proof
}

func (h hello) bytes() []byte {
	b := append(make([]byte, 0, helloSize+len(h.name)), magic...)
	b = wire.AppendU32(b, wire.Little, version)
	b = wire.AppendU16(b, wire.Little, h.status)
	b = wire.AppendU16(b, wire.Little, uint16(len(h.name)))
	b = wire.AppendU32(b, wire.Little, h.limit)
	b = wire.AppendU32(b, wire.Little, h.window)
	b = wire.AppendU32(b, wire.Little, h.timeout)
	b = wire.AppendU32(b, wire.Little, helloSum(b, h.name))
	return append(b, h.name...)
}

// helloSum is the checksum of what stands before it and of the name after it.
func helloSum(before []byte, name string) uint32 {
	return kernel.CRC32C(kernel.CRC32C(0, before), []byte(name))
}

// readHello reads the greeting of the side at addr.
func readHello(r io.Reader, addr string) (hello, error) {
	var fixed [helloSize]byte
	if n, err := io.ReadFull(r, fixed[:helloHead]); err != nil {
		if n > 0 && !bytes.HasPrefix([]byte(magic), fixed[:min(n, len(magic))]) {
			return hello{}, notMagic(addr, fixed[:min(n, len(magic))])
		}
		return hello{}, err
	}
	if string(fixed[:len(magic)]) != magic {
		return hello{}, notMagic(addr, fixed[:len(magic)])
	}
	c := wire.NewCursor(fixed[len(magic):], int64(len(magic)), wire.Little)
	if v := c.U32("version"); v != version {
		return hello{}, &HandshakeError{addr, ErrVersion, fmt.Sprintf("found version %d, want %d", v, version)}
	}
	if _, err := io.ReadFull(r, fixed[helloHead:]); err != nil {
		return hello{}, err
	}
	h := hello{status: c.U16("status")}
	size := c.U16("length of the name")
	h.limit, h.window, h.timeout = c.U32("frame limit"), c.U32("window"), c.U32("timeout")
	sum := c.U32("checksum")
	if size > nameLimit {
		return hello{}, &HandshakeError{addr, ErrMagic, fmt.Sprintf("a name of %d bytes, want at most %d", size, nameLimit)}
	}
	name := make([]byte, size)
	if _, err := io.ReadFull(r, name); err != nil {
		return hello{}, err
	}
	h.name = string(name)
	if want := helloSum(fixed[:helloSize-4], h.name); sum != want {
		return hello{}, &HandshakeError{addr, ErrMagic, fmt.Sprintf("checksum of the greeting is %08x, want %08x", sum, want)}
	}
	return h, nil
}

func notMagic(addr string, found []byte) error {
	return &HandshakeError{addr, ErrMagic, fmt.Sprintf("found %q, want %q", found, magic)}
}

// hello is this side's greeting.
func (n Network) hello(window int, status uint16) hello {
	ms := min(n.Timeout.Milliseconds(), math.MaxUint32)
	return hello{status: status, limit: n.FrameLimit, window: uint32(window), timeout: uint32(max(ms, 1)), name: n.Name}
}

// greet is the client's side of the handshake.
func (n Network) greet(nc net.Conn, addr string) (hello, error) {
	addr = "server " + addr
	if _, err := nc.Write(n.hello(0, helloFine).bytes()); err != nil {
		return hello{}, fmt.Errorf("%s: %w: %w", addr, rpc.ErrUnreachable, err)
	}
	h, err := readHello(nc, addr)
	if err == nil && h.status == helloProve {
		h, err = n.prove(nc, addr, h)
	}
	var shake *HandshakeError
	switch {
	case errors.As(err, &shake):
		return hello{}, err
	case remoteAlert(err):
		return hello{}, &HandshakeError{addr, ErrTLS, "it refuses this side's certificate, or that there is none: " + err.Error()}
	case err != nil:
		return hello{}, fmt.Errorf("%s: %w: no greeting: %w", addr, rpc.ErrUnreachable, err)
	case h.status == helloTLS:
		return hello{}, &HandshakeError{addr, ErrTLS, "it speaks TLS, this side does not"}
	case h.status == helloRefused:
		return hello{}, &HandshakeError{addr, ErrToken, "it does not know this one"}
	case h.status == helloVersion:
		return hello{}, &HandshakeError{addr, ErrVersion, fmt.Sprintf("it refuses version %d", version)}
	case h.status != helloFine:
		return hello{}, &HandshakeError{addr, ErrMagic, fmt.Sprintf("it does not understand the greeting %q", magic)}
	case h.window == 0:
		return hello{}, &HandshakeError{addr, ErrMagic, "its window is 0"}
	}
	return h, nil
}

// notHTTP is what a browser that was pointed at the port is told.
const notHTTP = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"This port speaks Thole's own protocol, not HTTP.\n"

// welcome is the server's side of the handshake. A client that is not understood is told so, and whoever is not known yet
// nothing of this server.
func (n Network) welcome(nc net.Conn, addr string) (hello, *access.Grant, error) {
	theirs, err := readHello(nc, addr)
	ours, grant := n.hello(n.Window, helloFine), (*access.Grant)(nil)
	if err == nil && n.Tokens != nil {
		grant, err = n.challenge(nc, addr)
	}
	answer := ours.bytes
	var shake *HandshakeError
	if errors.As(err, &shake) {
		if n.Tokens != nil {
			ours = hello{}
		}
		ours.status = statusOf[shake.Kind]
		answer = ours.bytes
		if looksLikeHTTP(shake) {
			answer = func() []byte { return []byte(notHTTP) }
		}
	} else if err != nil {
		return hello{}, nil, fmt.Errorf("%s: no greeting: %w", addr, err)
	}
	if _, werr := nc.Write(answer()); err == nil {
		err = werr
	}
	if err != nil {
		linger(nc)
		return hello{}, nil, err
	}
	return theirs, grant, nc.SetDeadline(time.Time{})
}

// statusOf is what a server's greeting says of what is wrong with the client's.
var statusOf = map[error]uint16{ErrMagic: helloMagic, ErrVersion: helloVersion, ErrToken: helloRefused}

// looksLikeHTTP reports whether the greeting begins like a request of HTTP.
func looksLikeHTTP(e *HandshakeError) bool {
	for _, method := range []string{"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT "} {
		if bytes.HasPrefix([]byte(e.Text), []byte(`found "`+method[:min(len(method), len(magic))])) {
			return true
		}
	}
	return false
}

// linger reads for a moment what the other side has still sent: closing at once would let the system throw away the
// last words on their way.
func linger(nc net.Conn) {
	if half, ok := nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = nc.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, nc, lingerBytes)
}

const (
	lingerTime  = 200 * time.Millisecond
	lingerBytes = 4 << 20
)
