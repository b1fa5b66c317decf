package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"thole.example/kubeapi"
)

// Cluster is the namespace of a cluster, with the launches there. It may be used concurrently.
type Cluster struct {
	API       *kubeapi.API
	Namespace string
}

// ErrNone is that of a launch that is not there.
var ErrNone = errors.New("there is no such launch")

const (
	objectLimit = 4 << 20  // bytes of an answer about an object
	listLimit   = 64 << 20 // bytes of a list of them
	look        = 500 * time.Millisecond
)

// ask makes a request. An answer with a status that is none of these is an error.
func (c *Cluster) ask(ctx context.Context, method, path string, body []byte, want ...int) (kubeapi.Answer, error) {
	kind := map[string]string{http.MethodPatch: kubeapi.Apply, http.MethodPost: kubeapi.YAML}[method]
	limit := int64(objectLimit)
	if method == http.MethodGet {
		limit = listLimit
	}
	a, err := c.API.Ask(ctx, method, path, cmp.Or(kind, kubeapi.JSON), body, limit)
	if err != nil {
		return a, fmt.Errorf("kubernetes: %w", err)
	}
	if a.Status/100 == 2 || slices.Contains(want, a.Status) {
		return a, nil
	}
	hint := ""
	switch a.Status {
	case http.StatusUnauthorized:
		hint = "; want a kubeconfig whose token or certificate is valid"
	case http.StatusForbidden:
		hint = "; want a user with the ClusterRole edit, and roles and rolebindings, in the namespace " + c.Namespace
	}
	return a, fmt.Errorf("kubernetes: %s %s: HTTP status %d %.500q%s", method, path, a.Status, a.Message(), hint)
}

// meta is what is read of any object.
type meta struct {
	Metadata struct {
		Name, UID string
		Labels    map[string]string
	}
}

// Free checks that a launch can be made: that it is not there already, and no object of its names that is no part of one.
func (c *Cluster) Free(ctx context.Context, l *Launch) error {
	all := l.Objects()
	for i := range all {
		if err := c.free(ctx, l, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// Apply makes the objects of a launch, for which Free has found room.
func (c *Cluster) Apply(ctx context.Context, l *Launch) error {
	all := l.Objects()
	for i := range all {
		o := &all[i]
		text, err := o.YAML()
		if err != nil {
			return err
		}
		q := url.Values{"fieldManager": {"thole"}, "force": {"true"}, "fieldValidation": {"Strict"}}
		if _, err := c.ask(ctx, http.MethodPatch, o.resource.path(o.namespace)+"/"+o.Name+"?"+q.Encode(), text); err != nil {
			return err
		}
	}
	return nil
}

// CreateSecret creates the own Secret of a launch whose ServiceAccount is there, with which it goes. It reports whether it was not there
// before: one that is there stays as it is.
func (c *Cluster) CreateSecret(ctx context.Context, l *Launch, now time.Time) (created bool, err error) {
	core := "/api/v1/namespaces/" + c.Namespace
	a, err := c.ask(ctx, http.MethodGet, core+"/serviceaccounts/"+l.Name, nil, http.StatusNotFound)
	if err != nil {
		return false, err
	}
	if a.Status == http.StatusNotFound {
		return false, fmt.Errorf("kubernetes: %s in the namespace %s: %w: want its ServiceAccount applied before", l.Name, c.Namespace, ErrNone)
	}
	var account meta
	if err := json.Unmarshal(a.Body, &account); err != nil {
		return false, fmt.Errorf("kubernetes: ServiceAccount %s: %w", l.Name, err)
	}
	secret, err := l.Secret(now)
	if err != nil {
		return false, err
	}
	secret.own("v1", "ServiceAccount", l.Name, account.Metadata.UID)
	text, err := secret.YAML()
	if err != nil {
		return false, err
	}
	a, err = c.ask(ctx, http.MethodPost, core+"/secrets?fieldManager=thole&fieldValidation=Strict", text, http.StatusConflict)
	return err == nil && a.Status != http.StatusConflict, err
}

// free checks that an object is not there, or is left of a launch of the name.
func (c *Cluster) free(ctx context.Context, l *Launch, o *Object) error {
	a, err := c.ask(ctx, http.MethodGet, o.resource.path(o.namespace)+"/"+o.Name, nil, http.StatusNotFound)
	if err != nil {
		return err
	}
	if a.Status == http.StatusNotFound {
		if need := map[string]string{"JobSet": "the controller of jobset.x-k8s.io, or no --jobset",
			JobKind: "the operator (deploy/operator), or no --operator"}[o.Kind]; need != "" && a.Kind() != o.resource.plural {
			return fmt.Errorf("kubernetes: the cluster has no %ss: want %s", o.Kind, need)
		}
		return nil
	}
	var m meta
	if err := json.Unmarshal(a.Body, &m); err != nil {
		return fmt.Errorf("kubernetes: %s %s: %w", o.Kind, o.Name, err)
	}
	switch owner := m.Metadata.Labels[LaunchLabel]; {
	case owner != l.Name:
		return fmt.Errorf("kubernetes: there is a %s %s in the namespace %s that is no part of a launch: want another --name", o.Kind, o.Name,
			o.namespace)
	case slices.Contains([]string{"StatefulSet", "Job", "JobSet", JobKind}, o.Kind):
		return fmt.Errorf("kubernetes: the launch %s is in the namespace %s already: want another --name, or thole launch stop --on kubernetes "+
			"--namespace %[2]s --name %[1]s before", l.Name, o.namespace)
	}
	return nil
}

// selected is the query of what has a label.
func selected(label, value string) string {
	return "?" + url.Values{"labelSelector": {label + "=" + value}}.Encode()
}

// Pods are those of a launch.
func (c *Cluster) Pods(ctx context.Context, name string) ([]Pod, error) {
	a, err := c.ask(ctx, http.MethodGet, "/api/v1/namespaces/"+c.Namespace+"/pods"+selected(LaunchLabel, name), nil)
	if err != nil {
		return nil, err
	}
	var list struct{ Items []podObject }
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return nil, fmt.Errorf("kubernetes: pods: %w", err)
	}
	var all []Pod
	for i := range list.Items {
		all = append(all, list.Items[i].pod())
	}
	return sorted(all), nil
}

// Job is how far the workers of a launch are.
type Job struct {
	Done   bool      `json:"done"`
	Failed bool      `json:"failed"`
	Why    string    `json:"why,omitempty"` // it failed, or does not begin
	Began  time.Time `json:"began"`

	wanted int
}

// jobObject is what is read of a Job, a JobSet or a TholeJob.
type jobObject struct {
	Metadata struct {
		Name              string
		CreationTimestamp time.Time
	}
	Spec   struct{ Completions int }
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
	}
}

// job is what the object says.
func (o *jobObject) job() Job {
	j := Job{Began: o.Metadata.CreationTimestamp, wanted: o.Spec.Completions}
	for _, c := range o.Status.Conditions {
		if c.Status != "True" {
			continue
		}
		switch c.Type {
		case "Complete", "Completed":
			j.Done = true
		case "Failed":
			j.Failed, j.Why = true, fmt.Sprintf("%s: %s", c.Reason, c.Message)
		case "Suspended":
			j.Why = "suspended: it waits for its turn in the queue, or for who has suspended it"
		}
	}
	return j
}

// Job is that of a launch; ErrNone: it has none.
func (c *Cluster) Job(ctx context.Context, name string) (Job, error) {
	for _, kind := range []string{JobKind, "JobSet", "Job"} {
		all := resources()
		r := all[slices.IndexFunc(all, func(r resource) bool { return r.kind == kind })]
		a, err := c.ask(ctx, http.MethodGet, r.path(c.Namespace)+selected(LaunchLabel, name), nil, http.StatusNotFound, http.StatusForbidden)
		if err != nil {
			return Job{}, err
		}
		if a.Status != http.StatusOK {
			continue
		}
		var list struct{ Items []jobObject }
		if err := json.Unmarshal(a.Body, &list); err != nil {
			return Job{}, fmt.Errorf("kubernetes: %ss of %s: %w", kind, name, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if o.Metadata.Name == name || strings.HasPrefix(o.Metadata.Name, name+"-worker") { // another Job creates the Secret
				return o.job(), nil
			}
		}
	}
	return Job{}, fmt.Errorf("kubernetes: %s in the namespace %s: %w", name, c.Namespace, ErrNone)
}

// Remove removes a launch: its objects, and when its pods have ended the leases of its servers. Pods have their grace, until hurry is
// closed. It answers with how many objects there were.
func (c *Cluster) Remove(ctx context.Context, name string, hurry <-chan struct{}) (objects int, err error) {
	for _, r := range slices.Backward(resources()) {
		n, err := c.removeAll(ctx, r.path(c.Namespace), LaunchLabel, name, nil)
		if err != nil {
			return objects, err
		}
		objects += n
	}
	zero := 0
	for {
		pods, err := c.Pods(ctx, name)
		if err != nil {
			return objects, err
		}
		if len(pods) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return objects, ctx.Err()
		case <-hurry:
			if _, err := c.removeAll(ctx, "/api/v1/namespaces/"+c.Namespace+"/pods", LaunchLabel, name, &zero); err != nil {
				return objects, err
			}
			hurry = nil
		case <-time.After(look):
		}
	}
	_, err = c.removeAll(ctx, "/apis/coordination.k8s.io/v1/namespaces/"+c.Namespace+"/leases", storeLabel, name, nil)
	return objects, err
}

// removeAll removes the objects of a kind that have a label, and what they have made. Kinds that the cluster does not know, or does not let
// this user see, have none.
func (c *Cluster) removeAll(ctx context.Context, path, label, value string, grace *int) (int, error) {
	a, err := c.ask(ctx, http.MethodGet, path+selected(label, value), nil, http.StatusNotFound, http.StatusForbidden)
	if err != nil || a.Status != http.StatusOK {
		return 0, err
	}
	var list struct{ Items []meta }
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return 0, fmt.Errorf("kubernetes: %s: %w", path, err)
	}
	how, err := json.Marshal(struct {
		Policy string `json:"propagationPolicy"`
		Grace  *int   `json:"gracePeriodSeconds,omitempty"`
	}{"Background", grace})
	if err != nil {
		return 0, err
	}
	for _, o := range list.Items {
		if _, err := c.ask(ctx, http.MethodDelete, path+"/"+o.Metadata.Name, how, http.StatusNotFound); err != nil {
			return 0, err
		}
	}
	return len(list.Items), nil
}
