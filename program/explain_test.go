package program

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"thole.example/dump"
)

// covered are the bytes of the file that an explanation shows or leaves out, one behind the other.
func covered(t *testing.T, data []byte, text string) int {
	t.Helper()
	next := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if off, err := strconv.ParseInt(line[:8], 16, 64); err != nil || int(off) != next {
			t.Fatalf("%q at byte %d", line, next)
		}
		rest := line[10:]
		switch {
		case strings.HasPrefix(rest, "…"):
			var n int
			if _, err := fmt.Sscanf(rest, "… %d bytes", &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			next += n
		case strings.HasPrefix(rest, `"`):
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			shown, _ := strconv.Unquote(quoted)
			if !bytes.HasPrefix(data[next:], []byte(shown)) {
				t.Fatalf("%q shows other bytes", line)
			}
			next += len(shown)
		default:
			hex := strings.TrimSpace(rest[:min(len(rest)-1, 23)])
			for _, one := range strings.Fields(hex) {
				if v, err := strconv.ParseUint(one, 16, 8); err != nil || len(one) != 2 || byte(v) != data[next] {
					t.Fatalf("%q at byte %d shows other bytes", line, next)
				}
				next++
			}
		}
	}
	return next
}

func explained(t *testing.T, data []byte) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Explain(data, dump.New(&out))
	return out.String(), err
}

// TestExplainGolden explains topologies that Paddle saved, and golden ones where they are there: every byte once, and each cut of
// them as far as it goes.
func TestExplainGolden(t *testing.T) {
	texts := map[string]string{
		"testdata/tower.pdmodel":    `name string: "op_callstack"`,
		"testdata/norm.pdmodel":     "type Type: 9 (FEED_MINIBATCH)",
		"testdata/branches.pdmodel": "type AttrType: 8 (BLOCK)",
		"testdata/tower.json":       "operator 9 pd_op.fetch: 1 operands, 1 results",
	}
	for file, want := range map[string]string{
		"golden/paddle/model_linear/__model__":           `type string: "elementwise_add"`,
		"golden/paddle/model_mlp/mlp.pdmodel":            "op_version_map OpVersionMap",
		"paddle-real/uci_housing_model/__model__":        "type Type: 9 (FEED_MINIBATCH)",
		"paddle-real/custom_gap/custom_gap.pdmodel":      "data_type Type: 5 (FP32)",
		"golden/paddle/model_linear/__model__.noversion": "blocks[0] BlockDesc: ",
		"golden/paddle/model_linear/__model__.callstack": `name string: "op_callstack"`,
		"golden/paddle/model_linear/__model__.compatmap": "op_compatible_map OpCompatibleMap",
	} {
		for _, path := range present(t, "../../shared/"+file) {
			texts[path] = want
		}
	}
	for file, want := range texts {
		data := readFile(t, file)
		text, err := explained(t, data)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v, no %q in\n%s", file, err, want, text)
		}
		if n := covered(t, data, text); n != len(data) {
			t.Errorf("%s: %d bytes explained, want %d", file, n, len(data))
		}
		for cut := 16; cut < len(data); cut += 1 + len(data)/50 {
			text, err := explained(t, data[:cut])
			if n := covered(t, data[:cut], text); n > cut || err == nil && n != cut {
				t.Errorf("%s cut to %d: %d bytes explained, %v", file, cut, n, err)
			}
		}
	}
}

// TestExplainValues checks the text of each kind of value, of fields that the schema does not know, and of long lists.
func TestExplainValues(t *testing.T) {
	op := func(attr string) []byte {
		op := "\x1a\x01x\x22" + string(rune(len(attr))) + attr
		block := "\x08\x00\x10\x00\x22" + string(rune(len(op))) + op
		return []byte("\x0a" + string(rune(len(block))) + block)
	}
	for want, attr := range map[string]string{
		"f float: -1.5":                                "\x25\x00\x00\xc0\xbf",
		"float64 double: +Inf":                         "\x99\x01\x00\x00\x00\x00\x00\x00\xf0\x7f",
		"longs[0] int64: 3":                            "\x78\x03",
		"longs int64: 3, 4":                            "\x7a\x02\x03\x04",
		"bools[0] bool: true":                          "\x58\x01",
		"field 63, which the schema does not know":     "\xf8\x03\x01",
		"scalar Scalar: 2 bytes":                       "\xa2\x01\x02\x08\x02",
		"… 6 bytes: 3 more values of ints":             strings.Repeat("\x30\x01", 19),
		`s string: "` + strings.Repeat("é", 24) + `"…`: "\x2a\x3c" + strings.Repeat("é", 30),
		"… 14 bytes: more of it":                       "\x2a\x3c" + strings.Repeat("é", 30),
	} {
		data := op("\x0a\x01a\x10\x04" + attr) // name, type FLOATS
		text, err := explained(t, data)
		if !strings.Contains(text, want) {
			t.Errorf("%v: no %q in\n%s", err, want, text)
		}
		if n := covered(t, data, text); n != len(data) {
			t.Errorf("%q: %d bytes explained, want %d", want, n, len(data))
		}
	}
}

// TestExplainCut checks what stands of a message that is cut.
func TestExplainCut(t *testing.T) {
	data := []byte("\x0a\x1e\x08\x00\x10\x00")
	text, err := explained(t, data)
	want := "00000000  0a 1e                    blocks[0] BlockDesc: 30 bytes, of which 26 are not there\n" +
		"00000002  08 00                      idx int32: 0\n00000004  10 00                      parent_idx int32: 0\n"
	if err == nil || text != want {
		t.Errorf("%v, explained as\n%s, want\n%s", err, text, want)
	}
}

// TestExplainPIR explains a text, and each cut of it as far as it is JSON.
func TestExplainPIR(t *testing.T) {
	data := []byte(linearPIR)
	text, err := explained(t, data)
	if err != nil || !strings.Contains(text, "operator 2 pd_op.data: 0 operands, 1 results") || !strings.Contains(text, "  base_code") {
		t.Errorf("%v, explained as\n%s", err, text)
	}
	if strings.Contains(text, "…") {
		t.Errorf("left out: \n%s", text)
	}
	last := `"I":[{"%":5}],"O":[{"%":6,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1],"NCHW",[],0]}}]`
	for made, want := range map[string]string{last: "1 results", `"I":[{"%":5}]`: "0 results", `"I":[{"%":5}],"O":[]`: "0 results"} {
		text, err := explained(t, []byte(strings.Replace(linearPIR, last, made, 1)))
		if err != nil || !strings.Contains(text, "operator 5 pd_op.fetch: 1 operands, "+want) {
			t.Errorf("%s: %v, explained as\n%s\nwant %s", made, err, text, want)
		}
	}
	for cut := len(data); cut > 80; cut -= 37 {
		text, err := explained(t, data[:cut])
		if n := covered(t, data[:cut], text); n != cut || (err == nil) != (cut == len(data)) {
			t.Errorf("cut to %d: %d bytes explained, %v", cut, n, err)
		}
	}
	if text, err := explained(t, []byte("nothing")); err == nil || text != "" {
		t.Errorf("no topology: %v, explained as %q", err, text)
	}
}

// TestExplainPIRLong explains operators that are long, with letters of several bytes: every byte is shown, no letter is cut,
// and the meaning stands once.
func TestExplainPIRLong(t *testing.T) {
	for _, letter := range []string{"x", "é", "漢", "😀"} {
		data := []byte(strings.Replace(linearPIR, "train.py", "/home/"+strings.Repeat(letter, 700), 1))
		text, err := explained(t, data)
		if err != nil {
			t.Fatal(err)
		}
		if n := covered(t, data, text); n != len(data) || strings.Contains(text, "…") {
			t.Errorf("%d bytes of %d shown in\n%s", n, len(data), text)
		}
		if strings.Contains(text, `\x`) || strings.Count(text, letter) < 700 {
			t.Errorf("letters are cut in\n%s", text)
		}
		if n := strings.Count(text, "operator 3 pd_op.matmul"); n != 1 {
			t.Errorf("the operator is named %d times", n)
		}
		for line := range strings.Lines(text) {
			if strings.HasSuffix(line, " \n") || len(line) > 240 {
				t.Errorf("line %q", line)
			}
		}
	}
}

// FuzzExplain explains any bytes: each once, from the beginning as far as they make sense, and all of a sound topology.
func FuzzExplain(f *testing.F) {
	p, _ := New(small(), 1)
	data, _ := p.Encode()
	f.Add(data)
	f.Add([]byte(linearPIR))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := explained(t, data)
		if n := covered(t, data, text); n > len(data) || err == nil && n != len(data) {
			t.Errorf("%d bytes of %d explained, %v", n, len(data), err)
		}
	})
}
