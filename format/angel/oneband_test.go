package angel

import (
	"errors"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestColumnsWithSlots keeps all rows of a column format in each partition if some are not saved: Angel fails at partitions that
// save none. It finds such partitions in what others wrote.
func TestColumnsWithSlots(t *testing.T) {
	for _, class := range []string{"TextColumnFormat", "BinaryColumnFormat"} {
		s := plainSample(7, 3, 4)
		set := map[string]string{optFormat: class, optSlots: "1", optBlockRows: "1"}
		if err := save(&blob.Mem{}, &s, 1, []matrix.Block{s.b}, set); !errors.Is(err, format.ErrOption) {
			t.Errorf("%s: %v, want that the option is refused", class, err)
		}
		delete(set, optBlockRows)
		s.m.BlockRows = 1 // as the source has it
		for _, blocks := range [][]matrix.Block{{s.b}, cutBlocks(s.b, 4)} {
			b := &blob.Mem{}
			if err := save(b, &s, 1, blocks, set); err != nil {
				t.Fatal(err)
			}
			for _, p := range metaOf(t, b).parts {
				if p.rows != (matrix.Range{Hi: 6}) || p.rowMetas.n != 3 {
					t.Errorf("%s: partition of rows %v saves %d, want all 6 and 3", class, p.rows, p.rowMetas.n)
				}
			}
		}
		none := s.m
		none.Saved = []matrix.Range{}
		_, err := Codec.Create(ctx, &blob.Mem{}, "model", []matrix.Meta{none}, format.Options{Set: map[string]string{optFormat: class}})
		if !errors.Is(err, format.ErrLossy) {
			t.Errorf("%s: %v, want that a matrix without saved rows is refused", class, err)
		}
	}
	bad := raw(t, `{"matrixId":0,"matrixName":"w","formatClassName":"`+classPath+`TextColumnFormat","rowType":7,"row":2,"col":1,"blockRow":1,
"blockCol":1,"options":{},"partMetas":{
"0":{"partId":0,"startRow":0,"endRow":1,"startCol":0,"endCol":1,"nnz":1,"saveRowNum":0,"saveColNum":1,"saveColElemNum":1,"fileName":"0",
"offset":0,"length":6,"rowMetas":{"0":{"rowId":0,"offset":-1,"elementNum":1,"saveType":0}}},
"1":{"partId":1,"startRow":1,"endRow":2,"startCol":0,"endCol":1,"nnz":0,"saveRowNum":0,"saveColNum":0,"saveColElemNum":0,"fileName":"0",
"offset":6,"length":0,"rowMetas":{}}}}`, "0,1.5\n")
	r, err := Codec.Open(ctx, bad, "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := r.(format.Verifier).Verify(ctx)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "no saved rows") {
		t.Errorf("problems %q, %v, want one", problems, err)
	}
}
