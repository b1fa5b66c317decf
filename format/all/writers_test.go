package all

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestManyWriters puts the blocks of a matrix by 1 to 5 writers in any order: the same bytes as by one.
func TestManyWriters(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		b := empty(t)
		if err := write(t, b, c, s, format.Options{}); err != nil {
			t.Fatal(err)
		}
		want := snapshot(t, b)
		for n := 1; n <= 5; n++ {
			for seed := range uint64(4) {
				t.Run(fmt.Sprintf("%d writers, order %d", n, seed), func(t *testing.T) {
					b := empty(t)
					share(t, b, c, s, n, rand.New(rand.NewPCG(seed, uint64(n))))
					if got := snapshot(t, b); !maps.Equal(got, want) {
						for name := range want {
							if got[name] != want[name] {
								t.Errorf("%s is\n%q, want\n%q", name, got[name], want[name])
							}
						}
						t.Errorf("%d files, want %d", len(got), len(want))
					}
				})
			}
		}
	})
}

// share writes the sample by n writers of one save and commits by one of them.
func share(t *testing.T, b blob.Bucket, c kind, s sample, n int, rnd *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	var ws []format.Writer
	for range n {
		w, err := format.Create(ctx, c, b, pathOf(c), s.metas(), format.Options{Stage: "save7", Set: c.set, Files: s.files})
		if err != nil {
			t.Fatal(err)
		}
		ws = append(ws, w)
	}
	var parts []format.Part
	blocks := s.named()
	for _, i := range rnd.Perm(len(blocks)) {
		p, err := ws[rnd.IntN(n)].Put(ctx, blocks[i].name, blocks[i].Block)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if infos, err := b.List(ctx, pathOf(c)); err != nil || len(infos) > 0 {
		t.Errorf("visible before commit: %v, %v", infos, err)
	}
	if err := ws[rnd.IntN(n)].Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
	for _, w := range ws {
		w.Abort(ctx)
	}
}

// TestGaps checks that a dense matrix with a block missing is refused and nothing becomes visible.
func TestGaps(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		if s.meta.Layout != matrix.RowDense {
			return // a sparse matrix may have gaps
		}
		for i := range s.blocks {
			for _, stage := range []string{"", "save"} {
				b := empty(t)
				less := s
				less.blocks = append(append([]matrix.Block(nil), s.blocks[:i]...), s.blocks[i+1:]...)
				if err := write(t, b, c, less, format.Options{Stage: stage}); err == nil {
					t.Errorf("without block %d: no error", i)
				}
				if got := snapshot(t, b); len(got) > 0 {
					t.Errorf("without block %d: left %v", i, got)
				}
			}
		}
	})
}
