package all_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"thole.example/coord/all"
	"thole.example/coord/node"
)

// certificates puts cert.pem, key.pem and ca.pem into a folder: one that vouches for itself, for servers and clients at 127.0.0.1.
func certificates(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "coordination"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "ca.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTLS: a member with certificates serves those that trust it and show theirs.
func TestTLS(t *testing.T) {
	dir := certificates(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	n, err := node.Start(node.Config{Dir: at("etcd"), Listen: "127.0.0.1:0", Cert: at("cert.pem"), Key: at("key.pem"), ClientCA: at("ca.pem")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	for query, want := range map[string]string{
		"?ca=" + at("ca.pem") + "&cert=" + at("cert.pem") + "&key=" + at("key.pem"): "",
		"?ca=" + at("ca.pem"): "no answer for 5s", "": "no answer for 5s",
		"?ca=" + at("key.pem"): "no certificates", "?ca=" + at("ca.pem") + "&cert=" + at("cert.pem") + "&key=" + at("ca.pem"): "private key",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			s, err := all.Open("etcd://" + n.Addr() + query)
			if err == nil {
				_, err = s.Put(t.Context(), "k", []byte("{}"), "")
				s.Close()
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", query, err, want)
			}
		})
	}
}
