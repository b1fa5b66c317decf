// Package node runs an etcd of one member in this process, for clusters that have none. It is not more available than the machine that it
// runs on; roles are not lost while it is started again for less than two thirds of a lease. Several members want etcd itself.
package node

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Config says where a member listens and what it keeps where.
type Config struct {
	Dir       string    // of its data, made if it is not there
	Listen    string    // for clients: host:port, port 0 for a free one
	Cert, Key string    // files of its TLS certificate; "": clients connect in clear
	ClientCA  string    // file of the certificates that those of clients are signed by; "": anybody may connect
	Log       io.Writer // warnings and errors as lines of text; nil: nowhere
}

// ErrConfig is that of a Config which nobody can mean.
var ErrConfig = errors.New("wrong settings")

// Node is a member that serves.
type Node struct {
	etcd *embed.Etcd
	addr string
	log  *gate
	once sync.Once
}

// gate lets lines through while the member serves: what it says of its own start and end alarms for nothing.
type gate struct {
	io.Writer
	open atomic.Bool
}

func (g *gate) Write(line []byte) (int, error) {
	if !g.open.Load() {
		return len(line), nil
	}
	return g.Writer.Write(line)
}

// Start runs a member until Close, and answers when it serves. Its data are on the disk before it answers a change.
func Start(c Config) (*Node, error) {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("coord: listen at %q, want host:port: %w", c.Listen, ErrConfig)
	}
	if err := c.certificates(); err != nil {
		return nil, fmt.Errorf("coord: %w", err)
	}
	if err := unused(filepath.Join(c.Dir, "member", "snap", "db")); err != nil {
		return nil, fmt.Errorf("coord: etcd in %s: %w", c.Dir, err)
	}
	e := embed.NewConfig()
	e.Name, e.Dir = "thole", c.Dir
	e.TickMs, e.ElectionMs = 10, 100 // one member waits for no other
	e.AutoCompactionMode, e.AutoCompactionRetention = "revision", "1000"
	scheme := "http"
	if c.Cert != "" {
		scheme = "https"
		e.ClientTLSInfo = transport.TLSInfo{CertFile: c.Cert, KeyFile: c.Key, TrustedCAFile: c.ClientCA, ClientCertAuth: c.ClientCA != ""}
	}
	client := url.URL{Scheme: scheme, Host: net.JoinHostPort(cmp.Or(host, "0.0.0.0"), port(c.Listen))}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"} // nobody ever connects there
	e.ListenClientUrls, e.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	e.ListenPeerUrls, e.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	e.InitialCluster = e.InitialClusterFromName(e.Name)
	n := &Node{log: &gate{Writer: io.Discard}}
	if c.Log != nil {
		n.log.Writer = c.Log
	}
	e.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger(n.log, zap.WithPanicHook(atStart{n.log, zapcore.WriteThenPanic}),
		zap.WithFatalHook(atStart{n.log, zapcore.WriteThenFatal})))
	etcd, err := start(e)
	if err != nil {
		return nil, fmt.Errorf("coord: etcd in %s: %w", c.Dir, err)
	}
	n.etcd, n.addr = etcd, etcd.Clients[0].Addr().String()
	select {
	case <-etcd.Server.ReadyNotify():
		n.log.open.Store(true)
		return n, nil
	case err = <-etcd.Err():
	case <-time.After(time.Minute):
		err = errors.New("it is not ready after a minute")
	}
	n.Close()
	return nil, fmt.Errorf("coord: etcd in %s: %w", c.Dir, err)
}

// start starts etcd, which panics if it cannot read or write its data.
func start(c *embed.Config) (e *embed.Etcd, err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("its data are damaged: %w; want a copy of the folder, or a new one, with which clusters begin anew", why)
		default:
			err = fmt.Errorf("%v", why)
		}
	}()
	return embed.StartEtcd(c)
}

// atStart makes what etcd logs as its end a panic with the reason while it starts, when nothing of the log is shown.
type atStart struct {
	log  *gate
	then zapcore.CheckWriteAction
}

// OnWrite implements zapcore.CheckWriteHook.
func (a atStart) OnWrite(e *zapcore.CheckedEntry, fields []zapcore.Field) {
	if a.log.open.Load() {
		a.then.OnWrite(e, fields)
	}
	why := e.Message
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok {
			why += ": " + err.Error()
		}
	}
	panic(why)
}

// certificates says what is wrong with the files for TLS, which etcd finds out with the first client only.
func (c *Config) certificates() error {
	switch {
	case c.Cert == "" && (c.Key != "" || c.ClientCA != "") || c.Cert != "" && c.Key == "":
		return fmt.Errorf("certificate, key and authority of clients go together, want the first two, all, or none: %w", ErrConfig)
	case c.Cert == "":
		return nil
	}
	if _, err := tls.LoadX509KeyPair(c.Cert, c.Key); err != nil || c.ClientCA == "" {
		return err
	}
	pem, err := os.ReadFile(c.ClientCA)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(pem) {
		err = fmt.Errorf("%s: no certificates, want those of the authority of clients as PEM", c.ClientCA)
	}
	return err
}

// unused says if another process has the data: etcd would wait for it without an end.
func unused(file string) error {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if errors.Is(err, berrors.ErrTimeout) {
		return errors.New("another process serves it, want a folder of its own for each")
	}
	if err != nil {
		return err
	}
	return db.Close()
}

func port(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// logger writes what an operator has to know.
func logger(w io.Writer, o ...zap.Option) *zap.Logger {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime, c.CallerKey = zapcore.ISO8601TimeEncoder, ""
	return zap.New(usual{zapcore.NewCore(zapcore.NewConsoleEncoder(c), zapcore.Lock(zapcore.AddSync(w)), zap.WarnLevel)}, o...)
}

// usual leaves out what etcd logs as a warning and an error whenever a folder is new.
type usual struct{ zapcore.Core }

func (u usual) With(f []zapcore.Field) zapcore.Core { return usual{u.Core.With(f)} }

func (u usual) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Message == "Failed to detect schema version" || e.Message == "failed to update storage version" {
		return c
	}
	return u.Core.Check(e, c)
}

// Addr is where clients connect.
func (n *Node) Addr() string { return n.addr }

// Failed tells why the member does not serve any more.
func (n *Node) Failed() <-chan error { return n.etcd.Err() }

// Close ends the member. What it has answered stays in its folder.
func (n *Node) Close() {
	n.once.Do(func() {
		n.log.open.Store(false)
		n.etcd.Close()
	})
}
