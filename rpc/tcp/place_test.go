package tcp

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"thole.example/budget"
	"thole.example/rpc"
)

// TestConnectionsCounted: each connection that has greeted is counted as long as it lasts; one that has no room is told why, and those
// that are there are served.
func TestConnectionsCounted(t *testing.T) {
	const room = 3
	ledger := budget.New(4*room*connectionBytes + 1000)
	inBubble(t, Network{Ledger: ledger}, handler(echo), func(b *bubble) {
		var all []rpc.Conn
		for range room {
			c := b.dial(Network{}, relay{})
			all = append(all, c)
			b.served(c)
		}
		if used := ledger.Used()[budget.Connections]; used != room*connectionBytes {
			b.Errorf("%d bytes are counted for %d connections", used, room)
		}
		more := b.dial(Network{}, relay{})
		_, err := more.Start(b.Context(), &rpc.Request{}).Wait(b.Context())
		if !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "no memory for another connection") {
			b.Errorf("one connection too many got %v", err)
		}
		_ = more.Close()
		b.served(all[0])
		_ = all[0].Close()
		synctest.Wait()
		c := b.dial(Network{}, relay{})
		b.served(c)
		for _, c := range append(all[1:], c) {
			_ = c.Close()
		}
	})
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v in the end", used)
	}
}
