package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/state"
)

// checkpointsKept is how many checkpoints stay by default.
const checkpointsKept = 3

func (f *checkpointFlags) pruneCommand() *cobra.Command {
	keep, dry := checkpointsKept, false
	c := &cobra.Command{
		Use:   "prune PATH",
		Short: "Remove all but the last checkpoints of a folder, and what these need",
		Long: `Removes the checkpoints of a folder but the last ones of each run, what these are based on, and the best epochs that they name.
Checkpoints that cannot be read, and those with names that no training gives, stay and are named. The folder of a training that runs is
refused: it keeps what it may go on from, as many as its own --keep says.`,
		Example: "  thole checkpoint prune run/checkpoints --dry-run\n  thole checkpoint prune run/checkpoints --keep 1",
		RunE: func(c *cobra.Command, args []string) error {
			if keep < 1 {
				return usageError{fmt.Errorf("--keep %d, want a number of checkpoints from 1 on", keep)}
			}
			k, err := f.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			if k.single {
				return usageError{fmt.Errorf("%s is one checkpoint, want a folder of them", k.path)}
			}
			return f.prune(c.Context(), k, keep, dry)
		},
	}
	c.Flags().IntVar(&keep, "keep", keep, "how many stay of each run, beside what they need")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	return c
}

// prune removes what may go: the newest first, so that nothing that is left is based on what is gone, wherever it ends. No training writes
// to the folder meanwhile.
func (f *checkpointFlags) prune(ctx context.Context, k *checkpointer, keep int, dry bool) error {
	word, bytes := "would remove", int64(0)
	if !dry {
		word = "removed"
		release, err := f.claimTree(ctx, k.bucket, k.path, k.folder)
		if by, is := errors.AsType[*blob.Claimed](err); is {
			return fmt.Errorf("%s is the folder of %s, which removes what it does not need itself: prune it when that has ended", k.path, by.Who)
		}
		if err != nil {
			return err
		}
		defer release()
		if k.entries, err = state.List(ctx, k.bucket, k.folder); err != nil { // as it is now
			return err
		}
	}
	gone := state.Keep(k.entries, keep)
	out := legible{f.out}
	for i := range slices.Backward(gone) {
		e := &gone[i]
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if !dry {
			if err := k.bucket.Remove(ctx, e.Path); err != nil {
				return err
			}
		}
		bytes += e.Bytes
		if _, err := fmt.Fprintf(out, "%s %s, %s\n", word, e.Path, format.Bytes(e.Bytes)); err != nil {
			return err
		}
	}
	var strange []string
	for i := range k.entries {
		if e := &k.entries[i]; e.Err != nil {
			strange = append(strange, e.Name+", which cannot be read")
		} else if !e.Ours() {
			strange = append(strange, e.Name)
		}
	}
	if len(strange) > 0 {
		fmt.Fprintf(out, "not touched: %s\n", strings.Join(strange, "; "))
	}
	_, err := fmt.Fprintf(out, "%s %s of %d, %s\n", word, number.Of(len(gone), "checkpoint"), len(k.entries), format.Bytes(bytes))
	return err
}

func (f *checkpointFlags) compactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compact PATH",
		Short: "Make an increment whole, in its place; of a folder the last one",
		Long: `Reads an increment and all that it is based on, and puts a whole checkpoint of the same moment in its place, in one step. It is
read faster, and what it was based on is free to go; increments that are based on it stay as they are.`,
		Example: "  thole checkpoint compact run/checkpoints\n  thole checkpoint compact run/checkpoints/420",
		RunE: func(c *cobra.Command, args []string) error {
			k, e, err := f.findOne(c.Context(), args[0])
			if err != nil {
				return err
			}
			return f.compact(c.Context(), k, e)
		},
	}
}

func (f *checkpointFlags) compact(ctx context.Context, k *checkpointer, e *state.Entry) error {
	if e.Head.Whole() {
		_, err := fmt.Fprintf(legible{f.out}, "%s is whole already\n", k.shown(e))
		return err
	}
	chain, err := state.OpenChain(ctx, k.bucket, e.Path)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, in := range chain {
		total += fileBytes(in.Checkpoint)
	}
	p := f.progress("compact "+k.shown(e), "B", total)
	defer p.end()
	if err := state.Compact(ctx, k.bucket, e.Path, func(n int64) { p.add(int(n)) }); err != nil {
		return err
	}
	p.end()
	now, err := state.At(ctx, k.bucket, e.Path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(legible{f.out}, "%s is whole, %s; it was an increment of %s, %s, with %s to be read before it\n", k.shown(e),
		format.Bytes(now.Bytes), beside(e.Head.Base.Path, e.Path), format.Bytes(e.Bytes), number.Of(len(chain)-1, "other"))
	return err
}
