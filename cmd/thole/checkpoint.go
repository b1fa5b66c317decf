package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/internal/spell"
	"thole.example/state"
)

// checkpointFlags are what the user said of checkpoints.
type checkpointFlags struct {
	*env
	json bool
}

func checkpointCommand(e *env) *cobra.Command {
	f := &checkpointFlags{env: e}
	c := &cobra.Command{
		Use:   "checkpoint",
		Short: "Work with checkpoints: ls, show, verify, export, compact, prune",
		Long: `A checkpoint is all that a training needs to go on from a moment. Those of one training lie in a folder, each named by how many
steps were made; it is whole, or has only what has changed since another that it is based on. PATH is such a folder, a checkpoint in it
(PATH/000000000420, or PATH/420), or a single one, such as the state beside a model (MODEL.state).`,
		Example: "  thole checkpoint ls run/checkpoints\n  thole checkpoint export run/checkpoints --model out/then",
	}
	c.AddCommand(f.listCommand(), f.showCommand(), f.verifyCommand(), f.exportCommand(), f.compactCommand(), f.pruneCommand())
	return c
}

func (f *checkpointFlags) jsonFlag(c *cobra.Command) {
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// series is what a path of the command line has.
type checkpointer struct {
	path    string      // as the user wrote it
	bucket  *blob.Paths // of all of them
	folder  string      // that they lie in, within the bucket
	entries []state.Entry
	single  bool // the path is that of one
}

// shown is the path of a checkpoint as the user would write it.
func (k *checkpointer) shown(e *state.Entry) string {
	if k.single {
		return k.path
	}
	return blob.Join(inBucket(k.path), e.Name)
}

// find looks what the path has: a checkpoint, or a folder of checkpoints.
func (f *checkpointFlags) find(ctx context.Context, at string) (*checkpointer, error) {
	if at == "" {
		return nil, usageError{errNoPath}
	}
	k := &checkpointer{path: at, bucket: f.paths.Synced(true), folder: inBucket(at)}
	there, err := k.bucket.List(ctx, k.folder)
	switch {
	case err != nil:
		return nil, err
	case len(there) == 0 || there[0].Name == k.folder:
		return k, f.missing(ctx, k, len(there) > 0)
	}
	if isCheckpoint(ctx, k.bucket, k.folder) {
		return k, k.one(ctx, k.folder)
	}
	if k.entries, err = state.List(ctx, k.bucket, k.folder); err != nil {
		return nil, err
	}
	if len(k.entries) == 0 {
		return nil, f.none(ctx, at)
	}
	return k, nil
}

// findOne is find, and the one checkpoint that is meant. It says which later ones cannot be used.
func (f *checkpointFlags) findOne(ctx context.Context, at string) (k *checkpointer, e *state.Entry, err error) {
	if k, err = f.find(ctx, at); err == nil {
		e, err = k.last()
	}
	if err != nil || k.single {
		return k, e, err
	}
	for i := range slices.Backward(k.entries) {
		later := &k.entries[i]
		if later == e {
			break
		}
		if later.Err != nil {
			fmt.Fprintf(legible{f.err}, "%s cannot be used: %v; %s is taken\n", k.shown(later), later.Err, k.shown(e))
		}
	}
	return k, e, nil
}

// among is the folder where there are other checkpoints, too; "" if there are none.
func (k *checkpointer) among(ctx context.Context) string {
	folder := k.folder
	if k.single {
		folder = blob.Parent(inBucket(k.path))
	}
	if len(checkpointsIn(ctx, k.bucket, folder)) < 2 {
		return ""
	}
	return folder
}

// one makes the path that of a checkpoint.
func (k *checkpointer) one(ctx context.Context, at string) error {
	e, err := state.At(ctx, k.bucket, at)
	k.single, k.entries = true, []state.Entry{e}
	return err
}

// missing finds the checkpoint of a folder that a path names in short, as run/420; else it says what is wrong with the path.
func (f *checkpointFlags) missing(ctx context.Context, k *checkpointer, file bool) error {
	if file {
		return f.none(ctx, k.path)
	}
	above, name := blob.Parent(k.folder), blob.Base(inFull(k.folder))
	there := checkpointsIn(ctx, k.bucket, above)
	if len(there) == 0 {
		return fmt.Errorf("%s: nothing there, want a checkpoint or a folder of checkpoints", k.path)
	}
	if !slices.Contains(there, name) {
		return fmt.Errorf("%s: nothing there%s", k.path, besides(k.folder, there))
	}
	k.path = blob.Join(above, name)
	return k.one(ctx, k.path)
}

// besides is the end of an error that says which checkpoints there are beside the path of one that there is not; "" if there are none.
func besides(at string, there []string) string {
	if len(there) == 0 {
		return ""
	}
	return fmt.Sprintf("; checkpoints in %s: %s%s", blob.Parent(at), strings.Join(there, ", "), spell.Hint(blob.Base(inFull(at)), there))
}

// checkpointsIn are the names of those right in a folder.
func checkpointsIn(ctx context.Context, in *blob.Paths, folder string) (names []string) {
	objects, _ := in.List(ctx, folder) // where there are none nothing can be read
	for _, o := range objects {
		if at, head := blob.Split(o.Name); head == state.HeadName && blob.Parent(blob.Clean(at)) == blob.Clean(folder) {
			names = append(names, blob.Base(at))
		}
	}
	return names
}

func isCheckpoint(ctx context.Context, in *blob.Paths, at string) bool {
	o, err := in.Open(ctx, blob.Join(at, state.HeadName))
	return err == nil && o.Close() == nil
}

func names(all []state.Entry) (out []string) {
	for _, e := range all {
		out = append(out, e.Name)
	}
	return out
}

// none says what is there instead of a checkpoint.
func (f *checkpointFlags) none(ctx context.Context, at string) error {
	if all, err := listTreeCheckpoints(ctx, f.paths, at); err == nil && len(all) > 0 {
		last := blob.Join(at, state.StepName(int64(all[len(all)-1])))
		return fmt.Errorf("%s: checkpoints of trees, which are models, want that of a network; thole inspect, predict, diff and convert take %s",
			at, last)
	}
	if p, err := f.locate(ctx, at, "", nil); err == nil {
		text := fmt.Sprintf("%s: a model (format %s), want a checkpoint or a folder of checkpoints", at, p.Info().Name)
		if found, err := f.paths.List(ctx, inBucket(at+stateEnding)); err == nil && len(found) > 0 {
			text += fmt.Sprintf("; %s%s is the state beside it", at, stateEnding)
		}
		return errors.New(text)
	}
	return fmt.Errorf("%s: no checkpoint there", at)
}

// last is the one that is meant where a folder is named: the last that can be read.
func (k *checkpointer) last() (*state.Entry, error) {
	for i := range slices.Backward(k.entries) {
		if e := &k.entries[i]; k.single || e.Err == nil && e.Stepped() {
			return e, e.Err
		}
	}
	for i := range slices.Backward(k.entries) {
		if e := &k.entries[i]; e.Err == nil {
			return e, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%s: no checkpoint of %s can be read", k.path, strings.Join(names(k.entries), ", ")), k.entries[0].Err)
}
