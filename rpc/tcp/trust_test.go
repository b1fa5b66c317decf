package tcp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"
)

// authority signs certificates, for tests.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t}
	own := a.issue("authority", time.Now().Add(time.Hour))
	a.cert, a.key = own.Leaf, own.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// issue makes a certificate of the host, signed by the authority, or by itself if that has none yet.
func (a *authority) issue(host string, until time.Time) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		IsCA: a.cert == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		c.DNSNames, c.IPAddresses = nil, []net.IP{ip}
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// serves is a server's configuration for 127.0.0.1.
func (a *authority) serves() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.issue("127.0.0.1", time.Now().Add(time.Hour))}}
}

// wants is serves, for clients with certificates of the authority alone.
func (a *authority) wants() *tls.Config {
	c := a.serves()
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, a.pool()
	return c
}

// dials is a client's configuration.
func (a *authority) dials(own ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: a.pool(), Certificates: own}
}
