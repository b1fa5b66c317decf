package tcp

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"thole.example/access"
	"thole.example/rpc"
)

// Many connections that drip bytes of a greeting, of TLS or of nothing cost little, and no more of them are kept than the bound;
// who has a token comes in and is served all the while.
func TestStrangersDrip(t *testing.T) {
	a, secret := newAuthority(t), access.NewSecret()
	table := access.NewTable([]access.Token{{Name: "ann", Key: secret.Key(), Rights: access.Write}})
	for _, c := range []struct {
		name string
		n    Network
		send string
	}{
		{"greeting", Network{Tokens: table, Secret: &secret}, string(hello{limit: 1, name: "drip"}.bytes())},
		{"TLS", Network{Tokens: table, Secret: &secret, ServerTLS: a.serves(), ClientTLS: a.dials()},
			"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + string(make([]byte, 100))},
	} {
		t.Run(c.name, func(t *testing.T) {
			const most, many = 20, 400
			c.n.Strangers, c.n.Log = most, (&journal{}).logger()
			l := listen(t, c.n, echo)
			neighbour := dial(t, c.n, l)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			goroutines := runtime.NumGoroutine()
			var all []net.Conn
			for i := range many {
				nc, err := net.Dial("tcp", l.Addr())
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				all = append(all, nc)
				for _, one := range all[max(0, i-2*most):] { // one byte more of each
					_, _ = one.Write([]byte{c.send[(i/7)%len(c.send)]})
				}
				if i%50 == 49 {
					late := dial(t, c.n, l)
					wellServed(t, late)
					wellServed(t, neighbour)
					if err := late.Close(); err != nil {
						t.Fatal(err)
					}
				}
			}
			closed := 0
			for _, nc := range all[:many-most] { // nobody hears anything before he has proven a token
				_ = nc.SetReadDeadline(time.Now().Add(10 * time.Second))
				if got, err := io.ReadAll(nc); !isTimeout(err) && len(got) <= helloSize {
					closed++
				}
			}
			if closed != many-most {
				t.Errorf("%d of %d connections were closed, want %d", closed, many, many-most)
			}
			for runtime.NumGoroutine() > goroutines+2*most+20 {
				if t.Context().Err() != nil {
					t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
				}
				time.Sleep(time.Millisecond)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse); grown > 16<<20 {
				t.Errorf("memory grew by %d bytes for %d strangers", grown, most)
			}
			wellServed(t, neighbour)
		})
	}
}

// All tasks of a large job connect at the same moment, as when an attempt begins: none of them is taken for a crowd of strangers, though all
// have connected before the first has greeted.
func TestTasksTogether(t *testing.T) {
	l := listen(t, Network{}, echo)
	var all []net.Conn
	for range 1000 {
		nc, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		all = append(all, nc)
	}
	for i, nc := range all {
		if _, err := nc.Write(hello{limit: 1, name: "task"}.bytes()); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		if h, err := readHello(nc, "server"); err != nil || h.status != helloFine {
			t.Fatalf("connection %d is answered %+v, error %v", i, h, err)
		}
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

// A stranger has so long and no longer, whatever it sends; the time is that to the end of its greeting and proof.
func TestStrangerDeadline(t *testing.T) {
	secret := access.NewSecret()
	table := access.NewTable([]access.Token{{Name: "ann", Key: secret.Key(), Rights: access.Write}})
	inBubble(t, Network{Tokens: table, Timeout: 10 * time.Second}, handler(echo), func(b *bubble) {
		nc := b.wire(relay{})
		go func() { _, _ = nc.Write(hello{limit: 1, name: "slow"}.bytes()) }()
		if h, err := readHello(nc, "server"); err != nil || h.status != helloProve {
			b.Fatalf("%+v, error %v", h, err)
		}
		began, over := time.Now(), make(chan struct{})
		go func() {
			defer close(over)
			for {
				if _, err := nc.Write([]byte{magic[0]}); err != nil {
					return
				}
				time.Sleep(3 * time.Second)
			}
		}()
		if _, err := io.Copy(io.Discard, nc); err != nil {
			b.Fatal(err)
		}
		if d := time.Since(began); d < 9*time.Second || d > 11*time.Second {
			b.Errorf("the connection lived for %v, want 10 s", d)
		}
		_ = nc.Close()
		<-over
	})
}

// Lines about strangers are bounded in number.
func TestQuota(t *testing.T) {
	var q quota
	n, now := 0, time.Unix(1000, 0)
	for range 1000 {
		if q.take(now) {
			n++
		}
	}
	if n != toldAtOnce {
		t.Errorf("%d at once, want %d", n, toldAtOnce)
	}
	for range 1000 {
		now = now.Add(100 * time.Millisecond)
		if q.take(now) {
			n++
		}
	}
	if n != toldAtOnce+100 {
		t.Errorf("%d in 100 s, want %d", n, toldAtOnce+100)
	}
}

// FuzzProve brings anything in place of a proof: it is refused in the same way, or the connection ends, and nothing else.
func FuzzProve(f *testing.F) {
	secret := access.NewSecret()
	p := secret.Prove(access.NewChallenge(), nil)
	table := access.NewTable([]access.Token{{Name: "ann", Key: secret.Key(), Rights: access.Write}})
	f.Add(hello{status: helloProve, name: string(p[:])}.bytes())
	f.Add(hello{limit: 5}.bytes())
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		mine, theirs := net.Pipe()
		defer mine.Close()
		n := Network{Tokens: table}.settings()
		done := make(chan error, 1)
		go func() {
			_, grant, err := n.welcome(theirs, "x")
			if grant != nil {
				err = nil
			}
			_ = theirs.Close()
			done <- err
		}()
		go func() {
			_, _ = mine.Write(append(hello{limit: 1}.bytes(), b...))
			_ = mine.SetReadDeadline(time.Now().Add(time.Second))
		}()
		if h, err := readHello(mine, "server"); err != nil || h.status != helloProve {
			t.Fatalf("%+v, error %v", h, err)
		}
		h, err := readHello(mine, "server")
		_ = mine.Close()
		if err == nil && h != (hello{status: helloRefused}) {
			t.Errorf("%x was answered by %+v", b, h)
		}
		if <-done == nil {
			t.Errorf("%x proved a token", b)
		}
	})
}

// pacer lets each request wait for a second.
type pacer struct{ handler }

func (pacer) Pace(*rpc.Peer) time.Duration { return time.Second }

// The network keeps requests waiting as the handler says, longer than the timeout of silence too, and nobody is blamed.
func TestPace(t *testing.T) {
	inBubble(t, Network{Timeout: 3 * time.Second}, pacer{echo}, func(b *bubble) {
		c := b.dial(Network{Timeout: 3 * time.Second}, relay{})
		began := time.Now()
		var calls []*rpc.Call
		for range 10 {
			calls = append(calls, c.Start(b.Context(), &rpc.Request{}))
		}
		for _, call := range calls {
			r, err := call.Wait(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			r.Release()
		}
		if d := time.Since(began); d < 10*time.Second || d > 11*time.Second {
			b.Errorf("10 requests at one a second took %v", d)
		}
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
}
