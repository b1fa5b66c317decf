package tcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"thole.example/budget"
	"thole.example/rpc"
)

// Hundreds of connections that say nothing, half a greeting, noise, or a greeting and then noise or nothing, are in nobody's
// way, and nothing of them is left.
func TestFlood(t *testing.T) {
	ledger, log := budget.New(64<<20), &journal{}
	l := listen(t, Network{Ledger: ledger, Log: log.logger()}, echo)
	neighbour := dial(t, Network{}, l)
	rnd := rand.New(rand.NewPCG(7, 7))
	noise := func() []byte {
		b := make([]byte, 5000)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	fine := hello{limit: 1 << 20, name: "flood"}.bytes()
	for i := range 300 {
		nc, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = nc.Close() }()
		switch i % 6 {
		case 1:
			_, _ = nc.Write(fine[:11])
		case 2:
			_, _ = nc.Write(noise())
		case 3:
			_, _ = nc.Write(fine)
		case 4:
			_, _ = nc.Write(append(bytes.Clone(fine), noise()...))
		case 5:
			_, _ = nc.Write(append(bytes.Clone(fine), request(1, &rpc.Request{Arg: make([]byte, 100_000)})[:50_000]...))
		}
		if i%20 == 0 {
			wellServed(t, neighbour)
		}
	}
	wellServed(t, neighbour)
	if used := ledger.Used().Total(); used > 50*(100_000+firstStep) {
		t.Errorf("%d bytes are counted for 50 halves of a request of 100,000 bytes", used)
	}
	if err := neighbour.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v in the end", used)
	}
	if n := strings.Count(log.text(), "checksum of a frame's head"); n == 0 {
		t.Error("the log says nothing of noise")
	}
}

// Who writes and reads slowly, but does, is served; and holds up nobody.
func TestSlow(t *testing.T) {
	ledger := budget.New(64 << 20)
	inBubble(t, Network{Ledger: ledger}, handler(echo), func(b *bubble) {
		neighbour := b.dial(Network{}, relay{})
		r := b.raw()
		const size = 2 << 20
		q := &rpc.Request{Parts: []rpc.Part{{Kind: rpc.KindKeys, DType: 10, Values: make([]byte, size)}}}
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			for b := request(1, q); len(b) > 0; {
				n := min(len(b), 20_000)
				if _, err := r.Write(b[:n]); err != nil {
					t.Error(err)
				}
				b = b[n:]
				time.Sleep(time.Second)
			}
			for number := uint16(1); ; number++ {
				if _, err := r.Write(sealed(number, kindAlive, 1, nil)); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		for range 10 {
			time.Sleep(10 * time.Second)
			b.served(neighbour)
		}
		got := 0
		for got < size {
			n, err := io.CopyN(io.Discard, r.Conn, 30_000)
			if got += int(n); err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
			time.Sleep(time.Second)
			if got%300_000 == 0 {
				b.served(neighbour)
			}
		}
		_, _ = r.Close(), neighbour.Close()
		<-wrote
	})
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v in the end", used)
	}
}

// Many clients push more than there is room for: all are slowed down and none fails.
func TestMoreThanFits(t *testing.T) {
	const clients, calls, size = 16, 3, 2 << 20
	ledger := budget.New(16 << 20)
	most := int64(0)
	work := make(chan *rpc.Exchange, clients*calls)
	done := make(chan struct{})
	go func() { // one request after the other, from all connections
		defer close(done)
		for x := range work {
			most = max(most, ledger.Used().Total())
			x.Answer(nil)
		}
	}()
	l := listen(t, Network{Ledger: ledger}, func(x *rpc.Exchange) { work <- x })
	answers := make(chan error, clients*calls)
	for range clients {
		c := dial(t, Network{}, l)
		for range calls {
			call := c.Start(t.Context(), &rpc.Request{Arg: make([]byte, size)})
			go func() {
				_, err := call.Wait(t.Context())
				answers <- err
			}()
		}
	}
	for range clients * calls {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	close(work)
	<-done
	if most > 16<<20 {
		t.Errorf("%d bytes were used at once, want at most %d", most, 16<<20)
	}
}

// Strangers who announce 100 MB each and then bring a byte now and then cost what they bring, up to one step each, and
// those beside them push on.
func TestDripping(t *testing.T) {
	const strangers, size, memory = 200, 100 << 20, 256 << 20
	ledger := budget.New(memory)
	l := listen(t, Network{Ledger: ledger}, echo)
	announced := request(1, &rpc.Request{Arg: make([]byte, size)})[:headSize+1]
	all := make([]net.Conn, 0, strangers)
	for range strangers {
		nc, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = nc.Close() }()
		if _, err := nc.Write(append(hello{limit: 1 << 20, name: "drip"}.bytes(), announced...)); err != nil {
			t.Fatal(err)
		}
		all = append(all, nc)
	}
	for ledger.Used()[budget.Frames] < strangers*firstStep { // all have come as far as they may
		if t.Context().Err() != nil {
			t.Fatalf("used %v", ledger.Used())
		}
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		for _, nc := range all {
			if _, err := nc.Write([]byte{0}); err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			c := dial(t, Network{}, l)
			r, err := c.Start(t.Context(), &rpc.Request{Parts: []rpc.Part{{Kind: rpc.KindKeys, DType: 10, Values: make([]byte, 20<<20)}}}).
				Wait(t.Context())
			if err != nil || len(r.Parts[0].Values) != 20<<20 {
				t.Errorf("beside the strangers: %v", err)
			}
			r.Release()
			wellServed(t, c)
		}
		if used := ledger.Used()[budget.Frames]; used > strangers*firstStep+20<<20 {
			t.Errorf("%d bytes are counted for %d strangers who sent some bytes each", used, strangers)
		}
	}
}

// A request that has no room beside the tables is refused after a while and dropped, and the connection lives.
func TestNoRoomBesideTables(t *testing.T) {
	ledger := budget.New(64 << 20)
	tables := ledger.Force(budget.Tables, 60<<20)
	inBubble(t, Network{Ledger: ledger}, handler(echo), func(b *bubble) {
		c := b.dial(Network{}, relay{})
		for _, size := range []int{20 << 20, 500_000, 20 << 20} {
			_, err := c.Start(b.Context(), &rpc.Request{Arg: make([]byte, size)}).Wait(b.Context())
			if size < 1<<20 && err != nil {
				b.Errorf("%d bytes: %v", size, err)
			} else if size > 1<<20 && (!errors.Is(err, rpc.ErrTooLarge) ||
				!strings.Contains(err.Error(), fmt.Sprintf("beside %d of matrices, jobs", 60<<20+connectionBytes))) {
				b.Errorf("%d bytes: got %v, want that there is no room", size, err)
			}
		}
		_ = c.Close()
	})
	tables.Release()
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v in the end", used)
	}
}
