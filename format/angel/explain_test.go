package angel

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
)

// page is the example of the format's page: files by name, their dumps, and the values of the table.
type page struct {
	files map[string][]byte
	dumps []string
	cells map[cell]string
}

var (
	blocks    = regexp.MustCompile("(?s)`embedding_embedding/(\\w+)`(?:: `([0-9a-f ]+)`, then)?\n\n```(json|dump)\n(.*?)```")
	dumpLine  = regexp.MustCompile(`^[0-9a-f]{8}  ((?:[0-9a-f]{2} )+) `)
	tableLine = regexp.MustCompile(`(?m)^\| (\d+) \| (\S+) \| (\S+) \| (\S+) \|$`)
)

func readPage(t *testing.T) page {
	t.Helper()
	data, err := os.ReadFile("../../docs/format/angel.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "## Example")
	p := page{files: map[string][]byte{}, cells: map[cell]string{}}
	for _, m := range blocks.FindAllStringSubmatch(text, -1) {
		file, head, kind, body := m[1], m[2], m[3], m[4]
		if kind == "json" {
			p.files[file] = append(unhex(t, head), strings.ReplaceAll(body, "\n", "")...)
			continue
		}
		p.dumps = append(p.dumps, body)
		for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
			p.files[file] = append(p.files[file], unhex(t, dumpLine.FindStringSubmatch(line)[1])...)
		}
	}
	for _, m := range tableLine.FindAllStringSubmatch(text, -1) {
		for c, v := range m[2:] {
			p.cells[cell{int64(m[1][0] - '0'), int64(c)}] = v
		}
	}
	return p
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPage reads the example of the page, explains it as the page does, and writes the same bytes.
func TestPage(t *testing.T) {
	p := readPage(t)
	b := &blob.Mem{}
	for name, data := range p.files {
		if err := blob.WriteAll(ctx, b, "model/embedding_embedding/"+name, data); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Codec.Open(ctx, b, "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Matrices()[0]
	got, err := values(r, m, m.Rect())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.cells) != 6 || fmt.Sprint(got) != fmt.Sprint(p.cells) {
		t.Errorf("got %v, want %v", got, p.cells)
	}
	var out bytes.Buffer
	if err := Codec.Explain(ctx, b, "model", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	for _, d := range p.dumps {
		if !strings.Contains(out.String(), d) {
			t.Errorf("explained as\n%s\nwant\n%s", out.String(), d)
		}
	}
	again := &blob.Mem{}
	if err := format.Convert(ctx, r, Codec, again, "model", format.Options{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, data := range everything(t, again) {
		if want := p.files[strings.TrimPrefix(name, "model/embedding_embedding/")]; !bytes.Equal(data, want) {
			t.Errorf("%s is written\n%q, want\n%q", name, data, want)
		}
	}
}

func explained(t *testing.T, b blob.Bucket) string {
	t.Helper()
	var out bytes.Buffer
	if err := Codec.Explain(ctx, b, "model", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestExplain(t *testing.T) {
	for name, wanted := range map[string][]string{
		"release_3_1": {
			"# file model/graph.json",
			"00000000  00 00 01 ee              length of the JSON: 494 bytes\n",
			"\"\\\"rowType\\\":7\"          T_FLOAT_DENSE\n",
			"00000000  \"0,0.5\\n\"                row 0: column id, value\n",
			"00000014  \"3,3.0\\n\"                row 0: column id, value\n",
		},
		"RowIdColIdValueBinaryRowFormat": {"row 2\n", "column 3\n", "row 2: 0\n", "row 0: 9223372036854775807\n"},
		"real/serving-lr": {
			"00000000  00 00 01 b1              length of the JSON: 433 bytes\n",
			"\"\\\"rowType\\\":10\"         T_FLOAT_SPARSE\n",
			"00000000  \"0,-1.3820986\\n\"         row 0: column id, value\n",
			"00000067  … 4579 bytes: 358 records\n",
			"0000125a  \"122,0.0\\n\"              row 2: column id, value\n",
		},
		"generated-master/cases/rows20_block10_ColIdValueTextRowFormat": {"4 more entries"}, // a gap in the rows
	} {
		if len(present(name)) == 0 {
			continue
		}
		out := explained(t, copyOf(t, name))
		for _, want := range wanted {
			if !strings.Contains(out, want) {
				t.Errorf("%s: explained as\n%s\nwithout %q", name, out, want)
			}
		}
	}
}

// TestExplainDamaged goes on as far as the bytes make sense.
func TestExplainDamaged(t *testing.T) {
	b := own(t, "release_3_1")
	if err := blob.WriteAll(ctx, b, "model/input_bias/meta", []byte("\x00\x00\x00\x10{\"row\":1,\"col\":z")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Codec.Explain(ctx, b, "model", dump.New(&out))
	if !isTyped(err, format.ErrCorrupt) {
		t.Errorf("got %v, want an error with its place", err)
	}
	for _, want := range []string{"rows in memory", "1,-1.25"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("explained as\n%s\nwithout %q", out.String(), want)
		}
	}
}

// TestOptionsOfReading names the separator.
func TestOptionsOfReading(t *testing.T) {
	b := own(t, "tabs")
	want, err := attempt(b)
	if err != nil {
		t.Fatal(err)
	}
	for separator, fine := range map[string]bool{"auto": true, "tab": true, `\t`: true, "comma": false, "7": false, "ab": false} {
		r, err := Codec.Open(ctx, b, "model", format.Options{Set: map[string]string{optSeparator: separator}})
		var got map[cell]string
		if err == nil {
			got, err = values(r, r.Matrices()[0], r.Matrices()[0].Rect())
		}
		if (err == nil) != fine || fine && !maps.Equal(got, want["w"]) {
			t.Errorf("separator %q: %v, %v", separator, got, err)
		}
	}
}
