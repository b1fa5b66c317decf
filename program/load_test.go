package program

import (
	"errors"
	"io/fs"
	"testing"

	"thole.example/blob"
)

// TestResolve finds what a path stands for, and how the models of a folder with several are named.
func TestResolve(t *testing.T) {
	b := &blob.Mem{}
	for _, file := range []string{"m/a.pdmodel", "m/b.json", "m/both", "m/both.pdmodel", "one/c.json", "plain/x"} {
		if err := blob.WriteAll(t.Context(), b, file, []byte(linearPIR)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"m/a": "m/a.pdmodel", "m/b": "m/b.json", "m/both": "m/both", "m": "m", "m/a.pdmodel": "m/a.pdmodel", "m/none": "m/none", "plain": "plain",
	} {
		if got, err := Resolve(t.Context(), b, path); got != want || err != nil {
			t.Errorf("%s stands for %s, %v, want %s", path, got, err, want)
		}
	}
	if m, err := Load(t.Context(), b, "m/a"); err != nil || m.Path != "m/a.pdmodel" {
		t.Errorf("m/a: %v, want m/a.pdmodel", err)
	}
	if _, err := Load(t.Context(), b, "m/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("m/none: %v, want ErrNotExist", err)
	}
	_, err := Load(t.Context(), b, "m")
	var several *SeveralError
	const want = "program: m: 2 models in one folder, want the path of one: m/a, m/both"
	if !errors.As(err, &several) || err.Error() != want {
		t.Errorf("m: %v, want %s", err, want)
	}
}
