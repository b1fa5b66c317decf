package blob

import (
	"context"
	"errors"
)

// Guarded is a bucket of which some names may be used.
type Guarded struct {
	bucket Bucket
	check  func(name string, write bool) error
}

// Guard is a bucket that refuses the names for which check returns an error. It is a Replacer, Claimer, Roomer and Sweeper as far as the
// bucket is one.
func Guard(b Bucket, check func(name string, write bool) error) *Guarded { return &Guarded{b, check} }

func (g *Guarded) read(name string) error  { return g.check(name, false) }
func (g *Guarded) write(name string) error { return g.check(name, true) }

// Open implements Bucket.
func (g *Guarded) Open(ctx context.Context, name string) (Object, error) {
	if err := g.read(name); err != nil {
		return nil, err
	}
	return g.bucket.Open(ctx, name)
}

// Create implements Bucket.
func (g *Guarded) Create(ctx context.Context, name string) (Writer, error) {
	if err := g.write(name); err != nil {
		return nil, err
	}
	return g.bucket.Create(ctx, name)
}

// CreateOver implements Replacer.
func (g *Guarded) CreateOver(ctx context.Context, name string, over State) (Writer, error) {
	if err := g.write(name); err != nil {
		return nil, err
	}
	return CreateOver(ctx, g.bucket, name, over)
}

// List implements Bucket.
func (g *Guarded) List(ctx context.Context, tree string) ([]Info, error) {
	if err := g.read(tree); err != nil {
		return nil, err
	}
	return g.bucket.List(ctx, tree)
}

// Remove implements Bucket.
func (g *Guarded) Remove(ctx context.Context, name string) error {
	if err := g.write(name); err != nil {
		return err
	}
	return g.bucket.Remove(ctx, name)
}

// State implements Bucket.
func (g *Guarded) State(ctx context.Context, name string) (State, error) {
	if err := g.read(name); err != nil {
		return Nothing, err
	}
	return g.bucket.State(ctx, name)
}

// Publish implements Bucket.
func (g *Guarded) Publish(ctx context.Context, from, to string, over State) error {
	if err := errors.Join(g.write(from), g.write(to)); err != nil {
		return err
	}
	return g.bucket.Publish(ctx, from, to, over)
}

// Claim implements Claimer.
func (g *Guarded) Claim(ctx context.Context, tree, who string) (release func(), err error) {
	if err := g.write(tree); err != nil {
		return nil, err
	}
	if c, can := g.bucket.(Claimer); can {
		return c.Claim(ctx, tree, who)
	}
	return func() {}, nil
}

// Room implements Roomer.
func (g *Guarded) Room(ctx context.Context, name string) (int64, error) {
	if err := g.read(name); err != nil {
		return 0, err
	}
	if r, can := g.bucket.(Roomer); can {
		return r.Room(ctx, name)
	}
	return -1, nil
}

// Hold implements Sweeper.
func (g *Guarded) Hold(ctx context.Context, tree string) (release func(), err error) {
	if err := g.write(tree); err != nil {
		return nil, err
	}
	if s, can := g.bucket.(Sweeper); can {
		return s.Hold(ctx, tree)
	}
	return func() {}, nil
}

// Leftovers implements Sweeper.
func (g *Guarded) Leftovers(ctx context.Context, name string) ([]string, error) {
	s, can := g.bucket.(Sweeper)
	if err := g.read(name); err != nil || !can {
		return nil, err
	}
	return s.Leftovers(ctx, name)
}

// Sweep implements Sweeper.
func (g *Guarded) Sweep(ctx context.Context, name string) ([]string, error) {
	s, can := g.bucket.(Sweeper)
	if err := g.write(name); err != nil || !can {
		return nil, err
	}
	return s.Sweep(ctx, name)
}

// Unfinished implements Sweeper.
func (g *Guarded) Unfinished(ctx context.Context, tree string) ([]string, error) {
	s, can := g.bucket.(Sweeper)
	if err := g.read(tree); err != nil || !can {
		return nil, err
	}
	return s.Unfinished(ctx, tree)
}

var (
	_ Replacer = (*Guarded)(nil)
	_ Claimer  = (*Guarded)(nil)
	_ Roomer   = (*Guarded)(nil)
	_ Sweeper  = (*Guarded)(nil)
)
