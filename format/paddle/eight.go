package paddle

import (
	"context"

	"thole.example/blob"
	"thole.example/format"
)

// newWriter is format.NewElementWriter for the file of the records.
func newWriter(ctx context.Context, b blob.Bucket, path string, o format.Options, f format.SlabFile, of []record) (format.Writer, error) {
	stored := map[string]element{}
	for i := range of {
		stored[of[i].name] = of[i].element()
	}
	return format.NewElementWriter(ctx, b, path, o, f, stored)
}
