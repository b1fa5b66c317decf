package format

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/matrix"
)

// relayEnding is what the name of a relay has behind the name of the file, in the stage of a save.
const relayEnding = ".relay"

// Marks of the Parts of a save with a relay, before those of its writers.
const (
	direct  = 'd' // of the target
	relayed = 'r'
)

// relay stores blocks that may overlap until all of them are there. Most formats want blocks next to each other, and hash
// partitions lie within one another: the relay's reader cuts their cells into blocks that do not overlap.
type relay struct {
	codec  Codec
	bucket blob.Bucket
	path   string
	ms     []matrix.Meta // as the save has them
	to     Writer        // of the sparse ones
}

// Relay is a codec with Info.Overlaps.
func (s Set) Relay() Codec {
	for _, c := range s {
		if i := c.Info(); i.Overlaps != nil && i.Writes != "" {
			return c
		}
	}
	return nil
}

// newRelay begins to store the sparse matrices at the path; nil if there are none. Of each the relay knows only what its values
// need, and numbers are their names, whatever is allowed as a name in the target.
func newRelay(ctx context.Context, o *Options, b blob.Bucket, path string, ms []matrix.Meta) (*relay, error) {
	r := &relay{codec: o.Relay, bucket: b, path: path, ms: ms}
	var plain []matrix.Meta
	for i := range ms {
		if m := &ms[i]; m.Layout == matrix.RowSparse {
			plain = append(plain, matrix.Meta{Name: relayName(i), Rows: m.Rows, Cols: m.Cols, ColLo: m.ColLo, DType: m.DType,
				Layout: m.Layout, Saved: m.Saved, BlockRows: m.BlockRows, BlockCols: m.BlockCols})
		}
	}
	if plain == nil {
		return nil, nil
	}
	var err error
	r.to, err = r.codec.Create(ctx, b, path, plain, Options{Stage: o.Stage, Set: o.Relay.Info().Overlaps})
	return r, err
}

func relayName(i int) string { return fmt.Sprintf("m%d", i) }

// put stores a block of a sparse matrix, and hands those of others to the target.
func (r *relay) put(ctx context.Context, name string, b matrix.Block, target putFunc) (p Part, err error) {
	for i := range r.ms {
		if r.ms[i].Name == name && r.ms[i].Layout == matrix.RowSparse {
			p, err = r.to.Put(ctx, relayName(i), b)
			return append(Part{relayed}, p...), err
		}
	}
	p, err = target(ctx, name, b)
	return append(Part{direct}, p...), err
}

// putFunc is Writer.Put.
type putFunc func(ctx context.Context, name string, b matrix.Block) (Part, error)

// hand hands to the target what the parts say of sparse matrices, in blocks that do not overlap, and removes it. It gives all
// Parts of the target.
func (r *relay) hand(ctx context.Context, parts []Part, target putFunc) (out []Part, err error) {
	var mine []Part
	for _, p := range parts {
		switch {
		case len(p) > 0 && p[0] == direct:
			out = append(out, p[1:])
		case len(p) > 0 && p[0] == relayed:
			mine = append(mine, p[1:])
		default:
			return nil, fmt.Errorf("a part of %d bytes is of no block: %w", len(p), ErrCorrupt)
		}
	}
	if err := r.to.Commit(ctx, mine); err != nil {
		return nil, err
	}
	from, err := r.codec.Open(ctx, r.bucket, r.path, Options{})
	if err != nil {
		return nil, err
	}
	defer from.Close()
	for i := range r.ms {
		if r.ms[i].Layout != matrix.RowSparse {
			continue
		}
		for b, err := range from.Blocks(ctx, relayName(i), r.ms[i].Rect()) {
			if err != nil {
				return nil, err
			}
			p, err := target(ctx, r.ms[i].Name, b)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, r.bucket.Remove(ctx, r.path)
}
