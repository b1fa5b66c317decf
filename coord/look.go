package coord

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cluster is what a store has of one cluster.
type Cluster struct {
	Name  string
	Roles []Place    // by number
	Jobs  []NamedJob // by name
}

// Place is a role and who has it.
type Place struct {
	Role    Role
	Holder  Holder
	Version Version
}

// NamedJob is a job with its name.
type NamedJob struct {
	Name string
	Job
}

// Clusters is what a store has of all clusters, by name.
func Clusters(ctx context.Context, s Store) ([]Cluster, error) {
	entries, err := s.List(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []Cluster
	for _, e := range entries {
		name, rest, ok := strings.Cut(e.Key, "/")
		if role := Role(rest).number() >= 0; !ok || !role && !strings.HasPrefix(e.Key, name+jobPart) {
			continue
		}
		if len(all) == 0 || all[len(all)-1].Name != name { // keys are in order, so those of a cluster are together
			all = append(all, Cluster{Name: name})
		}
		if Role(rest).number() < 0 {
			continue
		}
		h, err := decodeHolder(e.Key, e.Data)
		if err != nil {
			return nil, err
		}
		if h != nil {
			c := &all[len(all)-1]
			c.Roles = append(c.Roles, Place{Role(rest), *h, e.Version})
		}
	}
	for i := range all {
		c := &all[i]
		slices.SortFunc(c.Roles, func(a, b Place) int { return cmp.Compare(a.Role.number(), b.Role.number()) })
		names, err := Jobs(ctx, s, c.Name)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			j, err := Last(ctx, s, c.Name, name)
			if err != nil {
				return nil, err
			}
			c.Jobs = append(c.Jobs, NamedJob{name, j})
		}
	}
	return all, nil
}

// number is N of the role "server N"; -1 if it is another.
func (r Role) number() int {
	text, ok := strings.CutPrefix(string(r), "server/")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || Server(n) != r {
		return -1
	}
	return n
}

// Renewed waits until the holder of a role renews it, for a time at most, and reports whether it did. A holder that is silent for its
// whole lease has lost the role as soon as somebody else wants it.
func (p *Place) Renewed(ctx context.Context, s Store, cluster string, wait time.Duration) (bool, error) {
	short, stop := context.WithTimeout(ctx, wait)
	defer stop()
	_, _, err := s.Watch(short, p.Role.key(cluster), p.Version)
	if err != nil && errors.Is(short.Err(), context.DeadlineExceeded) {
		return false, ctx.Err()
	}
	return err == nil, err
}
