package paddle

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
)

// TestRowsWritten writes what was read of selected rows: the same bytes, alone and in a folder, by one writer and by
// several. Rows in another order come back ascending.
func TestRowsWritten(t *testing.T) {
	ctx := context.Background()
	sorted := rowsFile([]int{0, 1, 4, 7}, 10, []int64{4, 2}, 8)
	for what, c := range map[string]struct{ from, want []byte }{
		"ascending":    {sorted, sorted},
		"none":         {rowsFile(nil, 4, []int64{0, 3}, 0), rowsFile(nil, 4, []int64{0, 3}, 0)},
		"all":          {rowsFile([]int{0, 1, 2}, 3, []int64{3, 1}, 3), rowsFile([]int{0, 1, 2}, 3, []int64{3, 1}, 3)},
		"higher ranks": {rowsFile([]int{1}, 2, []int64{1, 2, 2}, 4), rowsFile([]int{1}, 2, []int64{1, 2, 2}, 4)},
		"tall":         {rowsFile([]int{1 << 40}, 1<<50, []int64{1, 2}, 2), rowsFile([]int{1 << 40}, 1<<50, []int64{1, 2}, 2)},
	} {
		t.Run(what, func(t *testing.T) {
			r, err := put(t, "w", c.from)
			if err != nil {
				t.Fatal(err)
			}
			b := &blob.Mem{}
			for layout, file := range map[string]string{"selectedrows": "rows/w", "separate": "folder/w"} {
				to := file
				if layout == "separate" {
					to = "folder"
				}
				for _, stage := range []string{"", "s"} {
					o := format.Options{Stage: stage, Set: map[string]string{"layout": layout}, Over: blob.Anything}
					if err := format.Convert(ctx, r, Codec, b, to, o, nil, nil); err != nil {
						t.Fatal(err)
					}
					if got, err := blob.ReadAll(ctx, b, file, 1<<20); err != nil || !bytes.Equal(got, c.want) {
						t.Errorf("%s, stage %q: % x, %v, want % x", layout, stage, got, err, c.want)
					}
				}
				if got := describe(t, openPath(t, b, to)); got != describe(t, r) {
					t.Errorf("%s: %s, want %s", layout, got, describe(t, r))
				}
			}
			for _, layout := range []string{"combined", "stream", "seed004"} {
				o := format.Options{Set: map[string]string{"layout": layout}}
				err := format.Convert(ctx, r, Codec, b, "dense", o, nil, nil)
				if !errors.Is(err, format.ErrLossy) {
					t.Errorf("%s: %v, want ErrLossy", layout, err)
				}
			}
		})
	}
}

// TestRowsRefused puts blocks where no row is.
func TestRowsRefused(t *testing.T) {
	ctx := context.Background()
	m := matrix.Meta{Name: "w", Rows: 4, Cols: 1, DType: matrix.F32, Saved: []matrix.Range{{Lo: 1, Hi: 2}}}
	o := format.Options{Set: map[string]string{"layout": "selectedrows"}}
	w, err := Codec.Create(ctx, &blob.Mem{}, "w", []matrix.Meta{m}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	if _, err := w.Put(ctx, "w", matrix.NewDense(matrix.F32, matrix.At(1, 3, 0, 1))); err == nil {
		t.Error("a row that is not saved was taken")
	}
	if err := w.Commit(ctx, []format.Part{{9, 0, 0, 0}}); err == nil {
		t.Error("a part of other length was taken")
	}
	if _, err := Codec.Create(ctx, &blob.Mem{}, "w", []matrix.Meta{m, m}, o); !errors.Is(err, format.ErrOption) {
		t.Errorf("two matrices: %v, want ErrOption", err)
	}
	m.LoD = [][]int64{{0, 4}}
	if _, err := Codec.Create(ctx, &blob.Mem{}, "w", []matrix.Meta{m}, o); !errors.Is(err, format.ErrLossy) {
		t.Errorf("LoD: %v, want ErrLossy", err)
	}
}

// fill makes a bucket of files.
func fill(t *testing.T, files map[string][]byte) blob.Bucket {
	t.Helper()
	b := &blob.Mem{}
	for file, data := range files {
		if err := blob.WriteAll(t.Context(), b, file, data); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestFoldersOfVariables reads folders with a file for each variable, of every layout that has such files, and says which
// file is wrong.
func TestFoldersOfVariables(t *testing.T) {
	x := tensor{matrix.Meta{Name: "x", Rows: 1, Cols: 2, DType: matrix.F32, Dims: []int64{2}}, matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 2))}
	rows := rowsFile([]int{1}, 3, []int64{1, 2}, 2)
	for what, c := range map[string]struct {
		files         map[string][]byte
		dialect, want string
	}{
		"v2":    {map[string][]byte{"m/a": []byte(v2File(0, 4, 2)), "m/b.w0": []byte(v2File(0, 4, 2))}, "v2, 2 tensors", "a [2] f32 [1 2]\nb.w0 [2] f32 [1 2]"},
		"v011":  {map[string][]byte{"m/a": fileB(x, false), "m/in/b": fileB(x, false)}, "v011, 2 tensors", "a [2] f32 [0 0]\nin/b [2] f32 [0 0]"},
		"rows":  {map[string][]byte{"m/a": rows}, "selectedrows, 1 tensor", "a [3 2] f32 rows [[1,2)] [1 2]"},
		"mixed": {map[string][]byte{"m/a": rows, "m/b": typed(codeF32, []int64{1}, 4)}, "selectedrows and stream, 2 tensors", ""},
	} {
		t.Run(what, func(t *testing.T) {
			b := fill(t, c.files)
			dialect, err := Codec.Sniff(t.Context(), b, "m")
			if dialect != "folder without topology: "+c.dialect || err != nil {
				t.Errorf("%q, %v", dialect, err)
			}
			if got := describe(t, openPath(t, b, "m")); c.want != "" && got != c.want {
				t.Errorf("holds %s, want %s", got, c.want)
			}
			if err := blob.WriteAll(t.Context(), b, "m/z", typed(codeF32, []int64{3}, 11)); err != nil {
				t.Fatal(err)
			}
			if _, err := Codec.Open(t.Context(), b, "m", format.Options{}); !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "m/z") {
				t.Errorf("with a damaged file: %v, want its name", err)
			}
		})
	}
}

// TestRowsOfModels reads rows where the topology says that a variable has some, in files of their own and combined, and
// holds them to its shape.
func TestRowsOfModels(t *testing.T) {
	ctx := context.Background()
	rows, dense := rowsFile([]int{1}, 3, []int64{1, 2}, 2), typed(codeF32, []int64{1}, 4)
	vars := []program.Var{
		{Name: "a", Kind: program.VarType_SELECTED_ROWS, Typed: true, Elem: program.VarType_FP32, Dims: []int64{3, 2}, Persistable: true},
		{Name: "b", Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: program.VarType_FP32, Dims: []int64{1}, Persistable: true},
	}
	for _, wrong := range []bool{false, true} {
		if wrong {
			vars[0].Dims = []int64{4, 2}
		}
		p, err := program.Declare(vars, release)
		if err != nil {
			t.Fatal(err)
		}
		model, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for how, files := range map[string]map[string][]byte{
			"combined": {"m/__params__": slices.Concat(rows, dense)},
			"separate": {"m/a": rows, "m/b": dense},
		} {
			files["m/__model__"] = model
			b := fill(t, files)
			r, err := Codec.Open(ctx, b, "m", format.Options{})
			if wrong {
				if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "want [4 2]") {
					t.Errorf("%s: %v, want another shape", how, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(how, err)
			}
			if got := describe(t, r); !strings.HasPrefix(got, "a [3 2] f32 rows [[1,2)] [1 2]\nb [1] f32 ") {
				t.Errorf("%s holds %s", how, got)
			}
			if err := format.Convert(ctx, r, Codec, b, "to", format.Options{Set: map[string]string{"layout": "separate"}}, nil, nil); err != nil {
				t.Errorf("%s: %v", how, err)
			}
			if got, err := blob.ReadAll(ctx, b, "to/a", 1<<10); err != nil || !bytes.Equal(got, rows) {
				t.Errorf("%s: rows came back as % x, %v", how, got, err)
			}
			r.Close()
		}
	}
}
