package all

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"thole.example/blob"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
	"thole.example/format"
	"thole.example/matrix"
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
		for _, kind := range []struct {
			codec string
			set   map[string]string
		}{{"angel", map[string]string{"format": "ValueBinaryRowFormat", "checksum": "off"}}, {"angel", nil}, {"npy", nil}} {
			t.Run(fmt.Sprint(place.name, "/", kind.codec, kind.set), func(t *testing.T) {
				c, err := Codecs().Lookup(kind.codec)
				if err != nil {
					t.Fatal(err)
				}
				replaced(t, place.bucket, c, kind.set)
			})
		}
	}
}

var replacedMatrices = []matrix.Meta{
	{Name: "a", Rows: 1, Cols: 6, DType: matrix.F32},
	{Name: "b", Rows: 2, Cols: 3, DType: matrix.F32},
	{Name: "c", Rows: 3, Cols: 2, DType: matrix.F32},
}

// replaced reads models while others replace them.
func replaced(t *testing.T, b blob.Bucket, c format.Codec, set map[string]string) {
	write := func(value float32) error {
		over, err := b.State(t.Context(), "m")
		if err != nil {
			return err
		}
		w, err := format.Create(t.Context(), c, b, "m/", replacedMatrices, format.Options{Set: set, Over: over, Lossy: true})
		if err != nil {
			return err
		}
		defer w.Abort(context.Background())
		var parts []format.Part
		for _, m := range replacedMatrices {
			d := &matrix.Dense[float32]{Val: make([]float32, m.Rows*m.Cols)}
			for i := range d.Val {
				d.Val[i] = value
			}
			p, err := w.Put(t.Context(), m.Name, matrix.Block{At: m.Rect(), Data: d})
			if err != nil {
				return err
			}
			parts = append(parts, p)
		}
		return w.Commit(t.Context(), parts)
	}
	if err := write(1); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for round := range 6 {
			if err := write(float32(round + 2)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	whole := 0
	for ended := false; !ended; {
		select {
		case err := <-done:
			if ended = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
		switch err := readWhole(t.Context(), b); {
		case err == nil:
			whole++
		case !errors.Is(err, blob.ErrChanged) || ended:
			t.Error(err)
			if !ended {
				<-done
			}
			return
		}
	}
	if whole == 0 {
		t.Error("no model was read")
	}
}

// readWhole reads the model, and fails if it has two values.
func readWhole(ctx context.Context, b blob.Bucket) error {
	r, _, err := Codecs().Open(ctx, b, "m", "", format.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	var first float64
	cells := 0
	for _, m := range r.Matrices() {
		for block, err := range r.Blocks(ctx, m.Name, m.Rect()) {
			if err != nil {
				return err
			}
			block, _ = block.Cast(matrix.F64)
			values, _ := block.Data.Values().([]float64)
			for _, v := range values {
				if cells++; cells == 1 {
					first = v
				}
				if v != first {
					return fmt.Errorf("%s holds %v, and the first matrix %v: a mixture", m.Name, v, first)
				}
			}
		}
	}
	if cells != 18 {
		return fmt.Errorf("%d cells, want 18", cells)
	}
	return nil
}
