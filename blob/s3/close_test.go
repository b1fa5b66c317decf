package s3_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"thole.example/blob"
	"thole.example/blob/s3/s3test"
)

// TestClose: a bucket that is closed waits for no store in which nothing moves: neither reads, nor writes, nor what gives things back.
func TestClose(t *testing.T) {
	s := serve(t)
	b := open(t, s, nil)
	write(t, b, map[string]string{"big": string(noise(3 << 20))})
	o, err := b.Open(t.Context(), "big")
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Create(t.Context(), "new")
	if err != nil {
		t.Fatal(err)
	}
	release, err := b.Claim(t.Context(), "ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan struct{}, 100)
	s.Plan(func(int, *http.Request) s3test.Action {
		reached <- struct{}{}
		return s3test.Slow
	})
	results := map[string]chan error{}
	for what, do := range map[string]func() error{
		"read": func() error {
			_, err := o.ReadAt(make([]byte, 2<<20), 1<<20)
			return err
		},
		"write": func() error {
			_, err := w.Write(make([]byte, 1<<20))
			return errors.Join(err, w.Commit())
		},
		"open":    func() error { _, err := b.Open(t.Context(), "big"); return err },
		"list":    func() error { _, err := b.List(t.Context(), ""); return err },
		"release": func() error { release(); return context.Canceled },
	} {
		done := make(chan error)
		results[what] = done
		go func() { done <- do() }()
	}
	for range results {
		<-reached
	}
	b.Close()
	for what, done := range results {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that the bucket was closed", what, err)
		}
	}
	o.Close()
	w.Abort()
	if _, err := blob.ReadAll(t.Context(), b, "big", 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the bucket was closed", err)
	}
}
