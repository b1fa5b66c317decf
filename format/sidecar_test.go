package format_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestSidecar writes sidecars of matrices and frames, and fills descriptions from them: type, labels and shape are the same.
func TestSidecar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SampledFrom(matrix.DTypes())
		m := matrix.Meta{Name: "m", Rows: rapid.Int64Range(0, 3).Draw(t, "rows"), Cols: rapid.Int64Range(0, 4).Draw(t, "columns"), DType: types.Draw(t, "type")}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 1:
			m.Labels = rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "\x00\"é"}), int(m.Cols), int(m.Cols)).Draw(t, "labels")
		case 2:
			m.DType, m.ColTypes = matrix.F64, rapid.SliceOfN(types, int(m.Cols), int(m.Cols)).Draw(t, "types")
		case 3:
			m.Dims = []int64{m.Rows, 1, m.Cols}
		}
		b := &blob.Mem{}
		if err := format.NewSidecar(&m).Write(t.Context(), b, "f"); err != nil {
			t.Fatal(err)
		}
		s, err := format.ReadSidecar(t.Context(), b, "f")
		if err != nil {
			t.Fatal(err)
		}
		got := matrix.Meta{Name: "m"}
		if err := s.Fill(&got); err != nil {
			t.Fatal(err)
		}
		want := m
		if strings.Join(m.Labels, "") == "" {
			want.Labels = nil // none is named
		}
		if want.ColTypes != nil && !mixed(want.ColTypes) {
			want.DType, want.ColTypes = append(want.ColTypes, want.DType)[0], nil
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("read as %+v, want %+v", got, want)
		}
	})
}

// mixed reports whether not all types are the same.
func mixed(types []matrix.DType) bool {
	for _, d := range types {
		if d != types[0] {
			return true
		}
	}
	return false
}

// TestSidecarText reads sidecars as DAPHNE and people write them.
func TestSidecarText(t *testing.T) {
	for text, c := range map[string]struct {
		want string // of the description, or of the error
		is   error
	}{
		`{"numRows":2,"numCols":3,"valueType":"f32"}`:                                            {"2 x 3 f32 [] []", nil},
		`{"numRows":2,"numCols":1,"valueType":"ui16","more":[]}`:                                 {"2 x 1 u16 [] []", nil},
		`{"numRows":1,"numCols":2,"valueType":"si8","schema":[{"label":"a"},{"label":""}]}`:      {"1 x 2 i8 [] [a ]", nil},
		`{"numRows":1,"numCols":2,"schema":[{"valueType":"si8"},{"valueType":"f32"}]}`:           {"1 x 2 f64 [i8 f32] []", nil},
		`{"numRows":1,"numCols":1,"schema":[{"label":"a","valueType":"f32","dtype":"bf16"}]}`:    {"1 x 1 bf16 [] [a]", nil},
		`{"numRows":9223372036854775806,"numCols":0,"valueType":"f64"}`:                          {"9223372036854775806 x 0 f64 [] []", nil},
		`{"numRows":9223372036854775807,"numCols":0,"valueType":"f64"}`:                          {"9223372036854775807 rows", format.ErrCorrupt},
		`{"numRows":-1,"numCols":2,"valueType":"f64"}`:                                           {"-1 rows", format.ErrCorrupt},
		`{"numRows":1,"numCols":-2,"valueType":"f64"}`:                                           {"-2 columns", format.ErrCorrupt},
		`{"numRows":1,"valueType":"f64"}`:                                                        {"no numCols", format.ErrCorrupt},
		`{"numCols":1,"valueType":"f64"}`:                                                        {"no numRows", format.ErrCorrupt},
		`{"numRows":1,"numCols":1}`:                                                              {`valueType ""`, format.ErrCorrupt},
		`{"numRows":1,"numCols":1,"valueType":"str"}`:                                            {"text is not supported", format.ErrVersion},
		`{"numRows":1,"numCols":2,"schema":[{"label":"a","valueType":"f32"}]}`:                   {"schema of 1 columns, want 2", format.ErrCorrupt},
		`{"numRows":1,"numCols":1,"schema":[]}`:                                                  {"schema of 0 columns, want 1", format.ErrCorrupt},
		`{"numRows":1,"numCols":2,"schema":[{"valueType":"f32"},{"label":"b","valueType":"x"}]}`: {`column 2 ("b"): valueType "x"`, format.ErrCorrupt},
		`{"numRows":1,"numCols":1,"schema":[{"valueType":"f32","dtype":"f33"}]}`:                 {`dtype "f33"`, format.ErrCorrupt},
		`{"numRows":2,"numCols":2,"valueType":"f32","thole":{"dims":[2,3]}}`:                     {"shape [2 3]", format.ErrCorrupt},
		`{"numRows":"2"}`: {"not as DAPHNE writes it", format.ErrCorrupt},
	} {
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, "f.meta", []byte(text)); err != nil {
			t.Fatal(err)
		}
		var m matrix.Meta
		s, err := format.ReadSidecar(t.Context(), b, "f")
		if err == nil {
			err = s.Fill(&m)
		}
		got := fmt.Sprintf("%d x %d %v %v %v", m.Rows, m.Cols, m.DType, m.ColTypes, m.Labels)
		if err != nil {
			got = err.Error()
		}
		if !errors.Is(err, c.is) || (err == nil) != (c.is == nil) || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", text, got, c.want)
		}
	}
	if s, err := format.ReadSidecar(t.Context(), &blob.Mem{}, "f"); s != nil || err != nil {
		t.Errorf("without a file %v, %v, want nothing", s, err)
	}
}

// TestSidecarIsRead: one that would be longer than what is read is refused before it is written.
func TestSidecarIsRead(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 1, Cols: 1, DType: matrix.F32}
	for n, want := range map[int]error{64<<20 - 200: nil, 64 << 20: format.ErrLimit} {
		m.Labels = []string{strings.Repeat("x", n)}
		b, s := &blob.Mem{}, format.NewSidecar(&m)
		if err := s.Check(); !errors.Is(err, want) {
			t.Errorf("label of %d bytes: %v, want %v", n, err, want)
		}
		if err := s.Write(t.Context(), b, "f"); !errors.Is(err, want) {
			t.Errorf("label of %d bytes is written: %v, want %v", n, err, want)
		}
		if s, err := format.ReadSidecar(t.Context(), b, "f"); err != nil || (s == nil) != (want != nil) {
			t.Errorf("label of %d bytes is read: %v", n, err)
		}
	}
}

// TestOldSidecar reads what DAPHNE wrote before it had JSON.
func TestOldSidecar(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"5,5,1,f64", "5 x 5 f64"}, {"5,5,1,f64\n", "5 x 5 f64"}, {"2,3,1,si8", "2 x 3 i8"}, {"2,2,0,f64,f64,a,b\n", "2 x 2 f64 [a b]"},
		{"2,2,0,si64,f64", "2 x 2 f64 [col_0 col_1]"},
		{"5,5", "want ROWS,COLUMNS,1,TYPE"}, {"5,5,1", "want ROWS"}, {"5,5,2,f64", "want ROWS"}, {"2,2,0,f64", "want ROWS"},
		{"2,9223372036854775807,0,f64", "want ROWS"}, {"5,5,1,f65", `valueType "f65"`}, {"-5,5,1,f64", "want none below 0"}, {"5;5", "not as DAPHNE"},
		{"2,-1,0", "want ROWS"}, {"2,0,0", "want ROWS"}, {"5,5,1,f64,3", "want ROWS"},
	} {
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, "m.csv.meta", []byte(c.text)); err != nil {
			t.Fatal(err)
		}
		m := matrix.Meta{Name: "m"}
		s, err := format.ReadSidecar(t.Context(), b, "m.csv")
		if err == nil {
			err = s.Fill(&m)
		}
		got := fmt.Sprintf("%d x %d %v", m.Rows, m.Cols, m.DType)
		if m.Labels != nil {
			got += fmt.Sprint(" ", m.Labels)
		}
		if err != nil {
			got = err.Error()
		}
		if err != nil && !errors.Is(err, format.ErrCorrupt) || !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
