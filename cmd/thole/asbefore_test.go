package main

import (
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/data"
)

// TestSized: a refusal to go on from a checkpoint of another network names the flags that give what differs.
func TestSized(t *testing.T) {
	p := plan{job: &job{}, train: &data.Examples{Set: &data.Set{}}}
	p.conf.Size = algo.Size{Factors: 8, Hidden: []int{128, 64}, Dropout: 0.5}
	before := p.summary()
	got := sized(settingsOf(before))
	for name, want := range map[string]string{"factors": "8", "hidden": "128,64", "dropout": "0.5", "rank": "default", "cross-layers": "default"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if _, there := got["size"]; there || len(got) != len(settingsOf(before))-1+len(sizeNames) {
		t.Errorf("%q, want each number of the size in its place", got)
	}
	p.conf.Size.Hidden, p.conf.Size.Factors = nil, 16
	err := p.asBefore("ck/1", before, nil)
	if err == nil || !strings.Contains(err.Error(), "a training with factors=8, hidden=128,64, and this one has factors=16, hidden=default:") {
		t.Errorf("%v", err)
	}
	if err := p.asBefore("ck/1", p.summary(), nil); err != nil {
		t.Error(err)
	}
}
