package data

import (
	"os"
	"strings"
	"testing"

	"thole.example/feature"
)

// The page names every source and mapping, and its errors are real.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, s := range Sources() {
		if !strings.Contains(page, "| `"+s.Name+"` |") || s.Help == "" {
			t.Errorf("source %s has no row in docs/data.md, or no help", s.Name)
		}
	}
	for _, name := range labelNames {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("label mapping %s is not in docs/data.md", name)
		}
	}
	for _, found := range []error{
		errWidth(7, 8),
		(&settings{base: 1}).errColumn(0),
		(&settings{base: 1, limit: 123}).errColumn(124),
		errValue(3, []byte("NaN")),
		errCount(12, 13),
		(&settings{fieldLimit: 39}).errField(39),
	} {
		if !strings.Contains(page, ": "+found.Error()+"\n") {
			t.Errorf("docs/data.md does not have the error %q", found)
		}
	}
}

// The page on training names every kind of column.
func TestTrainingPage(t *testing.T) {
	text, err := os.ReadFile("../docs/training.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range feature.Kinds() {
		if !strings.Contains(string(text), "\n| "+string(k.Name)+" |") || k.Help == "" {
			t.Errorf("kind %s has no row in docs/training.md, or no help", k.Name)
		}
	}
}
