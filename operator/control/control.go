// Package control keeps what there is of TholeJobs as package tholejob says it has to be: it watches jobs, their pods and all else that the
// operator made for them, and does what tholejob.Next says. It knows nothing of trainings.
package control

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"thole.example/launch/kubernetes"
	"thole.example/launch/kubernetes/tholejob"
)

// Name is the operator's, as the owner of fields and in events.
const Name = "thole-operator"

// kinds are those of the objects that the operator makes for a job, beside pods.
func kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "ServiceAccount"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "Service"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	}
}

// kindOf is the kind of a name.
func kindOf(kind string) schema.GroupVersionKind {
	for _, one := range kinds() {
		if one.Kind == kind {
			return one
		}
	}
	return schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
}

// object is an object of a kind of which only the metadata are looked at.
func object(kind schema.GroupVersionKind, namespace, name string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	o.SetGroupVersionKind(kind)
	return o
}

// job is a TholeJob that is to be filled.
func job() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: kubernetes.JobGroup, Version: kubernetes.JobVersion, Kind: kubernetes.JobKind})
	return u
}

// Cache says what the operator keeps in memory: all jobs, and of everything else what has the label of one; of some namespaces, or of all
// if there are none.
func Cache(namespaces []string) (cache.Options, error) {
	labelled, err := labels.NewRequirement(kubernetes.LaunchLabel, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	o := cache.Options{DefaultLabelSelector: labels.NewSelector().Add(*labelled), DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{job(): {Label: labels.Everything()}}}
	for _, name := range namespaces {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[name] = cache.Config{}
	}
	return o, nil
}

// key is the namespace and the name of a job.
type key = types.NamespacedName

// Controller looks after jobs.
type Controller struct {
	client.Client
	Live client.Reader // past the cache
	Tell events.EventRecorder
	Log  *slog.Logger

	mu      sync.Mutex
	written map[key]written
	pods    map[key]map[types.UID]read
}

// written is the status that was written last, which the cache may not have yet. Nobody else writes it.
type written struct {
	uid    string
	status tholejob.Status
}

// read is a pod that was read, at a version of it.
type read struct {
	version string
	pod     *tholejob.Pod
}

// Start has a manager run the controller, which looks at so many jobs at once.
func (c *Controller) Start(m ctrl.Manager, workers int) error {
	c.written, c.pods = map[key]written{}, map[key]map[types.UID]read{}
	of := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		at := key{Namespace: o.GetNamespace(), Name: o.GetLabels()[kubernetes.LaunchLabel]}
		return []reconcile.Request{{NamespacedName: at}}
	})
	b := ctrl.NewControllerManagedBy(m).Named("tholejob").For(job()).Watches(&corev1.Pod{}, of).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	for _, kind := range kinds() {
		b = b.WatchesMetadata(object(kind, "", ""), of)
	}
	return b.Complete(c)
}

// Reconcile looks at a job, and does what is to be done.
func (c *Controller) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	u := job()
	if err := c.Get(ctx, q.NamespacedName, u); err != nil {
		if err = client.IgnoreNotFound(err); err == nil {
			c.forget(q.NamespacedName)
		}
		return reconcile.Result{}, err
	}
	j, err := c.job(u)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err) // its definition does not allow that
	}
	state, err := c.state(ctx, j)
	if err != nil {
		return reconcile.Result{}, err
	}
	a := tholejob.Next(j, state)
	if foreign, err := c.foreign(ctx, j, a); err != nil {
		return reconcile.Result{}, err
	} else if len(foreign) > 0 {
		state.Objects = append(state.Objects, foreign...)
		a = tholejob.Next(j, state)
	}
	if err := c.act(ctx, u, j, a); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: a.Again}, nil
}

// job is the job, with the status that was written last.
func (c *Controller) job(u *unstructured.Unstructured) (*tholejob.Job, error) {
	text, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	j, err := tholejob.Read(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.written[client.ObjectKeyFromObject(u)]; ok && w.uid == j.Metadata.UID {
		j.Status = w.status
	}
	return j, nil
}

// forget drops what is remembered of a job that is gone.
func (c *Controller) forget(of key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.written, of)
	delete(c.pods, of)
}

// state is what there is of a job.
func (c *Controller) state(ctx context.Context, j *tholejob.Job) (s *tholejob.State, err error) {
	s = &tholejob.State{Now: time.Now()}
	where := []client.ListOption{client.InNamespace(j.Metadata.Namespace), client.MatchingLabels{kubernetes.LaunchLabel: j.Metadata.Name}}
	for _, kind := range kinds() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := c.List(ctx, list, where...); err != nil {
			return nil, err
		}
		for i := range list.Items {
			s.Objects = append(s.Objects, seen(kind, &list.Items[i]))
		}
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, where...); err != nil {
		return nil, err
	}
	if s.Begun, err = c.begun(ctx, j); err != nil {
		return nil, err
	}
	all, err := c.read(j, pods.Items)
	for i, p := range all {
		if owner := metav1.GetControllerOf(&pods.Items[i]); owner != nil && (string(owner.UID) == j.Metadata.UID || owner.Kind == "StatefulSet") {
			s.Pods = append(s.Pods, p)
		}
	}
	return s, err
}

// begun reports whether the Lease is there by which the first task of a job says that an attempt has begun.
func (c *Controller) begun(ctx context.Context, j *tholejob.Job) (bool, error) {
	l, err := j.Launch()
	if err != nil || j.Status.StartTime != nil || j.Status.CompletionTime != nil { // it is known, or of no interest
		return j.Status.StartTime != nil, nil
	}
	at := client.ObjectKey{Namespace: j.Metadata.Namespace, Name: l.JobLease()}
	err = c.Live.Get(ctx, at, &coordination.Lease{})
	return err == nil, client.IgnoreNotFound(err)
}

// seen is an object as tholejob looks at it.
func seen(kind schema.GroupVersionKind, o *metav1.PartialObjectMetadata) tholejob.Object {
	one := tholejob.Object{Kind: kind.Kind, Name: o.Name, UID: string(o.UID), Leaving: o.DeletionTimestamp != nil}
	if owner := metav1.GetControllerOf(o); owner != nil {
		one.Owner = string(owner.UID)
	}
	_, _ = fmt.Sscan(o.Annotations[tholejob.GenerationMark], &one.Generation) // 0: nobody has said
	return one
}

// read are pods of a job as tholejob looks at them, which are read once for each version of them.
func (c *Controller) read(j *tholejob.Job, pods []corev1.Pod) (all []*tholejob.Pod, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := key{Namespace: j.Metadata.Namespace, Name: j.Metadata.Name}
	before, now := c.pods[of], map[types.UID]read{}
	for i := range pods {
		p := &pods[i]
		r := before[p.UID]
		if r.pod == nil || r.version != p.ResourceVersion {
			text, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			r.version = p.ResourceVersion
			if r.pod, err = tholejob.ReadPod(text); err != nil {
				return nil, err
			}
		}
		now[p.UID] = r
		all = append(all, r.pod)
	}
	c.pods[of] = now
	return all, nil
}

// foreign are objects in the place of those that are to be applied, which are not the job's. The cache does not have what has no label.
func (c *Controller) foreign(ctx context.Context, j *tholejob.Job, a *tholejob.Actions) (all []tholejob.Object, err error) {
	for _, o := range a.Apply {
		kind := kindOf(o.Kind)
		there := object(kind, j.Metadata.Namespace, o.Name)
		if err := c.Live.Get(ctx, client.ObjectKeyFromObject(there), there); client.IgnoreNotFound(err) != nil {
			return nil, err
		} else if err != nil {
			continue
		}
		if one := seen(kind, there); one.Owner != j.Metadata.UID {
			all = append(all, one)
		}
	}
	return all, nil
}

// note remembers a status that was written.
func (c *Controller) note(of key, uid string, s *tholejob.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written[of] = written{uid, *s}
}

// same reports whether two statuses say the same.
func same(a, b *tholejob.Status) bool { return reflect.DeepEqual(a, b) }

// finalizersWithout are all but the operator's.
func finalizersWithout(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(f string) bool { return f == tholejob.Finalizer })
}
