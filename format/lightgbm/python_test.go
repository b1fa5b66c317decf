package lightgbm

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/tree"
)

// pythonVariable names a Python that has LightGBM.
const pythonVariable = "THOLE_LIGHTGBM_PYTHON"

// TestLightGBMReads gives LightGBM what we write: models that it made, and changed ones. It scores every row as we do, bit for bit.
func TestLightGBMReads(t *testing.T) {
	python := os.Getenv(pythonVariable)
	if python == "" {
		t.Skipf("%s names no Python with LightGBM", pythonVariable)
	}
	dir := t.TempDir()
	for _, file := range models(t) {
		e, _, err := parse(load(t, file))
		if err != nil {
			t.Fatal(err)
		}
		rows := knownRows(t, file, e.Features.Width, e.Classes)
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for what, change := range changes {
			c := *e
			c.Trees, c.Features, c.Start = slices.Clone(e.Trees), e.Features.Clone(), slices.Clone(e.Start)
			put(t, filepath.Join(dir, name+"_"+what), &c, rows, change)
		}
	}
	cmd := exec.Command(python, "testdata/check_models.py", dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(" models by LightGBM")) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", bytes.TrimSpace(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:]))
}

// changes are what other trainings give: they keep no contributions, but for the first.
var changes = map[string]func(e *tree.Ensemble){
	"same": nil,
	"start": func(e *tree.Ensemble) {
		for c := range e.Start {
			e.Start[c] = 0.3 + float64(c)
		}
	},
	"best": func(e *tree.Ensemble) { e.Best = min(2, e.Iterations()) },
	"names": func(e *tree.Ensemble) {
		edit(e, 0, func(f *tree.Feature) { f.Name = "ü = x, y" })
		edit(e, 1, func(f *tree.Feature) { f.Name = "" })
		e.Origin = "thole"
	},
	"levels": func(e *tree.Ensemble) {
		edit(e, 0, func(f *tree.Feature) { f.Levels = nil })
		edit(e, 3, func(f *tree.Feature) { f.Levels = []string{"a", "b", "é \"", "d"} })
	},
	"uncounted": func(e *tree.Ensemble) {
		for i := range e.Trees {
			t := &e.Trees[i]
			t.LeafCount, t.Count = make([]int64, len(t.LeafCount)), make([]int64, len(t.Count))
		}
	},
}

// put writes a model and the rows with what we say of them.
func put(t *testing.T, path string, e *tree.Ensemble, rows []seen, change func(*tree.Ensemble)) {
	t.Helper()
	if change != nil {
		change(e)
	}
	if err := os.WriteFile(path+".txt", printed(t, e), 0o600); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	scores := make([]float64, e.Classes)
	for _, s := range rows {
		e.Score(s.row, scores)
		var words []string
		for _, v := range s.row {
			words = append(words, hex.EncodeToString(binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(v)))))
		}
		numbers := scores
		if change == nil {
			numbers = slices.Concat(scores, s.parts)
		}
		for _, v := range numbers {
			words = append(words, hex.EncodeToString(binary.BigEndian.AppendUint64(nil, math.Float64bits(v))))
		}
		text.WriteString(strings.Join(words, "\t") + "\n")
	}
	if err := os.WriteFile(path+".tsv", []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
