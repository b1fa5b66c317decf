package coord

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Member is a server of a cluster, as others know it.
type Member struct {
	Addr  string
	Epoch uint64
	Since uint64        // the first epoch from which on nothing was lost that was acknowledged
	Lease time.Duration // how long the server keeps its role when it is silent
	Log   string        // identity of its log; "": it has none
}

// Find is the servers 0 to n-1 of a cluster. It waits until all roles are held. Whoever holds one may have died since, and its lease may
// not have lapsed: a caller that does not reach a server waits with [Changed], and finds again.
func Find(ctx context.Context, s Store, cluster string, n int) ([]Member, error) {
	if err := checkCluster(cluster); err != nil {
		return nil, err
	}
	for {
		holders, versions, err := holders(ctx, s, cluster, n)
		if err != nil {
			return nil, err
		}
		all := make([]Member, n)
		var missing []int
		var seen Version // of the first that is missing
		for i, h := range holders {
			switch {
			case h != nil && h.ID != "":
				all[i] = Member{h.Addr, h.Epoch, h.since(), h.Lease, h.Log}
				continue
			case missing == nil:
				seen = versions[i]
			}
			missing = append(missing, i)
		}
		if missing == nil {
			return all, nil
		}
		if _, _, err := s.Watch(ctx, Server(missing[0]).key(cluster), seen); err != nil {
			return nil, fmt.Errorf("coord: cluster %q has nobody as server %s of %d: %w", cluster, numbers(missing), n, err)
		}
	}
}

// holders is who has the roles server 0 to n-1, nil where nobody ever had, and the versions of these records. It is one request: a thousand
// workers look for two hundred servers at once when an attempt begins.
func holders(ctx context.Context, s Store, cluster string, n int) ([]*Holder, []Version, error) {
	entries, err := s.List(ctx, cluster+"/server/")
	if err != nil {
		return nil, nil, err
	}
	all, versions := make([]*Holder, n), make([]Version, n)
	for _, e := range entries {
		i := Role(strings.TrimPrefix(e.Key, cluster+"/")).number()
		if i < 0 || i >= n {
			continue
		}
		if all[i], err = decodeHolder(e.Key, e.Data); err != nil {
			return nil, nil, err
		}
		versions[i] = e.Version
	}
	return all, versions, nil
}

// numbers is the first few of some numbers, as text.
func numbers(all []int) string {
	const most = 8
	text := strings.Trim(fmt.Sprint(all[:min(most, len(all))]), "[]")
	if len(all) > most {
		text += " …"
	}
	return strings.ReplaceAll(text, " ", ", ")
}

// Who has a role: nil if nobody ever had it; a holder without ID has given it back.
func Who(ctx context.Context, s Store, cluster string, role Role) (*Holder, Version, error) {
	data, v, err := s.Get(ctx, role.key(cluster))
	if err != nil {
		return nil, "", err
	}
	h, err := decodeHolder(role.key(cluster), data)
	return h, v, err
}

// Next waits until the record of a role has another version than the one that Who has told of.
func Next(ctx context.Context, s Store, cluster string, role Role, seen Version) error {
	_, _, err := s.Watch(ctx, role.key(cluster), seen)
	return err
}

// Changed waits until what one of the servers holds that Find has told of is lost, and says which: another has its role that does not
// continue, or it gave the role back and has no log. While somebody can come who continues, or has come, nothing has changed, and who it is
// is found with Find. A store that does not answer is waited for.
func Changed(ctx context.Context, s Store, cluster string, servers []Member) (int, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type change struct {
		server int
		err    error
	}
	first := make(chan change, len(servers))
	for i, m := range servers {
		go func() { first <- change{i, replaced(ctx, s, Server(i).key(cluster), m.Epoch)} }()
	}
	if len(servers) == 0 {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	c := <-first
	stop()
	for range len(servers) - 1 { // so that none of them is there when this returns
		<-first
	}
	return c.server, c.err
}

// replaced waits until what a role held under an epoch is lost, or the role was given back by one that has no log. While the store does not
// answer nothing has changed.
func replaced(ctx context.Context, s Store, key string, epoch uint64) error {
	for seen := Version(""); ; {
		data, v, err := s.Get(ctx, key)
		if err == nil && v == seen && v != "" {
			data, v, err = s.Watch(ctx, key, seen)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var h *Holder
		if err == nil {
			h, err = decodeHolder(key, data)
		}
		switch {
		case errors.Is(err, ErrRecord):
			return err
		case err == nil && h != nil && h.Holds(epoch) && (h.ID != "" || h.Log != ""):
			seen = v
			continue
		case err == nil:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// pause is how long a store that does not answer is left alone.
const pause = time.Second

// current says which of the servers that an attempt runs on were replaced by others that do not continue what they held, as ErrFenced; nil
// if none was.
func current(ctx context.Context, s Store, cluster string, epochs []uint64) error {
	if len(epochs) == 0 {
		return nil
	}
	holders, _, err := holders(ctx, s, cluster, len(epochs))
	if err != nil {
		return err
	}
	var all []error
	for i, epoch := range epochs {
		switch h := holders[i]; {
		case h == nil:
			all = append(all, fmt.Errorf("server %d has epoch %d, but nobody ever had its role: %w", i, epoch, ErrFenced))
		case !h.Holds(epoch):
			all = append(all, fmt.Errorf("server %d has epoch %d, want %d to %d: %w", i, epoch, h.since(), h.Epoch, ErrFenced))
		}
	}
	return errors.Join(all...)
}
