package tcp

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pairFiles is a certificate and its key in files.
type pairFiles struct {
	t         *testing.T
	cert, key string
	writes    int
}

// put writes the files, whose times differ from those of before however fast it is.
func (p *pairFiles) put(c tls.Certificate) {
	p.t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		p.t.Fatal(err)
	}
	p.writes++
	for path, b := range map[string]pem.Block{p.cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, p.key: {Type: "PRIVATE KEY", Bytes: key}} {
		p.write(path, pem.EncodeToMemory(&b))
	}
}

func (p *pairFiles) write(path string, text []byte) {
	p.t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	at := time.Now().Add(time.Duration(p.writes) * time.Minute)
	if err := os.Chtimes(path, at, at); err != nil {
		p.t.Fatal(err)
	}
}

// A server, and a client, whose certificate has expired is spoken to as soon as another one lies in its place; a file that is
// half written changes nothing, and is told once.
func TestRenewedCertificate(t *testing.T) {
	a, log, dir := newAuthority(t), &journal{}, t.TempDir()
	pair := func(host string) (*pairFiles, *KeyPair) {
		p := &pairFiles{t: t, cert: filepath.Join(dir, host+".crt"), key: filepath.Join(dir, host+".key")}
		p.put(a.issue(host, time.Now().Add(-time.Hour)))
		k, err := LoadKeyPair(p.cert, p.key, log.logger())
		if err != nil {
			t.Fatal(err)
		}
		return p, k
	}
	own, ownPair := pair("127.0.0.1")
	client, clientPair := pair("client")
	server, dials := a.wants(), a.dials()
	server.Certificates, server.GetCertificate = nil, ownPair.Serve
	dials.GetClientCertificate = clientPair.Dial
	l := listen(t, Network{ServerTLS: server, Log: slog.New(slog.DiscardHandler)}, echo)
	dial := func(want string) {
		t.Helper()
		conn, err := Network{ClientTLS: dials}.Dial(t.Context(), l.Addr())
		if err == nil {
			defer conn.Close()
			wellServed(t, conn)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	later := time.Now().Add(time.Hour)
	dial("certificate has expired")
	own.put(a.issue("127.0.0.1", later))
	dial("expired certificate") // the client's
	client.put(a.issue("client", later))
	dial("")
	own.writes++
	own.write(own.cert, []byte("-----BEGIN CERT"))
	dial("")
	dial("")
	if n := strings.Count(log.text(), "cannot be read again"); n != 1 {
		t.Errorf("a certificate that cannot be read is told %d times, want once: %s", n, log.text())
	}
	if err := os.Remove(own.key); err != nil {
		t.Fatal(err)
	}
	dial("")
	if n := strings.Count(log.text(), "has changed"); n != 2 {
		t.Errorf("%d changes are told, want 2: %s", n, log.text())
	}
	if _, err := LoadKeyPair(own.cert, own.key, nil); err == nil {
		t.Error("files that are not there are a certificate")
	}
}
