// Package tholejob is the TholeJob, a training that the operator runs on Kubernetes, and what the operator does about it: Next looks at a
// job and at what there is of it, and says what to do. It asks nobody and knows no time but what it is told, so that tests can say all of
// it.
//
//	what has become of a worker's pod                        then
//	it ended with 0                                          the worker is done
//	it is being deleted, was evicted, or is gone             another one at once
//	it ended with 75: a retry cures it                       another one
//	it ended with 1 or 2: no retry cures it                  the job has failed
//	it was killed, or ended with something else              another one, up to spec.restarts times
//
// One that ends again and again soon after its start has its successor after a pause. Pods have names with numbers that grow, so that a
// successor may begin while the one before ends: the servers give its task only to one of the two (docs/recovery.md). Without checkpoints
// all workers begin anew when one is lost, as a later attempt of the job, by which the servers shut out what is left of the one before.
package tholejob

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Job is a TholeJob as the API has it.
type Job struct {
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
	Status   Status   `json:"status"`
}

// Metadata is what is read of the metadata of an object.
type Metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	Generation        int64             `json:"generation"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	Finalizers        []string          `json:"finalizers"`
	OwnerReferences   []Owner           `json:"ownerReferences"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	DeletionTimestamp *time.Time        `json:"deletionTimestamp"`
}

// Owner is who owns an object.
type Owner struct {
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// Owner is the uid of the controller of an object; "": it has none.
func (m *Metadata) Owner() string {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return o.UID
		}
	}
	return ""
}

// Spec is what is to be trained, and by what. The definition in deploy/operator says what each field is.
type Spec struct {
	Image                   string            `json:"image"`
	ImagePullPolicy         string            `json:"imagePullPolicy,omitempty"`
	ImagePullSecrets        []string          `json:"imagePullSecrets,omitempty"`
	Algorithm               string            `json:"algorithm,omitempty"`
	Data                    []string          `json:"data,omitempty"`
	Model                   string            `json:"model,omitempty"`
	Checkpoint              string            `json:"checkpoint,omitempty"`
	Tasks                   int               `json:"tasks,omitempty"`
	GiveUp                  string            `json:"giveUp,omitempty"`
	Settings                map[string]Texts  `json:"settings,omitempty"`
	Servers                 Process           `json:"servers,omitzero"`
	Workers                 Process           `json:"workers,omitzero"`
	Store                   string            `json:"store,omitempty"`
	Volumes                 []Volume          `json:"volumes,omitempty"`
	Files                   map[string]string `json:"files,omitempty"`
	Env                     []Variable        `json:"env,omitempty"`
	EnvFromSecrets          []string          `json:"envFromSecrets,omitempty"`
	TokenSecret             string            `json:"tokenSecret,omitempty"`
	TLSSecret               string            `json:"tlsSecret,omitempty"`
	Insecure                bool              `json:"insecure,omitempty"`
	RunAs                   int64             `json:"runAs,omitempty"`
	NodeSelector            map[string]string `json:"nodeSelector,omitempty"`
	ScratchSize             string            `json:"scratchSize,omitempty"`
	Restarts                *int              `json:"restarts,omitempty"`
	GraceSeconds            *int              `json:"graceSeconds,omitempty"`
	Suspend                 bool              `json:"suspend,omitempty"`
	TTLSecondsAfterFinished *int              `json:"ttlSecondsAfterFinished,omitempty"`
}

// Process is how many servers or workers there are, and what each has.
type Process struct {
	Count    int              `json:"count,omitempty"`
	Memory   Text             `json:"memory,omitempty"`
	CPUs     Text             `json:"cpus,omitempty"`
	Settings map[string]Texts `json:"settings,omitempty"` // of servers
}

// Volume is files that all pods have at a path, as thole launch --volume says it.
type Volume struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Source   string `json:"source"`
	Path     string `json:"path"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// Variable is one of the environment of all pods.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Text is a text, which may be written as a number.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(b []byte) error {
	text, err := textOf(b)
	*t = Text(text)
	return err
}

// Texts is a text, a number or a truth value, or a list of such: what a flag is given.
type Texts []string

// UnmarshalJSON implements json.Unmarshaler. The API lets any value through: what is none of those is read as no text at all, so that a job
// that has it can be told so, and deleted.
func (t *Texts) UnmarshalJSON(b []byte) error {
	all := []json.RawMessage{b}
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' {
		if err := json.Unmarshal(b, &all); err != nil {
			return err
		}
	}
	*t = Texts{}
	for _, one := range all {
		text, err := textOf(one)
		if err != nil {
			*t = Texts{}
			return nil
		}
		*t = append(*t, text)
	}
	return nil
}

// textOf is a value of JSON as the text of a flag.
func textOf(b []byte) (text string, err error) {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0 || bytes.ContainsRune([]byte("{[n"), rune(b[0])): // n: null
		return "", fmt.Errorf("%.80s, want a text, a number, true or false, or a list of those", b)
	case b[0] != '"':
		return string(b), nil
	}
	return text, json.Unmarshal(b, &text)
}

// Read reads a job as the API gives it.
func Read(text []byte) (*Job, error) {
	j := &Job{}
	if err := json.Unmarshal(text, j); err != nil {
		return nil, fmt.Errorf("TholeJob: %w", err)
	}
	return j, nil
}
