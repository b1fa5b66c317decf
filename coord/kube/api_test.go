package kube_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// api is as much of a Kubernetes API as leases want: versions of objects that are compared, lists, watches from a version on.
type api struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string]any // by path
	events  []event
	changed chan struct{}
	token   string // that is wanted
	broken  bool   // watches end at once

	watching atomic.Int64 // watches that were begun
}

type event struct {
	version int
	Type    string         `json:"type"`
	Object  map[string]any `json:"object"`
}

func newAPI() *api {
	return &api{version: 100, objects: map[string]map[string]any{}, changed: make(chan struct{}), token: "secret"}
}

func field(object map[string]any, path ...string) string {
	for _, p := range path[:len(path)-1] {
		object, _ = object[p].(map[string]any)
	}
	text, _ := object[path[len(path)-1]].(string)
	return text
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","status":"Failure","message":%q,"reason":%q,"code":%d,"details":{"kind":"leases"}}`, message, reason, code)
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const root = "/apis/coordination.k8s.io/v1/namespaces/"
	if r.Header.Get("Authorization") != "Bearer "+a.token {
		refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	namespace, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, root), "/")
	if name, isLease := strings.CutPrefix(rest, "leases"); ok && isLease && strings.HasPrefix(r.URL.Path, root) {
		switch name = strings.TrimPrefix(name, "/"); {
		case r.Method == http.MethodGet && name == "" && r.URL.Query().Get("watch") != "":
			a.watch(w, r, namespace)
		case r.Method == http.MethodGet && name == "":
			a.list(w, r, namespace)
		default:
			a.one(w, r, namespace, name)
		}
		return
	}
	http.NotFound(w, r)
}

// one is a request for one object.
func (a *api) one(w http.ResponseWriter, r *http.Request, namespace, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var object map[string]any
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&object); err != nil || field(object, "metadata", "namespace") != namespace {
			refuse(w, http.StatusBadRequest, "BadRequest", fmt.Sprint("no object of the namespace: ", err))
			return
		}
	}
	if r.Method == http.MethodPost {
		name = field(object, "metadata", "name")
	}
	path := namespace + "/" + name
	there, found := a.objects[path]
	switch {
	case r.Method == http.MethodPost && found:
		refuse(w, http.StatusConflict, "AlreadyExists", name+" already exists")
	case r.Method == http.MethodPost && field(object, "metadata", "resourceVersion") != "":
		refuse(w, http.StatusBadRequest, "BadRequest", "resourceVersion should not be set on objects to be created")
	case r.Method == http.MethodGet && !found:
		refuse(w, http.StatusNotFound, "NotFound", name+" not found")
	case r.Method == http.MethodPut && field(object, "metadata", "uid") != "" && field(object, "metadata", "uid") != field(there, "metadata", "uid"):
		refuse(w, http.StatusConflict, "Conflict", "Precondition failed: UID in precondition")
	case r.Method == http.MethodPut && !found: // so it is with leases, whatever their version
		w.WriteHeader(http.StatusCreated)
		a.write(w, path, "ADDED", object)
	case r.Method == http.MethodPut && field(object, "metadata", "resourceVersion") != field(there, "metadata", "resourceVersion"):
		refuse(w, http.StatusConflict, "Conflict", "the object has been modified")
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		a.write(w, path, "ADDED", object)
	case r.Method == http.MethodPut:
		a.write(w, path, "MODIFIED", object)
	default:
		_ = json.NewEncoder(w).Encode(there)
	}
}

// write keeps an object, and tells those who watch.
func (a *api) write(w http.ResponseWriter, path, kind string, object map[string]any) {
	a.version += 3
	meta := object["metadata"].(map[string]any)
	meta["resourceVersion"] = strconv.Itoa(a.version)
	if field(object, "metadata", "uid") == "" {
		meta["uid"] = fmt.Sprint("uid-", a.version)
	}
	a.objects[path] = object
	a.events = append(a.events, event{a.version, kind, object})
	close(a.changed)
	a.changed = make(chan struct{})
	_ = json.NewEncoder(w).Encode(object)
}

// selects reports whether an object is one of those that a request asks for.
func selects(r *http.Request, namespace string, object map[string]any) bool {
	name, byName := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	label, value, byLabel := strings.Cut(r.URL.Query().Get("labelSelector"), "=")
	return field(object, "metadata", "namespace") == namespace && (!byName || field(object, "metadata", "name") == name) &&
		(!byLabel || field(object, "metadata", "labels", label) == value)
}

func (a *api) list(w http.ResponseWriter, r *http.Request, namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	items := []any{}
	for _, path := range slices.Sorted(maps.Keys(a.objects)) {
		if selects(r, namespace, a.objects[path]) {
			items = append(items, a.objects[path])
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(a.version)}, "items": items})
}

func (a *api) watch(w http.ResponseWriter, r *http.Request, namespace string) {
	after, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest", "invalid resource version")
		return
	}
	a.watching.Add(1)
	fmt.Fprintln(w, `{"type":"BOOKMARK","object":{}}`)
	for n := 0; ; {
		a.mu.Lock()
		events, changed, broken := a.events[n:], a.changed, a.broken
		a.mu.Unlock()
		n += len(events)
		for _, e := range events {
			if e.version > after && selects(r, namespace, e.Object) {
				_ = json.NewEncoder(w).Encode(e)
			}
		}
		w.(http.Flusher).Flush()
		if broken {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}
