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
)

// cleaning is the flags of clean.
type cleaning struct {
	*env
	dryRun, asJSON bool
}

// leftover is what a process that was killed left behind.
type leftover struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

func cleanCommand(e *env) *cobra.Command {
	k := &cleaning{env: e}
	c := &cobra.Command{
		Use:   "clean PATH...",
		Short: "Remove what killed processes left behind while they wrote",
		Long: `Lists and removes what was being written when a process was killed: files, folders and objects whose names begin with _tmp.,
which no reader looks at. PATH is a model, or a folder or URL that is searched with all that is in it. What a living process writes
stays: in a folder it holds a lock; in a store, where there are none, only what nobody has touched for long counts as left. The next
save to the same path does the same for that path. A file that was being replaced together with the files next to it (FILE.replacing) is
replaced as a whole.`,
		Example: "  thole clean out --dry-run\n  thole clean out/lr run/checkpoints",
		RunE: func(c *cobra.Command, args []string) error {
			found := []leftover{}
			for _, at := range args {
				left, err := k.clean(c.Context(), at)
				if found = append(found, left...); err != nil && len(found) > 0 {
					err = errors.Join(k.tell(found), err)
				}
				if err != nil {
					return err
				}
			}
			return k.tell(found)
		},
	}
	c.Flags().BoolVar(&k.dryRun, "dry-run", false, "list what there is, and remove nothing")
	c.Flags().BoolVar(&k.asJSON, "json", false, "print JSON")
	return c
}

// clean finds what was left at a path and below it, and removes it.
func (k *cleaning) clean(ctx context.Context, at string) (found []leftover, err error) {
	if at == "" {
		return nil, usageError{errNoPath}
	}
	names, journals, err := k.targets(ctx, inBucket(at))
	if err != nil {
		return nil, err
	}
	for _, j := range journals {
		found = append(found, k.weigh(ctx, j))
	}
	for _, name := range names {
		left, err := k.paths.Leftovers(ctx, name)
		if err != nil {
			return found, err
		}
		var of []leftover
		for _, l := range left {
			of = append(of, k.weigh(ctx, l))
		}
		if !k.dryRun {
			gone, err := blob.Swept(ctx, k.paths, name)
			if err != nil {
				return found, err
			}
			of = slices.DeleteFunc(of, func(l leftover) bool { return !slices.Contains(gone, l.Path) }) // somebody may have come for it
		}
		found = append(found, of...)
	}
	for _, j := range journals {
		if k.dryRun {
			break
		}
		if _, err := blob.Settle(ctx, k.paths, strings.TrimSuffix(j, blob.ReplacingExt)); err != nil {
			return found, err
		}
	}
	return found, nil
}

// targets are the names that what was left at a path and below it was to have, or how these begin. Each is named once. journals are
// those of replacements that were interrupted.
func (k *cleaning) targets(ctx context.Context, at string) (names, journals []string, err error) {
	objects, err := k.paths.List(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	replaced := []string{at}
	for _, o := range objects {
		if of, is := strings.CutSuffix(o.Name, blob.ReplacingExt); is {
			replaced = append(replaced, of)
		}
	}
	for _, of := range replaced {
		if is, err := blob.Interrupted(ctx, k.paths, of); err != nil && !errors.Is(err, blob.ErrName) {
			return nil, nil, err
		} else if is {
			journals = append(journals, of+blob.ReplacingExt)
		}
	}
	_, _, inStore, isURL := blob.URL(at)
	if blob.Base(at) != "." && blob.Base(at) != ".." && at != "/" && !(isURL && inStore == "") {
		names = append(names, at)
	}
	folders := []string{at}
	for _, o := range objects {
		for in := blob.Parent(o.Name); in != blob.Clean(at) && blob.Parent(in) != in && !slices.Contains(folders, in); in = blob.Parent(in) {
			folders = append(folders, in)
		}
	}
	for _, folder := range folders {
		unfinished, err := k.paths.Unfinished(ctx, folder)
		if err != nil && len(objects) > 0 && objects[0].Name == at { // the path is that of an object
			return names, journals, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for _, u := range unfinished {
			if u == "" {
				continue
			}
			first, _, _ := strings.Cut(u[1:], ".") // a name may begin with a dot
			if name := blob.Join(folder, u[:1]+first); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, journals, nil
}

func (k *cleaning) weigh(ctx context.Context, at string) leftover {
	l := leftover{Path: at}
	objects, _ := k.paths.List(ctx, at) // of one that somebody else removes there are none
	for _, o := range objects {
		l.Files, l.Bytes = l.Files+1, l.Bytes+o.Size
	}
	return l
}

// tell says what was found.
func (k *cleaning) tell(found []leftover) error {
	slices.SortFunc(found, func(a, b leftover) int { return strings.Compare(a.Path, b.Path) })
	found = slices.CompactFunc(found, func(a, b leftover) bool { return a.Path == b.Path })
	if k.asJSON {
		return writeJSON(k.out, found)
	}
	var lines strings.Builder
	total := int64(0)
	for _, l := range found {
		fmt.Fprintf(&lines, "%s: %s, %s\n", l.Path, number.Of(l.Files, "file"), format.Bytes(l.Bytes))
		total += l.Bytes
	}
	switch {
	case len(found) == 0:
		lines.WriteString("nothing was left behind\n")
	case k.dryRun:
		fmt.Fprintf(&lines, "%s, %s; without --dry-run they go\n", number.Of(len(found), "leftover"), format.Bytes(total))
	default:
		fmt.Fprintf(&lines, "removed %s, %s\n", number.Of(len(found), "leftover"), format.Bytes(total))
	}
	_, err := fmt.Fprint(legible{k.out}, lines.String())
	return err
}
