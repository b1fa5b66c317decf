package bench

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"thole.example/optim"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is a small measurement on a server in this process.
func config(t *testing.T, what string) Config {
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	network := &mem.Network{}
	l, err := network.Listen(t.Context(), "0", &server.Server{Funcs: funcs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return Config{
		What: what, Network: network, Servers: []string{"0"}, Keys: 1000, Dim: 4, Batch: 64, Depth: 2, Tasks: 3, Cols: 500, Seconds: 0.01,
	}
}

// TestKinds measures each kind, with a rule and without: what comes out is a result of numbers.
func TestKinds(t *testing.T) {
	for _, k := range Kinds() {
		for _, rule := range []string{"", "adagrad"} {
			t.Run(k.Name+" "+rule, func(t *testing.T) {
				c := config(t, k.Name)
				c.Rule = rule
				filled := 0
				var mu sync.Mutex
				var phases []string
				c.Progress = func(p Phase) {
					mu.Lock()
					defer mu.Unlock()
					if p.Total > 0 {
						if p.Done < filled || p.Total != c.Keys {
							t.Errorf("%d of %d keys are in the table after %d", p.Done, p.Total, filled)
						}
						filled = p.Done
					}
					if len(phases) == 0 || phases[len(phases)-1] != p.Name {
						phases = append(phases, p.Name)
					}
				}
				r, err := Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				keyed := slices.Contains([]string{"table", "pull", "push"}, k.Name)
				if keyed != (filled == c.Keys) {
					t.Errorf("%d keys are told, %+v", filled, r)
				}
				if rows := k.Name != "barrier"; rows != above(r.Rate) || !rows && r.PerCPU.Both != nil {
					t.Errorf("%+v", r)
				}
				if r.What != k.Name || r.Requests < 1 || !(0 < r.P50 && r.P50 <= r.P99 && r.P99 <= r.Max) || r.Allocs < 0 || r.Alloced < r.Allocs {
					t.Errorf("%+v", r)
				}
				if dense := k.Name == "row" || k.Name == "storm"; dense != above(r.Bytes) || k.Name == "storm" && r.Requests != c.Tasks {
					t.Errorf("%+v", r)
				}
				if table := k.Name == "table"; table != above(r.BytesKey) || table != above(r.Growth) || (table && rule != "") != above(r.Reads) {
					t.Errorf("%+v", r)
				}
				if want := phasesOf(k.Name, rule); !slices.Equal(phases, want) {
					t.Errorf("it says that it does %q, want %q", phases, want)
				}
				shape(t, &r)
			})
		}
	}
}

// phasesOf is what a kind says that it does.
func phasesOf(kind, rule string) []string {
	switch kind {
	case "table":
		reads := []string{filling, "warming up", "measuring reads"}
		if rule == "" {
			return reads
		}
		return append(reads, "warming up", "measuring updates")
	case "pull", "push":
		return []string{filling, "warming up", measuring}
	case "row":
		return []string{"creating the row", "warming up", measuring}
	case "barrier":
		return []string{"warming up", measuring}
	}
	return []string{"3 tasks push", "checking the sum"}
}

// TestFewRequests: where a request takes longer than there is time, each that is under way is measured once, and no more.
func TestFewRequests(t *testing.T) {
	for _, what := range []string{"table", "pull", "push", "row"} {
		c := config(t, what)
		c.Seconds, c.Depth = 1e-12, 3
		most := c.Depth
		if what == "table" || what == "row" {
			most = 1
		}
		if r, err := Run(t.Context(), c); err != nil || r.Requests != most || r.P99 != r.Max {
			t.Errorf("%s: %+v, %v, want %d requests", what, r, err, most)
		}
	}
}

// above reports whether a number is known, and above 0.
func above(n *float64) bool { return n != nil && *n > 0 }

// settingsOf are the settings in the JSON of each kind; a result that Run did not make has none.
var settingsOf = map[string][]string{
	"table":   {"keys", "dim", "batch", "rule", "seconds"},
	"pull":    {"keys", "dim", "batch", "inFlight", "rule", "seconds", "servers"},
	"push":    {"keys", "dim", "batch", "inFlight", "rule", "seconds", "servers"},
	"row":     {"cols", "seconds", "servers"},
	"barrier": {"tasks", "seconds", "servers"},
	"storm":   {"cols", "tasks", "async", "byKey", "servers"},
}

// shape wants all fields in the JSON of a result, in their order.
func shape(t *testing.T, r *Result) {
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"what", "requests", "mrowsPerS", "mrowsPerCpuS", "client", "server", "both", "gbPerS", "p50Us", "p99Us", "maxUs",
		"peakRssBytes", "allocsPerRequest", "allocBytesPerRequest", "readsMrowsPerCpuS", "bytesPerKey", "slowestInsertUs",
		"wireBytesPerRequest", "cacheHits", "settings"}
	want = append(want, settingsOf[r.What]...)
	var got []string
	for _, name := range regexp.MustCompile(`"(\w+)":`).FindAllSubmatch(text, -1) {
		got = append(got, string(name[1]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("fields %q, want %q", got, want)
	}
}

// TestStorms: the sum of a storm is checked in each of its forms.
func TestStorms(t *testing.T) {
	for i, form := range []Config{{Async: true}, {ByKey: true}, {Async: true, ByKey: true}} {
		c := config(t, "storm")
		c.Async, c.ByKey = form.Async, form.ByKey
		if r, err := Run(t.Context(), c); err != nil || r.Requests != c.Tasks {
			t.Errorf("form %d: %+v, %v", i, r, err)
		}
	}
}

// TestEnds: a context that ends is an error of every kind, and no result.
func TestEnds(t *testing.T) {
	over := errors.New("over")
	for _, k := range Kinds() {
		c := config(t, k.Name)
		ctx, cancel := context.WithCancelCause(t.Context())
		c.Seconds = math.Inf(1)
		if k.Name == "storm" {
			cancel(over)
		} else {
			time.AfterFunc(50*time.Millisecond, func() { cancel(over) })
		}
		r, err := Run(ctx, c)
		if !errors.Is(err, over) || r.Requests > 0 {
			t.Errorf("%s: %+v, %v, want %v", k.Name, r, err, over)
		}
	}
}

// TestWrong: what cannot be measured is said.
func TestWrong(t *testing.T) {
	if _, err := Run(t.Context(), Config{What: "x"}); err == nil ||
		err.Error() != `bench: "x" cannot be measured, want one of table, pull, push, row, barrier, storm` {
		t.Error(err)
	}
	for _, what := range []string{"table", "pull", "push"} {
		c := config(t, what)
		c.Rule = "nothing"
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%s: an unknown rule is measured", what)
		}
	}
	for _, what := range []string{"pull", "push", "row", "barrier", "storm"} {
		c := config(t, what)
		c.Servers = []string{"nowhere"}
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%s: a server that is not there is measured", what)
		}
	}
}

// TestEndsOfARate: which ends' time is told depends on where the servers are.
func TestEndsOfARate(t *testing.T) {
	told := func() (time.Duration, int64) { return time.Duration(time.Now().UnixNano()), 7 }
	for name, c := range map[string]Config{"here": {}, "beside": {Server: told}, "apart": {Apart: true}} {
		m := c.begin()
		for m.done(time.Now()); cpuTime() == m.client; { // at least a little of this process's time
		}
		r := m.result(1000)
		got := [3]bool{r.PerCPU.Client != nil, r.PerCPU.Server != nil, r.PerCPU.Both != nil}
		want := map[string][3]bool{"here": {false, false, true}, "beside": {true, true, true}, "apart": {true, false, false}}[name]
		if got != want {
			t.Errorf("%s: %+v, want these of client, server, both: %v", name, r.PerCPU, want)
		}
		if r.Peak == nil || name == "apart" {
			if r.Peak != nil || name == "beside" || name == "here" && runtime.GOOS == "linux" {
				t.Errorf("%s: peak %v", name, r.Peak)
			}
		} else if *r.Peak != 7 && (name == "beside" || *r.Peak < 1<<20) {
			t.Errorf("%s: peak %d", name, *r.Peak)
		}
		if shape(t, &r); !above(r.Rate) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestKeys: the keys of a batch are of the table; once leaves none twice.
func TestKeys(t *testing.T) {
	c := Config{Keys: 50, Batch: 200}
	all := map[int64]bool{}
	if err := c.fill(t.Context(), func(keys []int64) error {
		for _, k := range keys {
			if k < 0 || all[k] {
				t.Errorf("key %d is negative or twice", k)
			}
			all[k] = true
		}
		return nil
	}); err != nil || len(all) != c.Keys {
		t.Fatalf("%d keys, want %d: %v", len(all), c.Keys, err)
	}
	for i, batches := range [][][]int64{c.batches(), c.once()} {
		for _, b := range batches {
			seen := map[int64]bool{}
			for _, k := range b {
				if !all[k] || i == 1 && seen[k] {
					t.Fatalf("key %d is not of the table, or comes twice", k)
				}
				seen[k] = true
			}
			if i == 0 && len(b) != c.Batch {
				t.Errorf("a batch of %d keys, want %d", len(b), c.Batch)
			}
		}
	}
}

// TestCache: with a cache of hot keys fewer bytes cross the network, and with a staleness, where values are asked for again, more of them.
func TestCache(t *testing.T) {
	wire := map[string]float64{}
	for name, change := range map[string]func(c *Config){
		"none": func(*Config) {}, "any age": func(c *Config) { c.Cache = 1 << 20 },
		"staleness 2": func(c *Config) { c.Cache, c.Staleness = 1<<20, 2 },
	} {
		c := config(t, "pull")
		c.Seconds, c.Skew = 0.1, 1.1
		change(&c)
		r, err := Run(t.Context(), c)
		for ; err == nil && r.Requests < 3; c.Seconds *= 4 { // fewer find nothing in the cache
			r, err = Run(t.Context(), c)
		}
		if err != nil {
			t.Fatal(err)
		}
		if wire[name] = *r.Wire; (c.Cache > 0) != (r.Hits != nil) {
			t.Errorf("%s: hits %v", name, r.Hits)
		}
	}
	if !(wire["any age"] < wire["staleness 2"] && wire["staleness 2"] < wire["none"]) {
		t.Errorf("bytes a request: %v", wire)
	}
}
