package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/trees"
	"thole.example/gbdt"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/state"
	"thole.example/tree"
)

// A checkpoint of trees is the model so far, as it is saved in treesFormat, with the file growthFile among those beside its matrices. In a
// folder of checkpoints each has the number of its iterations as its name. docs/trees.md describes it.
const (
	growthFile  = "growth.json"
	treesFormat = "daphne"
)

// growth is what a training takes to go on beside the model so far.
type growth struct {
	Iterations int        `json:"iterations"` // of the training
	Before     int        `json:"before"`     // trees of other trainings
	Values     []*float64 `json:"values"`     // of each iteration, of the held-out examples; less is better
	Losses     []*float64 `json:"losses"`
	Facts      []fact     `json:"facts"`
	// With dropout, of all trees of the training one after the other: the values of leaves and of nodes as they were grown, in float64, in the
	// place of those of the model, which later trees have changed.
	Leaves []byte `json:"leaves,omitempty"`
	Nodes  []byte `json:"nodes,omitempty"`
	// Sum is the CRC-32C of this text without it, of the other files, and of the cells of the matrices.
	Sum string `json:"sum"`
}

// fact is something of the settings or the examples that trees are grown by.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// newGrowth is that of a training that has grown so much.
func newGrowth(g *gbdt.Grown, losses []float64, facts []fact, dropped bool) *growth {
	out := &growth{Iterations: len(g.Values), Before: len(g.Model.Trees) - len(g.Trees), Values: gbdt.Numbers(g.Values),
		Losses: gbdt.Numbers(losses), Facts: facts}
	for i := range g.Trees {
		if dropped {
			out.Leaves, out.Nodes = appendCells(out.Leaves, g.Trees[i].LeafValue), appendCells(out.Nodes, g.Trees[i].Value)
		}
	}
	return out
}

// text is the file of a checkpoint of the trees, with other files beside it.
func (g *growth) text(e *tree.Ensemble, files map[string][]byte) ([]byte, error) {
	sum, err := g.sum(e, files)
	if err != nil {
		return nil, err
	}
	out := *g
	out.Sum = sum
	text, err := json.Marshal(&out)
	return append(text, '\n'), err
}

// sum is the sum of everything in a checkpoint.
func (g *growth) sum(e *tree.Ensemble, files map[string][]byte) (string, error) {
	own := *g
	own.Sum = ""
	text, err := json.Marshal(&own)
	if err != nil {
		return "", err
	}
	sum := kernel.CRC32C(0, text)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != growthFile {
			sum = kernel.CRC32C(kernel.CRC32C(sum, []byte(name)), files[name])
		}
	}
	metas, blocks := e.Matrices()
	for i, m := range metas {
		sum = kernel.CRC32C(sum, []byte(m.Name))
		switch d := blocks[i].Data.(type) {
		case *matrix.Dense[int32]:
			sum = kernel.CRC32C(sum, appendCells(nil, d.Val))
		case *matrix.Dense[int64]:
			sum = kernel.CRC32C(sum, appendCells(nil, d.Val))
		case *matrix.Dense[float64]:
			sum = kernel.CRC32C(sum, appendCells(nil, d.Val))
		}
	}
	return fmt.Sprintf("%08x", sum), nil
}

// appendCells appends numbers, little-endian.
func appendCells[T int32 | int64 | float64](to []byte, v []T) []byte {
	to, _ = binary.Append(to, binary.LittleEndian, v) // which takes any number
	return to
}

// treeCheckpoint is a checkpoint of trees that was read.
type treeCheckpoint struct {
	*growth
	path  string
	grown *gbdt.Grown
}

// errNoTrees says that something is no checkpoint of trees.
var errNoTrees = errors.New("no checkpoint of trees")

// readTreeCheckpoint reads a checkpoint, all of it.
func readTreeCheckpoint(ctx context.Context, in *blob.Paths, at string) (*treeCheckpoint, error) {
	codec, err := codecs().Lookup(treesFormat)
	if err != nil {
		return nil, err
	}
	r, err := codec.Open(ctx, in, inBucket(at), format.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	e, err := trees.Read(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	c := &treeCheckpoint{path: at}
	if c.growth, err = parseGrowth(e, r.Files()); err == nil {
		c.grown, err = c.restore(e)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(at, growthFile), err)
	}
	return c, nil
}

// parseGrowth reads the file of a checkpoint of the trees.
func parseGrowth(e *tree.Ensemble, files map[string][]byte) (*growth, error) {
	g := &growth{}
	in := json.NewDecoder(bytes.NewReader(files[growthFile]))
	in.DisallowUnknownFields()
	if err := in.Decode(g); err != nil {
		return nil, fmt.Errorf("%w: %w", format.ErrCorrupt, err)
	}
	sum, err := g.sum(e, files)
	if err != nil {
		return nil, err
	}
	if sum != g.Sum {
		return nil, fmt.Errorf("%w: the checkpoint has the checksum %s, want %s as it was written", format.ErrCorrupt, sum, g.Sum)
	}
	return g, nil
}

// restore is what was grown, of a checkpoint whose model has the trees.
func (g *growth) restore(e *tree.Ensemble) (*gbdt.Grown, error) {
	classes, n := max(1, e.Classes), len(e.Trees)
	if g.Before < 0 || g.Iterations < 1 || g.Iterations > n || g.Before != n-g.Iterations*classes || len(g.Values) != g.Iterations {
		return nil, fmt.Errorf("%w: %d iterations after %d trees with %d values, want those of %d trees of %d classes", format.ErrCorrupt,
			g.Iterations, g.Before, len(g.Values), n, classes)
	}
	out := &gbdt.Grown{Trees: slices.Clone(e.Trees[g.Before:]), Values: gbdt.FromNumbers(g.Values)}
	if g.Leaves == nil {
		return out, nil
	}
	leaves, nodes := cells(g.Leaves), cells(g.Nodes)
	for i := range out.Trees {
		t := &out.Trees[i]
		if len(leaves) < len(t.LeafValue) || len(nodes) < len(t.Value) {
			return nil, fmt.Errorf("%w: values of fewer leaves or nodes than there are", format.ErrCorrupt)
		}
		t.LeafValue, leaves = leaves[:len(t.LeafValue):len(t.LeafValue)], leaves[len(t.LeafValue):]
		t.Value, nodes = nodes[:len(t.Value):len(t.Value)], nodes[len(t.Value):]
	}
	if len(leaves)+len(nodes) > 0 {
		return nil, fmt.Errorf("%w: values of more leaves or nodes than there are", format.ErrCorrupt)
	}
	return out, nil
}

// cells are numbers, little-endian.
func cells(from []byte) []float64 {
	out := make([]float64, len(from)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:]))
	}
	return out
}

// writeTreeCheckpoint writes a checkpoint at a path, at which it appears whole.
func (p *plan) writeTreeCheckpoint(ctx context.Context, at string, e *tree.Ensemble, g *growth) error {
	files, err := p.treeFiles()
	if err != nil {
		return err
	}
	text, err := e.JSON()
	if err != nil {
		return err
	}
	files[tree.FileName] = text
	if files[growthFile], err = g.text(e, files); err != nil {
		return err
	}
	delete(files, tree.FileName) // the reader makes it
	r, err := trees.NewReader(e, files)
	if err != nil {
		return err
	}
	codec, err := codecs().Lookup(treesFormat)
	if err != nil {
		return err
	}
	o, bucket := format.Options{}, p.paths.Synced(p.sync || p.atServers) // workers have no flag for it
	if o.Over, err = bucket.State(ctx, inBucket(at)); err != nil {
		return err
	}
	return format.Convert(ctx, r, codec, bucket, inBucket(at), o, nil, nil)
}

// listTreeCheckpoints are the numbers of the checkpoints of trees in a folder, ascending. Those of networks it refuses.
func listTreeCheckpoints(ctx context.Context, in *blob.Paths, folder string) (all []int, err error) {
	found, err := in.List(ctx, inBucket(folder))
	if err != nil {
		return nil, err
	}
	for _, o := range found {
		name, object, _ := strings.Cut(strings.TrimPrefix(o.Name, inBucket(folder)+"/"), "/")
		if object == state.HeadName || name == state.HeadName && object == "" {
			return nil, fmt.Errorf("%s: %w, but one of a network: want a folder of its own for trees",
				strings.TrimSuffix(o.Name, "/"+state.HeadName), errNoTrees)
		}
		if n, err := strconv.Atoi(name); err == nil && object == growthFile && name == state.StepName(int64(n)) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// isTreeCheckpoint reports whether a path is a checkpoint of trees.
func isTreeCheckpoint(ctx context.Context, in *blob.Paths, at string) (bool, error) {
	o, err := in.Open(ctx, inBucket(path.Join(at, growthFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, o.Close()
}

// noTrees refuses checkpoints of trees where those of a network are wanted.
func noTrees(ctx context.Context, in *blob.Paths, paths ...string) error {
	for _, at := range paths {
		if at == "" {
			continue
		}
		trees, err := isTreeCheckpoint(ctx, in, at)
		if err == nil && !trees {
			var all []int
			all, err = listTreeCheckpoints(ctx, in, at)
			trees = len(all) > 0
		}
		switch {
		case errors.Is(err, errNoTrees):
		case err != nil:
			return err
		case trees:
			return fmt.Errorf("%s: checkpoints of trees, want --algo gbdt, or one of a network", at)
		}
	}
	return nil
}
