package mtx

import (
	"context"
	"io"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// FuzzOpen reads and explains any text; what is read without an error is written and read again.
func FuzzOpen(f *testing.F) {
	f.Add("%%MatrixMarket matrix coordinate real general\n% note\n3 4 2\n3 4 -1.5e1\n1 1 0\n")
	f.Add("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n")
	f.Add("%%MatrixMarket matrix array integer skew-symmetric\r\n3 3\r\n1\r\n2\r\n3\r\n")
	f.Add("%%MatrixMarket matrix array real general\n%thole dtype=f16 shape=2,1,2\n2 2\n1\n2\ninf\n4")
	f.Add("%%MatrixMarket matrix coordinate integer general\n9223372036854775807 9 3\n5000000000000000000 1 1\n1 1 0\n3000000 2 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		ctx, b := context.Background(), &blob.Mem{}
		if err := blob.WriteAll(ctx, b, place, []byte(text)); err != nil {
			t.Fatal(err)
		}
		_ = Codec.Explain(ctx, b, place, dump.New(io.Discard))
		m, cells, err := load(t, text)
		if err != nil {
			return
		}
		r, err := open(t, text)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var blocks []matrix.Block
		for blk, err := range r.Blocks(ctx, "a", m.Rect()) {
			if err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, blk)
		}
		again, got, err := load(t, save(t, m, format.Options{}, blocks...))
		if err != nil || got != cells || again.DType != m.DType {
			t.Errorf("%v %s, %v, want %v %s", again.DType, got, err, m.DType, cells)
		}
	})
}
