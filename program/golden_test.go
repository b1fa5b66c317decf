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

// manifest is the list of golden files; nil where they are not there.
func manifest(t testing.TB) []goldenFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDir, "manifest.json"))
	if err != nil {
		t.Logf("no golden files: %v", err)
		return nil
	}
	var list []goldenFile
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// present are those of the files that are there.
func present(t testing.TB, files ...string) (found []string) {
	t.Helper()
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			t.Logf("no golden file: %v", err)
			continue
		}
		found = append(found, file)
	}
	return found
}

func readFile(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSameBytes decodes and encodes the programs of testdata, and where they are there those of the list and real ones.
func TestSameBytes(t *testing.T) {
	pir, release := int64(4), int64(2_006_002)
	files := map[string]*int64{}
	for _, name := range []string{"branches", "loops", "norm", "tower"} {
		files["testdata/"+name+".json"] = &pir
		files["testdata/"+name+".pdmodel"] = &release
	}
	files["testdata/wide.json"] = &pir
	for _, g := range manifest(t) {
		if g.Kind == "program" || g.Kind == "pir" {
			files[filepath.Join(goldenDir, g.File)] = g.Version
		}
	}
	for _, file := range present(t, realDir+"/uci_housing_model/__model__", realDir+"/custom_gap/custom_gap.pdmodel") {
		files[file] = nil
	}
	for file, version := range files {
		data := readFile(t, file)
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

// TestBadPrograms checks that damage is refused as damage, at a place: of programs of testdata, and of golden files where they
// are there.
func TestBadPrograms(t *testing.T) {
	tower, norm := readFile(t, "testdata/tower.pdmodel"), readFile(t, "testdata/norm.json")
	bad := map[string][]byte{
		"a block without parent_idx":          []byte("\x0a\x02\x08\x07"),
		"a length of 2^31-1 before nothing":   []byte("\x0a\xff\xff\xff\xff\x07"),
		"a variable without type":             []byte("\x0a\x09\x08\x00\x10\x00\x1a\x03\x0a\x01v"),
		"a name that is a number":             bytes.Replace(tower, []byte("\x0a\x0elinear_0"), []byte("\x08\x0elinear_0"), 1),
		"half a program":                      tower[:len(tower)/2],
		"half a PIR text":                     norm[:len(norm)/2],
		"a PIR text with a number for a list": bytes.Replace(norm, []byte(`"ops":[`), []byte(`"ops":7,"was":[`), 1),
	}
	for _, g := range manifest(t) {
		if strings.HasPrefix(g.File, "bad/p_") {
			bad[g.File] = readFile(t, filepath.Join(goldenDir, g.File))
		}
	}
	for what, data := range bad {
		_, err := Decode(data)
		var at *wire.At
		if !errors.As(err, &at) || !errors.Is(format.Wrap("program", what, err), format.ErrCorrupt) {
			t.Errorf("%s: %v, want damage at a byte", what, err)
		}
		t.Log(format.Wrap("program", what, err))
	}
}
