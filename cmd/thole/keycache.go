package main

import (
	"fmt"

	"thole.example/format"
	"thole.example/graph"
	"thole.example/ps"
)

// keyCacheBytes is the size of a task's cache of hot keys; 0: it has none.
func (j *job) keyCacheBytes() (int64, error) {
	n, err := parseSize("key-cache", j.keyCache)
	switch {
	case err != nil:
		return 0, err
	case n > 0 && j.staleness == 0:
		return 0, fmt.Errorf("--key-cache %s with --staleness 0: under BSP a step uses no values of the step before; "+
			"set --staleness to a number above 0 (SSP) or -1 (ASP), or leave --key-cache out", j.keyCache)
	case j.keyStaleness < 0:
		return 0, fmt.Errorf("--key-cache-staleness %d, want 0 or more", j.keyStaleness)
	}
	return max(0, n), nil
}

// setKeyCache gives the matrices of features that tasks read by key their parts of the cache, by the sizes of their columns.
func (p *plan) setKeyCache(client *ps.Client, model *graph.Model) error {
	bytes, err := p.keyCacheBytes()
	if err != nil || bytes == 0 {
		return err
	}
	rows := int64(0)
	params := model.Params()
	for i := range params {
		if !params[i].Whole() {
			rows += params[i].Rows
		}
	}
	for i := range params {
		if params[i].Whole() {
			continue
		}
		m, err := client.Matrix(params[i].Name)
		if err != nil {
			return err
		}
		if err := m.SetCache(int64(float64(bytes)/float64(rows)*float64(params[i].Rows)), p.keyStaleness); err != nil {
			return fmt.Errorf("--key-cache %s: %w", p.keyCache, err)
		}
	}
	return nil
}

// tellKeyCache says which share of the keys the cache had.
func (p *plan) tellKeyCache(client *ps.Client, w *watcher) {
	var all ps.CacheStats
	for _, m := range client.Matrices() {
		s := m.CacheStats()
		all.Hits, all.Misses, all.Keys, all.Bytes = all.Hits+s.Hits, all.Misses+s.Misses, all.Keys+s.Keys, all.Bytes+s.Bytes
	}
	if n := all.Hits + all.Misses; n > 0 {
		traffic := client.Traffic()
		w.bar.line("cache of hot keys: %.1f %% of %d keys came from it; the task exchanged %s of keys and values with the servers",
			100*float64(all.Hits)/float64(n), n, format.Bytes(traffic.Sent+traffic.Received))
	}
}
