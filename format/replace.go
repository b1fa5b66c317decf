package format

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"thole.example/blob"
)

// Replaceable tells why nothing may be written to the path: something is there and force is not set, or what is there is
// not a model of any format, and might be anything, or has other files in it. An empty folder may be replaced.
func (s Set) Replaceable(ctx context.Context, b blob.Bucket, path string, force bool) error {
	there, err := b.List(ctx, path)
	switch {
	case err != nil || len(there) == 0:
		return err
	case !force:
		return fmt.Errorf("%s: %w (--force replaces it)", path, fs.ErrExist)
	}
	file := len(there) == 1 && there[0].Name == path
	c, _, err := s.Detect(ctx, b, path)
	switch {
	case err != nil && file:
		return fmt.Errorf("%s is a file without a model; remove it yourself if it can go", path)
	case err != nil:
		return fmt.Errorf("%s is a folder without a model; remove it yourself if it can go", path)
	case file:
		return nil
	}
	return enclosed(ctx, c, b, path, there)
}

// bare are the files of the codec's ending that have no sidecar: tables that other programs wrote.
func bare(there []blob.Info, ext string) (names []string) {
	for _, i := range there {
		sidecar := func(o blob.Info) bool { return o.Name == i.Name+SidecarExt }
		if strings.EqualFold(blob.Ext(i.Name), ext) && !slices.ContainsFunc(there, sidecar) {
			names = append(names, blob.Base(i.Name))
		}
	}
	return names
}

// enclosed refuses a folder that holds more than a model, or files that the codec cannot read, such as tables of text to train on.
func enclosed(ctx context.Context, c Codec, b blob.Bucket, path string, there []blob.Info) error {
	r, err := Open(ctx, c, b, path, Options{})
	if err != nil {
		return fmt.Errorf("%s is a folder that cannot be read as a model; remove it yourself if it can go: %w", path, err)
	}
	defer r.Close()
	if e, can := r.(Enclosing); can {
		names := e.Foreign()
		if c.Info().Loose { // its files might be any text
			names = append(names, bare(there, c.Info().Ext)...)
		}
		if len(names) > 0 {
			return fmt.Errorf("%s holds files that are not part of its model (%s), which --force would remove; use another path, "+
				"or remove them yourself", path, firstOf(names))
		}
	}
	return nil
}
