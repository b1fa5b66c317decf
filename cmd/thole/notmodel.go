package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/data"
	"thole.example/format"
)

// kindLen is how many bytes of a file tell its kind.
const kindLen = 512

// notModel adds to the error of a path that could not be opened as a model what the file is: compressed, of another program, or a table of
// examples.
func notModel(ctx context.Context, e *env, path string, err error) error {
	b, name, wrong := e.bucketOf(ctx, path)
	if wrong != nil {
		return err
	}
	o, wrong := b.Open(ctx, name)
	if wrong != nil { // a folder, for example
		return err
	}
	defer o.Close()
	head := make([]byte, min(kindLen, o.Size()))
	if _, wrong := o.ReadAt(head, 0); wrong != nil {
		return err
	}
	what, remedy := data.Foreign(path, head)
	packed := data.Compression(head)
	codec, near := "", (*format.Error)(nil)
	if errors.As(err, &near) {
		codec = near.Codec
	}
	unknown := format.Unrecognized(err)
	if unknown && near != nil && (!strings.HasPrefix(what, "JSON") || bytes.Contains(head, []byte(`"learner"`))) {
		return err // a damaged model
	}
	switch named := what != "" && (unknown || codec == "csv"); {
	case unknown && packed != "":
		return fmt.Errorf("%s: a file compressed by %s, want a stored model (thole data describe reads examples in it): %w", path, packed,
			format.ErrUnknown)
	case named && remedy == "":
		return fmt.Errorf("%s: %s, want a stored model: %w", path, what, format.ErrUnknown)
	case named:
		return fmt.Errorf("%s: %s, want a stored model; if it holds examples: %s: %w", path, what, remedy, format.ErrUnknown)
	case !unknown && slices.Contains([]string{"csv", "parquet", "arrow"}, codec) && strings.Contains(err.Error(), "not supported"):
		return fmt.Errorf("%w; thole data describe reads tables of examples", err)
	}
	return err
}
