package s3

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
)

// notes are those of the trees that a key lies in, the outermost first, and of the key itself; nil where there is none. For what lies in a
// temporary tree none are asked for: nobody but its owner reads it.
func (b *Bucket) notes(ctx context.Context, key string) ([]*note, error) {
	var trees []string
	if !temporary(key) {
		trees = above(key)
	}
	found := make([]*note, len(trees))
	err := each(ctx, max(len(trees), 1), len(trees), func(ctx context.Context, i int) (err error) {
		found[i], err = b.note(ctx, trees[i])
		return err
	})
	return found, err
}

// find tells where an object lies. The notes are read before the object is: an object that was read before a note was looked for, and
// not found, may be one of a tree that was replaced in between.
func (b *Bucket) find(ctx context.Context, name string) (place, error) {
	key := b.key(name)
	at := place{name: name, key: key, home: key, size: -1}
	notes, err := b.notes(ctx, key)
	if err != nil {
		return at, b.fails("open", name, err)
	}
	n, rel := governing(notes, key)
	if n == nil {
		return at, nil
	}
	e, is := lookup(n.New, rel)
	if !is {
		return at, b.absent("open", name)
	}
	at.key, at.etag, at.size = e.at(n.From), e.ETag, e.Size
	return at, nil
}

// List implements blob.Bucket. Up to 1,000 objects are those of one moment, and so is a tree that is published as one.
func (b *Bucket) List(ctx context.Context, tree string) ([]blob.Info, error) {
	if tree == "." {
		tree = ""
	}
	if tree != "" {
		if err := checkName(tree); err != nil {
			return nil, err
		}
	}
	infos, err := b.list(ctx, tree, lookups)
	if errors.Is(err, errRestless) {
		return nil, &Error{Op: "list", Object: b.url(tree), Kind: blob.ErrChanged, Advice: "list it again", Err: err}
	}
	return infos, b.fails("list", tree, err)
}

var errRestless = errors.New("it changes all the time")

// list lists a tree, and what is published in it meanwhile at most so many times again.
func (b *Bucket) list(ctx context.Context, tree string, again int) (infos []blob.Info, err error) {
	key := strings.TrimSuffix(b.key(tree), "/")
	if key == "" {
		return b.listKeys(ctx, "", "", again)
	}
	notes, err := b.notes(ctx, key)
	if err != nil {
		return nil, err
	}
	if n, rel := governing(notes, key); n != nil {
		return b.visible(n, rel), nil
	}
	if tree == "" {
		return b.listKeys(ctx, key, "", again)
	}
	if e, is, err := b.head(ctx, key); err != nil && !hidden(err) {
		return nil, err
	} else if is {
		return []blob.Info{{Name: tree, Size: e.Size, Modified: e.modified}}, nil
	}
	return b.listKeys(ctx, key, tree+"/", again)
}

// visible are the new objects of a note whose names lie in the tree of that name.
func (b *Bucket) visible(n *note, rel string) (infos []blob.Info) {
	for _, e := range n.below(rel) {
		if !temporary(strings.TrimPrefix(strings.TrimPrefix(e.Name, rel), "/")) {
			infos = append(infos, blob.Info{Name: b.name(e.at(n.tree)), Size: e.Size})
		}
	}
	return infos
}

// listKeys lists what lies below a key, whose names begin with base. Trees in it that are being published are those of their notes.
// One whose publish has ended since is listed again.
func (b *Bucket) listKeys(ctx context.Context, key, base string, again int) (infos []blob.Info, err error) {
	all, noted, err := b.tree(ctx, key)
	if err != nil {
		return nil, err
	}
	slices.Sort(noted)
	var moved []string // names below base, those around others first
	for _, t := range noted {
		name := strings.TrimPrefix(b.name(t), base)
		if name == "" || temporary(name) || slices.ContainsFunc(moved, func(m string) bool { return overlap(m, name) }) {
			continue
		}
		n, err := b.note(ctx, t)
		var now []blob.Info
		switch {
		case err == nil && n == nil && again == 0:
			err = errRestless
		case err == nil && n == nil:
			now, err = b.list(ctx, b.name(t), again-1)
		case err == nil && n.Moved:
			now = b.visible(n, "")
		case err == nil:
			continue
		}
		if err != nil {
			return nil, err
		}
		moved, infos = append(moved, name), append(infos, now...)
	}
	for _, e := range all {
		replaced := slices.ContainsFunc(moved, func(m string) bool { return e.Name == m || strings.HasPrefix(e.Name, m+"/") })
		if !replaced && !temporary(e.Name) {
			infos = append(infos, blob.Info{Name: base + e.Name, Size: e.Size, Modified: e.modified})
		}
	}
	slices.SortFunc(infos, func(a, b blob.Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// there is what lies at a key: an object, or the objects of a tree. Those of a tree are sorted, and the notes of trees in it come apart.
type there struct {
	object *entry
	tree   []entry
	notes  []string
}

// look tells what lies at a key.
func (b *Bucket) look(ctx context.Context, key string) (at there, err error) {
	e, is, err := b.head(ctx, key)
	if err != nil {
		return at, err
	}
	if is {
		at.object = &e
	}
	at.tree, at.notes, err = b.tree(ctx, key)
	return at, err
}

// state identifies what lies there: an object by its ETag, size and time, a tree by those of its objects. What is temporary is not part
// of it.
func (at there) state() blob.State {
	if at.object != nil {
		return blob.State("object " + at.object.identity())
	}
	sum := sha256.New()
	n := 0
	for _, e := range at.tree {
		if !temporary(e.Name) {
			n++
			fmt.Fprintf(sum, "%q %s\n", e.Name, e.identity())
		}
	}
	if n == 0 {
		return blob.Nothing
	}
	return blob.State(fmt.Sprintf("tree of %d %x", n, sum.Sum(nil)))
}

func (e entry) identity() string { return fmt.Sprintf("%s %d %d", e.ETag, e.Size, e.modified.Unix()) }

// all are the objects as a note lists them: also what is temporary.
func (at there) all() []entry {
	if at.object != nil {
		return append([]entry{*at.object}, at.tree...)
	}
	return at.tree
}

// State implements blob.Bucket. An object that was replaced by one of the same bytes within the same second is the same.
func (b *Bucket) State(ctx context.Context, name string) (blob.State, error) {
	if err := checkName(name); err != nil {
		return blob.Nothing, err
	}
	if err := b.settle(ctx, name); err != nil {
		return blob.Nothing, b.fails("look at", name, err)
	}
	at, err := b.look(ctx, b.key(name))
	if err != nil {
		return blob.Nothing, b.fails("look at", name, err)
	}
	return at.state(), nil
}

// room refuses a name below an object.
func (b *Bucket) room(ctx context.Context, name string) error {
	trees := above(name)
	trees = slices.DeleteFunc(trees[:len(trees)-1], temporary)
	return each(ctx, max(len(trees), 1), len(trees), func(ctx context.Context, i int) error {
		_, is, err := b.head(ctx, b.key(trees[i]))
		if hidden(err) {
			return nil
		}
		if is {
			err = fmt.Errorf("%s is an object, want a tree", b.url(trees[i]))
		}
		return err
	})
}
