package hdfs

import (
	"errors"
	"slices"
	"testing"
	"time"

	"thole.example/blob"
)

// TestOutageIsTold: what is tried again for a while is told of once, and when it goes well.
func TestOutageIsTold(t *testing.T) {
	var told []string
	b := &Bucket{life: t.Context(), outage: blob.Outage{Store: "hdfs://h:1", Tell: func(text string) { told = append(told, text) }, Quiet: 100 * time.Millisecond}}
	for range 2 {
		err := b.attempts(t.Context(), time.Hour, func() error {
			if len(told)%2 == 0 {
				return errors.New("connection refused\n\tat some.Java")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{"hdfs://h:1: connection refused; tries again for at most 1h0m0s", "hdfs://h:1 answers again"}
	if !slices.Equal(told, slices.Concat(want, want)) {
		t.Errorf("told %q, want %q, twice", told, want)
	}
	if err := b.attempts(t.Context(), time.Millisecond, func() error { return errors.New("refused") }); err == nil || len(told) != 4 {
		t.Errorf("%v, told %q", err, told)
	}
}
