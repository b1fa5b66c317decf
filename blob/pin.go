package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Pinner is a Bucket that can show what lies at a name as it is at one moment, also while it is replaced.
type Pinner interface {
	// Pin gives the object or the objects of the tree at the name as they are at one moment; none if there is nothing. It fails with
	// ErrChanged if they change all the time.
	Pin(ctx context.Context, name string) (Pinned, error)
}

// Pinned is the objects at a name as they were at one moment. Their names are those below the name, "." for an object that lies at the name
// itself. It may be used by many goroutines until it is closed, and so may the objects that it opened.
type Pinned interface {
	// List gives the objects, sorted by name.
	List() []Info
	// Open opens one of those that List gives. It fails with ErrChanged if the object is not there any more as it was.
	Open(ctx context.Context, name string) (Object, error)
	io.Closer
}

// View is a Bucket in which what lies at one name is a snapshot: a reader of a model of many objects gets the objects of one model,
// or ErrChanged. Everything else is read from the bucket.
type View struct {
	Bucket
	name   string
	pin    Pinned
	all    []Info            // with the names that List gives
	others map[string]string // names of objects in the same folder, also of such that are not there, and what the pin calls them
}

// Pin is a view of the bucket in which what lies at the name does not change. It has to be closed.
func Pin(ctx context.Context, b Bucket, name string) (*View, error) {
	pin, err := pinOf(ctx, b, name)
	if err != nil {
		return nil, err
	}
	return newView(b, name, pin), nil
}

// pinOf is Pin of the bucket, or by State of a bucket that has none.
func pinOf(ctx context.Context, b Bucket, name string) (Pinned, error) {
	if p, can := b.(Pinner); can {
		return p.Pin(ctx, name)
	}
	return pinState(ctx, b, name)
}

func newView(b Bucket, name string, pin Pinned) *View {
	v := &View{Bucket: b, name: name, pin: pin}
	for _, i := range pin.List() {
		if !strings.HasPrefix(i.Name, Other("")) {
			i.Name = v.full(i.Name)
			v.all = append(v.all, i)
		}
	}
	return v
}

// IsObject reports whether what lies at the name is an object.
func (v *View) IsObject() bool {
	_, is := infoOf(v.pin, ".")
	return is
}

// rel is what the pin calls an object, if it has it or knows that it is not there.
func (v *View) rel(name string) (rel string, inside bool) {
	if rel, inside = Rel(v.name, name); inside {
		return rel, true
	}
	rel, inside = v.others[Clean(name)]
	return rel, inside
}

// full is the name in the bucket of an object of the pin.
func (v *View) full(rel string) string {
	switch {
	case rel == ".":
		return v.name
	case v.name == "" || v.name == ".":
		return rel
	}
	return strings.TrimRight(v.name, "/") + "/" + rel
}

// Open implements Bucket.
func (v *View) Open(ctx context.Context, name string) (Object, error) {
	rel, inside := v.rel(name)
	if !inside {
		return v.Bucket.Open(ctx, name)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, is := infoOf(v.pin, rel); !is {
		return nil, fmt.Errorf("blob: %w", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
	}
	return v.pin.Open(ctx, rel)
}

// List implements Bucket.
func (v *View) List(ctx context.Context, tree string) ([]Info, error) {
	rel, inside := v.rel(tree)
	if !inside {
		return v.Bucket.List(ctx, tree)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if rel == "." {
		return slices.Clone(v.all), nil
	}
	if of, other := v.others[Clean(tree)]; other {
		i, is := infoOf(v.pin, of)
		if i.Name = tree; !is {
			return nil, nil
		}
		return []Info{i}, nil
	}
	var found []Info
	for i, one := range v.pin.List() {
		if one.Name == rel || strings.HasPrefix(one.Name, rel+"/") {
			found = append(found, v.all[i])
		}
	}
	return found, nil
}

// Close ends the view. Nothing that was opened through it can be read any more.
func (v *View) Close() error { return v.pin.Close() }

// pinAttempts is how often what lies at a name is looked at again that changes meanwhile.
const pinAttempts = 8

// Again calls do until it succeeds, fails with something else than ErrChanged, or has been called a few times.
func Again(ctx context.Context, do func() error) (err error) {
	for i := range pinAttempts {
		if err = do(); !errors.Is(err, ErrChanged) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond << i):
		}
	}
	return err
}

// restless is the error of a name at which everything changes all the time.
func restless(name string) error {
	return fmt.Errorf("blob: %s is being replaced all the time: %w", name, ErrChanged)
}

// byState is what lies at a name of a bucket that only tells its State: objects are of the State that the name had before they were opened
// and has afterwards.
type byState struct {
	b     Bucket
	name  string
	state State
	all   []Info
}

func pinState(ctx context.Context, b Bucket, name string) (*byState, error) {
	p := &byState{b: b, name: name}
	err := Again(ctx, func() (err error) {
		if p.state, err = b.State(ctx, name); err != nil {
			return err
		}
		if p.all, err = b.List(ctx, name); err != nil {
			return err
		}
		return p.check(ctx)
	})
	for i := range p.all {
		p.all[i].Name, _ = Rel(name, p.all[i].Name)
	}
	return p, err
}

func (p *byState) check(ctx context.Context) error {
	now, err := p.b.State(ctx, p.name)
	if err == nil && now != p.state {
		err = fmt.Errorf("blob: %s was replaced while it was read: %w", p.name, ErrChanged)
	}
	return err
}

// List implements Pinned.
func (p *byState) List() []Info { return p.all }

// Open implements Pinned.
func (p *byState) Open(ctx context.Context, name string) (Object, error) {
	whole := p.name
	if name != "." {
		whole = Join(p.name, name)
	}
	o, err := p.b.Open(ctx, whole)
	if changed := p.check(ctx); changed != nil {
		if err == nil {
			o.Close()
		}
		return nil, changed
	}
	return o, err
}

// Close implements Pinned.
func (p *byState) Close() error { return nil }

// Pin implements Pinner.
func (m *Mem) Pin(_ context.Context, name string) (Pinned, error) {
	if name == "." {
		name = ""
	}
	if name != "" {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.pin(name), nil
}

// pin pins what lies at a name; "" is the root.
func (m *Mem) pin(name string) *memPin {
	p := &memPin{of: map[string][]byte{}}
	if e, ok := m.find(name); ok && e.kids == nil && name != "" {
		p.add(".", e)
	} else if ok {
		p.tree(e.kids, "")
	}
	slices.SortFunc(p.all, byName)
	return p
}

func byName(a, b Info) int { return strings.Compare(a.Name, b.Name) }

// memPin is objects of a Mem. Their bytes never change.
type memPin struct {
	all []Info
	of  map[string][]byte
}

func (p *memPin) add(name string, e entry) {
	p.all = append(p.all, Info{Name: name, Size: int64(len(e.data))})
	p.of[name] = e.data
}

func (p *memPin) tree(at folder, path string) {
	for name, e := range at {
		switch {
		case strings.HasPrefix(name, tmpMark):
		case e.kids == nil:
			p.add(path+name, e)
		default:
			p.tree(e.kids, path+name+"/")
		}
	}
}

// List implements Pinned.
func (p *memPin) List() []Info { return p.all }

// Open implements Pinned.
func (p *memPin) Open(_ context.Context, name string) (Object, error) {
	return newMemObject(p.of[name]), nil
}

// Close implements Pinned.
func (p *memPin) Close() error { return nil }

// Pin implements Pinner.
func (f Files) Pin(ctx context.Context, name string) (Pinned, error) {
	d, rest, err := f.at(name)
	if err != nil {
		return nil, err
	}
	return d.Pin(ctx, rest)
}

// Pin implements Pinner.
func (p *Paths) Pin(ctx context.Context, name string) (Pinned, error) {
	if p != nil && len(p.roots) > 0 && (name == "" || name == ".") {
		return (&Paths{p.sync, p.stores, p.opened, nil}).Pin(ctx, p.roots[0])
	}
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return nil, err
	}
	return pinOf(ctx, b, rest)
}
