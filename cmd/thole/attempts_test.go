package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/rpc"
	"thole.example/train"
)

// A job waits for a server that is away as long as --wait says, however often it tries; what fails again and again once all tasks had
// joined ends it.
func TestPatience(t *testing.T) {
	away := fmt.Errorf("server 0: %w", rpc.ErrUnreachable)
	for _, c := range []struct {
		name string
		wait time.Duration
		met  bool // all tasks join in each attempt
		back time.Duration
		want string // "": it succeeds
	}{
		{"back in time", time.Hour, false, 50 * time.Minute, ""},
		{"too late", 10 * time.Minute, false, 50 * time.Minute, "did not begin again within 10m0s"},
		{"as long as it takes", 0, false, 10 * time.Hour, ""},
		{"no checkpoint ever", time.Hour, true, 50 * time.Minute, "100 attempts in a row ended without a new checkpoint"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, err := newWatcher(t.Context(), &env{err: io.Discard}, "", false)
			if err != nil {
				t.Fatal(err)
			}
			p := &plan{job: &job{wait: c.wait, lasting: lasting{checkpoint: "ck"}}}
			start := time.Now()
			_, err = p.attempts(t.Context(), &cluster{}, w, func(context.Context) (*train.Report, error) {
				if p.met = c.met; time.Since(start) < c.back {
					return nil, away
				}
				return &train.Report{}, nil
			})
			if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, away) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		})
	}
}
