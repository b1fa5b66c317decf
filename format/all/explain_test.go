package all

import (
	"bytes"
	"context"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
)

// TestExplain explains every plain sample, then every file of it cut at every byte: always something of a whole one, and
// never a panic.
func TestExplain(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		ctx, b := context.Background(), &blob.Mem{}
		if err := write(t, b, c, s, format.Options{}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := c.Explain(ctx, b, pathOf(c), dump.New(&out)); err != nil || out.Len() == 0 {
			t.Errorf("%d bytes of explanation, %v", out.Len(), err)
		}
		for name, data := range snapshot(t, b) {
			for n := range len(data) {
				if err := blob.WriteAll(ctx, b, name, []byte(data[:n])); err != nil {
					t.Fatal(err)
				}
				out.Reset()
				if err := c.Explain(ctx, b, pathOf(c), dump.New(&out)); err != nil && !sentinel(err) {
					t.Errorf("%s cut at byte %d: %v: wraps no error of package format", name, n, err)
				}
			}
			if err := blob.WriteAll(ctx, b, name, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
