package blob

import (
	"slices"
	"testing"
	"time"
)

// TestOutage: an outage that lasts is told once, and its end too; short ones are not.
func TestOutage(t *testing.T) {
	var told []string
	o := &Outage{Store: "s3://b", Tell: func(text string) { told = append(told, text) }, Quiet: 2 * time.Second}
	at := time.Unix(1000, 0)
	fails := func(after, wait time.Duration, away time.Duration) {
		t.Helper()
		if got := o.Failed(at.Add(after), "refused", wait, 30*time.Second-after); got != away {
			t.Errorf("away for %v, want %v", got, away)
		}
	}
	fails(0, time.Second, 0)
	o.Over(true)
	fails(time.Second, time.Second, 0)
	fails(2*time.Second, time.Second-1, time.Second)
	if len(told) != 0 {
		t.Errorf("%q told of short ones", told)
	}
	fails(2*time.Second, time.Second, time.Second)
	fails(5*time.Second, time.Second, 4*time.Second)
	o.Over(false) // one gave up
	fails(6*time.Second, 9*time.Second, 0)
	o.Over(true)
	o.Over(true)
	fails(20*time.Second, 2*time.Second, 0)
	want := []string{"s3://b: refused; tries again for at most 28s", "s3://b answers again", "s3://b: refused; tries again for at most 10s"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	(&Outage{}).Failed(at, "refused", time.Hour, 0)
	(&Outage{}).Over(true)
}
