// Package kube keeps the values of a coord.Store in Kubernetes: one Lease (coordination.k8s.io/v1) for each key, over the API's HTTPS and
// JSON. The version of a value is the resourceVersion of its Lease, with which the API compares and sets, and its uid: an update of a
// Lease that was removed would make it again, if it did not say which it is of.
//
//	field of a Lease                           what is in it
//	metadata.name                              NAME-KEY-HASH: the key in letters that names may have, and of its SHA-256 12 digits
//	metadata.labels thole.example/store        NAME of the store: several may be in one namespace
//	metadata.annotations thole.example/key     the key
//	metadata.annotations thole.example/value   the value
//	spec.holderIdentity                        of a role: the address of its holder
//	spec.leaseTransitions                      of a role: its epoch
//	spec.leaseDurationSeconds, spec.renewTime  of a role: for people and their tools; nothing is decided by them
//
// A service account needs the verbs list, watch and create for leases in coordination.k8s.io, and get and update for those that LeaseName
// names.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"thole.example/coord"
	"thole.example/kubeapi"
)

// Store is the values of one name in one namespace. It implements coord.Store.
type Store struct {
	api             *kubeapi.API
	namespace, name string
	leases          string // path of all leases of the namespace
}

const (
	pause       = 200 * time.Millisecond
	objectLimit = 1 << 20  // bytes of a Lease
	listLimit   = 64 << 20 // bytes of a list of them
)

// named is what namespaces and stores may be called.
var named = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Open is the store of a name in a namespace. Nothing is asked yet.
func Open(api *kubeapi.API, namespace, name string) (*Store, error) {
	if !named.MatchString(namespace) || !named.MatchString(name) {
		return nil, fmt.Errorf("coord: namespace %q and name %q, want a-z, 0-9 and -, at most 63 of them", namespace, name)
	}
	path := "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases"
	return &Store{api, namespace, name, path}, nil
}

// ask makes one request, and reads the whole answer.
func (s *Store) ask(ctx context.Context, method, path string, object any, limit int64) (kubeapi.Answer, error) {
	var body []byte
	if object != nil {
		var err error
		if body, err = json.Marshal(object); err != nil {
			return kubeapi.Answer{}, err
		}
	}
	a, err := s.api.Ask(ctx, method, path, kubeapi.JSON, body, limit)
	if err != nil {
		err = fmt.Errorf("coord: %w", err)
	}
	return a, err
}

// wrong puts a status that is not wanted into words, with the API's own.
func (s *Store) wrong(a kubeapi.Answer) error {
	hint := ""
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
		hint = "; want a service account that may get, list, watch, create and update leases in coordination.k8s.io"
	}
	return fmt.Errorf("coord: %s: HTTP status %d %.300q%s", s.api.Server, a.Status, a.Message(), hint)
}

func (s *Store) at(key string) string { return s.leases + "/" + s.object(key) }

// Get implements coord.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, coord.Version, error) {
	if err := coord.CheckKey(key); err != nil {
		return nil, "", err
	}
	a, err := s.ask(ctx, http.MethodGet, s.at(key), nil, objectLimit)
	switch {
	case err != nil:
		return nil, "", err
	case a.Status == http.StatusNotFound:
		return nil, "", s.noLease(a)
	case a.Status != http.StatusOK:
		return nil, "", s.wrong(a)
	}
	var l lease
	if err := json.Unmarshal(a.Body, &l); err != nil {
		return nil, "", fmt.Errorf("coord: %s: %w: %w", key, err, coord.ErrRecord)
	}
	return s.value(key, &l)
}

// noLease tells a lease that is not there from an API that has no leases at all.
func (s *Store) noLease(a kubeapi.Answer) error {
	if a.Kind() != "leases" {
		return s.wrong(a)
	}
	return nil
}

// value is the value that a lease has.
func (s *Store) value(key string, l *lease) ([]byte, coord.Version, error) {
	v, err := l.version()
	if found := l.Metadata.Annotations[keyMark]; err != nil || found != key {
		return nil, "", errors.Join(err, fmt.Errorf("coord: lease %s is that of %q, want key %q: %w",
			l.Metadata.Name, found, key, coord.ErrRecord))
	}
	data := []byte(l.Metadata.Annotations[valueMark])
	return data, v, coord.CheckValue(key, data)
}

// Put implements coord.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte, old coord.Version) (coord.Version, error) {
	if err := coord.CheckPut(key, data); err != nil {
		return "", err
	}
	method, path := http.MethodPut, s.at(key)
	if old == "" {
		method, path = http.MethodPost, s.leases
	}
	l, err := s.lease(key, data, old)
	if err != nil {
		return "", err
	}
	a, err := s.ask(ctx, method, path, l, objectLimit)
	if err != nil {
		return "", err
	}
	switch a.Status {
	case http.StatusOK, http.StatusCreated:
		var written lease
		if err := json.Unmarshal(a.Body, &written); err != nil {
			return "", fmt.Errorf("coord: %s was written, but the answer is no lease: %w", key, err)
		}
		return written.version()
	case http.StatusConflict:
		return "", fmt.Errorf("coord: %s has no version %q any more: %w", key, old, coord.ErrChanged)
	}
	return "", s.wrong(a)
}

// find is the leases that a query selects, and the version of all.
func (s *Store) find(ctx context.Context, query url.Values) (all leaseList, err error) {
	a, err := s.ask(ctx, http.MethodGet, s.leases+"?"+query.Encode(), nil, listLimit)
	if err == nil && a.Status != http.StatusOK {
		err = s.wrong(a)
	}
	if err == nil {
		err = json.Unmarshal(a.Body, &all)
	}
	return all, err
}

// List implements coord.Store.
func (s *Store) List(ctx context.Context, prefix string) ([]coord.Entry, error) {
	leases, err := s.find(ctx, url.Values{"labelSelector": {storeMark + "=" + s.name}})
	var all []coord.Entry
	for i := range leases.Items {
		l := &leases.Items[i]
		key := l.Metadata.Annotations[keyMark]
		if l.Metadata.Name != s.object(key) || !strings.HasPrefix(key, prefix) {
			continue
		}
		data, v, err := s.value(key, l)
		if err != nil {
			return nil, err
		}
		all = append(all, coord.Entry{Key: key, Data: data, Version: v})
	}
	slices.SortFunc(all, func(a, b coord.Entry) int { return strings.Compare(a.Key, b.Key) })
	return all, err
}

// Watch implements coord.Store.
func (s *Store) Watch(ctx context.Context, key string, seen coord.Version) ([]byte, coord.Version, error) {
	if err := coord.CheckKey(key); err != nil {
		return nil, "", err
	}
	only := url.Values{"fieldSelector": {"metadata.name=" + s.object(key)}}
	for {
		all, err := s.find(ctx, only)
		if err != nil {
			return nil, "", err
		}
		var data []byte
		var v coord.Version
		if len(all.Items) > 0 {
			data, v, err = s.value(key, &all.Items[0])
		}
		if err != nil || v != seen {
			return data, v, err
		}
		changed, refused, err := s.api.Change(ctx, s.leases, only, all.Metadata.ResourceVersion)
		switch {
		case err != nil:
			err = fmt.Errorf("coord: %w", err)
		case refused.Status != 0:
			err = s.wrong(refused)
		}
		if err != nil || ctx.Err() != nil {
			return nil, "", errors.Join(err, ctx.Err())
		}
		if !changed { // it was ended by the API
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
}

// Close implements coord.Store.
func (s *Store) Close() error {
	s.api.Client.CloseIdleConnections()
	return nil
}
