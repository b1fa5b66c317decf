package paddle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/program"
)

// TestFaults holds the errors of the damaged golden files to the classes that their list names.
func TestFaults(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(goldenDir, "manifest.json"))
	if err != nil {
		t.Skip("no golden files")
	}
	var list struct {
		Files []struct{ File, Kind, Error string } `json:"files"`
	}
	if json.Unmarshal(data, &list) != nil {
		if err := json.Unmarshal(data, &list.Files); err != nil {
			t.Fatal(err)
		}
	}
	same := map[string]Fault{ // where the list has finer classes, or other words
		"bad-desc-size": FaultDesc, "bad-format": FaultVersion, "bad-endian": FaultForeign,
	}
	ctx, b := t.Context(), blob.NewDir(goldenDir)
	model, err := program.Load(ctx, b, "model_linear/__model__")
	if err != nil {
		t.Skip("no golden model")
	}
	seen := 0
	for _, g := range list.Files {
		if g.Error == "" || g.Error == "bad-program" {
			continue
		}
		want, ok := same[g.Error]
		if !ok {
			want = Fault(g.Error)
		}
		_, err := Codec.Open(ctx, b, g.File, format.Options{})
		switch filepath.Base(g.File)[:2] { // what only the topology tells
		case "c_":
			model.Params, model.Of = g.File, nil
			_, err = OpenParams(ctx, b, model)
		case "s_":
			_, err = streams{}.Open(ctx, b, g.File, format.Options{})
		case "r_":
			_, err = selectedRows.Open(ctx, b, g.File, format.Options{})
		}
		if err == nil {
			t.Errorf("%s: no error, want %s", g.File, want)
			continue
		}
		seen++
		if got := FaultOf(err); got != want {
			t.Errorf("%s: %q of %v, want %q", g.File, got, err, want)
		}
	}
	if seen < 10 {
		t.Errorf("%d damaged files, want more", seen)
	}
}
