package paddle

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
)

// TestExplainTopology explains models by their folder and by their topology: both show it beside the parameters. A
// damaged one is shown as far as it makes sense.
func TestExplainTopology(t *testing.T) {
	ctx, golden := t.Context(), goldens(t)
	data, err := blob.ReadAll(ctx, golden, "own/separate/model/__model__", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"own/separate/model", "own/separate/model/__model__", "own/combined/model", "own/combined/model/net.pdmodel"} {
		var out bytes.Buffer
		if err := Codec.Explain(ctx, golden, path, dump.New(&out)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, want := range []string{"topology, ProgramDesc, version ", "vars[0] VarDesc: ", "LoDTensor version 0"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", path, want, out.String())
			}
		}
	}
	b := &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "__model__", data[:300]); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = Codec.Explain(ctx, b, "__model__", dump.New(&out))
	if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(out.String(), "of which ") {
		t.Errorf("a cut topology: %v, explained as\n%s", err, out.String())
	}
}
