package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// denseOf reads the only matrix as numbers.
func denseOf(r format.Reader, ctx testing.TB) (*matrix.Dense[float64], matrix.Meta, error) {
	m := r.Matrices()[0]
	whole := matrix.NewDense(matrix.F64, m.Rect())
	for b, err := range r.Blocks(ctx.Context(), m.Name, m.Rect()) {
		if err != nil {
			return nil, m, err
		}
		if err := b.Check(); err != nil {
			return nil, m, err
		}
		wide, _ := b.ToDense().Cast(matrix.F64)
		if err := matrix.Put(whole, wide); err != nil {
			return nil, m, err
		}
	}
	return whole.Data.(*matrix.Dense[float64]), m, nil
}

// TestSciPy reads what scipy.sparse.save_npz wrote (testdata/make_sparse.py), and compares it with the array that SciPy made of it.
func TestSciPy(t *testing.T) {
	files, err := filepath.Glob("testdata/scipy/*.npz")
	if err != nil || len(files) != 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".npz")
		r, err := Zipped.Open(t.Context(), blob.NewDir("testdata/scipy"), name+".npz", format.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		got, m, err := denseOf(r, t)
		if err != nil || m.Name != name || m.Layout != matrix.RowSparse || len(r.Matrices()) != 1 {
			t.Errorf("%s: %+v, %v", name, m, err)
			continue
		}
		want, err := Codec.Open(t.Context(), blob.NewDir("testdata/scipy"), name+".npy", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		values, dense, err := denseOf(want, t)
		if err != nil || dense.Rows != m.Rows || dense.Cols != m.Cols || dense.DType != m.DType {
			t.Fatal(name, dense, m, err)
		}
		if fmt.Sprint(got.Val) != fmt.Sprint(values.Val) {
			t.Errorf("%s: %v, want %v", name, got.Val, values.Val)
		}
		whole := matrix.At(1, 4, 2, 5) // a part
		part := matrix.NewDense(m.DType, whole.Intersect(m.Rect()))
		for b, err := range r.Blocks(t.Context(), name, whole) {
			if err == nil {
				err = matrix.Put(part, b.ToDense())
			}
			if err != nil {
				t.Fatal(name, err)
			}
		}
		wide, _ := part.Cast(matrix.F64)
		for i, v := range wide.Data.(*matrix.Dense[float64]).Val {
			row, col := 1+i/int(part.At.Cols.Len()), 2+i%int(part.At.Cols.Len())
			if v != values.Val[row*int(m.Cols)+col] {
				t.Errorf("%s: cell (%d, %d) is %v alone", name, row, col, v)
			}
		}
		if err := Zipped.Explain(t.Context(), blob.NewDir("testdata/scipy"), name+".npz", dump.New(&strings.Builder{})); err != nil {
			t.Error(name, err)
		}
		r.Close()
		want.Close()
	}
}

// arrayOf is an array of the type, of raw values.
func arrayOf(descr, shape, values string) string {
	return string(file(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape), []byte(values)))
}

func numbersOf(values ...int) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteByte(byte(int8(v)))
	}
	return arrayOf("|i1", fmt.Sprintf("(%d,)", len(values)), b.String())
}

// TestSciPyRefused are sparse matrices whose members contradict each other.
func TestSciPyRefused(t *testing.T) {
	text := func(s string) string { return arrayOf(fmt.Sprintf("|S%d", len(s)), "()", s) }
	for name, c := range map[string]struct {
		members []string
		want    error
		text    string
	}{
		"index":         {[]string{"indptr", numbersOf(0, 1), "indices", numbersOf(5), "shape", numbersOf(1, 5), "data", numbersOf(1)}, format.ErrCorrupt, "index 0 is 5, want 0 to 4"},
		"below 0":       {[]string{"indptr", numbersOf(0, 1), "indices", numbersOf(-1), "shape", numbersOf(1, 5), "data", numbersOf(1)}, format.ErrCorrupt, "index 0 is -1"},
		"end":           {[]string{"indptr", numbersOf(0, 2), "indices", numbersOf(1), "shape", numbersOf(1, 5), "data", numbersOf(1)}, format.ErrCorrupt, "ends 0 and 2"},
		"values":        {[]string{"indptr", numbersOf(0, 2), "indices", numbersOf(1, 2), "shape", numbersOf(1, 5), "data", numbersOf(1)}, format.ErrCorrupt, "ends 0 and 2"},
		"falls":         {[]string{"indptr", numbersOf(0, 2, 1), "indices", numbersOf(1), "shape", numbersOf(2, 5), "data", numbersOf(1)}, format.ErrCorrupt, "want ascending"},
		"rows":          {[]string{"indptr", numbersOf(0, 1), "indices", numbersOf(1), "shape", numbersOf(2, 5), "data", numbersOf(1)}, format.ErrCorrupt, "2 numbers, want 3"},
		"shape":         {[]string{"indptr", numbersOf(0, 1), "indices", numbersOf(1), "shape", numbersOf(1, -5), "data", numbersOf(1)}, format.ErrVersion, "[1 -5]"},
		"three sizes":   {[]string{"indptr", numbersOf(0, 1), "indices", numbersOf(1), "shape", numbersOf(1, 2, 3), "data", numbersOf(1)}, format.ErrVersion, "[1 2 3]"},
		"missing":       {[]string{"indptr", numbersOf(0, 1), "shape", numbersOf(1, 5), "data", numbersOf(1)}, format.ErrCorrupt, "without a member indices.npy"},
		"sum":           {[]string{"indptr", numbersOf(0, 2), "indices", numbersOf(1, 1), "shape", numbersOf(1, 5), "data", numbersOf(127, 1)}, format.ErrCorrupt, "cell (0, 1)"},
		"half":          {[]string{"indptr", numbersOf(0, 1), "indices", numbersOf(1), "shape", numbersOf(1, 5), "data", arrayOf("<f2", "(1,)", "ab")}, format.ErrVersion, "<f2, want f4, f8"},
		"float indices": {[]string{"indptr", numbersOf(0, 1), "indices", arrayOf("<f4", "(1,)", "abcd"), "shape", numbersOf(1, 5), "data", numbersOf(1)}, format.ErrCorrupt, "want whole numbers"},
		"no rows":       {[]string{"indptr", numbersOf(), "indices", numbersOf(), "shape", numbersOf(0, 5), "data", numbersOf()}, format.ErrCorrupt, "0 numbers, want 1"},
	} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			all := []string{"format.npy", text("csr")}
			for i := 0; i < len(c.members); i += 2 {
				all = append(all, c.members[i]+".npy", c.members[i+1])
			}
			_, err := loadArchive(t, zipOf(t, method, all...))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.text)
			}
		}
	}
}

// TestSciPyDimensions refuses a sparse array of one dimension and names what to do.
func TestSciPyDimensions(t *testing.T) {
	members := []string{"format.npy", arrayOf("|S3", "()", "coo"), "coords.npy", arrayOf("|i1", "(1, 1)", "\x02"), "shape.npy", numbersOf(5),
		"data.npy", numbersOf(1)}
	_, err := loadArchive(t, zipOf(t, zip.Store, members...))
	if !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), "one dimension") || !strings.Contains(err.Error(), "reshape") {
		t.Errorf("%v, want an error that names the dimensions", err)
	}
}

// TestOtherArrays leaves out arrays of text and of objects where the option allows it, and never looks into the latter.
func TestOtherArrays(t *testing.T) {
	b := &blob.Mem{}
	data := zipOf(t, zip.Deflate, "a.npy", numbersOf(1, 2), "names.npy", arrayOf("<U1", "(1,)", "x\x00\x00\x00"), "o.npy", arrayOf("|O", "(1,)", "\x80\x04."))
	if err := blob.WriteAll(t.Context(), b, archivePath, data); err != nil {
		t.Fatal(err)
	}
	if _, err := Zipped.Open(t.Context(), b, archivePath, format.Options{}); !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), "other=skip") {
		t.Errorf("without the option: %v", err)
	}
	if _, err := Zipped.Open(t.Context(), b, archivePath, format.Options{Set: map[string]string{"other": "drop"}}); !errors.Is(err, format.ErrOption) {
		t.Errorf("another option: %v", err)
	}
	r, err := Zipped.Open(t.Context(), b, archivePath, format.Options{Set: map[string]string{"other": "skip"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	notes := strings.Join(r.Notes(), "\n")
	if got, m, err := denseOf(r, t); err != nil || m.Name != "a" || got.Val[1] != 2 || len(r.Matrices()) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if !strings.Contains(notes, "warning: arrays left out: names (<U1), o (|O)") {
		t.Errorf("notes %q", notes)
	}
}

// TestTypeNames reads the names of types that NumPy reads without a byte order.
func TestTypeNames(t *testing.T) {
	for descr, want := range map[string]matrix.DType{"f8": matrix.F64, "float64": matrix.F64, "<d": matrix.F64, "i2": matrix.I16, "?": matrix.Bool,
		"uint32": matrix.U32, ">q": matrix.I64, "B": matrix.U8} {
		e, _, err := parseType(descr)
		if err != nil || e.DType != want {
			t.Errorf("%s: %v, %v", descr, e.DType, err)
		}
	}
	for _, descr := range []string{"", "<", "l", "<l", ">int16", "<float64", "f3", "|f8"} {
		if e, _, err := parseType(descr); err == nil {
			t.Errorf("%q is read as %v", descr, e.DType)
		}
	}
}
