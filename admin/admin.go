// Package admin is the address at which people and their tools watch a server, apart from the one at which data goes: metrics for
// Prometheus, health, the state of all jobs as JSON, and profiles of the process. It changes nothing.
package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"thole.example/access"
	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/server"
)

// Admin watches one server. The exported fields are set before Handler is called and not changed.
type Admin struct {
	Server   *server.Server
	Is       rpc.Server     // how clients know it
	Listener rpc.Listener   // of package rpc/tcp
	Ledger   *budget.Ledger // nil: nothing bounds the server
	Tokens   *access.Table  // nil: anybody may look; else who has a token that may administer
	Version  string         // of the program
	Pprof    bool           // serve profiles, too
	Ready    func() error   // says why the server does no work now; nil: it always does

	start   time.Time
	stopped atomic.Bool
}

// patience is how long a look waits for the jobs.
const patience = 2 * time.Second

// Stop has /readyz say that the server takes no more work.
func (a *Admin) Stop() { a.stopped.Store(true) }

// Handler serves /metrics, /healthz, /readyz, /status, and with Pprof what is below /debug/pprof/.
func (a *Admin) Handler() http.Handler {
	a.start = time.Now()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{a}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if a.stopped.Load() {
			say(w, http.StatusServiceUnavailable, "stopping")
			return
		}
		if a.Ready != nil {
			if err := a.Ready(); err != nil {
				say(w, http.StatusServiceUnavailable, err.Error())
				return
			}
		}
		say(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", a.guarded(promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})))
	mux.Handle("GET /status", a.guarded(http.HandlerFunc(a.serveStatus)))
	if a.Pprof {
		for path, h := range map[string]http.HandlerFunc{
			"/": pprof.Index, "/cmdline": pprof.Cmdline, "/profile": pprof.Profile, "/symbol": pprof.Symbol, "/trace": pprof.Trace,
		} {
			mux.Handle("GET /debug/pprof"+path, a.guarded(h))
		}
	}
	return mux
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}

// guarded serves who may administer, if the server asks who comes. All others are told the same.
func (a *Admin) guarded(h http.Handler) http.Handler {
	if a.Tokens == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		secret, err := access.ParseSecret([]byte(text))
		var g *access.Grant
		if err == nil {
			g = a.Tokens.Holder(secret)
		}
		if g == nil || g.Check(access.Administer) != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			say(w, http.StatusUnauthorized, "want a token that has the right to administer")
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (a *Admin) serveStatus(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a.Status(ctx)) // whoever asked has gone
}

// number is which of its servers this one is; nil: it does not know.
func (a *Admin) number() *int {
	if a.Is.Instance == "" || a.Is.Number < 0 {
		return nil
	}
	return &a.Is.Number
}

// Status is what there is to be seen now.
func (a *Admin) Status(ctx context.Context) Status {
	jobs := a.Server.Status(ctx)
	stats := a.stats() // after the jobs: the request of whoever was seen waiting is counted
	out := Status{
		Address: a.Listener.Addr(), Name: a.Is.Name, Number: a.number(),
		Version: a.Version, Go: runtime.Version(), Uptime: time.Since(a.start).Seconds(),
		Stats: stats, Jobs: jobs, Memory: Memory{Limit: a.Ledger.Total(), Used: map[string]int64{}},
	}
	out.Standbys, out.Dropped = a.Server.Standbys()
	out.Replica = a.Server.ReplicaStatus()
	out.Copy, out.CopyReads = a.Server.Copying(), a.Server.CopyReads()
	for c, n := range a.Ledger.Used() {
		out.Memory.Used[budget.Class(c).String()] = n
	}
	if a.Ledger == nil { // matrices are counted all the same
		for _, j := range out.Jobs {
			for _, m := range j.Tables {
				out.Memory.Used[budget.Tables.String()] += m.Bytes
			}
		}
	}
	for i := range stats.Measures {
		if m := &stats.Measures[i]; m.Requests() > 0 {
			out.Operations = append(out.Operations, Operation{Name: rpc.Op(i).String(), Requests: m.Requests(), Measure: *m,
				P50: micros(m.Quantile(0.5)), P99: micros(m.Quantile(0.99))})
		}
	}
	for _, o := range a.Tokens.Owners() {
		one := Token{Name: o.Name(), Rights: o.Terms().Rights.String(), Jobs: o.Terms().Scope.Jobs, Store: o.Terms().Scope.Store,
			Load: o.Terms().Scope.Load, Limits: o.Account().Limits().String(), Use: stats.Tokens[o.Name()]}
		one.Bytes, one.Partitions = o.Account().Used()
		out.Tokens = append(out.Tokens, one)
	}
	return out
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
