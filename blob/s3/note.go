package s3

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"thole.example/internal/proc"
)

// note is what lies beside a tree while it is published or removed, as an object "_tmp.NAME.publish" of JSON. As long as Moved is not
// set it only keeps others from publishing or removing the same; the put that sets it is the moment at which everything changes: from
// then on readers see the objects of New, at From, and whoever writes there first brings to an end what the note says.
type note struct {
	Kind    string  `json:"thole"` // noteKind
	ID      string  `json:"id"`    // of this publish
	Moved   bool    `json:"moved,omitempty"`
	From    string  `json:"from,omitempty"` // key of the tree or object that is published; "" for a removal
	To      string  `json:"to,omitempty"`   // in the note beside From: key of the tree that it becomes
	New     []entry `json:"new,omitempty"`  // sorted by name
	Old     []entry `json:"old,omitempty"`  // sorted by name
	By      string  `json:"by,omitempty"`   // proc.Name of the process that put the note; "" if its system does not tell
	tree    string  // key of what it lies beside
	etag    string
	written time.Duration // its age by the clock of the store
}

// entry is an object of a tree: its name in the tree, "" for the object that has the name of the tree.
type entry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	ETag string `json:"etag"`

	modified time.Time // not part of notes
}

const (
	noteKind  = "publish.1"
	noteEnd   = "publish"
	sourceEnd = ".publishing" // of the note beside a temporary tree
	noteLimit = 64 << 20      // bytes: some 500,000 names
)

// noteKey is where the note of a tree lies: beside it, as what Sweep finds by the name that the tree has or is to get.
func noteKey(tree string) string {
	if strings.HasPrefix(path.Base(tree), tmpMark) {
		return tree + sourceEnd
	}
	return beside(tree, noteEnd)
}

// noted is the tree that a key is the note of.
func noted(key string) (tree string, is bool) {
	dir, base := path.Split(key)
	name, front := strings.CutPrefix(base, tmpMark)
	if source, end := strings.CutSuffix(base, sourceEnd); end && strings.HasPrefix(source, tmpMark) {
		return dir + source, source != tmpMark
	}
	name, end := strings.CutSuffix(name, "."+noteEnd)
	return dir + name, front && end && name != ""
}

// at is the key of an object of a tree.
func (e entry) at(tree string) string {
	if e.Name == "" {
		return tree
	}
	return tree + "/" + e.Name
}

// abandoned reports that the process of a note has ended: it is known to be gone, or the note is old.
func (n *note) abandoned(stale time.Duration) bool {
	return n.written >= stale || proc.Of(n.By) == proc.Gone
}

// encode is the note as it is stored.
func (n *note) encode() ([]byte, error) {
	text, err := json.Marshal(n)
	if err == nil && len(text) > noteLimit {
		err = fmt.Errorf("%d objects in place of %d: a note of %d bytes, want at most %d: publish fewer objects at once",
			len(n.New), len(n.Old), len(text), noteLimit)
	}
	return text, err
}

// decodeNote reads the note beside a tree, and refuses one that names anything outside of what it is about.
func decodeNote(text []byte, tree string) (*note, error) {
	n := &note{tree: tree}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(n)
	switch {
	case err == nil && d.More():
		err = errors.New("something behind its end")
	case err != nil:
	case n.Kind != noteKind:
		err = fmt.Errorf("kind %q, want %q", n.Kind, noteKind)
	case n.ID == "":
		err = errors.New("no id")
	case n.From != "" && (overlap(n.From, tree) || !fs.ValidPath(n.From)):
		err = fmt.Errorf("it publishes %q as %q", n.From, tree)
	case n.To != "" && (overlap(n.To, tree) || !fs.ValidPath(n.To)):
		err = fmt.Errorf("it moves %q to %q", tree, n.To)
	case n.From == "" && len(n.New) > 0:
		err = fmt.Errorf("%d objects from nowhere", len(n.New))
	default:
		err = errors.Join(checkEntries(n.New), checkEntries(n.Old))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; if nothing is publishing or removing that, remove the note", ErrMarker, err)
	}
	return n, nil
}

func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// checkEntries refuses names outside, sizes below 0, and what is not in order.
func checkEntries(all []entry) error {
	for i, e := range all {
		switch {
		case e.Name != "" && checkName(e.Name) != nil:
			return checkName(e.Name)
		case e.Size < 0 || e.ETag == "":
			return fmt.Errorf("%q: %d bytes, ETag %q", e.Name, e.Size, e.ETag)
		case i > 0 && all[i-1].Name >= e.Name:
			return fmt.Errorf("%q behind %q, want them in order", e.Name, all[i-1].Name)
		}
	}
	return nil
}

// lookup finds the object of that name in a sorted list.
func lookup(all []entry, name string) (entry, bool) {
	i, is := slices.BinarySearchFunc(all, name, func(e entry, name string) int { return strings.Compare(e.Name, name) })
	if !is {
		return entry{}, false
	}
	return all[i], true
}

// governing is the note that says where a key lies: the outermost one that has come to pass, of those of the trees that it lies in,
// which are sorted like that. rel is the name in the tree.
func governing(notes []*note, key string) (n *note, rel string) {
	for _, n := range notes {
		if n != nil && n.Moved {
			return n, strings.TrimPrefix(strings.TrimPrefix(key, n.tree), "/")
		}
	}
	return nil, ""
}

// gone are the old objects that have none of the same name in the new tree.
func (n *note) gone() (all []entry) {
	for _, e := range n.Old {
		if _, stays := lookup(n.New, e.Name); !stays {
			all = append(all, e)
		}
	}
	return all
}

// below are the new objects whose names lie in the tree of that name, or are it; "" are all.
func (n *note) below(rel string) (all []entry) {
	for _, e := range n.New {
		if rel == "" || e.Name == rel || strings.HasPrefix(e.Name, rel+"/") {
			all = append(all, e)
		}
	}
	return all
}
