package server_test

import (
	"context"
	"testing"
	"time"

	"thole.example/server"
)

// limits sets the limits of both servers.
func (p *pair) limits(c server.CopyLimits) {
	for _, s := range p.servers {
		s.Copies = c
	}
}

// becomesSynchronous wants the standby to be named within a time.
func (p *pair) becomesSynchronous(within time.Duration) {
	p.t.Helper()
	for began := time.Now(); p.roles[0].names() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > within {
			p.t.Fatalf("the standby is not named within %v", within)
		}
	}
}

// TestCopyFarBehind: a standby that begins to copy, or lags, by more than it may be ahead of its replay catches up, with and without a base;
// and is what the server was when it takes over.
func TestCopyFarBehind(t *testing.T) {
	for name, base := range map[string]int64{"no base": 1 << 40, "a base": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			pairOf(t, base, func(t *testing.T, p *pair) {
				p.limits(server.CopyLimits{Ahead: 1 << 20, Lag: 1 << 20, Batch: 1 << 20})
				c, err := p.task("a", "j")
				if err != nil {
					t.Fatal(err)
				}
				for range 20 { // 10 MiB
					if err := push(t.Context(), c, 1); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				if p.disks[0].Bases() == 0 != (base == 1<<40) {
					t.Fatalf("the log has %d bases", p.disks[0].Bases())
				}
				copying := p.servers[1].NewCopying("b")
				conn, over := p.follow(copying, "a")
				p.becomesSynchronous(time.Minute)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := push(ctx, c, 1); err != nil {
					t.Errorf("a push with a standby: %v", err)
				}
				_ = conn.Close()
				<-over
				if err := copying.Take(ctx); err != nil {
					t.Error(err)
				}
				_ = c.Close()
			})
		})
	}
}
