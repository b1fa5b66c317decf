package daphne_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format/daphne"
)

// dumped are the bytes of an annotated dump.
func dumped(t *testing.T, text string) []byte {
	var data []byte
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' || len(line) < 10 {
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(line[10:min(len(line), 33)], " ", ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		data = append(data, b...)
	}
	return data
}

func explained(t *testing.T, data []byte) string {
	b := &blob.Mem{}
	if err := blob.WriteAll(t.Context(), b, "x.dbdf", data); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := dump.New(&out)
	if err := daphne.Codec.Explain(t.Context(), b, "x.dbdf", p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestWorkedExample holds the page to the code: its dump is what explain prints of its own bytes, and they read as the
// page says.
func TestWorkedExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/daphne.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```text\n# layout")
	text, _, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatal("no dump in the page")
	}
	text = "# layout" + text
	data := dumped(t, text)
	if got := explained(t, data); got != text {
		t.Errorf("explain prints\n%s\nthe page says\n%s", got, text)
	}
	cells, err := readAll(t, data)
	want := map[[2]int64]string{{0, 1}: "1.5", {0, 4}: "-2", {2, 0}: "3", {3, 2}: "4", {3, 3}: "5"}
	if err != nil || len(cells) != len(want) {
		t.Fatalf("%v, %v, want %v", cells, err, want)
	}
	for cell, v := range want {
		if cells[cell] != v {
			t.Errorf("cell %v is %q, want %q", cell, cells[cell], v)
		}
	}
}

// TestExplainGoldens prints every golden file; what is printed holds all of its bytes, since all are small.
func TestExplainGoldens(t *testing.T) {
	for _, g := range goldens(t) {
		if !strings.HasSuffix(g.file, ".dbdf") || g.Expect != "" {
			continue
		}
		if text := explained(t, g.data); !bytes.Equal(dumped(t, text), g.data) {
			t.Errorf("%s: bytes are missing in\n%s", g.file, text)
		}
	}
}

// TestExplainDamaged prints what comes before the damage.
func TestExplainDamaged(t *testing.T) {
	b, data := &blob.Mem{}, named(t, "multiblock")
	if err := blob.WriteAll(t.Context(), b, "x.dbdf", data[:len(data)-1]); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := daphne.Codec.Explain(t.Context(), b, "x.dbdf", dump.New(&out))
	if err == nil || !strings.Contains(out.String(), "# damaged: ") || strings.Count(out.String(), "# block ") != 3 {
		t.Errorf("%v, printed\n%s\nwant an error, and 3 of 4 blocks", err, out.String())
	}
}
