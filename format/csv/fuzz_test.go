package csv

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// FuzzOpen reads, sniffs and explains any text with any sidecar; what is read without an error is written and read
// again.
func FuzzOpen(f *testing.F) {
	for _, c := range readable {
		f.Add(c.text, c.meta)
	}
	for _, c := range refused {
		f.Add(c.text, c.meta)
	}
	f.Fuzz(func(t *testing.T, text, meta string) {
		ctx, b := context.Background(), bucketOf(t, files(text, meta))
		var out bytes.Buffer
		_ = Codec.Explain(ctx, b, "d/a.csv", dump.New(&out))
		if _, err := Codec.Sniff(ctx, b, "d/a.csv"); err != nil {
			t.Fatal(err)
		}
		m, cells, err := load(b, "d/a.csv", nil)
		if err != nil || m.Cols > 1<<10 || m.Rows > 1<<10 {
			return
		}
		r, err := Codec.Open(ctx, b, "d/a.csv", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		again := &blob.Mem{}
		if err := format.Convert(ctx, r, Codec, again, "d/a.csv", format.Options{}, nil, nil); err != nil {
			if errors.Is(err, format.ErrLossy) { // labels that are not UTF-8
				return
			}
			t.Fatal(err)
		}
		n, same, err := load(again, "d/a.csv", nil)
		if err != nil || !slices.Equal(cells, same) || describe(m) != describe(n) && m.Cols > 0 {
			t.Fatalf("read %s %v, then %s %v, %v", describe(m), cells, describe(n), same, err)
		}
		if _, err := part(r, matrix.At(m.Rows/2, m.Rows, 0, m.Cols)); err != nil {
			t.Fatal(err)
		}
	})
}
