package format

import (
	"context"
	"fmt"
	"io/fs"

	"thole.example/blob"
)

// Replaceable tells why nothing may be written to the path: something is there and force is not set, or what is there is
// not a model of any format, and might be anything. An empty folder may be replaced.
func (s Set) Replaceable(ctx context.Context, b blob.Bucket, path string, force bool) error {
	there, err := b.List(ctx, path)
	switch {
	case err != nil || len(there) == 0:
		return err
	case !force:
		return fmt.Errorf("%s: %w (--force replaces it)", path, fs.ErrExist)
	}
	if _, _, err := s.Detect(ctx, b, path); err != nil {
		what := "folder"
		if len(there) == 1 && there[0].Name == path {
			what = "file"
		}
		return fmt.Errorf("%s is a %s without a model; remove it yourself if it can go", path, what)
	}
	return nil
}
