package format_test

import (
	"slices"
	"testing"

	"thole.example/format"
)

func TestWarnings(t *testing.T) {
	notes := []string{"layout document", format.Named("w", format.Warning("guessed")), format.Named("w", "whole")}
	if want := []string{"layout document", "warning: w: guessed", "w: whole"}; !slices.Equal(notes, want) {
		t.Errorf("%q, want %q", notes, want)
	}
	if got := format.Warnings(notes); !slices.Equal(got, notes[1:2]) {
		t.Errorf("%q", got)
	}
}
