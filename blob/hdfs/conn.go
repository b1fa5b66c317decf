package hdfs

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"thole.example/blob"
)

// dialTimeout is how long a peer has to accept a connection.
const dialTimeout = 10 * time.Second

// dialer makes connections that end when their peer is silent for too long, and with their first error: the library reads an answer
// that came too late as that to its next request.
func (b *Bucket) dialer() func(network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: min(dialTimeout, b.opts.Timeout), KeepAlive: 30 * time.Second}
	return func(network, address string) (net.Conn, error) {
		c, err := d.DialContext(b.life, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{c, b.opts.Timeout, context.AfterFunc(b.life, func() { c.Close() }), b.outage.Watch(b.opts.Timeout),
			b.outage.Watch(b.opts.Timeout)}, nil
	}
}

type conn struct {
	net.Conn
	timeout time.Duration
	forget  func() bool // that the bucket may be closed

	answer, request *blob.Wait // what is read and written: the library reads only what was asked for
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

func (c *conn) Read(p []byte) (int, error) {
	_ = c.SetReadDeadline(time.Now().Add(c.timeout)) // Read says what is wrong
	c.answer.Begin()
	n, err := c.Conn.Read(p)
	c.answer.End(n > 0)
	if err != nil {
		c.Close()
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.timeout))
	c.request.Begin()
	n, err := c.Conn.Write(p)
	c.request.End(n > 0)
	if err != nil {
		c.Close()
	}
	return n, err
}

// answerMost is how long a namenode's answer may be, as its own clients have it (ipc.maximum.response.length).
const answerMost = 128 << 20

// framed is a connection to a namenode, whose answers begin with their length. The library makes room for as many bytes as are announced
// there, and an HTTP server announces a gigabyte.
type framed struct {
	net.Conn
	head [4]byte
	has  int // bytes of head that have come
	told int // of these, which were read by the library
	left int // bytes of the answer that are still to come
}

// Read implements io.Reader.
func (f *framed) Read(p []byte) (int, error) {
	if f.left == 0 && f.told == len(f.head) {
		f.has, f.told = 0, 0
	}
	for f.has < len(f.head) {
		n, err := f.Conn.Read(f.head[f.has:])
		if f.has += n; f.has == len(f.head) {
			if err := f.measure(); err != nil {
				return 0, err
			}
		} else if err != nil {
			return 0, err
		}
	}
	if f.told < len(f.head) {
		n := copy(p, f.head[f.told:])
		f.told += n
		return n, nil
	}
	n, err := f.Conn.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// measure looks at the length of an answer.
func (f *framed) measure() error {
	if string(f.head[:]) == "HTTP" {
		f.Close()
		return fmt.Errorf("%s speaks HTTP: want the port of its RPC, as fs.defaultFS has it, not that of its pages", f.RemoteAddr())
	}
	length := binary.BigEndian.Uint32(f.head[:])
	if length > answerMost {
		f.Close()
		return fmt.Errorf("%s announces an answer of %d bytes, want at most %d: no namenode is there", f.RemoteAddr(), length, answerMost)
	}
	f.left = int(length)
	return nil
}

// attempt does something, again and again while the cluster cannot, for as long as it has patience. What is done must be the same if
// it was done before.
func (b *Bucket) attempt(ctx context.Context, do func() error) error {
	return b.attempts(ctx, b.opts.Patience, do)
}

func (b *Bucket) attempts(ctx context.Context, patience time.Duration, do func() error) error {
	ctx, over := context.WithCancel(ctx)
	defer over()
	defer context.AfterFunc(b.life, over)()
	end := time.Now().Add(patience)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := do()
		if err == nil || !passes(err) {
			b.outage.Over(true)
			return err
		}
		now := time.Now()
		if !now.Add(wait).Before(end) {
			b.outage.Over(false)
			return err
		}
		b.outage.Failed(now, short(err), wait, end.Sub(now))
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
