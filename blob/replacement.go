package blob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// ReplacingExt ends the name of the journal of PublishSet: NAME.replacing lies next to the object NAME as long as it and the objects that
// belong to it are being replaced.
const ReplacingExt = ".replacing"

const (
	replacementKind  = "replacement.1"
	replacementLimit = 1 << 20 // bytes
)

// replacement is the journal. When it appears, the set is replaced: readers take each object from the stage, or from its name once it was
// moved there, and who comes after a process that was killed moves the rest.
type replacement struct {
	Kind  string   `json:"thole"` // replacementKind
	Stage string   `json:"stage"` // last element of the name of the tree, in the same folder
	Main  State    `json:"main"`  // of the object in the stage, before it was moved
	Over  State    `json:"over"`  // of what it replaces
	Files []string `json:"files"` // last elements of the names of the other new objects
	Gone  []string `json:"gone"`  // those of old objects without a successor
}

// PublishSet moves the object of a temporary tree to the name to, if what lies there is still what over says, with other objects of the
// tree that go into the same folder, and removes objects there that belong to the old one. They are called by the last elements of their
// names, and so are they in the tree. Readers that use PinSet find all old objects or all new ones, also when the process ends in the
// middle: Settle does the rest then. kept says that this is needed after an error, so that the tree must stay.
func PublishSet(ctx context.Context, b Bucket, tree, to string, others, gone []string, over State) (kept bool, err error) {
	folder, last := Split(Clean(to))
	r := &replacement{Kind: replacementKind, Stage: Base(tree), Over: over, Files: others, Gone: gone}
	if in, _ := Split(Clean(tree)); in != folder {
		return false, fmt.Errorf("blob: publish %s as %s: want both in one folder", tree, to)
	}
	if r.Main, err = b.State(ctx, r.at(folder, last)); err != nil {
		return false, err
	}
	if now, err := b.State(ctx, to); err != nil {
		return false, err
	} else if over != Anything && now != over {
		return false, changed(to, over)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	if err := WriteOver(ctx, b, to+ReplacingExt, text, Nothing); errors.Is(err, ErrChanged) {
		return false, fmt.Errorf("blob: another process is replacing %s: %w", to, ErrChanged)
	} else if err != nil {
		return false, err
	}
	ctx = context.WithoutCancel(ctx)
	if kept, err = r.finish(ctx, b, folder, last); kept { // the set counts: what failed once is tried again before it is left to others
		kept, err = r.finish(ctx, b, folder, last)
	}
	return kept, err
}

// at is the name of an object in the stage.
func (r *replacement) at(folder, last string) string { return folder + r.Stage + "/" + last }

// finish moves what was not moved yet.
func (r *replacement) finish(ctx context.Context, b Bucket, folder, last string) (kept bool, err error) {
	main, to := r.at(folder, last), folder+last
	staged, err := b.State(ctx, main)
	if err != nil {
		return true, err
	}
	if staged == r.Main {
		err := b.Publish(ctx, main, to, r.Over)
		moved := errors.Is(err, fs.ErrNotExist)
		if errors.Is(err, ErrChanged) { // by others, or by a process that copied it and could not remove the original
			moved, err = sameContent(ctx, b, main, to, err)
		}
		switch {
		case err == nil || moved:
		case errors.Is(err, ErrChanged): // what is there now is of others
			rerr := b.Remove(ctx, to+ReplacingExt)
			return rerr != nil, errors.Join(err, rerr)
		default:
			now, serr := b.State(ctx, main)
			old, oerr := b.State(ctx, to)
			if serr != nil || oerr != nil || now != r.Main || old != r.Over {
				return true, err
			}
			rerr := b.Remove(ctx, to+ReplacingExt) // nothing was moved
			return rerr != nil, errors.Join(err, rerr)
		}
	}
	for _, f := range r.Files {
		if err := b.Publish(ctx, r.at(folder, f), folder+f, Anything); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	for _, f := range r.Gone {
		if err := b.Remove(ctx, folder+f); err != nil {
			return true, err
		}
	}
	err = b.Remove(ctx, to+ReplacingExt)
	return err != nil, err
}

// sameContent reports whether two objects have the same bytes; if not the error is why.
func sameContent(ctx context.Context, b Bucket, one, other string, why error) (bool, error) {
	x, err := b.Open(ctx, one)
	if err != nil {
		return false, errors.Join(why, err)
	}
	defer x.Close()
	y, err := b.Open(ctx, other)
	if err != nil {
		return false, errors.Join(why, err)
	}
	defer y.Close()
	if x.Size() != y.Size() {
		return false, why
	}
	p, q := make([]byte, 1<<20), make([]byte, 1<<20)
	for off := int64(0); off < x.Size(); off += int64(len(p)) {
		n := min(int64(len(p)), x.Size()-off)
		for buf, o := range map[*[]byte]Object{&p: x, &q: y} {
			if m, err := o.ReadAt((*buf)[:n], off); int64(m) < n {
				return false, errors.Join(why, err)
			}
		}
		if !bytes.Equal(p[:n], q[:n]) {
			return false, why
		}
	}
	return true, nil
}

// readReplacement reads a journal that was pinned; nil if the object is none.
func readReplacement(ctx context.Context, pin Pinned, name string) (*replacement, []byte, error) {
	o, err := pin.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer o.Close()
	if o.Size() > replacementLimit {
		return nil, nil, nil
	}
	text := make([]byte, o.Size())
	if n, err := o.ReadAt(text, 0); n < len(text) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, err
	}
	return decodeReplacement(text), text, nil
}

// decodeReplacement reads a journal; nil if it is none, or names what is not in its folder.
func decodeReplacement(text []byte) *replacement {
	r := &replacement{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil || d.More() || r.Kind != replacementKind || !strings.HasPrefix(r.Stage, tmpMark) {
		return nil
	}
	for _, name := range slices.Concat([]string{r.Stage}, r.Files, r.Gone) {
		if checkName(name) != nil || strings.Contains(name, "/") {
			return nil
		}
	}
	return r
}

// pin shows the new objects, wherever they are.
func (r *replacement) pin(ctx context.Context, b Bucket, folder, last string, text []byte) (pin Pinned, err error) {
	set := &setPin{of: map[string]Pinned{}}
	defer func() {
		if err != nil {
			set.Close()
		}
	}()
	staged, err := b.State(ctx, r.at(folder, last))
	if err != nil {
		return nil, err
	}
	for i, f := range append([]string{last}, r.Files...) {
		p, err := pinOf(ctx, b, r.at(folder, f))
		if err != nil {
			return nil, err
		}
		_, is := infoOf(p, ".")
		if i == 0 { // an exchange gives the stage what was replaced
			is = is && staged == r.Main
		}
		if !is {
			p.Close()
			if p, err = pinOf(ctx, b, folder+f); err != nil {
				return nil, err
			}
			_, is = infoOf(p, ".")
		}
		name := "."
		if i > 0 {
			name = Other(f)
		}
		set.of[name] = p
		if !is {
			return nil, fmt.Errorf("blob: %s%s is neither there nor in %s: %w", folder, f, folder+r.Stage, ErrChanged)
		}
	}
	if now, err := b.State(ctx, r.at(folder, last)); err != nil {
		return nil, err
	} else if now != staged {
		return nil, restless(folder + last)
	}
	switch now, err := ReadAll(ctx, b, folder+last+ReplacingExt, replacementLimit); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil || !bytes.Equal(now, text):
		return nil, restless(folder + last)
	}
	return set, nil
}

// Settle ends a replacement of the name by a process that was killed in the middle of PublishSet, and reports whether there was one: the
// tree that it came from can be removed then. It fails with ErrChanged if the process may be alive.
func Settle(ctx context.Context, b Bucket, name string) (was bool, err error) {
	r, held, err := replacing(ctx, b, name)
	switch {
	case err != nil || r == nil:
		return false, err
	case held:
		return false, fmt.Errorf("blob: another process is replacing %s: %w", name, ErrChanged)
	}
	folder, last := Split(Clean(name))
	if _, err := r.finish(ctx, b, folder, last); err != nil && !errors.Is(err, ErrChanged) { // what is there now stays
		return false, err
	}
	return true, b.Remove(ctx, folder+r.Stage)
}

// Interrupted reports whether Settle has something to do.
func Interrupted(ctx context.Context, b Bucket, name string) (bool, error) {
	r, held, err := replacing(ctx, b, name)
	return r != nil && !held, err
}

// replacing returns the journal of a name, or nil if it has no journal, and whether a process holds its stage.
func replacing(ctx context.Context, b Bucket, name string) (r *replacement, held bool, err error) {
	text, err := ReadAll(ctx, b, name+ReplacingExt, replacementLimit)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrName) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	s, can := b.(Sweeper)
	if p, is := b.(*Paths); is {
		_, _, err := p.sweeper(ctx, name)
		can = err == nil
	}
	if r = decodeReplacement(text); r == nil || !can { // then its processes have ended
		return r, false, nil
	}
	folder, _ := Split(Clean(name))
	there, err := b.List(ctx, folder+r.Stage)
	if err != nil || len(there) == 0 {
		return r, false, err
	}
	left, err := s.Leftovers(ctx, name)
	if err != nil {
		return nil, false, err
	}
	return r, !slices.ContainsFunc(left, func(l string) bool { return Base(l) == r.Stage }), nil
}

// Swept is Sweep of a bucket that can do it, after Settle of what was being replaced from the trees that go.
func Swept(ctx context.Context, b Bucket, name string) (names []string, err error) {
	s, can := b.(Sweeper)
	if !can {
		return nil, nil
	}
	left, err := s.Leftovers(ctx, name)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	for _, l := range left {
		was, err := settleFrom(ctx, b, l)
		if err != nil {
			return names, err
		}
		if was {
			names = append(names, l)
		}
	}
	swept, err := s.Sweep(ctx, name)
	return append(names, swept...), err
}

// settleFrom is Settle of the object that is being replaced from a tree, if the name of the tree says so.
func settleFrom(ctx context.Context, b Bucket, tree string) (was bool, err error) {
	folder, last := Split(tree)
	last, is := strings.CutPrefix(last, tmpMark)
	for i := strings.LastIndexByte(last, '.'); is && i > 0; i = strings.LastIndexByte(last[:i], '.') {
		r, held, err := replacing(ctx, b, folder+last[:i])
		if err != nil {
			return false, err
		}
		if r != nil && !held && r.Stage == Base(tree) {
			return Settle(ctx, b, folder+last[:i])
		}
	}
	return false, nil
}
