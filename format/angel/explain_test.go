package angel

import (
	"bytes"
	"testing"

	"thole/blob"
	"thole/internal/dump"
)

func explained(t *testing.T, dir string) string {
	t.Helper()
	b, name, err := blob.Local(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Codec.Explain(ctx, b, name, dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestExplainX(t *testing.T) {
	t.Log(explained(t, needGolden(t, "generated-master/matrix/T_FLOAT_SPARSE/BinaryColumnFormat")))
	t.Log(explained(t, needGolden(t, "real/serving-lr")))
	t.Log(explained(t, needGolden(t, "generated-master/matrix/T_FLOAT_SPARSE/RowIdColIdValueBinaryRowFormat")))
}
