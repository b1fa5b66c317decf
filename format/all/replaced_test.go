package all

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/blob/blobtest"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
	"thole.example/format"
	"thole.example/format/trees"
	"thole.example/matrix"
	"thole.example/tree"
)

// TestReplaced: who reads a model that is replaced all the time, by models of the same size and without checksums, reads one of them, or
// gets blob.ErrChanged.
func TestReplaced(t *testing.T) {
	s := s3test.New("bucket")
	defer s.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "test",
		"AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	stores := blob.NewPaths(s3.Store(nil))
	defer stores.Close()
	for _, place := range []struct {
		name   string
		bucket blob.Bucket
	}{{"memory", &blob.Mem{}}, {"folder", stores.Below(t.TempDir())}, {"s3", stores.Below("s3://bucket/models")}} {
		for _, kind := range []replacedKind{
			{codec: "angel", path: "m/", set: map[string]string{"format": "ValueBinaryRowFormat", "checksum": "off"}},
			{codec: "angel", path: "m/"},
			{codec: "npy", path: "m/"},
			{codec: "csv", path: "m.csv", matrices: 1, files: true},
			{codec: "npz", path: "at/m.npz", files: true},
			{codec: "safetensors", path: "m.safetensors", files: true},
			{codec: "npz", path: "trees.npz", files: true, trees: true},
			{codec: "lightgbm", path: "m.txt", files: true, trees: true},
			{codec: "xgboost", path: "m.json", files: true, trees: true},
			{codec: "paddle", path: "p/", set: map[string]string{"layout": "separate"}},
			{codec: "paddle", path: "q/", set: map[string]string{"layout": "combined"}},
			{codec: "paddle", path: "at/m.pdiparams", set: map[string]string{"layout": "stream"}, matrices: 1, files: true},
		} {
			t.Run(fmt.Sprint(place.name, "/", kind.codec, kind.path, kind.set), func(t *testing.T) {
				replaced(t, place.bucket, kind)
			})
		}
	}
}

// replacedKind is a kind of model that is replaced.
type replacedKind struct {
	codec, path string
	set         map[string]string
	matrices    int  // how many of replacedMatrices; 0: all
	files       bool // it has files next to the matrices
	trees       bool // of an ensemble
}

var replacedMatrices = []matrix.Meta{
	{Name: "a", Rows: 1, Cols: 6, DType: matrix.F32},
	{Name: "b", Rows: 2, Cols: 3, DType: matrix.F32},
	{Name: "c", Rows: 3, Cols: 2, DType: matrix.F32},
}

// model is a model whose values are all the same.
func (k replacedKind) model(value float32) (ms []matrix.Meta, blocks []matrix.Block, files map[string][]byte) {
	files = map[string][]byte{}
	if k.files {
		for _, name := range []string{"columns.json", "job.yaml"} {
			files[name] = fmt.Append(nil, value)
		}
	}
	if k.trees {
		leaf := tree.Tree{LeafValue: []float64{float64(value)}, LeafWeight: []float64{1}, LeafCount: []int64{1}}
		e := &tree.Ensemble{Objective: tree.Objective{Name: "l2", Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0},
			Features: tree.FeaturesOf(tree.Feature{Name: fmt.Sprint("x", value)}), Trees: []tree.Tree{leaf, leaf}}
		files[tree.FileName], _ = e.JSON()
		ms, blocks = e.Matrices()
		return ms, blocks, files
	}
	ms = replacedMatrices
	if k.matrices > 0 {
		ms = ms[:k.matrices]
	}
	for _, m := range ms {
		d := &matrix.Dense[float32]{Val: make([]float32, m.Rows*m.Cols)}
		for i := range d.Val {
			d.Val[i] = value
		}
		blocks = append(blocks, matrix.Block{At: m.Rect(), Data: d})
	}
	return ms, blocks, files
}

// write replaces the model.
func (k replacedKind) write(ctx context.Context, b blob.Bucket, value float32) error {
	c, err := Codecs().Lookup(k.codec)
	if err != nil {
		return err
	}
	over, err := b.State(ctx, strings.TrimSuffix(k.path, "/"))
	if err != nil {
		return err
	}
	ms, blocks, files := k.model(value)
	w, err := format.Create(ctx, c, b, k.path, ms, format.Options{Set: k.set, Over: over, Lossy: true, Files: files})
	if err != nil {
		return err
	}
	defer w.Abort(context.Background())
	var parts []format.Part
	for i, m := range ms {
		p, err := w.Put(ctx, m.Name, blocks[i])
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	return w.Commit(ctx, parts)
}

// replaced reads models while others replace them.
func replaced(t *testing.T, b blob.Bucket, k replacedKind) {
	if err := k.write(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	blobtest.WhileReplaced(t, 6, func(round int) error { return k.write(t.Context(), b, float32(round+2)) }, func() (bool, error) {
		err := k.readWhole(t.Context(), b)
		return err == nil, err
	})
}

// readWhole reads the model, and fails if it has two values.
func (k replacedKind) readWhole(ctx context.Context, b blob.Bucket) error {
	r, _, err := Codecs().Open(ctx, b, strings.TrimSuffix(k.path, "/"), "", format.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	var all []float64
	if k.trees {
		e, err := trees.Read(ctx, r)
		if err != nil {
			return err
		}
		named, err := strconv.ParseFloat(e.Features.At(0).Name[1:], 64)
		if err != nil {
			return err
		}
		all = append(all, named, e.Trees[0].LeafValue[0], e.Trees[1].LeafValue[0])
	}
	for _, m := range r.Matrices() {
		for block, err := range r.Blocks(ctx, m.Name, m.Rect()) {
			if err != nil {
				return err
			}
			if block, _ = block.Cast(matrix.F64); !k.trees {
				values, _ := block.Data.Values().([]float64)
				all = append(all, values...)
			}
		}
	}
	want := 3
	if !k.trees {
		want = 6 * cmp.Or(k.matrices, len(replacedMatrices))
	}
	for _, name := range []string{"columns.json", "job.yaml"} {
		if text := r.Files()[name]; text != nil {
			v, err := strconv.ParseFloat(string(text), 64)
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		if k.files {
			want++
		}
	}
	if len(all) != want {
		return fmt.Errorf("%d values, want %d", len(all), want)
	}
	for _, v := range all {
		if v != all[0] {
			return fmt.Errorf("%v in one model: a mixture", all)
		}
	}
	return nil
}
