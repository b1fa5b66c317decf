package s3

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"thole.example/blob"
)

var _ blob.SetPinner = (*Bucket)(nil)

// pin is the objects at a name as one listing has them, each with its ETag.
type pin struct {
	bucket *Bucket
	all    []blob.Info
	at     map[string]place
}

// Pin implements blob.Pinner. What is listed twice the same, and not published between, is of one moment: a publish that was under way at
// the first listing and ended before the second has changed it since. Objects are opened by their ETags, without a look for notes.
func (b *Bucket) Pin(ctx context.Context, name string) (blob.Pinned, error) {
	return b.PinSet(ctx, name, nil)
}

// PinSet implements blob.SetPinner: listings show the others at one moment. They come after the look at the object, which is opened
// later by the ETag that it had: if it can be, it was the same at the moment of the listings.
func (b *Bucket) PinSet(ctx context.Context, name string, others []string) (blob.Pinned, error) {
	if name == "." {
		name = ""
	}
	if name != "" {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	var p *pin
	err := blob.Again(ctx, func() (err error) {
		p, err = b.pinNow(ctx, name, others)
		return err
	})
	if err != nil {
		return nil, b.fails("list", name, err)
	}
	return p, nil
}

func (b *Bucket) pinNow(ctx context.Context, name string, others []string) (*pin, error) {
	key := b.key(name)
	p := &pin{bucket: b, at: map[string]place{}}
	if name == "" { // the root of all: nothing can be published there
		_, _, err := p.list(ctx, key, func() ([]pinEntry, error) { return b.pinEntries(ctx, key) })
		return p, err
	}
	e, is, err := b.head(ctx, key)
	if err != nil && !hidden(err) {
		return nil, err
	}
	look := func() ([]pinEntry, error) { return b.pinEntries(ctx, key) }
	if is {
		look = func() ([]pinEntry, error) { return b.others(ctx, key, others) }
	}
	n, rel, err := p.list(ctx, key, look)
	switch {
	case err != nil:
		return nil, err
	case n != nil:
		p.noted(n, rel, others)
	case is:
		p.add(e, ".", place{name: name, key: key, home: key, etag: e.ETag, size: e.Size})
		p.sort()
	}
	return p, nil
}

// noted pins what a note says of a part of its tree.
func (p *pin) noted(n *note, rel string, others []string) {
	for _, e := range n.below(rel) {
		own := entry{Name: below(e.Name, rel)}
		if !temporary(own.Name) {
			p.add(e, own.Name, n.place(p.bucket, e))
		}
	}
	if _, is := p.at["."]; !is || rel == "" {
		return
	}
	folder, _ := path.Split(rel)
	for _, o := range others {
		if e, is := lookup(n.New, folder+o); is {
			p.add(e, blob.Other(o), n.place(p.bucket, e))
		}
	}
	p.sort()
}

// place is where an object of the note lies.
func (n *note) place(b *Bucket, e entry) place {
	return place{name: b.name(e.at(n.tree)), key: e.at(n.From), home: e.at(n.tree), etag: e.ETag, size: e.Size}
}

// others are objects in the folder of a key, by a listing of what begins like all of them.
func (b *Bucket) others(ctx context.Context, key string, others []string) (found []pinEntry, err error) {
	if len(others) == 0 {
		return nil, nil
	}
	folder, _ := path.Split(key)
	prefix := others[0]
	for _, o := range others {
		for !strings.HasPrefix(o, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	err = b.page(ctx, folder+prefix, "/", func(l listed, _ time.Time) bool {
		if o := strings.TrimPrefix(l.key, folder); slices.Contains(others, o) {
			at := place{name: b.name(l.key), key: l.key, home: l.key, etag: l.etag, size: l.size}
			found = append(found, pinEntry{entry{blob.Other(o), l.size, l.etag, l.modified}, at})
		}
		return true
	})
	return found, err
}

func (p *pin) sort() {
	slices.SortFunc(p.all, func(a, b blob.Info) int { return strings.Compare(a.Name, b.Name) })
}

// below is the name of an object of a tree as a part of the tree calls it; "." if it is that part.
func below(name, rel string) string {
	switch {
	case name == rel:
		return "."
	case rel == "":
		return name
	}
	return name[len(rel)+1:]
}

// pinEntry is an object of a tree, and where it lies.
type pinEntry struct {
	entry
	place
}

// list pins what look finds, if it finds the same again after a look at the notes: then nothing was replaced at that moment. If what
// lies at the key is being replaced, it gives the note of that instead.
func (p *pin) list(ctx context.Context, key string, look func() ([]pinEntry, error)) (n *note, rel string, err error) {
	first, err := look()
	if err != nil {
		return nil, "", err
	}
	if key != "" { // nothing can be published as the root of all
		notes, err := p.bucket.notes(ctx, key)
		if err != nil {
			return nil, "", err
		}
		if n, rel = governing(notes, key); n != nil {
			return n, rel, nil
		}
	}
	second, err := look()
	if err != nil {
		return nil, "", err
	}
	if !slices.EqualFunc(first, second, func(a, b pinEntry) bool {
		return a.entry.Name == b.entry.Name && a.identity() == b.identity() && a.place == b.place
	}) {
		return nil, "", errMoving
	}
	for _, e := range first {
		p.add(e.entry, e.entry.Name, e.place)
	}
	return nil, "", nil
}

// pinEntries are the objects below a key. Of trees in it that are being published they are those of their notes.
func (b *Bucket) pinEntries(ctx context.Context, key string) (found []pinEntry, err error) {
	all, noted, err := b.tree(ctx, key)
	if err != nil {
		return nil, err
	}
	slices.Sort(noted)
	var moved []string // names in the tree, those around others first
	for _, t := range noted {
		name := strings.TrimPrefix(strings.TrimPrefix(t, key), "/")
		if temporary(name) || slices.ContainsFunc(moved, func(m string) bool { return overlap(m, name) }) {
			continue
		}
		n, err := b.note(ctx, t)
		switch {
		case err != nil:
			return nil, err
		case n == nil:
			return nil, errMoving
		case !n.Moved:
			continue
		}
		moved = append(moved, name)
		for _, e := range n.New {
			if !temporary(e.Name) {
				found = append(found, pinEntry{entry{e.at(name), e.Size, e.ETag, e.modified},
					place{name: b.name(e.at(t)), key: e.at(n.From), home: e.at(t), etag: e.ETag, size: e.Size}})
			}
		}
	}
	for _, e := range all {
		replaced := slices.ContainsFunc(moved, func(m string) bool { return e.Name == m || strings.HasPrefix(e.Name, m+"/") })
		if !replaced && !temporary(e.Name) {
			at := e.Name
			if key != "" {
				at = e.at(key)
			}
			found = append(found, pinEntry{e, place{name: b.name(at), key: at, home: at, etag: e.ETag, size: e.Size}})
		}
	}
	slices.SortFunc(found, func(a, b pinEntry) int { return strings.Compare(a.entry.Name, b.entry.Name) })
	return found, nil
}

var errMoving = fmt.Errorf("it is being replaced: %w", blob.ErrChanged)

func (p *pin) add(e entry, name string, at place) {
	p.all = append(p.all, blob.Info{Name: name, Size: e.Size, Modified: e.modified})
	p.at[name] = at
}

// List implements blob.Pinned.
func (p *pin) List() []blob.Info { return p.all }

// Open implements blob.Pinned.
func (p *pin) Open(ctx context.Context, name string) (blob.Object, error) {
	at := p.at[name]
	o, err := p.bucket.openAt(ctx, at)
	if missing(err) && at.key != at.home { // its publish has ended meanwhile
		at.key = at.home
		o, err = p.bucket.openAt(ctx, at)
	}
	switch {
	case missing(err) || refused(err) || errors.Is(err, blob.ErrChanged):
		return nil, &Error{Op: "open", Object: p.bucket.url(at.name), Kind: blob.ErrChanged, Advice: "run the command again",
			Err: errors.New("it was replaced while the tree was read")}
	case err != nil:
		return nil, p.bucket.fails("open", at.name, err)
	}
	return o, nil
}

// Close implements blob.Pinned.
func (p *pin) Close() error { return nil }
