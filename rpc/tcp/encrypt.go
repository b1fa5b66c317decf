package tcp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"thole.example/rpc"
)

// link is an encrypted connection. Its Close ends it at once: that of a tls.Conn may wait for the other side to take a
// goodbye, which nobody here needs, as frames say themselves where they end.
//
// A tls.Conn writes each record of 16 KiB by itself, which cost twice as much as the encryption. So what frames become is
// collected, and written like frames that are not encrypted.
type link struct {
	*tls.Conn
	out *collector
}

func newLink(nc net.Conn, side func(net.Conn, *tls.Config) *tls.Conn, c *tls.Config) *link {
	out := &collector{Conn: nc}
	return &link{side(out, c), out}
}

// Close implements net.Conn.
func (l *link) Close() error { return l.out.Conn.Close() }

// CloseWrite tells the other side that nothing more comes.
func (l *link) CloseWrite() error {
	if half, ok := l.out.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// encrypt appends to dst what the slices become. One goroutine at a time may call it; from the first time on what it gives is all
// that may be written to the connection below.
func (l *link) encrypt(dst []byte, list [][]byte) ([]byte, error) {
	l.out.begin(dst)
	var err error
	for _, b := range list {
		if _, err = l.Write(b); err != nil {
			break
		}
	}
	return l.out.end(), err
}

// collector is the connection below an encrypted one.
type collector struct {
	net.Conn
	in    *bufio.Reader // nil: it is read as it comes; the reader's
	mu    sync.Mutex
	taken bool // by encrypt
	open  bool // it collects
	buf   []byte
}

// errOutOfTurn ends a connection whose other side asks for new keys: the answer would come between frames that are being written.
// No peer of this package asks.
var errOutOfTurn = errors.New("tls: something besides frames is to be written")

// Write implements io.Writer.
func (c *collector) Write(b []byte) (int, error) {
	c.mu.Lock()
	switch {
	case c.open:
		c.buf = append(c.buf, b...)
		c.mu.Unlock()
		return len(b), nil
	case c.taken:
		c.mu.Unlock()
		return 0, errOutOfTurn
	}
	c.mu.Unlock()
	return c.Conn.Write(b)
}

// cipherSize is how many bytes of an encrypted connection are read at once: some records.
const cipherSize = 64 << 10

// buffered lets reads be large from now on.
func (c *collector) buffered() { c.in = bufio.NewReaderSize(newSource(c.Conn, nil), cipherSize) }

// Read implements io.Reader.
func (c *collector) Read(b []byte) (int, error) {
	if c.in != nil {
		return c.in.Read(b)
	}
	return c.Conn.Read(b)
}

func (c *collector) begin(dst []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken, c.open, c.buf = true, true, dst
}

func (c *collector) end() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.buf
	c.open, c.buf = false, nil
	return out
}

// onlyThirteen is the configuration without older versions.
func onlyThirteen(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.MinVersion = tls.VersionTLS13
	c.DynamicRecordSizingDisabled = true // frames are of use when all of them is there
	return c
}

// secure is the server's side of encryption, if there is any.
func (s *session) secure(addr string) error {
	l, ok := s.nc.(*link)
	if !ok {
		return nil
	}
	err := l.HandshakeContext(s.ctx)
	if err == nil {
		return nil
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) && strings.HasPrefix(magic, string(record.RecordHeader[:])) {
		_, _ = l.out.Write(hello{status: helloTLS}.bytes())
	}
	linger(l.out.Conn) // so that the other side hears why
	if aboutTLS(err) {
		return &HandshakeError{addr, ErrTLS, err.Error()}
	}
	return fmt.Errorf("%s: no encrypted connection: %w", addr, err)
}

// encrypt is the client's side of encryption.
func (n Network) encrypt(ctx context.Context, nc net.Conn, addr string) (net.Conn, error) {
	config := n.ClientTLS
	if config.ServerName == "" {
		network, place := split(addr)
		host, _, err := net.SplitHostPort(place)
		if network == "unix" || err != nil {
			host = "localhost"
		}
		config = config.Clone()
		config.ServerName = host
	}
	l := newLink(nc, tls.Client, config)
	err := l.HandshakeContext(ctx)
	if err == nil {
		return l, nil
	}
	_ = nc.Close()
	if aboutTLS(err) {
		return nil, &HandshakeError{"server " + addr, ErrTLS, err.Error()}
	}
	return nil, fmt.Errorf("server %s: %w: no encrypted connection: %w", addr, rpc.ErrUnreachable, err)
}

// aboutTLS reports whether the handshake failed for what the other side is, and not for the connection.
func aboutTLS(err error) bool {
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &record) || errors.As(err, &certificate) || remoteAlert(err) || strings.HasPrefix(err.Error(), "tls: ")
}

// remoteAlert reports whether the other side says what it does not like about encryption.
func remoteAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// binding is bytes that only the two ends of an encrypted connection have; nothing if it is not encrypted.
func binding(nc net.Conn) ([]byte, error) {
	l, ok := nc.(*link)
	if !ok {
		return nil, nil
	}
	state := l.ConnectionState()
	return state.ExportKeyingMaterial("EXPORTER-thole-token", nil, 32)
}
