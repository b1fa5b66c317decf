// Package etcd keeps the values of a coord.Store in an etcd cluster, version 3.4 or newer: one key each, below a prefix. The version of
// a value is etcd's revision of its last change; a Put is a transaction that compares it. Leases of etcd are not used: how long a
// role is held is counted by those who claim it.
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"thole.example/coord"
)

// Store is the values below a prefix of a cluster. It implements coord.Store.
type Store struct {
	client *clientv3.Client
	prefix string // "", or ends with a slash
	names  string // of the endpoints, for errors
}

// patience is how long a request waits for an answer at most, so that a cluster that is not there is told.
const patience = 5 * time.Second

// Open is the store below a prefix of the cluster that listens at the endpoints, "host:port" each. Config is nil for connections in
// clear. Nothing is asked yet: a cluster that does not answer is one whose requests fail.
func Open(endpoints []string, prefix string, config *tls.Config) (*Store, error) {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		if err := coord.CheckKey(prefix); err != nil {
			return nil, err
		}
		prefix += "/"
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: config, Logger: zap.NewNop(), DialTimeout: patience,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: patience, // else a watch over a broken network waits for ever
	})
	if err != nil {
		return nil, fmt.Errorf("coord: etcd at %s: %w", strings.Join(endpoints, ", "), err)
	}
	return &Store{c, prefix, strings.Join(endpoints, ", ")}, nil
}

// wrap says where an error comes from, and why if that was that nothing came.
func (s *Store) wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rpctypes.ErrTimeout)) {
		err = fmt.Errorf("no answer for %v: nobody listens there, or it wants TLS, or a certificate", patience)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("coord: etcd at %s: %w", s.names, err)
}

// Get implements coord.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, coord.Version, error) {
	data, v, _, err := s.get(ctx, key)
	return data, v, err
}

// get is Get, with the revision of the whole store at which that was the value.
func (s *Store) get(ctx context.Context, key string) ([]byte, coord.Version, int64, error) {
	if err := coord.CheckKey(key); err != nil {
		return nil, "", 0, err
	}
	short, stop := context.WithTimeout(ctx, patience)
	defer stop()
	r, err := s.client.Get(short, s.prefix+key)
	if err != nil {
		return nil, "", 0, s.wrap(ctx, err)
	}
	if len(r.Kvs) == 0 {
		return nil, "", r.Header.Revision, nil
	}
	kv := r.Kvs[0]
	return kv.Value, version(kv.ModRevision), r.Header.Revision, coord.CheckValue(key, kv.Value)
}

func version(revision int64) coord.Version { return coord.Version(strconv.FormatInt(revision, 10)) }

// Put implements coord.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte, old coord.Version) (coord.Version, error) {
	if err := coord.CheckPut(key, data); err != nil {
		return "", err
	}
	revision, err := strconv.ParseInt("0"+string(old), 10, 64)
	if err != nil {
		return "", fmt.Errorf("coord: %s: version %q, want a number", key, old)
	}
	short, stop := context.WithTimeout(ctx, patience)
	defer stop()
	at := s.prefix + key
	r, err := s.client.Txn(short).If(clientv3.Compare(clientv3.ModRevision(at), "=", revision)).Then(clientv3.OpPut(at, string(data))).Commit()
	if err != nil {
		return "", s.wrap(ctx, err)
	}
	if !r.Succeeded {
		return "", fmt.Errorf("coord: %s has no version %q any more: %w", key, old, coord.ErrChanged)
	}
	return version(r.Header.Revision), nil
}

// List implements coord.Store.
func (s *Store) List(ctx context.Context, prefix string) ([]coord.Entry, error) {
	short, stop := context.WithTimeout(ctx, patience)
	defer stop()
	r, err := s.client.Get(short, s.prefix+prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, s.wrap(ctx, err)
	}
	var all []coord.Entry
	for _, kv := range r.Kvs {
		key := strings.TrimPrefix(string(kv.Key), s.prefix)
		if coord.CheckKey(key) != nil {
			continue
		}
		if err := coord.CheckValue(key, kv.Value); err != nil {
			return nil, err
		}
		all = append(all, coord.Entry{Key: key, Data: kv.Value, Version: version(kv.ModRevision)})
	}
	slices.SortFunc(all, func(a, b coord.Entry) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// Watch implements coord.Store.
func (s *Store) Watch(ctx context.Context, key string, seen coord.Version) ([]byte, coord.Version, error) {
	for {
		data, v, revision, err := s.get(ctx, key)
		if err != nil || v != seen {
			return data, v, err
		}
		if err := s.change(ctx, key, revision); err != nil {
			return nil, "", s.wrap(ctx, err)
		}
	}
}

// change waits until something of a key has changed after a revision, or until that is too long ago to say.
func (s *Store) change(ctx context.Context, key string, revision int64) error {
	ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer stop()
	for r := range s.client.Watch(ctx, s.prefix+key, clientv3.WithRev(revision+1)) {
		if err := r.Err(); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return err
		} else if err != nil || len(r.Events) > 0 {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.New("the watch has ended")
}

// Close implements coord.Store.
func (s *Store) Close() error { return s.client.Close() }
