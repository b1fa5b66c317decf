// Package kubeapi asks the API of a Kubernetes cluster over HTTPS: as a pod by its service account, or as a user by a kubeconfig file. What
// is asked, and what objects look like, is the caller's. ADR 34 says why it is no client library.
package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// API is where the API of a cluster is, and how it is asked. It may be used concurrently.
type API struct {
	Server    string // https://host:port
	Client    *http.Client
	Token     func() (string, error) // a bearer token, which may change; nil: none
	Namespace string                 // the usual one of the user or the pod; "": none is known
	Patience  time.Duration          // for the answer to a request, so that a cluster that is not there is told; 0: Patience
}

const (
	// Patience is how long an answer may take, where nobody says something else.
	Patience    = 5 * time.Second
	watchTime   = 5 * time.Minute // after which a watch is made again
	listLimit   = 64 << 20        // bytes of events of a watch
	refuseLimit = 1 << 20         // bytes of the reason why something is refused
)

// Kinds of bodies.
const (
	JSON  = "application/json"
	YAML  = "application/yaml"
	Apply = "application/apply-patch+yaml" // of a server-side apply, with http.MethodPatch
)

// Answer is what the API said.
type Answer struct {
	Status int // of HTTP
	Body   []byte
}

// Message is the API's own text of an answer that is none of what was asked; "" if it has none.
func (a Answer) Message() string {
	var status struct{ Message string }
	_ = json.Unmarshal(a.Body, &status) // what is no status of the API has no message
	return status.Message
}

// Kind is that of the objects of which the API says that they are not there; "" if it does not say so.
func (a Answer) Kind() string {
	var status struct{ Details struct{ Kind string } }
	_ = json.Unmarshal(a.Body, &status) // as above
	return status.Details.Kind
}

// Ask makes one request, and reads the whole answer, of at most limit bytes. The path begins with a slash and may have a query.
func (a *API) Ask(ctx context.Context, method, path, kind string, body []byte, limit int64) (Answer, error) {
	patience := a.Patience
	if patience == 0 {
		patience = Patience
	}
	short, stop := context.WithTimeout(ctx, patience)
	defer stop()
	r, err := a.Send(short, method, path, kind, body)
	if err != nil && ctx.Err() == nil && short.Err() != nil {
		err = fmt.Errorf("%s: no answer for %v", a.Server, patience)
	}
	if err != nil {
		return Answer{}, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("answer of %s: %w", a.Server, err)
	}
	return Answer{r.StatusCode, text}, nil
}

// Send makes a request whose answer the caller reads and closes.
func (a *API) Send(ctx context.Context, method, path, kind string, body []byte) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(a.Server, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", JSON+", */*")
	q.Header.Set("Content-Type", kind)
	if a.Token != nil {
		token, err := a.Token()
		if err != nil {
			return nil, err
		}
		q.Header.Set("Authorization", "Bearer "+token)
	}
	return a.Client.Do(q)
}

// Change waits until something of what a query selects from a list has changed after a version of it; false if the watch ended without, as
// it does after some minutes. Where the API refuses the watch, the answer says why and its status is not 0.
func (a *API) Change(ctx context.Context, path string, query url.Values, after string) (changed bool, refused Answer, err error) {
	ctx, stop := context.WithTimeout(ctx, watchTime+Patience)
	defer stop()
	q := url.Values{"watch": {"1"}, "resourceVersion": {after}, "timeoutSeconds": {fmt.Sprint(int(watchTime.Seconds()))}}
	for key, values := range query {
		q[key] = values
	}
	r, err := a.Send(ctx, http.MethodGet, path+"?"+q.Encode(), JSON, nil)
	if err != nil {
		return false, Answer{}, err
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusGone: // the version is too old
		return false, Answer{}, nil
	case r.StatusCode != http.StatusOK:
		body, _ := io.ReadAll(io.LimitReader(r.Body, refuseLimit)) // without it there is the status
		return false, Answer{r.StatusCode, body}, nil
	}
	events := json.NewDecoder(io.LimitReader(r.Body, listLimit))
	for {
		var e struct{ Type string }
		if err := events.Decode(&e); err != nil || e.Type == "ERROR" {
			return false, Answer{}, nil // what it has missed the next look sees
		}
		if e.Type != "BOOKMARK" {
			return true, Answer{}, nil
		}
	}
}
