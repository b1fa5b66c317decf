package all_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/all"
	"thole.example/matrix"
)

// TestRelay saves hash partitions, whose places overlap, next to a dense matrix in every format that holds both or one of them.
func TestRelay(t *testing.T) {
	const parts, rows, cols = 4, 3, 500
	keyed := matrix.Meta{Name: "keyed", Rows: rows, Cols: cols, DType: matrix.F32, Layout: matrix.RowSparse}
	value := func(r, c int64) float32 { return float32(r*1000+c) + 0.5 }
	has := func(r, c int64) bool { return (r+c)%3 > 0 }
	var blocks []matrix.Block
	for p := range int64(parts) {
		d := &matrix.COO[float32]{}
		for r := range int64(rows) {
			for c := range int64(cols) {
				if has(r, c) && c*7%parts == p {
					d.Row, d.Col, d.Val = append(d.Row, r), append(d.Col, c), append(d.Val, value(r, c))
				}
			}
		}
		blocks = append(blocks, matrix.Block{At: keyed.Rect(), Data: d})
	}
	dense := matrix.Meta{Name: "bias", Rows: 1, Cols: 2, DType: matrix.F32}
	bias := matrix.Block{At: dense.Rect(), Data: &matrix.Dense[float32]{Val: []float32{1, 2}}}
	for _, c := range all.Codecs() {
		i := c.Info()
		if i.Writes == "" || i.Needs != "" {
			continue
		}
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", i.Name, both), func(t *testing.T) {
				ctx, b, to := context.Background(), &blob.Mem{}, "keyed"+i.Ext
				ms := []matrix.Meta{keyed}
				if both {
					ms, to = append(ms, dense), "model"
				}
				w, err := format.Create(ctx, c, b, to, ms, format.Options{Relay: all.Codecs().Relay(), Lossy: true, Stage: "s"})
				if both && i.Name == "libsvm" {
					if !errors.Is(err, format.ErrLimit) {
						t.Errorf("error %v, want ErrLimit: a file of libsvm holds one matrix", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer w.Abort(ctx)
				var out []format.Part
				put := func(name string, b matrix.Block) {
					p, err := w.Put(ctx, name, b)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, p)
				}
				for _, b := range blocks {
					put("keyed", b)
				}
				if both {
					put("bias", bias)
				}
				if err := w.Commit(ctx, out); err != nil {
					t.Fatal(err)
				}
				r, err := format.Open(ctx, c, b, to, format.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				name := ""
				if both {
					name = "keyed"
				}
				m, err := format.Find(r, name)
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				for blk, err := range r.Blocks(ctx, m.Name, m.Rect()) {
					if err != nil {
						t.Fatal(err)
					}
					err := blk.EachText(func(at, col int64, text []byte) error {
						switch v, err := strconv.ParseFloat(string(text), 32); {
						case err != nil:
							return err
						case v == 0 && !has(at, col):
						case float32(v) != value(at, col):
							return fmt.Errorf("row %d column %d: %v", at, col, v)
						default:
							found++
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				if found != rows*cols*2/3 {
					t.Errorf("%d cells, want %d", found, rows*cols*2/3)
				}
				infos, err := b.List(ctx, "")
				for _, one := range infos {
					if one.Name != to && len(one.Name) > 4 && one.Name[:4] == "_tmp" || err != nil {
						t.Errorf("%s is left, %v", one.Name, err)
					}
				}
			})
		}
	}
}
