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
// A service account needs the verbs get, list, watch, create and update for leases in coordination.k8s.io.
package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"thole.example/coord"
)

// API is where the API of a cluster is, and how it is asked.
type API struct {
	Server string // https://host:port
	Client *http.Client
	Token  func() (string, error) // a bearer token, which may change; nil: none
}

// Store is the values of one name in one namespace. It implements coord.Store.
type Store struct {
	api             *API
	namespace, name string
	leases          string // URL of all leases of the namespace
}

const (
	patience    = 5 * time.Second // for the answer to a request, so that a cluster that is not there is told
	watchTime   = 5 * time.Minute // after which a watch is made again
	pause       = 200 * time.Millisecond
	objectLimit = 1 << 20  // bytes of a Lease
	listLimit   = 64 << 20 // bytes of a list of them
)

// named is what namespaces and stores may be called.
var named = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Open is the store of a name in a namespace. Nothing is asked yet.
func Open(api *API, namespace, name string) (*Store, error) {
	if !named.MatchString(namespace) || !named.MatchString(name) {
		return nil, fmt.Errorf("coord: namespace %q and name %q, want a-z, 0-9 and -, at most 63 of them", namespace, name)
	}
	path := "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases"
	return &Store{api, namespace, name, strings.TrimSuffix(api.Server, "/") + path}, nil
}

// answer is what the API said.
type answer struct {
	status int
	body   []byte
}

// ask makes one request, and reads the whole answer.
func (s *Store) ask(ctx context.Context, method, url string, object any, limit int64) (answer, error) {
	short, stop := context.WithTimeout(ctx, patience)
	defer stop()
	r, err := s.send(short, method, url, object)
	if err != nil && ctx.Err() == nil && short.Err() != nil {
		err = fmt.Errorf("coord: %s: no answer for %v", s.api.Server, patience)
	}
	if err != nil {
		return answer{}, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return answer{}, fmt.Errorf("coord: answer of %s: %w", s.api.Server, err)
	}
	return answer{r.StatusCode, body}, nil
}

func (s *Store) send(ctx context.Context, method, url string, object any) (*http.Response, error) {
	var body io.Reader
	if object != nil {
		data, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	q, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "application/json")
	q.Header.Set("Content-Type", "application/json")
	if s.api.Token != nil {
		token, err := s.api.Token()
		if err != nil {
			return nil, err
		}
		q.Header.Set("Authorization", "Bearer "+token)
	}
	r, err := s.api.Client.Do(q)
	if err != nil {
		return nil, fmt.Errorf("coord: %w", err)
	}
	return r, nil
}

// wrong puts a status that is not wanted into words, with the API's own.
func (s *Store) wrong(a answer) error {
	var status struct{ Message string }
	hint := ""
	_ = json.Unmarshal(a.body, &status) // what is no status of the API has no message
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
		hint = "; want a service account that may get, list, watch, create and update leases in coordination.k8s.io"
	}
	return fmt.Errorf("coord: %s: HTTP status %d %.300q%s", s.api.Server, a.status, status.Message, hint)
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
	case a.status == http.StatusNotFound:
		return nil, "", s.noLease(a)
	case a.status != http.StatusOK:
		return nil, "", s.wrong(a)
	}
	var l lease
	if err := json.Unmarshal(a.body, &l); err != nil {
		return nil, "", fmt.Errorf("coord: %s: %w: %w", key, err, coord.ErrRecord)
	}
	return s.value(key, &l)
}

// noLease tells a lease that is not there from an API that has no leases at all.
func (s *Store) noLease(a answer) error {
	var status struct{ Details struct{ Kind string } }
	if json.Unmarshal(a.body, &status) != nil || status.Details.Kind != "leases" {
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
	method, url := http.MethodPut, s.at(key)
	if old == "" {
		method, url = http.MethodPost, s.leases
	}
	l, err := s.lease(key, data, old)
	if err != nil {
		return "", err
	}
	a, err := s.ask(ctx, method, url, l, objectLimit)
	if err != nil {
		return "", err
	}
	switch a.status {
	case http.StatusOK, http.StatusCreated:
		var written lease
		if err := json.Unmarshal(a.body, &written); err != nil {
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
	if err == nil && a.status != http.StatusOK {
		err = s.wrong(a)
	}
	if err == nil {
		err = json.Unmarshal(a.body, &all)
	}
	return all, err
}

// List implements coord.Store.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	all, err := s.find(ctx, url.Values{"labelSelector": {storeMark + "=" + s.name}})
	var keys []string
	for _, l := range all.Items {
		if key := l.Metadata.Annotations[keyMark]; l.Metadata.Name == s.object(key) && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, err
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
		changed, err := s.change(ctx, only, all.Metadata.ResourceVersion)
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

// change waits until something of the selected lease has changed after a version; false if the watch ended without.
func (s *Store) change(ctx context.Context, only url.Values, after string) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, watchTime+patience)
	defer stop()
	query := url.Values{"watch": {"1"}, "resourceVersion": {after}, "timeoutSeconds": {fmt.Sprint(int(watchTime.Seconds()))}}
	query["fieldSelector"] = only["fieldSelector"]
	r, err := s.send(ctx, http.MethodGet, s.leases+"?"+query.Encode(), nil)
	if err != nil {
		return false, err
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusGone: // the version is too old
		return false, nil
	case r.StatusCode != http.StatusOK:
		body, _ := io.ReadAll(io.LimitReader(r.Body, objectLimit)) // without it there is the status
		return false, s.wrong(answer{r.StatusCode, body})
	}
	events := json.NewDecoder(io.LimitReader(r.Body, listLimit))
	for {
		var e struct{ Type string }
		if err := events.Decode(&e); err != nil || e.Type == "ERROR" {
			return false, nil // what it has missed the next look sees
		}
		if e.Type != "BOOKMARK" {
			return true, nil
		}
	}
}

// Close implements coord.Store.
func (s *Store) Close() error {
	s.api.Client.CloseIdleConnections()
	return nil
}
