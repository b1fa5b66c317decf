package dir

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"thole.example/coord"
)

// TestLate: who was stopped between looking and linking finds the name taken; when so many came meanwhile that it is free again, that is
// noticed, and nobody reads it.
func TestLate(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder := s.folder("k")
	var v coord.Version
	put := func(times int) {
		for range times {
			if v, err = s.Put(t.Context(), "k", []byte("x"), v); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(keep)
	if err := publish(folder, name(1), []byte("late")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	put(1)
	if err := publish(folder, name(1), []byte("late")); err != nil {
		t.Fatal(err)
	}
	if err := s.verify("k", 1); err == nil || errors.Is(err, coord.ErrChanged) || !strings.Contains(err.Error(), "not known") {
		t.Errorf("a name that is free again: %v", err)
	}
	if data, got, err := s.Get(t.Context(), "k"); err != nil || string(data) != "x" || got != v {
		t.Errorf("get %q, %q, %v", data, got, err)
	}
	if all, err := versions(folder); err != nil || len(all) != keep {
		t.Errorf("versions %v, %v", all, err)
	}
}
