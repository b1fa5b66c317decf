package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"thole.example/access"
)

// certificates DIR makes ca.pem, and cert.pem with key.pem of localhost, which it has signed.
func certificates(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	ts.Check(writeCertificates(dir))
}

func writeCertificates(dir string) error {
	var parent *x509.Certificate
	var signer *ecdsa.PrivateKey
	for _, name := range []string{"ca", "cert"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, DNSNames: []string{"localhost"},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		if parent == nil {
			parent, signer = c, key
		} else {
			text, err := x509.MarshalPKCS8PrivateKey(key)
			if err != nil {
				return err
			}
			if err := writePEM(dir, "key", "PRIVATE KEY", text); err != nil {
				return err
			}
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
		if err != nil {
			return err
		}
		if err := writePEM(dir, name, "CERTIFICATE", der); err != nil {
			return err
		}
	}
	return nil
}

func writePEM(dir, name, kind string, der []byte) error {
	return os.WriteFile(filepath.Join(dir, name+".pem"), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// await FILE waits until the file is there; await FILE TEXT until it has the text.
func await(ts *testscript.TestScript, _ bool, args []string) {
	until := time.Now().Add(limit)
	for {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		_, there := os.Lstat(ts.MkAbs(args[0]))
		if there == nil && len(args) == 1 || err == nil && len(args) == 2 && strings.Contains(string(text), args[1]) {
			return
		}
		if time.Now().After(until) {
			ts.Fatalf("%v never came: %q", args, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestExposed(t *testing.T) {
	for addr, want := range map[string]bool{"127.0.0.1:7001": false, "127.9.9.9:1": false, "[::1]:7001": false, "unix:/s": false,
		"localhost:1": false, "0.0.0.0:7001": true, "[::]:7001": true, ":7001": true, "10.0.0.1:7001": true, "host:7001": true} {
		if exposed(addr) != want {
			t.Errorf("others reach %s: want %v", addr, want)
		}
	}
}

// A server that others reach says loudly what is open, and how to close it.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		g    guard
		addr string
		want []string
		not  []string
	}{
		{guard{}, "0.0.0.0:7001", []string{"ANYBODY", "--tokens", "NOTHING IS ENCRYPTED", "--tls-cert", "0.0.0.0:7001"}, nil},
		{guard{tokens: "t"}, "[::]:7001", []string{"NOTHING IS ENCRYPTED"}, []string{"ANYBODY"}},
		{guard{cert: "c"}, "[::]:7001", []string{"ANYBODY"}, []string{"NOTHING IS ENCRYPTED"}},
		{guard{cert: "c", clients: "a"}, "[::]:7001", nil, []string{"WARN"}},
		{guard{cert: "c", tokens: "t"}, "[::]:7001", nil, []string{"WARN"}},
		{guard{}, "127.0.0.1:7001", nil, []string{"WARN"}},
	} {
		var log bytes.Buffer
		c.g.warn(c.addr, slog.New(slog.NewTextHandler(&log, nil)))
		for _, text := range c.want {
			if !strings.Contains(log.String(), text) {
				t.Errorf("%+v at %s: %q, want %q", c.g, c.addr, &log, text)
			}
		}
		for _, text := range c.not {
			if strings.Contains(log.String(), text) {
				t.Errorf("%+v at %s: %q, want no %q", c.g, c.addr, &log, text)
			}
		}
	}
}

// The tokens are those of the list soon after it changes; a list that cannot be read changes nothing.
func TestListIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	ann, bob := access.NewSecret(), access.NewSecret()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	line := func(name string, s access.Secret) string {
		return fmt.Sprintln(access.Token{Name: name, Key: s.Key(), Rights: access.Read})
	}
	write(line("ann", ann))
	list := tokenList{path: path, log: slog.New(slog.DiscardHandler)}
	all, fresh, err := list.read()
	if err != nil || !fresh || len(all) != 1 {
		t.Fatalf("%v, fresh %v, error %v", all, fresh, err)
	}
	if _, fresh, err := list.read(); fresh || err != nil {
		t.Errorf("the same list: fresh %v, error %v", fresh, err)
	}
	list.table = access.NewTable(all)
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); list.follow(ctx) }()
	gone := list.table.Holder(ann).Gone()
	write("no list")
	write(line("ann", ann) + line("bob", bob))
	for list.table.Holder(bob) == nil && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-gone:
		t.Error("the token that stayed is gone")
	default:
	}
	write(line("bob", bob))
	<-gone
	end()
	<-over
}
