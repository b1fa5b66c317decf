package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
)

// Store is where URLs of a scheme lead.
type Store struct {
	Scheme string // such as s3
	// Open gives the bucket of what stands between "//" and the first slash of a URL, which may be nothing. It is asked once for each, and
	// may be by many goroutines at once.
	Open func(ctx context.Context, authority string) (Bucket, error)
}

// Paths is the bucket of everything that people name: files of the system by paths, as Files has them, and objects of stores by URLs such
// as s3://bucket/models/lr. What path.Join makes of a URL, s3:/bucket/models/lr, names the same. Errors and listings show names as they
// were given. It may be used by many goroutines. A nil *Paths has files alone.
type Paths struct {
	sync   bool
	stores []Store
	opened *opened
	roots  []string // paths and URLs that everything lies below, names that are no URLs below the first; none: of the whole system
}

// opened is the buckets of stores that were asked for, by scheme and authority.
type opened struct {
	mu      sync.Mutex
	buckets map[string]Bucket
}

// NewPaths is the bucket of files, and of the URLs of the stores.
func NewPaths(stores ...Store) *Paths {
	return &Paths{stores: stores, opened: &opened{buckets: map[string]Bucket{}}}
}

// Synced is the same bucket, where what Commit or Publish has made visible is on the disk when they return, or not necessarily, as said.
// Stores have it always.
func (p *Paths) Synced(yes bool) *Paths {
	if p == nil {
		return &Paths{sync: yes}
	}
	return &Paths{yes, p.stores, p.opened, p.roots}
}

// Below is the bucket of what lies below the roots, which are paths and URLs: names are those below the first, or URLs below any.
func (p *Paths) Below(roots ...string) *Paths {
	below := *p.Synced(p != nil && p.sync)
	below.roots = nil
	for _, root := range roots {
		below.roots = append(below.roots, Clean(root))
	}
	return &below
}

// URL splits a URL, also one that path.Join has cleaned, into its scheme, its authority and what follows, without slashes at either end.
// An authority that is left out is written as "-", too, which stays when a name is cleaned. Other names are those of files.
func URL(name string) (scheme, authority, rest string, is bool) {
	scheme, rest, is = strings.Cut(name, ":/")
	if !is || len(scheme) < 2 || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+") != "" { // a letter alone is a drive
		return "", "", "", false
	}
	if after, two := strings.CutPrefix(rest, "/"); two {
		rest = after
	}
	if authority, rest, _ = strings.Cut(rest, "/"); authority == noAuthority {
		authority = ""
	}
	return scheme, authority, strings.Trim(rest, "/"), true
}

// noAuthority stands for an authority that is left out, as in hdfs:///models: path.Join makes no other name of hdfs://-/models.
const noAuthority = "-"

// Root is the store that a URL leads to, such as s3://bucket, without what is below it; "" of a file.
func Root(name string) string {
	scheme, authority, _, is := URL(name)
	if !is {
		return ""
	}
	return Clean(scheme + "://" + authority)
}

// IsURL reports whether a name is that of a store, and not of a file.
func IsURL(name string) bool {
	_, _, _, is := URL(name)
	return is
}

// at is the bucket that a name leads to, and the name there. The root of a store is ".".
func (p *Paths) at(ctx context.Context, name string) (Bucket, string, error) {
	if p == nil {
		p = &Paths{}
	}
	if len(p.roots) > 0 {
		var err error
		if name, err = p.below(name); err != nil {
			return nil, "", err
		}
	}
	scheme, authority, rest, is := URL(name)
	if !is {
		if len(p.roots) > 0 {
			if err := confined(p.roots[0], name); err != nil {
				return nil, "", err
			}
		}
		return Files{Sync: p.sync}, name, nil
	}
	var schemes []string
	for _, s := range p.stores {
		if s.Scheme == scheme {
			b, err := p.opened.bucket(ctx, s, authority)
			if rest = path.Clean(rest); err == nil && strings.HasPrefix(rest+"/", "../") {
				err = fmt.Errorf("blob: %q: %w", name, ErrName)
			}
			return b, rest, err
		}
		schemes = append(schemes, s.Scheme+"://")
	}
	if len(schemes) == 0 {
		schemes = []string{"a path"}
	}
	return nil, "", fmt.Errorf("blob: %s: no store of scheme %s, want %s", name, scheme, strings.Join(schemes, " or "))
}

// Close closes the stores that were opened, with all that still goes on in them, as far as they can be. Files stay as they are.
func (p *Paths) Close() error {
	p.opened.mu.Lock()
	defer p.opened.mu.Unlock()
	var all []error
	for _, b := range p.opened.buckets {
		if c, can := b.(io.Closer); can {
			all = append(all, c.Close())
		}
	}
	return errors.Join(all...)
}

// bucket opens a store, or gives it again.
func (o *opened) bucket(ctx context.Context, s Store, authority string) (Bucket, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := s.Scheme + "://" + authority
	if b := o.buckets[key]; b != nil {
		return b, nil
	}
	b, err := s.Open(ctx, authority)
	if err != nil {
		return nil, fmt.Errorf("blob: %s: %w", key, err)
	}
	o.buckets[key] = b
	return b, nil
}

// below is the whole name of one that lies below the roots.
func (p *Paths) below(name string) (string, error) {
	if !IsURL(name) {
		if err := checkName(name); err != nil {
			return "", err
		}
		return strings.TrimSuffix(p.roots[0], "/") + "/" + name, nil
	}
	whole := Clean(name)
	for _, root := range p.roots {
		if strings.HasPrefix(whole, root+"/") {
			return whole, nil
		}
	}
	return "", fmt.Errorf("blob: %s: not below %s: %w", name, strings.Join(p.roots, " or "), ErrName)
}

// confined refuses a path below a folder from which a symbolic link leads out of it: names come from others than the owner of the folder.
// The folder itself may be a link.
func confined(folder, file string) error {
	below := strings.TrimPrefix(strings.TrimPrefix(file, folder), "/")
	root, err := os.OpenRoot(folder)
	if missing(err) {
		return nil // there is nothing to follow
	}
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	defer root.Close()
	for ; below != "." && below != ""; below = path.Dir(below) { // what is not there yet lies where its parent is
		if _, err := root.Stat(below); !missing(err) {
			if err != nil {
				err = fmt.Errorf("blob: %s: %w (symbolic links that lead out of %s are not followed)", file, err, folder)
			}
			return err
		}
	}
	return nil
}

// Open implements Bucket.
func (p *Paths) Open(ctx context.Context, name string) (Object, error) {
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return nil, err
	}
	return b.Open(ctx, rest)
}

// Create implements Bucket.
func (p *Paths) Create(ctx context.Context, name string) (Writer, error) {
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return nil, err
	}
	return b.Create(ctx, rest)
}

// CreateOver implements Replacer.
func (p *Paths) CreateOver(ctx context.Context, name string, over State) (Writer, error) {
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return nil, err
	}
	return CreateOver(ctx, b, rest, over)
}

// List implements Bucket.
func (p *Paths) List(ctx context.Context, tree string) ([]Info, error) {
	if p != nil && len(p.roots) > 0 && (tree == "" || tree == ".") {
		infos, err := (&Paths{p.sync, p.stores, p.opened, nil}).List(ctx, p.roots[0])
		for i := range infos {
			infos[i].Name = strings.TrimPrefix(strings.TrimPrefix(infos[i].Name, p.roots[0]), "/")
		}
		return infos, err
	}
	b, rest, err := p.at(ctx, tree)
	if err != nil {
		return nil, err
	}
	infos, err := b.List(ctx, rest)
	for i := range infos {
		infos[i].Name = given(tree, rest, infos[i].Name)
	}
	return infos, err
}

// given is what an object that was listed in a tree is called where the tree was given in other words.
func given(tree, rest, name string) string {
	switch {
	case tree == rest: // of a file
		return name
	case rest == ".":
		return strings.TrimRight(tree, "/") + "/" + name
	}
	return strings.TrimRight(tree, "/") + strings.TrimPrefix(name, rest)
}

// Remove implements Bucket.
func (p *Paths) Remove(ctx context.Context, name string) error {
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return err
	}
	return b.Remove(ctx, rest)
}

// State implements Bucket.
func (p *Paths) State(ctx context.Context, name string) (State, error) {
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return Nothing, err
	}
	return b.State(ctx, rest)
}

// Publish implements Bucket.
func (p *Paths) Publish(ctx context.Context, from, to string, over State) error {
	b, rest, err := p.at(ctx, from)
	other, into, oerr := p.at(ctx, to)
	if err = errors.Join(err, oerr); err != nil {
		return err
	}
	if b != other {
		return fmt.Errorf("blob: publish %s as %s, want both in one store", from, to)
	}
	return b.Publish(ctx, rest, into, over)
}

// sweeper is at, where what is left behind can be told.
func (p *Paths) sweeper(ctx context.Context, name string) (Sweeper, string, error) {
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return nil, "", err
	}
	s, can := b.(Sweeper)
	if !can {
		return nil, "", fmt.Errorf("blob: %s: %w", name, errors.ErrUnsupported)
	}
	return s, rest, nil
}

var (
	_ Bucket   = (*Paths)(nil)
	_ Replacer = (*Paths)(nil)
	_ Sweeper  = (*Paths)(nil)
	_ Claimer  = (*Paths)(nil)
	_ Roomer   = (*Paths)(nil)
)

// Hold implements Sweeper.
func (p *Paths) Hold(ctx context.Context, tree string) (release func(), err error) {
	s, rest, err := p.sweeper(ctx, tree)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return func() {}, nil
	case err != nil:
		return nil, err
	}
	return s.Hold(ctx, rest)
}

// Leftovers implements Sweeper.
func (p *Paths) Leftovers(ctx context.Context, name string) ([]string, error) {
	return p.left(ctx, name, Sweeper.Leftovers)
}

// Sweep implements Sweeper.
func (p *Paths) Sweep(ctx context.Context, name string) ([]string, error) {
	return p.left(ctx, name, Sweeper.Sweep)
}

// left gives the names that list finds beside the name as they were given.
func (p *Paths) left(ctx context.Context, name string, list func(Sweeper, context.Context, string) ([]string, error)) ([]string, error) {
	s, rest, err := p.sweeper(ctx, name)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if rest == "." { // nothing lies beside the root of a store
		return nil, nil
	}
	names, err := list(s, ctx, rest)
	for i := range names {
		names[i] = Clean(path.Join(path.Dir(name), path.Base(names[i])))
	}
	return names, err
}

// Unfinished implements Sweeper.
func (p *Paths) Unfinished(ctx context.Context, tree string) ([]string, error) {
	if p != nil && len(p.roots) > 0 && (tree == "" || tree == ".") {
		return (&Paths{p.sync, p.stores, p.opened, nil}).Unfinished(ctx, p.roots[0])
	}
	s, rest, err := p.sweeper(ctx, tree)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.Unfinished(ctx, rest)
}

// Claim implements Claimer.
func (p *Paths) Claim(ctx context.Context, tree, who string) (release func(), err error) {
	b, rest, err := p.at(ctx, tree)
	if err != nil {
		return nil, err
	}
	if c, can := b.(Claimer); can {
		return c.Claim(ctx, rest, who)
	}
	return func() {}, nil
}

// Room implements Roomer.
func (p *Paths) Room(ctx context.Context, name string) (int64, error) {
	b, rest, err := p.at(ctx, name)
	if err != nil {
		return 0, err
	}
	if r, can := b.(Roomer); can {
		return r.Room(ctx, rest)
	}
	return -1, nil
}
