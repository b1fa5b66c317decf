package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"thole.example/access"
	"thole.example/rpc/tcp"
)

// guard is the flags that say who may use a server.
type guard struct {
	cert, key, clients, tokens, jobLimits string
}

func (g *guard) flags(f *pflag.FlagSet) {
	f.StringVar(&g.cert, "tls-cert", "", "encrypt, with this certificate, a PEM file; it is read again when it changes")
	f.StringVar(&g.key, "tls-key", "", "its key, a PEM file")
	f.StringVar(&g.clients, "tls-clients", "", "clients must show a certificate that the authorities in this PEM file vouch for")
	f.StringVar(&g.tokens, "tokens", "", "clients must have a token of this list (see thole token); it is read again when it changes")
	f.StringVar(&g.jobLimits, "job-limits", "", "how much each job may use, like 'bytes=8GiB requests=10000 partitions=64'")
}

// config is how connections that come are encrypted; nil: not at all.
func (g *guard) config(log *slog.Logger) (*tls.Config, error) {
	if g.cert == "" && g.key == "" {
		if g.clients != "" {
			return nil, usageError{errors.New("--tls-clients without --tls-cert and --tls-key: nothing is encrypted")}
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	pair, err := certificate(g.cert, g.key, log)
	if err != nil {
		return nil, err
	}
	c.GetCertificate = pair.Serve
	if g.clients != "" {
		c.ClientAuth = tls.RequireAndVerifyClientCert
		c.ClientCAs, err = authorities("tls-clients", g.clients)
	}
	return c, err
}

// limits are those of each job.
func (g *guard) limits() (access.Limits, error) {
	limits, err := access.ParseLimits(g.jobLimits)
	if err != nil {
		err = usageError{fmt.Errorf("--job-limits: %w", err)}
	}
	return limits, err
}

// secure makes a network ask who comes. The list of tokens is read again, until ctx ends, whenever it has changed.
func (g *guard) secure(ctx context.Context, n *tcp.Network, log *slog.Logger) (err error) {
	if n.ServerTLS, err = g.config(log); err != nil || g.tokens == "" {
		return err
	}
	list := tokenList{path: g.tokens, log: log}
	all, _, err := list.read()
	if err != nil {
		return fmt.Errorf("--tokens %w", err)
	}
	if len(all) == 0 {
		log.Warn("the list holds no token: every client is rejected", "tokens", g.tokens)
	}
	list.table = access.NewTable(all)
	n.Tokens = list.table
	go list.follow(ctx)
	return nil
}

// warn says loudly who can do what, if the address is one that others reach.
func (g *guard) warn(addr string, log *slog.Logger) {
	if !exposed(addr) {
		return
	}
	if g.tokens == "" && g.clients == "" {
		log.Warn("ANYBODY who reaches this address can read and change all models: --tokens, or --tls-clients with --tls-cert, "+
			"asks who comes", "address", addr)
	}
	if g.cert == "" {
		log.Warn("NOTHING IS ENCRYPTED: whoever is between can read and change all that is sent: --tls-cert and --tls-key encrypt",
			"address", addr)
	}
}

// exposed reports whether others than processes of this machine reach the address.
func exposed(addr string) bool {
	if strings.HasPrefix(addr, "unix:") {
		return false
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "localhost" {
		return err != nil
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// tokenList is the file with the tokens.
type tokenList struct {
	path  string
	log   *slog.Logger
	table *access.Table
	seen  stamp
}

// stamp reports whether a file has changed.
type stamp struct {
	changed time.Time
	size    int64
}

// lookAgain is how often the list is looked at.
const lookAgain = time.Second

// read reads the list, if it is not as it was.
func (l *tokenList) read() (all []access.Token, fresh bool, err error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	now := stamp{info.ModTime(), info.Size()}
	if now == l.seen {
		return nil, false, nil
	}
	text, err := io.ReadAll(io.LimitReader(f, access.ListLimit+1))
	if err == nil {
		all, err = access.ParseTokens(text)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", l.path, err)
	}
	l.seen = now
	return all, true, nil
}

// follow keeps the table as the file is. While it cannot be read the tokens that were there stay.
func (l *tokenList) follow(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch all, fresh, err := l.read(); {
		case err != nil && err.Error() != said:
			said = err.Error()
			l.log.Error("the list of tokens cannot be read; those of before stay", "err", err)
		case err == nil && fresh:
			said = ""
			l.table.Replace(all)
			l.log.Info("the list of tokens has changed", "tokens", len(all))
		}
	}
}
