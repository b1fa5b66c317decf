package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/coord"
)

// refusing is a store that may refuse to answer.
type refusing struct {
	coord.Memory
	refuses atomic.Bool
}

func (s *refusing) Get(ctx context.Context, key string) ([]byte, coord.Version, error) {
	if s.refuses.Load() {
		return nil, "", errors.New("HTTP status 403")
	}
	return s.Memory.Get(ctx, key)
}

// TestNotReady: a server is not ready until it holds its role, and says why, each minute also in its log; it is ready when it has the role, and
// not any more when the role could not be renewed.
func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		store := &refusing{}
		store.refuses.Store(true)
		r := &roleHeld{claiming: &claiming{coordination: coordination{cluster: "thole"}, number: 3, lease: 10 * time.Second}, store: store}
		if err := r.notReady(); err == nil || err.Error() != `no role: waits for server 3 of cluster "thole"` {
			t.Errorf("before it has asked: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.stay(ctx, io.Discard, "10.0.0.1:7001", nil, log) }()
		time.Sleep(5*time.Minute + time.Second)
		const want = `no role: waits for server 3 of cluster "thole": the store does not answer: HTTP status 403`
		if err := r.notReady(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the store refuses: %v, want %s", err, want)
		}
		synctest.Wait()
		if n := strings.Count(text.String(), "no role: "); n != 5 {
			t.Errorf("%d lines in 5 minutes, want 5:\n%s", n, text.String())
		}
		store.refuses.Store(false)
		time.Sleep(10 * time.Second)
		if err := r.notReady(); err != nil {
			t.Errorf("with the role: %v", err)
		}
		synctest.Wait()
		text.Reset()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if text.Len() > 0 {
			t.Errorf("with the role it logs\n%s", text.String())
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		var none *roleHeld
		if err := none.notReady(); err != nil {
			t.Errorf("a server without a role: %v", err)
		}
	})
}
