package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"thole.example/coord"
	"thole.example/coord/all"
	"thole.example/internal/number"
	"thole.example/server"
)

// coordinateStatus is what the user said.
type coordinateStatus struct {
	cluster string
	wait    time.Duration
	json    bool
}

func coordinateStatusCommand(e *env) *cobra.Command {
	var f coordinateStatus
	var forms []string
	for _, b := range all.Backends() {
		forms = append(forms, b.Form+": "+b.Help)
	}
	c := &cobra.Command{
		Use:   "status URL",
		Short: "Show who is which server, and what was committed of jobs",
		Long: `Shows the clusters that are in a store: for each server its address, its epoch (how often the role has changed hands),
whether it renews its lease, whether it has a log, how many standbys have a copy of what it holds, and how far each standby was behind at
the last renewal; for each job its attempt and the checkpoint it would go on from. Times of other machines say nothing here: it
watches until each server has renewed, for a lease at most. URL is one of these.

` + strings.Join(forms, ".\n\n") + ".",
		Example: "  thole coordinate status etcd://127.0.0.1:2379\n  thole coordinate status dir:coordination --wait 0s --json",
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c.Context(), e, args[0]) },
	}
	c.Flags().StringVar(&f.cluster, "cluster", "", "only this cluster (default: all)")
	c.Flags().DurationVar(&f.wait, "wait", coord.LeaseMax, "watch for so long at most; 0s: do not (default: a lease)")
	c.Flags().Lookup("wait").DefValue = "0s" // it is said
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return c
}

// roleJSON is a role as scripts read it; Renewed is missing if nobody watched for long enough to say.
type roleJSON struct {
	Role    string   `json:"role"`
	Address string   `json:"address,omitempty"`
	Epoch   uint64   `json:"epoch"`
	Since   uint64   `json:"since,omitempty"` // the first epoch from which on nothing was lost
	Beat    uint64   `json:"beat,omitempty"`
	Lease   float64  `json:"leaseSeconds,omitempty"`
	Log     string   `json:"log,omitempty"`
	Copies  []string `json:"copies,omitempty"`
	Renewed *bool    `json:"renewed,omitempty"`
	Watched *float64 `json:"watchedSeconds,omitempty"` // until it was renewed, or in vain

	Standbys []coord.Standby `json:"standbys,omitempty"` // as of the last renewal
}

type jobJSON struct {
	Name string `json:"job"`
	coord.Job
}

type clusterJSON struct {
	Cluster string     `json:"cluster"`
	Roles   []roleJSON `json:"roles"`
	Jobs    []jobJSON  `json:"jobs"`
}

func (f *coordinateStatus) run(ctx context.Context, e *env, url string) error {
	if f.wait < 0 {
		return usageError{fmt.Errorf("--wait %v, want 0s or more", f.wait)}
	}
	s, err := all.Find(url)
	if errors.Is(err, all.ErrURL) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer s.Close()
	clusters, err := coord.Clusters(ctx, s)
	if err != nil && !errors.Is(err, coord.ErrRecord) {
		return awayError{err}
	}
	if err != nil {
		return err
	}
	shown := []clusterJSON{}
	var names []string
	for i := range clusters {
		names = append(names, clusters[i].Name)
		if f.cluster == "" || f.cluster == clusters[i].Name {
			shown = append(shown, f.watch(ctx, e, s, &clusters[i]))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.cluster != "" && len(shown) == 0 {
		return fmt.Errorf("%s has no cluster %q, it has %s", url, f.cluster, strings.Join(append(names, "no other")[:max(1, len(names))], ", "))
	}
	if f.json {
		return json.NewEncoder(e.out).Encode(shown)
	}
	if len(shown) == 0 {
		_, err = fmt.Fprintf(e.out, "%s has no clusters\n", url)
	}
	for i := range shown {
		err = errors.Join(err, shown[i].print(e))
	}
	return err
}

// watch looks at all roles of a cluster at once, until each has renewed or is silent.
func (f *coordinateStatus) watch(ctx context.Context, e *env, s coord.Store, c *coord.Cluster) clusterJSON {
	out := clusterJSON{c.Name, make([]roleJSON, len(c.Roles)), []jobJSON{}}
	var looks sync.WaitGroup
	for i := range c.Roles {
		p := &c.Roles[i]
		h := p.Holder
		out.Roles[i] = roleJSON{Role: p.Role.String(), Address: h.Addr, Epoch: h.Epoch, Since: h.Since, Beat: h.Beat,
			Lease: h.Lease.Seconds(), Log: h.Log, Copies: h.Copies, Standbys: h.Standbys}
		if wait := min(f.wait, h.Lease); h.ID != "" && wait > 0 {
			looks.Go(func() {
				begin := e.now()
				renewed, err := p.Renewed(ctx, s, c.Name, wait)
				if took := e.now().Sub(begin); err == nil && (renewed || wait == h.Lease) {
					seconds := took.Seconds()
					out.Roles[i].Renewed, out.Roles[i].Watched = &renewed, &seconds
				}
			})
		}
	}
	looks.Wait()
	for _, j := range c.Jobs {
		out.Jobs = append(out.Jobs, jobJSON(j))
	}
	return out
}

// kept says where else than in its holder's memory there is what the role holds, and since when.
func (r *roleJSON) kept() string {
	text := ""
	if r.Log != "" {
		text = ", a log"
	}
	if len(r.Copies) > 0 {
		text += fmt.Sprintf(", copies: %d", len(r.Copies))
	}
	if r.Since > 0 && r.Since < r.Epoch {
		text += fmt.Sprintf(", nothing lost since epoch %d", r.Since)
	}
	return text
}

// standbyText says how far a standby was behind when its server renewed the role.
func standbyText(b *coord.Standby) string {
	return copyLine(&server.CopyStatus{At: b.Addr, Reads: b.Reads, Synchronous: b.Synchronous, Uncopied: b.Uncopied, Unreplayed: b.Unreplayed, Idle: b.Idle,
		Stalled: b.Stalled, Throttled: b.Throttled})
}

func (c *clusterJSON) print(e *env) error {
	fmt.Fprintf(e.out, "cluster %q\n", c.Cluster)
	w := tabwriter.NewWriter(legible{e.out}, 0, 4, 2, ' ', 0)
	for _, r := range c.Roles {
		state := "not watched for a lease"
		switch {
		case r.Address == "":
			r.Address, state = "nobody", "given back"
		case r.Renewed != nil && *r.Renewed:
			state = fmt.Sprintf("held: renewed after %.1fs", *r.Watched)
		case r.Renewed != nil:
			state = fmt.Sprintf("lapsed: silent for %.1fs", *r.Watched)
		}
		fmt.Fprintf(w, "  %s\t%s\tepoch %d\t%s%s\n", r.Role, r.Address, r.Epoch, state, r.kept())
		for _, b := range r.Standbys {
			fmt.Fprintf(w, "    standby %s\n", standbyText(&b))
		}
	}
	err := w.Flush()
	for _, j := range c.Jobs {
		text := "no checkpoint"
		if p := j.Checkpoint; p != nil {
			text = fmt.Sprintf("checkpoint %s of step %d and attempt %d", p.Path, p.Step, p.Attempt)
		}
		if j.Ended {
			text = "complete, " + text
		}
		fmt.Fprintf(legible{e.out}, "  job %q: attempt %d on %s, %s\n", j.Name, j.Attempt, number.Of(len(j.Servers), "server"), text)
	}
	return err
}
