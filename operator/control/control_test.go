package control

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"thole.example/launch/kubernetes/tholejob"
)

// small is a job as the API gives it.
const small = `{"apiVersion":"thole.example/v1alpha1","kind":"TholeJob","metadata":{"name":"a","namespace":"b","uid":"u","generation":3},"spec":{"image":"i",
	"files":{"a":"b"}}}`

// TestOwned: what is made for a job has its kind in the table of those that are watched, belongs to it, and says of which generation it is.
func TestOwned(t *testing.T) {
	u := job()
	if err := u.UnmarshalJSON([]byte(small)); err != nil {
		t.Fatal(err)
	}
	j, err := (&Controller{}).job(u)
	if err != nil {
		t.Fatal(err)
	}
	l, err := j.Launch()
	if err != nil {
		t.Fatal(err)
	}
	all := append(l.ServerObjects(), l.WorkerPod(0, 0, -1))
	if len(all) != len(kinds())+1 {
		t.Errorf("%d objects and %d kinds, want one of each, and a pod", len(all), len(kinds()))
	}
	for i := range all {
		o, err := owned(u, j, &all[i])
		if err != nil {
			t.Fatal(err)
		}
		if o.GroupVersionKind() != kindOf(all[i].Kind) {
			t.Errorf("%s is a %v, want it in the table of kinds", all[i].Kind, o.GroupVersionKind())
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var m metav1.PartialObjectMetadata
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if one := seen(kindOf(all[i].Kind), &m); one.Owner != "u" || one.Generation != 3 || one.Name != all[i].Name || one.Leaving {
			t.Errorf("%s is seen as %+v", all[i].Kind, one)
		}
		if owner := metav1.GetControllerOf(o); owner == nil || owner.Kind != "TholeJob" || owner.Name != "a" || !*owner.BlockOwnerDeletion {
			t.Errorf("the owner of %s is %+v", all[i].Kind, owner)
		}
	}
}

// TestRemembered: a status that was written counts, until the job is another one.
func TestRemembered(t *testing.T) {
	u := job()
	if err := u.UnmarshalJSON([]byte(small)); err != nil {
		t.Fatal(err)
	}
	c := &Controller{written: map[key]written{{Namespace: "b", Name: "a"}: {"u", tholejob.Status{Restarts: 7}}}}
	if j, err := c.job(u); err != nil || j.Status.Restarts != 7 {
		t.Errorf("%+v, %v, want 7 restarts", j, err)
	}
	u.SetUID("another")
	if j, err := c.job(u); err != nil || j.Status.Restarts != 0 {
		t.Errorf("%+v, %v, want no restarts", j, err)
	}
}

// TestCache: only jobs are kept without the label.
func TestCache(t *testing.T) {
	o, err := Cache([]string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if o.DefaultLabelSelector.String() != "thole.example/launch" || len(o.DefaultNamespaces) != 2 || len(o.ByObject) != 1 {
		t.Errorf("%v, %v, %v", o.DefaultLabelSelector, o.DefaultNamespaces, o.ByObject)
	}
	for object, by := range o.ByObject {
		if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "TholeJob" || !by.Label.Empty() || strings.Contains(by.Label.String(), "thole") {
			t.Errorf("%s is selected by %v", kind, by.Label)
		}
	}
}
