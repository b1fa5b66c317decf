package tcp

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"
)

// KeyPair is a certificate and its key in files, which are read again when they have changed: a certificate that is renewed in
// place is shown from the next connection on. While what is there cannot be used the one of before stays. Many goroutines may
// use it.
type KeyPair struct {
	cert, key string
	log       *slog.Logger

	mu   sync.Mutex
	seen [2]stamp // of the files that pair was read from
	pair *tls.Certificate
	said string // the last error
}

// stamp is what changes when a file does.
type stamp struct {
	changed time.Time
	size    int64
}

// LoadKeyPair reads a certificate and its key, PEM files. The log, which may be nil, hears when they have been read again, or
// cannot be.
func LoadKeyPair(cert, key string, log *slog.Logger) (*KeyPair, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	k := &KeyPair{cert: cert, key: key, log: log}
	return k, k.read()
}

// read reads the files if they are not as they were. A file that is written meanwhile is another one the next time.
func (k *KeyPair) read() error {
	var now [2]stamp
	for i, path := range []string{k.cert, k.key} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		now[i] = stamp{info.ModTime(), info.Size()}
	}
	if k.pair != nil && now == k.seen {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err == nil {
		k.seen, k.pair = now, &pair
	}
	return err
}

// current is the certificate, as the files have it now.
func (k *KeyPair) current() *tls.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.pair
	switch err := k.read(); {
	case err != nil && err.Error() != k.said:
		k.said = err.Error()
		k.log.Error("the certificate cannot be read again; the one of before stays", "certificate", k.cert, "key", k.key, "err", err)
	case err == nil && k.pair != before:
		k.said = ""
		k.log.Info("the certificate has changed", "certificate", k.cert, "until", k.pair.Leaf.NotAfter)
	}
	return k.pair
}

// Serve is for the GetCertificate of a tls.Config.
func (k *KeyPair) Serve(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.current(), nil }

// Dial is for its GetClientCertificate.
func (k *KeyPair) Dial(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return k.current(), nil
}
