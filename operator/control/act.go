package control

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"thole.example/launch/kubernetes"
	"thole.example/launch/kubernetes/tholejob"
)

// storeLabel is that of leases which the servers of a launch make.
const storeLabel = "thole.example/store"

// atOnce is how many requests are made at once for a job.
const atOnce = 16

// act does what is to be done. What has failed is tried again from the beginning: all of it may be done twice.
func (c *Controller) act(ctx context.Context, u *unstructured.Unstructured, j *tholejob.Job, a *tholejob.Actions) error {
	if a.Adopt {
		return c.adopt(ctx, u)
	}
	if a.Secret {
		if err := c.secret(ctx, u, j); err != nil {
			return err
		}
	}
	if err := c.make(ctx, u, j, a); err != nil {
		return err
	}
	if err := c.remove(ctx, j, a.Delete); err != nil {
		return err
	}
	if a.Sweep {
		left := client.MatchingLabels{storeLabel: j.Metadata.Name}
		err := c.DeleteAllOf(ctx, &coordination.Lease{}, client.InNamespace(j.Metadata.Namespace), left)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if a.Release {
		if err := c.release(ctx, u); err != nil || j.Metadata.DeletionTimestamp != nil { // nobody would read what else there is to say
			return err
		}
	}
	if err := c.tell(ctx, u, j, a); err != nil {
		return err
	}
	if a.Remove {
		uid := types.UID(j.Metadata.UID)
		background := client.PropagationPolicy(metav1.DeletePropagationBackground)
		return client.IgnoreNotFound(c.Delete(ctx, u, client.Preconditions{UID: &uid}, background))
	}
	return nil
}

// secret creates the Secret of a job, which the operator may not read: one that is there is the job's own, as the name has a part of its
// uid.
func (c *Controller) secret(ctx context.Context, u *unstructured.Unstructured, j *tholejob.Job) error {
	l, err := j.Launch()
	if err != nil {
		return err
	}
	secret, err := l.Secret(time.Now())
	if err != nil {
		return err
	}
	o, err := owned(u, j, &secret)
	if err != nil {
		return err
	}
	if err := c.Create(ctx, o, client.FieldOwner(Name)); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// make makes pods, and other objects or what they have become.
func (c *Controller) make(ctx context.Context, u *unstructured.Unstructured, j *tholejob.Job, a *tholejob.Actions) error {
	each, within := errgroup.WithContext(ctx)
	each.SetLimit(atOnce)
	for i := range a.Create {
		each.Go(func() error {
			o, err := owned(u, j, &a.Create[i])
			if err != nil {
				return err
			}
			err = c.Create(within, o, client.FieldOwner(Name))
			if apierrors.IsAlreadyExists(err) { // the cache has not heard of it yet
				return nil
			}
			return err
		})
	}
	if err := each.Wait(); err != nil {
		return err
	}
	for i := range a.Apply { // in their order
		o, err := owned(u, j, &a.Apply[i])
		if err != nil {
			return err
		}
		if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(Name), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

// owned is an object as the API takes it, which goes when the job goes.
func owned(u *unstructured.Unstructured, j *tholejob.Job, o *kubernetes.Object) (*unstructured.Unstructured, error) {
	text, err := o.YAML()
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{}
	if err := made.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	made.SetAnnotations(map[string]string{tholejob.GenerationMark: strconv.FormatInt(j.Metadata.Generation, 10)})
	made.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())})
	return made, nil
}

// remove deletes objects, unless others have taken their names.
func (c *Controller) remove(ctx context.Context, j *tholejob.Job, all []tholejob.Removal) error {
	each, within := errgroup.WithContext(ctx)
	each.SetLimit(atOnce)
	for _, r := range all {
		each.Go(func() error {
			uid := types.UID(r.UID)
			how := []client.DeleteOption{client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground)}
			if r.Now {
				how = append(how, client.GracePeriodSeconds(0))
			}
			err := c.Delete(within, object(kindOf(r.Kind), j.Metadata.Namespace, r.Name), how...)
			if apierrors.IsConflict(err) { // it is another one by now
				return nil
			}
			return client.IgnoreNotFound(err)
		})
	}
	return each.Wait()
}

// tell writes the status if it says something new, and events.
func (c *Controller) tell(ctx context.Context, u *unstructured.Unstructured, j *tholejob.Job, a *tholejob.Actions) error {
	if !same(a.Status, &j.Status) {
		patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": a.Status}}) // in place of what is there
		if err != nil {
			return err
		}
		err = c.Status().Patch(ctx, u.DeepCopy(), client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(Name))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		c.note(client.ObjectKeyFromObject(u), j.Metadata.UID, a.Status)
	}
	for _, e := range a.Tell {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		c.Log.Info(e.Message, "job", j.Metadata.Namespace+"/"+j.Metadata.Name, "reason", e.Reason)
		c.Tell.Eventf(u, nil, kind, e.Reason, "Reconcile", "%.1000s", e.Message)
	}
	return nil
}

// adopt gives a job the finalizer and the label by which its pods, and thole launch, find it.
func (c *Controller) adopt(ctx context.Context, u *unstructured.Unstructured) error {
	after := u.DeepCopy()
	if finalizers := u.GetFinalizers(); !slices.Contains(finalizers, tholejob.Finalizer) {
		after.SetFinalizers(append(finalizers, tholejob.Finalizer))
	}
	marks := map[string]string{kubernetes.LaunchLabel: u.GetName()}
	for name, value := range u.GetLabels() {
		if name != kubernetes.LaunchLabel {
			marks[name] = value
		}
	}
	after.SetLabels(marks)
	return c.change(ctx, u, after)
}

// release takes the finalizer away.
func (c *Controller) release(ctx context.Context, u *unstructured.Unstructured) error {
	after := u.DeepCopy()
	after.SetFinalizers(finalizersWithout(u.GetFinalizers()))
	return client.IgnoreNotFound(c.change(ctx, u, after))
}

// change changes a job, unless somebody else has done so meanwhile: then it is looked at again.
func (c *Controller) change(ctx context.Context, before, after *unstructured.Unstructured) error {
	err := c.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(Name))
	if apierrors.IsConflict(err) {
		return errors.New("the job was changed meanwhile")
	}
	return err
}
