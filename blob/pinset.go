package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// SetPinner is a Pinner that can show an object together with others in the same folder as they are at one moment.
type SetPinner interface {
	Pinner
	// PinSet is Pin. If an object lies at the name, the pin also has those of the others that are objects. The others are last elements of
	// names in the folder of the name; the pin calls them by Other.
	PinSet(ctx context.Context, name string, others []string) (Pinned, error)
}

// Other is what the pin of an object calls another object in the same folder.
func Other(last string) string { return "../" + last }

// PinSet is Pin for an object that is replaced together with others in its folder by PublishSet: they are of one moment, too. The others
// are last elements of names. If a tree lies at the name, or nothing, they are not there.
func PinSet(ctx context.Context, b Bucket, name string, others []string) (v *View, err error) {
	if others = slices.DeleteFunc(slices.Clone(others), func(o string) bool { return checkName(o) != nil }); len(others) == 0 {
		return Pin(ctx, b, name)
	}
	err = Again(ctx, func() error {
		v, err = pinSetNow(ctx, b, name, others)
		return err
	})
	return v, err
}

func pinSetNow(ctx context.Context, b Bucket, name string, others []string) (*View, error) {
	folder, last := Split(Clean(name))
	journal := last + ReplacingExt
	pin, err := pinSet(ctx, b, name, append([]string{journal}, others...))
	if err != nil {
		return nil, err
	}
	if _, is := infoOf(pin, Other(journal)); is {
		r, text, err := readReplacement(ctx, pin, Other(journal))
		if err != nil {
			pin.Close()
			return nil, err
		}
		if r != nil {
			pin.Close()
			if pin, err = r.pin(ctx, b, folder, last, text); err != nil {
				return nil, err
			}
		}
	}
	v := newView(b, name, pin)
	v.others = map[string]string{}
	for _, o := range others {
		v.others[Clean(folder+o)] = Other(o)
	}
	return v, nil
}

// pinSet is PinSet of the bucket, or by State of a bucket that has none.
func pinSet(ctx context.Context, b Bucket, name string, others []string) (Pinned, error) {
	if s, can := b.(SetPinner); can {
		return s.PinSet(ctx, name, others)
	}
	var pin Pinned
	err := Again(ctx, func() (err error) {
		pin, err = pinStates(ctx, b, name, others)
		return err
	})
	return pin, err
}

// pinStates looks at all others, and looks again when it has found them: what is the same was there in between.
func pinStates(ctx context.Context, b Bucket, name string, others []string) (Pinned, error) {
	main, err := pinState(ctx, b, name)
	if err != nil {
		return nil, err
	}
	if _, is := infoOf(main, "."); !is {
		return main, nil
	}
	set := &setPin{of: map[string]Pinned{".": main}}
	folder, _ := Split(Clean(name))
	states := make([]State, len(others))
	for i, o := range slices.Backward(others) { // the first one in the middle of the two looks
		p, err := pinState(ctx, b, folder+o)
		if err != nil {
			return nil, err
		}
		if states[i] = p.state; p.state != Nothing {
			set.of[Other(o)] = p
		}
	}
	for i, o := range others {
		now, err := b.State(ctx, folder+o)
		if err != nil {
			return nil, err
		}
		if now != states[i] {
			return nil, restless(name)
		}
	}
	return set, main.check(ctx)
}

// infoOf finds an object of a pin.
func infoOf(p Pinned, name string) (Info, bool) {
	all := p.List()
	i := slices.IndexFunc(all, func(i Info) bool { return i.Name == name })
	if i < 0 {
		return Info{}, false
	}
	return all[i], true
}

// setPin is objects of several pins, of each the one that lies at its name.
type setPin struct{ of map[string]Pinned }

// List implements Pinned.
func (s *setPin) List() (all []Info) {
	for name, p := range s.of {
		if i, is := infoOf(p, "."); is {
			i.Name = name
			all = append(all, i)
		}
	}
	slices.SortFunc(all, byName)
	return all
}

// Open implements Pinned.
func (s *setPin) Open(ctx context.Context, name string) (Object, error) {
	p := s.of[name]
	if p == nil {
		return nil, fmt.Errorf("blob: %w", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
	}
	return p.Open(ctx, ".")
}

// Close implements Pinned.
func (s *setPin) Close() error {
	var all []error
	for _, p := range s.of {
		all = append(all, p.Close())
	}
	return errors.Join(all...)
}

// PinSet implements SetPinner.
func (m *Mem) PinSet(_ context.Context, name string, others []string) (Pinned, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	p := m.pin(name)
	if _, is := p.of["."]; !is {
		return p, nil
	}
	folder, _ := Split(name)
	for _, o := range others {
		if e, ok := m.find(folder + o); ok && e.kids == nil {
			p.add(Other(o), e)
		}
	}
	slices.SortFunc(p.all, byName)
	return p, nil
}

// PinSet implements SetPinner.
func (d *Dir) PinSet(ctx context.Context, name string, others []string) (Pinned, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return d.pin(ctx, d.file(name), others)
}

// beginOthers opens the others next to the file of the pin. What is the same after the first of them was looked at as before was there at
// that moment.
func (p *dirPin) beginOthers(others []string) error {
	for _, o := range slices.Backward(others) {
		info, is, err := p.other(o)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		name := Other(o)
		p.all, p.is[name] = append(p.all, Info{name, info.Size(), info.ModTime()}), identityOf(info)
		if p.open[name], err = p.file(name); err != nil {
			delete(p.open, name)
			return err
		}
	}
	for _, o := range others {
		info, is, err := p.other(o)
		if err != nil {
			return err
		}
		was, there := p.is[Other(o)]
		if is != there || is && identityOf(info) != was {
			return p.changed(Other(o))
		}
	}
	info, err := os.Stat(p.path)
	if missing(err) || err == nil && identityOf(info) != p.is["."] {
		return p.changed(".")
	}
	slices.SortFunc(p.all, byName)
	return err
}

// other looks at a file next to the pinned one.
func (p *dirPin) other(last string) (info fs.FileInfo, is bool, err error) {
	info, err = os.Stat(filepath.Join(filepath.Dir(p.path), last))
	if missing(err) {
		return nil, false, nil
	}
	return info, err == nil && info.Mode().IsRegular(), err
}

// PinSet implements SetPinner.
func (f Files) PinSet(ctx context.Context, name string, others []string) (Pinned, error) {
	d, rest, err := f.at(name)
	if err != nil {
		return nil, err
	}
	return d.PinSet(ctx, rest, others)
}

// PinSet implements SetPinner.
func (p *Paths) PinSet(ctx context.Context, name string, others []string) (Pinned, error) {
	if p != nil && len(p.roots) > 0 && (name == "" || name == ".") {
		return p.Pin(ctx, name)
	}
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return nil, err
	}
	if rest == "" || rest == "." {
		return p.Pin(ctx, name)
	}
	return pinSet(ctx, b, rest, others)
}
