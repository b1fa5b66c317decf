package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"thole.example/admin"
)

// watch is the flags that say where a server is watched.
type watch struct {
	addr  string
	pprof bool
}

func (w *watch) flags(f *pflag.FlagSet) {
	f.StringVar(&w.addr, "admin", "", "address to watch the server at, by thole status and Prometheus: host:port or unix:/path; it has the "+
		"certificates and tokens of the server (default: none)")
	f.BoolVar(&w.pprof, "admin-pprof", false, "serve profiles of the process there, too")
}

// Limits of those who watch.
const (
	adminHeaderTime = 5 * time.Second
	adminIdleTime   = 2 * time.Minute
	adminHeaderSize = 16 << 10
	adminEnd        = time.Second // that who looks has when the server stops
)

// check refuses what cannot be meant, or would give tokens away.
func (w *watch) check(g *guard) error {
	switch {
	case w.addr == "" && w.pprof:
		return usageError{errors.New("--admin-pprof without --admin: there is no address for it")}
	case w.addr != "" && exposed(w.addr) && g.tokens != "" && g.cert == "":
		return usageError{fmt.Errorf("--admin %s with --tokens and without --tls-cert: tokens would cross the network in clear; want TLS, "+
			"or an address of this machine", w.addr)}
	}
	return nil
}

// serve serves the address, if there is one, until end is called.
func (w *watch) serve(ctx context.Context, a *admin.Admin, config *tls.Config, log *slog.Logger) (end func(), err error) {
	if w.addr == "" {
		return func() {}, nil
	}
	l, err := listenAdmin(ctx, w.addr)
	if err != nil {
		return nil, fmt.Errorf("--admin %s: %w", w.addr, err)
	}
	at := l.Addr().String()
	if strings.HasPrefix(w.addr, "unix:") {
		at = w.addr
	}
	if exposed(at) && a.Tokens == nil && (config == nil || config.ClientCAs == nil) {
		log.Warn("ANYBODY who reaches this address can see names of jobs and matrices: --tokens, or --tls-clients with --tls-cert, asks "+
			"who looks", "admin", at)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	a.Version, a.Pprof = readBuild().text(), w.pprof
	s := &http.Server{
		Handler: a.Handler(), ReadHeaderTimeout: adminHeaderTime, IdleTimeout: adminIdleTime, MaxHeaderBytes: adminHeaderSize,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() { _ = s.Serve(l) }()
	log.Info("to be watched", "admin", at)
	return func() {
		a.Stop()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminEnd)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	}, nil
}

// listenAdmin listens at an address. The socket file of a process that is gone is replaced.
func listenAdmin(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	path, unix := strings.CutPrefix(addr, "unix:")
	if !unix {
		return config.Listen(ctx, "tcp", addr)
	}
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		if info, serr := os.Lstat(path); serr == nil && info.Mode().Type() == os.ModeSocket {
			if c, derr := net.Dial("unix", path); derr == nil {
				_ = c.Close()
				return nil, err
			}
			_ = os.Remove(path)
			l, err = config.Listen(ctx, "unix", path)
		}
	}
	return l, err
}
