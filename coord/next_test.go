package coord_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/coord"
)

// TestNext: a role's next record wakes its waiters; another role's record does not.
func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &coord.Memory{}
		_, seen, err := coord.Who(t.Context(), s, "c", coord.Server(0))
		if err != nil {
			t.Fatal(err)
		}
		next := make(chan error, 1)
		go func() { next <- coord.Next(t.Context(), s, "c", coord.Server(0), seen) }()
		if _, err := coord.Claim(t.Context(), s, "c", coord.Server(1), "host:1", coord.Options{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(next) > 0 {
			t.Error("woken by another role")
		}
		if _, err := coord.Claim(t.Context(), s, "c", coord.Server(0), "host:0", coord.Options{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(next) == 0 || <-next != nil {
			t.Error("not woken by the next record")
		}
		_, seen, err = coord.Who(t.Context(), s, "c", coord.Server(0))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Nanosecond)
		defer stop()
		if err := coord.Next(ctx, s, "c", coord.Server(0), seen); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("there is no next record: %v", err)
		}
	})
}

// TestRecordStandbys: a holder's record says at each renewal how far its standbys are behind.
func TestRecordStandbys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &coord.Memory{}
		behind := uint64(0)
		h, err := coord.Claim(t.Context(), s, "c", coord.Server(0), "host:0", coord.Options{Standbys: func() []coord.Standby {
			behind += 10
			return []coord.Standby{{Addr: "host:1", Uncopied: behind}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(coord.LeaseDefault)
		synctest.Wait()
		r, _, err := coord.Who(t.Context(), s, "c", coord.Server(0))
		if err != nil || len(r.Standbys) != 1 || r.Standbys[0].Addr != "host:1" || r.Standbys[0].Uncopied != behind || behind < 30 {
			t.Errorf("the record says %+v, %v; want %d bytes", r, err, behind)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, _, err = coord.Who(t.Context(), s, "c", coord.Server(0)); err != nil || len(r.Standbys) > 0 {
			t.Errorf("a role that was given back has standbys: %+v, %v", r, err)
		}
	})
}
