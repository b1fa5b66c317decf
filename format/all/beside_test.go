package all_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/all"
	"thole.example/matrix"
)

// TestLongCompanion saves what the columns of a training with many categories are said in, longer than any other file next to
// the matrices may be, in every format that holds matrices.
func TestLongCompanion(t *testing.T) {
	long := []byte("[\n" + strings.Repeat("    \"category 0123\",\n", 1<<20) + "\"\"]") // 20 MiB, with line ends and quotes
	files := map[string][]byte{"columns.json": long, "graph.json": []byte("{}")}
	for _, c := range all.Codecs() {
		i := c.Info()
		if i.Writes == "" || i.Needs != "" {
			continue
		}
		t.Run(i.Name, func(t *testing.T) {
			ctx, b := context.Background(), &blob.Mem{}
			m := matrix.Meta{Name: "w", Rows: 1, Cols: 2, DType: matrix.F32}
			w, err := format.Create(ctx, c, b, "w"+i.Ext, []matrix.Meta{m}, format.Options{Files: files, Lossy: true})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort(ctx)
			p, err := w.Put(ctx, "w", matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: []float32{1, 2}}})
			if err == nil {
				err = w.Commit(ctx, []format.Part{p})
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := format.Open(ctx, c, b, "w"+i.Ext, format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for name, want := range files {
				if !bytes.Equal(r.Files()[name], want) {
					t.Errorf("%s: %d bytes, want %d as they were", name, len(r.Files()[name]), len(want))
				}
			}
		})
	}
}

// TestLongFile refuses another file of that length before anything is written, and leaves it out where that is allowed.
func TestLongFile(t *testing.T) {
	ctx := context.Background()
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 2, DType: matrix.F32}
	o := format.Options{Files: map[string][]byte{"notes.txt": make([]byte, format.FileLimit("notes.txt")+1)}}
	for _, c := range all.Codecs() {
		i := c.Info()
		if i.Writes == "" || i.Needs != "" {
			continue
		}
		if w, err := format.Create(ctx, c, &blob.Mem{}, "w"+i.Ext, []matrix.Meta{m}, o); err == nil || !strings.Contains(err.Error(), "notes.txt") {
			if err == nil {
				w.Abort(ctx)
			}
			t.Errorf("%s: %v, want the file refused", i.Name, err)
		}
	}
}
