package state

import (
	"context"
	"regexp"
	"slices"

	"thole.example/blob"
)

// unfinished is the name of a checkpoint of a series and what makes it a temporary one.
var unfinished = regexp.MustCompile(`^([0-9]{12,}|best\.[0-9]{6,})\.`)

// Sweep removes from a folder what processes left that were killed while they wrote, replaced or removed checkpoints of a training there.
// What a living process writes stays, and so does whatever has another name than these checkpoints.
func Sweep(ctx context.Context, b blob.Bucket, folder string) error {
	sweeper, can := b.(blob.Sweeper)
	if !can {
		return nil
	}
	left, err := sweeper.Unfinished(ctx, folder)
	if err != nil {
		return err
	}
	var names []string
	for _, name := range left {
		if m := unfinished.FindStringSubmatch(name); m != nil && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	for _, name := range names {
		if _, err := blob.Swept(ctx, b, blob.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}
