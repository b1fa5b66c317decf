package state

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"thole.example/blob"
)

// Moment is where a training was when a checkpoint of it was taken.
type Moment struct {
	Run     string `json:"run,omitempty"`     // what all attempts of one training have in common, and no other has
	Attempt int    `json:"attempt,omitempty"` // how often it has begun, from 1 on; where it moves, with the next time, which is elsewhere
	Epoch   int    `json:"epoch,omitempty"`   // from 1 on
	Step    int    `json:"step,omitempty"`    // steps made of that epoch, of which there are
	Steps   int    `json:"steps,omitempty"`
	Made    int    `json:"made,omitempty"` // steps of the training so far; 0: those of all epochs are as many
	Tasks   int    `json:"tasks,omitempty"`
	Best    string `json:"best,omitempty"`   // name in the same folder of the checkpoint of the epoch that was best so far; "": there is none
	Digest  string `json:"digest,omitempty"` // SHA-256 of the settings of the training, in hex
	// Servers are the addresses of those on which the training goes on from here, if it has moved: an attempt goes there whose process was
	// told one of the sets of servers that were Left.
	Servers []string   `json:"servers,omitempty"`
	Left    [][]string `json:"left,omitempty"`
	Moves   int        `json:"moves,omitempty"` // how often the training has moved
}

// IsZero reports whether nothing is known.
func (m Moment) IsZero() bool { return reflect.ValueOf(m).IsZero() }

// leftLimit is how many sets of servers are remembered that a training has left.
const leftLimit = 64

// Move notes that the training goes on on other servers than those on which it is.
func (m *Moment) Move(from, to []string) {
	left := slices.DeleteFunc(slices.Clone(m.Left), func(s []string) bool { return slices.Equal(s, from) })
	left = append(left, from)
	m.Left = left[max(0, len(left)-leftLimit):]
	m.Servers = to
	m.Moves++
}

// Elsewhere are the servers on which the training goes on whose process is configured with others; nil: it goes on on those.
func (m *Moment) Elsewhere(configured []string) []string {
	if slices.Equal(configured, m.Servers) || !slices.ContainsFunc(m.Left, func(s []string) bool { return slices.Equal(s, configured) }) {
		return nil
	}
	return m.Servers
}

// Entry is a checkpoint in a folder of checkpoints.
type Entry struct {
	Name  string // within the folder
	Path  string // within the bucket
	Head  *Checkpoint
	Bytes int64 // of all its objects
	Err   error // why its head cannot be read: there is none

	Modified time.Time // when its head was written; zero if the bucket does not know
}

// List is the checkpoints right below a folder of a bucket, by their names. What is not complete is none.
func List(ctx context.Context, b blob.Bucket, folder string) ([]Entry, error) {
	objects, err := b.List(ctx, folder)
	if err != nil {
		return nil, err
	}
	sizes, heads := map[string]int64{}, map[string]*blob.Info{}
	for i, o := range objects {
		name, object, below := strings.Cut(strings.TrimPrefix(o.Name, folder+"/"), "/")
		if !below {
			continue
		}
		sizes[name] += o.Size
		if object == HeadName {
			heads[name] = &objects[i]
		}
	}
	var all []Entry
	for name, head := range heads {
		e := Entry{Name: name, Path: blob.Join(folder, name), Bytes: sizes[name], Modified: head.Modified}
		e.Head, e.Err = Open(ctx, b, e.Path)
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// At is the checkpoint at a path, where its head lies.
func At(ctx context.Context, b blob.Bucket, at string) (Entry, error) {
	objects, err := b.List(ctx, at)
	e := Entry{Name: blob.Base(at), Path: at}
	for _, o := range objects {
		e.Bytes += o.Size
		if blob.Base(o.Name) == HeadName {
			e.Modified = o.Modified
		}
	}
	e.Head, e.Err = Open(ctx, b, at)
	return e, err
}
