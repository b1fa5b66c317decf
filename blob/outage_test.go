package blob

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
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

// TestOutageLasts: an outage that lasts is reported now and then.
func TestOutageLasts(t *testing.T) {
	var told []string
	o := &Outage{Store: "s3://b", Tell: func(text string) { told = append(told, text) }, Quiet: 2 * time.Second}
	for n := range 70 {
		o.Failed(time.Unix(int64(1000+n), 0), "refused", time.Second, time.Minute)
	}
	want := "s3://b: refused; tries again for at most 1m0s"
	if !slices.Equal(told, []string{want, want, want}) { // after 1, 31 and 61 seconds
		t.Errorf("told %q", told)
	}
}

// TestWait: waits that last are reported once for all, now and then, and their end, but not while another one lasts.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		tell := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, text)
		}
		o := &Outage{Store: "s3://b", Tell: tell, Quiet: 2 * time.Second}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(told, want) {
				t.Errorf("told %q, want %q", told, want)
			}
			told = nil
		}
		a, b := o.Watch(time.Minute), o.Watch(time.Minute)
		a.Begin()
		time.Sleep(1900 * time.Millisecond)
		a.Moved() // part of an upload
		time.Sleep(1900 * time.Millisecond)
		expect()
		b.Begin()
		time.Sleep(200 * time.Millisecond)
		expect("s3://b: no answer to a request for 2s; waits for at most 58s more")
		time.Sleep(20 * time.Second)
		o.Over(true) // other requests are answered
		expect()
		time.Sleep(10 * time.Second)
		expect("s3://b: no answer to a request for 32s; waits for at most 28s more")
		a.End(true)
		expect()
		b.End(true)
		expect("s3://b answers again")
		a.Begin()
		time.Sleep(3 * time.Second)
		expect("s3://b: no answer to a request for 2s; waits for at most 58s more")
		a.End(false) // it failed, and is tried again
		expect()
		o.Over(true)
		expect("s3://b answers again")
		a.Begin()
		a.End(true)
		time.Sleep(time.Minute)
		expect()
	})
}
