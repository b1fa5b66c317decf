package rpc

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A quantile is within a factor of two of the true one, and nothing is lost or counted twice.
func TestMeter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var meters [3]Meter
		times := rapid.SliceOfN(rapid.Int64Range(0, int64(30*time.Second)), 1, 200).Draw(t, "times")
		failed := uint64(0)
		for i, ns := range times {
			bad := i%3 == 0
			if bad {
				failed++
			}
			meters[i%3].Count(OpPull, bad, time.Duration(ns))
		}
		var sum, more Measures
		for i := range meters {
			var one Measures
			meters[i].AddTo(&one)
			sum.Add(&one)
			meters[i].AddTo(&more)
		}
		if sum != more {
			t.Fatal("Add and AddTo differ")
		}
		m := &sum[OpPull]
		total := int64(0)
		for _, ns := range times {
			total += ns
		}
		if m.Requests() != uint64(len(times)) || sum.Requests() != m.Requests() || m.Errors != failed || m.Nanos != uint64(total) {
			t.Fatalf("%d requests, %d errors, %d ns, want %d, %d, %d", m.Requests(), m.Errors, m.Nanos, len(times), failed, total)
		}
		slices.Sort(times)
		for _, q := range []float64{0, 0.01, 0.5, 0.99, 1} {
			i := min(max(int(q*float64(len(times))+0.999999)-1, 0), len(times)-1)
			want, got := times[i], int64(m.Quantile(q))
			if got > max(2*want, int64(Bound(0))) || 2*got < want && want >= int64(Bound(0)) {
				t.Fatalf("quantile %v of %v is %d, want about %d", q, times, got, want)
			}
		}
		before := *m
		meters[0].Count(OpPull, true, time.Second)
		var after Measures
		for i := range meters {
			meters[i].AddTo(&after)
		}
		d := after[OpPull].Since(&before)
		if d.Requests() != 1 || d.Errors != 1 || d.Nanos != uint64(time.Second) {
			t.Fatalf("since then %+v", d)
		}
		if d := before.Since(&after[OpPull]); d != before {
			t.Fatalf("after a new start %+v, want %+v", d, before)
		}
	})
}

func TestMeterEdges(t *testing.T) {
	var m Meter
	m.Count(200, false, -time.Second)
	m.Count(OpPush, false, time.Hour)
	var all Measures
	m.AddTo(&all)
	if all[OpInvalid].Buckets[0] != 1 || all[OpPush].Buckets[Buckets-1] != 1 {
		t.Errorf("%+v", all)
	}
	if q := (&Measure{}).Quantile(0.5); q != 0 {
		t.Errorf("nothing takes %v", q)
	}
	if allocs := testing.AllocsPerRun(100, func() { m.Count(OpPull, false, time.Millisecond) }); allocs != 0 {
		t.Errorf("%v allocations for a request", allocs)
	}
}

func BenchmarkMeter(b *testing.B) {
	var m Meter
	for b.Loop() {
		m.Count(OpPull, false, 12345)
	}
}
