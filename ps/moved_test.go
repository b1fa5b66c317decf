package ps_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
)

// TestMoved: a client that waits for a server tries again as soon as it may be elsewhere, and after pauses if nobody can say.
func TestMoved(t *testing.T) {
	for name, c := range map[string]struct {
		knows bool
		least time.Duration
		most  time.Duration
	}{"known": {true, 1700 * time.Millisecond, 1700 * time.Millisecond}, "not known": {false, 1701 * time.Millisecond, 2200 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fakes := newCluster(3)
				fakes.down = map[int]bool{1: true}
				start := time.Now()
				moves := time.After(1700 * time.Millisecond)
				o := ps.Options{Network: fakes.fake, Servers: []string{"0", "1"}, Job: "j", Tasks: 1, Retry: 5 * time.Second, Roles: []uint64{0, 0},
					Find: func(_ context.Context, server int) (string, uint64, error) {
						if server == 1 && time.Since(start) < 1700*time.Millisecond {
							return "", 0, fmt.Errorf("nobody is server %d: %w", server, rpc.ErrUnreachable)
						}
						return []string{"0", "2"}[server], 0, nil
					},
					Moved: func(ctx context.Context, _ int) error {
						if !c.knows {
							return errors.New("the store does not answer")
						}
						select {
						case <-moves:
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					}}
				p, err := ps.Dial(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < c.least || took > c.most {
					t.Errorf("connected after %v, want %v to %v", took, c.least, c.most)
				}
				must(t, p.Leave(t.Context()))
			})
		})
	}
}
