package format_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/angel"
	"thole.example/format/csv"
	"thole.example/format/npy"
	"thole.example/format/paddle"
	"thole.example/matrix"
)

// careless is a codec that writes something else than it is asked to, without a word.
type careless struct {
	format.Codec
	spoil func(m *matrix.Meta)
	blind bool  // does not know its own files
	fails error // of opening them
}

func (c careless) Sniff(ctx context.Context, b blob.Bucket, p string) (string, error) {
	if c.blind {
		return "", nil
	}
	return c.Codec.Sniff(ctx, b, p)
}

func (c careless) Open(ctx context.Context, b blob.Bucket, p string, o format.Options) (format.Reader, error) {
	if c.fails != nil {
		return nil, c.fails
	}
	return c.Codec.Open(ctx, b, p, o)
}

func (c careless) Create(ctx context.Context, b blob.Bucket, p string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	ms = slices.Clone(ms)
	if c.spoil != nil {
		c.spoil(&ms[0])
	}
	return c.Codec.Create(ctx, b, p, ms, o)
}

// TestCreateReadsBack saves with codecs that do not what they should: the save fails, and what was there stays.
func TestCreateReadsBack(t *testing.T) {
	ctx := t.Context()
	for what, c := range map[string]careless{
		"shape":      {spoil: func(m *matrix.Meta) { m.Dims = []int64{1, 2} }},
		"name":       {spoil: func(m *matrix.Meta) { m.Name = "other" }},
		"labels":     {spoil: func(m *matrix.Meta) { m.Labels = nil }},
		"unknown":    {blind: true},
		"unreadable": {fails: format.ErrLimit},
	} {
		t.Run(what, func(t *testing.T) {
			c.Codec = npy.Zipped
			b := &blob.Mem{}
			if err := blob.WriteAll(ctx, b, "m.npz", []byte("old")); err != nil {
				t.Fatal(err)
			}
			over, err := b.State(ctx, "m.npz")
			if err != nil {
				t.Fatal(err)
			}
			src := one("w", 1, 2, 1, 2)
			src.ms[0].Dims, src.ms[0].Labels = []int64{2}, nil
			if what == "labels" {
				src.ms[0].Dims, src.ms[0].Labels = nil, []string{"x", "y"}
			}
			err = format.Convert(ctx, src, c, b, "m.npz", format.Options{Over: over}, nil, nil)
			if err == nil {
				t.Error("saved without an error")
			}
			if what == "shape" && (!errors.Is(err, format.ErrLossy) || !strings.Contains(err.Error(), "shape [2] and [1 2]")) {
				t.Errorf("%v, want ErrLossy about the shape", err)
			}
			if got := contents(t, b); !maps.Equal(got, map[string]string{"m.npz": "old"}) {
				t.Errorf("left %q", got)
			}
		})
	}
}

func contents(t *testing.T, b blob.Bucket) map[string]string {
	t.Helper()
	infos, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, i := range infos {
		data, err := blob.ReadAll(t.Context(), b, i.Name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		all[i.Name] = string(data)
	}
	return all
}

// TestCreateFills holds a dense matrix of a few bytes to the bound of what is filled in, in every format that stores every cell.
func TestCreateFills(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 1 << 20, Cols: 1 << 20, DType: matrix.F64}
	for _, c := range []format.Codec{npy.Zipped, csv.Codec, paddle.Codec} {
		b := &blob.Mem{}
		o := format.Options{}
		w, err := format.Create(t.Context(), c, hollow{b}, "m"+c.Info().Ext, []matrix.Meta{m}, o)
		if err == nil {
			_, err = w.Put(t.Context(), "m", matrix.Block{At: m.Rect(), Data: matrix.Empty{}})
			w.Abort(t.Context())
		}
		if !errors.Is(err, format.ErrLimit) || !strings.Contains(err.Error(), "--max-dense") {
			t.Errorf("%s: %v, want ErrLimit that names --max-dense", c.Info().Name, err)
		}
	}
}

// hollow is a bucket in which a large file takes no memory.
type hollow struct{ *blob.Mem }

func (b hollow) Create(ctx context.Context, name string) (blob.Writer, error) {
	w, err := b.Mem.Create(ctx, name)
	return holes{w}, err
}

type holes struct{ blob.Writer }

func (holes) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// tight is a bucket with little room.
type tight struct{ *blob.Mem }

func (tight) Room(context.Context, string) (int64, error) { return 100, nil }

// TestCreateNeedsRoom compares what the matrices take with the free space, all together, before anything is written.
func TestCreateNeedsRoom(t *testing.T) {
	b := tight{&blob.Mem{}}
	fits := both(one("a", 1, 4, 1, 2, 3, 4), one("b", 1, 4, 1, 2, 3, 4))
	if err := format.Convert(t.Context(), fits, npy.Zipped, b, "m.npz", format.Options{}, nil, nil); err != nil {
		t.Error(err)
	}
	wide := matrix.Meta{Name: "w", Rows: 1, Cols: 10, DType: matrix.F64}
	_, err := format.Create(t.Context(), npy.Zipped, b, "k.npz", []matrix.Meta{wide, {Name: "v", Rows: 1, Cols: 3, DType: matrix.F64}}, format.Options{})
	if !errors.Is(err, format.ErrLimit) || !strings.Contains(err.Error(), "20 bytes are free") {
		t.Errorf("%v, want ErrLimit with what is free", err)
	}
	for _, set := range []map[string]string{{"format": "ValueBinaryRowFormat"}, {"format": "RowIdColIdValueTextRowFormat"}} {
		o := format.Options{Set: set}
		if _, err := format.Create(t.Context(), angel.Codec, b, "k", []matrix.Meta{{Name: "w", Rows: 2, Cols: 30, DType: matrix.F64}}, o); !errors.Is(
			err, format.ErrLimit) || !strings.Contains(err.Error(), "100 bytes are free") {
			t.Errorf("angel %v: %v, want ErrLimit with what is free", set, err)
		}
		sparse := matrix.Meta{Name: "w", Rows: 2, Cols: 30, DType: matrix.F64, Layout: matrix.RowSparse}
		if w, err := format.Create(t.Context(), angel.Codec, b, "k", []matrix.Meta{sparse}, format.Options{}); err != nil {
			t.Errorf("angel: %v for a sparse matrix, whose size on disk is not known", err)
		} else {
			w.Abort(t.Context())
		}
	}
}

// TestCompanions writes what says what a model is beside its file, and takes it away with the file that it was of.
func TestCompanions(t *testing.T) {
	ctx, b := t.Context(), &blob.Mem{}
	src := one("w", 1, 2, 1, 2)
	src.files = map[string][]byte{"graph.json": []byte("{}")}
	if err := format.Convert(ctx, src, csv.Codec, b, "w.csv", format.Options{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	r, err := format.Open(ctx, csv.Codec, b, "w.csv", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Files()["graph.json"]) != "{}" {
		t.Errorf("files %q", r.Files())
	}
	r.Close()
	over, err := b.State(ctx, "w.csv")
	if err != nil {
		t.Fatal(err)
	}
	src.files = nil
	o := format.Options{Over: over, Set: map[string]string{"meta": "false"}}
	if err := format.Convert(ctx, src, csv.Codec, b, "w.csv", o, nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, b); len(got) != 1 {
		t.Errorf("%q, want the file alone: what lay beside it was of the one before", got)
	}
	// what lies beside a free path is somebody's
	if err := blob.WriteAll(ctx, b, "v.csv.meta", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if err := format.Convert(ctx, src, csv.Codec, b, "v.csv", format.Options{}, nil, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want ErrExist for the description of another file", err)
	}
	if got := contents(t, b); got["v.csv.meta"] != "mine" || len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// TestCreateSweeps removes what a killed process left beside the target, and says so.
func TestCreateSweeps(t *testing.T) {
	b := blob.NewDir(t.TempDir())
	if err := blob.WriteAll(t.Context(), b, "_tmp.m.npz.DEAD/m.npz", []byte("half")); err != nil {
		t.Fatal(err)
	}
	var notes []string
	o := format.Options{Note: func(what string) { notes = append(notes, what) }}
	if err := format.Convert(t.Context(), one("w", 1, 2, 1, 2), npy.Zipped, b, "m.npz", o, nil, nil); err != nil {
		t.Fatal(err)
	}
	left, err := b.Leftovers(t.Context(), "m.npz")
	if err != nil || len(left) != 0 || len(notes) != 1 || !strings.Contains(notes[0], "_tmp.m.npz.DEAD") {
		t.Errorf("left %q, said %q, %v", left, notes, err)
	}
}
