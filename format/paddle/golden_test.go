package paddle

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// goldenDir holds files that another writer computed, with a list of what they contain.
const goldenDir = "../../../shared/golden/paddle"

type goldenFile struct {
	File    string
	Kind    string
	Endian  string
	Error   string
	Records []struct {
		Name   string
		Dims   []int64
		DType  string
		Values []float64
		LoD    [][]int64
		Flags  byte
	}
}

func manifest(t *testing.T) []goldenFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDir, "manifest.json"))
	if err != nil {
		t.Skip("no golden files: ", err)
	}
	var list []goldenFile
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestGolden reads every golden file of the profile, compares it with the list, and writes the same bytes again.
func TestGolden(t *testing.T) {
	ctx := context.Background()
	found := 0
	for _, g := range manifest(t) {
		if !strings.HasPrefix(g.Kind, "seed004") {
			continue
		}
		found++
		t.Run(g.File, func(t *testing.T) {
			b := blob.NewDir(goldenDir)
			dialect, err := Codec.Sniff(ctx, b, g.File)
			if err != nil || !strings.HasPrefix(dialect, g.Kind+", ") {
				t.Errorf("sniffed %q, %v, want %s", dialect, err, g.Kind)
			}
			r, err := Codec.Open(ctx, b, g.File, format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if len(r.Matrices()) != len(g.Records) {
				t.Fatalf("%d matrices, want %d", len(r.Matrices()), len(g.Records))
			}
			for i, rec := range g.Records {
				m := r.Matrices()[i]
				if m.Name != rec.Name || !slices.Equal(m.Dims, rec.Dims) || !slices.EqualFunc(m.LoD, rec.LoD, slices.Equal) {
					t.Errorf("read %q %v %v, want %q %v %v", m.Name, m.Dims, m.LoD, rec.Name, rec.Dims, rec.LoD)
				}
				if got := floats(t, r, m); !slices.Equal(got, rec.Values) {
					t.Errorf("values %v, want %v", got, rec.Values)
				}
			}
			rewrite(t, r, g)
		})
	}
	if found == 0 {
		t.Error("the list names no file of the profile")
	}
}

// rewrite writes the matrices again and compares the bytes, but for a checksum that was not computed.
func rewrite(t *testing.T, r format.Reader, g goldenFile) {
	t.Helper()
	set := map[string]string{"endian": "little"}
	if g.Endian == "big" {
		set["endian"] = "big"
	}
	for _, rec := range g.Records {
		if rec.Flags&flagDigest != 0 {
			set["digest"] = "true"
		}
		if rec.Flags&flagAlign != 0 {
			set["align"] = "true"
		}
		if rec.Flags&flagWide != 0 {
			t.Skip("64-bit dimensions that the sizes do not need are not written")
		}
	}
	b := &blob.Mem{}
	if err := format.Convert(context.Background(), r, Codec, b, "w", format.Options{Set: set}, nil, nil); err != nil {
		t.Fatal(err)
	}
	got, err := blob.ReadAll(context.Background(), b, "w", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(goldenDir, g.File))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(want[8:12], []byte{0, 0, 0, 0}) {
		clear(got[8:12])
	}
	if !slices.Equal(got, want) {
		t.Errorf("written\n% x, want\n% x", got, want)
	}
}

func floats(t *testing.T, r format.Reader, m matrix.Meta) (vals []float64) {
	t.Helper()
	for b, err := range r.Blocks(context.Background(), m.Name, m.Rect()) {
		if err != nil {
			t.Fatal(err)
		}
		wide, _ := b.Cast(matrix.F64)
		vals = append(vals, wide.Data.Values().([]float64)...)
	}
	return vals
}

// TestGoldenBad checks that damaged golden files of the profile are refused, and where the list says so for their
// checksum.
func TestGoldenBad(t *testing.T) {
	found := 0
	for _, g := range manifest(t) {
		if !strings.HasPrefix(g.File, "bad/a_") {
			continue
		}
		found++
		t.Run(g.File, func(t *testing.T) {
			r, err := Codec.Open(context.Background(), blob.NewDir(goldenDir), g.File, format.Options{})
			if err == nil {
				r.Close()
				t.Fatal("no error")
			}
			var sum *ChecksumError
			if errors.As(err, &sum) != (g.Error == "checksum") {
				t.Errorf("%v, want an error of kind %s", err, g.Error)
			}
			var where *format.Error
			if !errors.Is(err, format.ErrCorrupt) || !errors.As(err, &where) || where.Off < 0 {
				t.Errorf("%v, want damage at a byte", err)
			}
		})
	}
	if found == 0 {
		t.Error("the list names no damaged file of the profile")
	}
}

// TestOtherLayouts checks that the profile claims no golden file of another layout.
func TestOtherLayouts(t *testing.T) {
	b := goldens(t)
	files, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range files {
		if strings.Contains(i.Name, "seed004") || strings.HasPrefix(i.Name, "bad/a_") {
			continue
		}
		if dialect, err := (seed{}).Sniff(t.Context(), b, i.Name); dialect != "" || err != nil {
			t.Errorf("%s: %q, %v, want nothing", i.Name, dialect, err)
		}
	}
}
