package algo

import (
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
)

// Features with fewer factors are those of the embedding alone, which is kept by column then; ffm has none.
func TestWidths(t *testing.T) {
	c := Conf{Dim: 30, Size: Size{Fields: 2, Factors: 6}, Widths: []matrix.Width{{Cols: matrix.Range{Lo: 10, Hi: 20}, Rows: 2}}}
	for _, a := range []Algo{fm, dnn, wdl, deepfm, nfm, pnn, dcn} {
		m, err := a.Build(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params() {
			embedded := strings.HasSuffix(p.Name, "embedding")
			if embedded != slices.Equal(p.Widths, c.Widths) || embedded && p.Layout != matrix.RowSparse {
				t.Errorf("%s: %s is %v with widths %v", a.Name, p.Name, p.Layout, p.Widths)
			}
		}
	}
	if _, err := ffm.Build(c); err == nil || !strings.Contains(err.Error(), "a feature has a vector for each field") {
		t.Errorf("ffm: %v", err)
	}
	c.Widths[0].Rows = 7
	if _, err := fm.Build(c); err == nil || !strings.Contains(err.Error(), "columns [10,20) of 7 rows, want 1 to 6") {
		t.Errorf("more factors than vectors have: %v", err)
	}
}
