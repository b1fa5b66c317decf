package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"thole/blob"
	"thole/format"
	"thole/format/all"
	"thole/optim"
	"thole/psf"
	"thole/rpc"
	"thole/rpc/mem"
	"thole/rpc/tcp"
	"thole/server"
)

// version is what the build says of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) > 12 {
			return s.Value[:12]
		}
	}
	return info.Main.Version
}

// codecs is every storage format.
func codecs() format.Set { return all.Codecs() }

// newServer is a parameter server with everything that this binary has, keeping models in the bucket.
func newServer(bucket blob.Bucket, log *slog.Logger) (*server.Server, error) {
	funcs, err := psf.NewTable(psf.Gets(), psf.Updates(), optim.Rules())
	if err != nil {
		return nil, err
	}
	return &server.Server{Funcs: funcs, Codecs: codecs(), Bucket: bucket, Log: log}, nil
}

// cluster is servers that a task can dial.
type cluster struct {
	net   rpc.Network
	addrs []string
	stop  func()
}

// embed starts n servers in this process, over memory or over loopback TCP. Their bucket is the whole file system, so
// that they save where this process would.
func embed(ctx context.Context, n int, overTCP bool) (*cluster, error) {
	c := &cluster{net: &mem.Network{}, stop: func() {}}
	if overTCP {
		c.net = &tcp.Network{}
	}
	for i := range n {
		addr := fmt.Sprintf("server-%d", i)
		if overTCP {
			addr = "127.0.0.1:0"
		}
		s, err := newServer(blob.NewDir("/"), nil)
		if err != nil {
			return nil, err
		}
		l, err := c.net.Listen(ctx, addr, s)
		if err != nil {
			c.stop()
			return nil, err
		}
		before := c.stop
		c.stop = func() { l.Close(); before() }
		c.addrs = append(c.addrs, l.Addr())
	}
	return c, nil
}

// rooted is the name of a path in the bucket of the whole file system.
func rooted(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(filepath.ToSlash(abs), "/"), nil
}

// open detects the format of a path, or takes the named one, and opens it.
func open(ctx context.Context, path, codec string, set map[string]string) (format.Reader, format.Codec, error) {
	b, name, err := blob.Local(path)
	if err != nil {
		return nil, nil, err
	}
	return codecs().Open(ctx, b, name, codec, format.Options{Set: set})
}

// replaceable refuses to write over what exists, unless forced; and even then over a folder in which there is no model.
func replaceable(path string, force bool) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil
	case !force:
		return fmt.Errorf("%s exists; --force replaces it", path)
	case !info.IsDir():
		return nil
	}
	b, name, err := blob.Local(path)
	if err != nil {
		return err
	}
	if infos, err := b.List(context.Background(), name); err == nil && len(infos) == 0 {
		return nil
	}
	if _, _, err := codecs().Detect(context.Background(), b, name); err != nil {
		return fmt.Errorf("%s is a folder without a model; remove it yourself if it can go", path)
	}
	return nil
}
