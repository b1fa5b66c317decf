package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"thole.example/rpc"
)

// link is an encrypted connection. Its Close ends it at once: that of a tls.Conn may wait for the other side to take a
// goodbye, which nobody here needs, as frames say themselves where they end.
type link struct{ *tls.Conn }

// Close implements net.Conn.
func (l *link) Close() error { return l.NetConn().Close() }

// onlyThirteen is the configuration without older versions.
func onlyThirteen(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.MinVersion = tls.VersionTLS13
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
		_, _ = l.NetConn().Write(hello{status: helloTLS}.bytes())
	}
	linger(l.NetConn()) // so that the other side hears why
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
	l := &link{tls.Client(nc, config)}
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
