package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"

	"thole.example/access"
	"thole.example/rpc/tcp"
)

// trust is the flags of a command that dials servers: whom it trusts, and who it is.
type trust struct {
	tls                            bool
	ca, cert, key, name, tokenFile string
}

// tokenVariable is the environment variable with the secret of a token, for who gives no --token-file.
const tokenVariable = "THOLE_TOKEN"

func (t *trust) flags(f *pflag.FlagSet) {
	f.BoolVar(&t.tls, "tls", false, "encrypt, and trust servers whom the system's authorities vouch for")
	f.StringVar(&t.ca, "tls-ca", "", "encrypt, and trust servers whom the authorities in this PEM file vouch for")
	f.StringVar(&t.cert, "tls-cert", "", "this side's certificate, a PEM file, for servers that want one")
	f.StringVar(&t.key, "tls-key", "", "its key, a PEM file")
	f.StringVar(&t.name, "tls-name", "", "name that the servers' certificates must have (default: the host of each address)")
	f.StringVar(&t.tokenFile, "token-file", "", "file with the secret of a token, for servers that ask for one (default: the variable "+
		tokenVariable+" has it)")
}

// encrypted reports whether the user wants TLS.
func (t *trust) encrypted() bool { return t.tls || t.ca != "" }

// network is what the flags say.
func (t *trust) network() (*tcp.Network, error) {
	config, err := t.config()
	if err != nil {
		return nil, err
	}
	secret, err := t.secret()
	return &tcp.Network{ClientTLS: config, Secret: secret}, err
}

// config is how to encrypt; nil: not at all.
func (t *trust) config() (*tls.Config, error) {
	if !t.encrypted() {
		if t.cert != "" || t.key != "" || t.name != "" {
			return nil, usageError{errors.New("--tls-cert, --tls-key or --tls-name without --tls or --tls-ca: nothing is encrypted")}
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: t.name}
	if t.ca != "" {
		var err error
		if c.RootCAs, err = authorities("tls-ca", t.ca); err != nil {
			return nil, err
		}
	}
	if t.cert != "" || t.key != "" {
		pair, err := certificate(t.cert, t.key, nil)
		if err != nil {
			return nil, err
		}
		c.GetClientCertificate = pair.Dial
	}
	return c, nil
}

// secret is that of the user's token; nil if there is none.
func (t *trust) secret() (*access.Secret, error) {
	text, from := []byte(os.Getenv(tokenVariable)), tokenVariable
	if t.tokenFile != "" {
		var err error
		if text, err = os.ReadFile(t.tokenFile); err != nil {
			return nil, fmt.Errorf("--token-file %w", err)
		}
		from = "--token-file " + t.tokenFile
	} else if len(text) == 0 {
		return nil, nil
	}
	s, err := access.ParseSecret(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", from, err)}
	}
	return &s, nil
}

// certificate reads a certificate with its key, again when they have changed.
func certificate(cert, key string, log *slog.Logger) (*tcp.KeyPair, error) {
	if cert == "" || key == "" {
		return nil, usageError{errors.New("--tls-cert and --tls-key, want both or none")}
	}
	pair, err := tcp.LoadKeyPair(cert, key, log)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s --tls-key %s: %w", cert, key, err)
	}
	return pair, nil
}

// authorities reads the certificates that a flag names.
func authorities(flag, path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--%s %w", flag, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bytes.TrimSpace(text)) {
		return nil, fmt.Errorf("--%s %s: no certificate in it, want some in PEM", flag, path)
	}
	return pool, nil
}
