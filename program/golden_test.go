package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/wire"
)

// Files that another writer computed, with a list of what they contain, and files that Paddle wrote.
const (
	goldenDir = "../../shared/golden/paddle"
	realDir   = "../../shared/paddle-real"
)

type goldenFile struct {
	File    string
	Kind    string
	Version *int64
	Error   string
}

func manifest(t testing.TB) []goldenFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDir, "manifest.json"))
	if err != nil {
		t.Skip("no golden files: ", err)
	}
	var list []goldenFile
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// readFile reads a file of the folders above, or skips the test.
func readFile(t testing.TB, dir, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Skip("no golden files: ", err)
	}
	return data
}

// TestSameBytes decodes and encodes every program of the list and every real one.
func TestSameBytes(t *testing.T) {
	files := map[string]*int64{}
	for _, g := range manifest(t) {
		if g.Kind == "program" || g.Kind == "pir" {
			if _, err := os.Stat(filepath.Join(goldenDir, g.File)); err == nil {
				files[filepath.Join(goldenDir, g.File)] = g.Version
			}
		}
	}
	for _, file := range []string{"uci_housing_model/__model__", "custom_gap/custom_gap.pdmodel"} {
		files[filepath.Join(realDir, file)] = nil
	}
	if len(files) < 6 {
		t.Errorf("%d programs, want more", len(files))
	}
	for file, version := range files {
		data := readFile(t, "", file)
		p, err := Decode(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		again, err := p.Encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: %d other bytes than the %d of the file, %v", file, len(again), len(data), err)
		}
		if version != nil && (!p.HasVersion || p.Version != *version) {
			t.Errorf("%s: version %d (%v), want %d", file, p.Version, p.HasVersion, *version)
		}
	}
}

// TestBadPrograms checks that damaged golden programs are refused as damage, at a place.
func TestBadPrograms(t *testing.T) {
	found := 0
	for _, g := range manifest(t) {
		if !strings.HasPrefix(g.File, "bad/p_") {
			continue
		}
		found++
		_, err := Decode(readFile(t, goldenDir, g.File))
		var at *wire.At
		if !errors.As(err, &at) || !errors.Is(format.Wrap("program", g.File, err), format.ErrCorrupt) {
			t.Errorf("%s: %v, want damage at a byte", g.File, err)
		}
		t.Log(format.Wrap("program", g.File, err))
	}
	if found == 0 {
		t.Error("no damaged program in the list")
	}
}
