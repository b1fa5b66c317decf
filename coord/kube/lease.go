package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"thole.example/coord"
)

const (
	storeMark = "thole.example/store"
	keyMark   = "thole.example/key"
	valueMark = "thole.example/value"
	byMark    = "app.kubernetes.io/managed-by"
)

// lease is what we know of a Lease.
type lease struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   meta   `json:"metadata"`
	Spec       spec   `json:"spec"`
}

type meta struct {
	Name            string            `json:"name,omitempty"`
	Namespace       string            `json:"namespace,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	UID             string            `json:"uid,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

type spec struct {
	HolderIdentity       string `json:"holderIdentity,omitempty"`
	LeaseDurationSeconds int32  `json:"leaseDurationSeconds,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"`
	LeaseTransitions     int32  `json:"leaseTransitions,omitempty"`
}

type leaseList struct {
	Metadata meta    `json:"metadata"`
	Items    []lease `json:"items"`
}

// object is the name of a key's lease.
func (s *Store) object(key string) string { return LeaseName(s.name, key) }

// LeaseName is the name of the Lease that has the value of a key in the store of a name.
func LeaseName(store, key string) string {
	const most = 100 // letters of the key
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, key)
	sum := sha256.Sum256([]byte(key))
	return store + "-" + readable[:min(most, len(readable))] + "-" + hex.EncodeToString(sum[:6])
}

// version is the resourceVersion and the uid of a lease that is there.
func (l *lease) version() (coord.Version, error) {
	m := &l.Metadata
	if m.ResourceVersion == "" || m.UID == "" {
		return "", fmt.Errorf("coord: lease %s has the resourceVersion %q and the uid %q, want both", m.Name, m.ResourceVersion, m.UID)
	}
	return coord.Version(m.ResourceVersion + "/" + m.UID), nil
}

// lease is the Lease of a key, with its value. What is said of a role beside that is for people.
func (s *Store) lease(key string, data []byte, old coord.Version) (*lease, error) {
	version, uid, ok := strings.Cut(string(old), "/")
	if old != "" && (!ok || version == "" || uid == "") {
		return nil, fmt.Errorf("coord: %s: version %q, want one of a lease", key, old)
	}
	l := &lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: meta{
		Name: s.object(key), Namespace: s.namespace, ResourceVersion: version, UID: uid,
		Labels:      map[string]string{byMark: "thole", storeMark: s.name},
		Annotations: map[string]string{keyMark: key, valueMark: string(data)},
	}}
	var h coord.Holder
	if json.Unmarshal(data, &h) == nil && h.Epoch > 0 {
		l.Spec.LeaseTransitions = int32(min(h.Epoch, math.MaxInt32))
		if h.ID != "" {
			l.Spec.HolderIdentity = h.Addr
			l.Spec.LeaseDurationSeconds = int32(max(1, h.Lease/time.Second))
			l.Spec.RenewTime = time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
		}
	}
	return l, nil
}
