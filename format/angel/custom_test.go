package angel

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// bracketed is a text row format "<row>[<column>]=<value>".
var bracketed = RowFormat{
	Class: "org.example.Bracketed", Text: true, Rows: true, Cols: true,
	Float64: RowPair[float64]{putBracketed[float64], takeBracketed[float64]},
	Float32: RowPair[float32]{putBracketed[float32], takeBracketed[float32]},
	Int64:   RowPair[int64]{putBracketed[int64], takeBracketed[int64]},
	Int32:   RowPair[int32]{putBracketed[int32], takeBracketed[int32]},
}

func putBracketed[T Number](dst []byte, e Element[T], _ Style) []byte {
	dst = append(AppendNumber(dst, e.Row), '[')
	dst = append(AppendNumber(dst, e.Col), "]="...)
	return AppendNumber(dst, e.Value)
}

func takeBracketed[T Number](b []byte, e *Element[T], _ Style) int {
	row, n := ParseNumber[int32](b)
	if n == 0 || n >= len(b) || b[n] != '[' {
		return 0
	}
	col, k := ParseNumber[int64](b[n+1:])
	if n += 1 + k; k == 0 || !bytes.HasPrefix(b[n:], []byte("]=")) {
		return 0
	}
	v, k := ParseNumber[T](b[n+2:])
	if k == 0 {
		return 0
	}
	*e = Element[T]{row, col, v}
	return n + 2 + k
}

// varying is a binary column format: two bytes of column id, and each value with its length before it as text.
var varying = ColumnFormat{
	Class:   "org.example.Varying",
	Float32: ColumnPair[float32]{putVarying[float32], takeVarying[float32]},
	Int64:   ColumnPair[int64]{putVarying[int64], takeVarying[int64]},
}

func putVarying[T Number](dst []byte, c Column[T], _ Style) []byte {
	dst = append(dst, byte(c.Col>>8), byte(c.Col))
	for _, v := range c.Values {
		text := AppendNumber(nil, v)
		dst = append(append(dst, byte(len(text))), text...)
	}
	return dst
}

func takeVarying[T Number](b []byte, c *Column[T], _ Style) int {
	if len(b) < 2 {
		return 0
	}
	c.Col = int64(b[0])<<8 | int64(b[1])
	n := 2
	for i := range c.Values {
		if n >= len(b) || n+1+int(b[n]) > len(b) {
			return 0
		}
		v, k := ParseNumber[T](b[n+1 : n+1+int(b[n])])
		if k == 0 || k != int(b[n]) {
			return 0
		}
		c.Values[i] = v
		n += 1 + k
	}
	return n
}

// TestCustom writes and reads formats of users, and breaks what was written.
func TestCustom(t *testing.T) {
	own := New(bracketed, varying)
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		class := rapid.SampledFrom([]string{"org.example.Bracketed", "org.example.Varying"}).Draw(t, "class")
		if class == varying.Class {
			s.m.DType, s.m.ColLo = matrix.F32, 0
			s.m.Attrs[attrRowType] = ""
			s.b = matrix.NewDense(matrix.F32, s.m.Rect())
			s.m.Layout = matrix.RowDense
		}
		b := &blob.Mem{}
		set := map[string]string{optFormat: class, optPerFile: "2"}
		w, err := own.Create(ctx, b, "model", []matrix.Meta{s.m}, format.Options{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		var parts []format.Part
		for _, blk := range cutBlocks(s.b, 9) {
			p, err := w.Put(ctx, "w", blk)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
		if err := w.Commit(ctx, parts); err != nil {
			t.Fatal(err)
		}
		r, err := own.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := values(r, r.Matrices()[0], s.m.Rect())
		if err != nil || !maps.Equal(got, s.stored(t)) {
			t.Fatalf("got %v, %v", got, err)
		}
		foreign, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = values(foreign, foreign.Matrices()[0], s.m.Rect())
		if !isTyped(err, format.ErrVersion) || !strings.Contains(err.Error(), class) || !strings.Contains(err.Error(), "angel.New") {
			t.Fatalf("without its reader: %v", err)
		}
	})
}

// TestCustomDamage cuts and changes data of users' formats.
func TestCustomDamage(t *testing.T) {
	own := New(bracketed, varying)
	dense := plainSample(7, 2, 3)
	for _, class := range []string{bracketed.Class, varying.Class} {
		b := &blob.Mem{}
		set := map[string]string{optFormat: class, optChecksum: "off"}
		w, err := own.Create(ctx, b, "model", []matrix.Meta{dense.m}, format.Options{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Put(ctx, "w", dense.b)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(ctx, []format.Part{p}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := own.Explain(ctx, b, "model", dump.New(&out)); err != nil || out.Len() == 0 {
			t.Errorf("explained as %q, %v", out.String(), err)
		}
		data := everything(t, b)["model/w/0"]
		for i := range 2 * len(data) {
			bad := bytes.Clone(data)
			if i < len(data) {
				bad[i] ^= 0x90
			} else {
				bad = bad[:i-len(data)]
			}
			if err := blob.WriteAll(ctx, b, "model/w/0", bad); err != nil {
				t.Fatal(err)
			}
			r, err := own.Open(ctx, b, "model", format.Options{})
			if err == nil {
				_, err = values(r, r.Matrices()[0], dense.m.Rect())
			}
			if err != nil && !isTyped(err, sentinels...) || err == nil && i >= len(data) {
				t.Fatalf("%s, change %d: %v", class, i, err)
			}
		}
	}
	ints := plainSample(21, 1, 1)
	if _, err := own.Create(ctx, &blob.Mem{}, "m", []matrix.Meta{ints.m}, format.Options{Set: map[string]string{optFormat: varying.Class}}); !isLossy(err) {
		t.Errorf("a type that the format does not hold: %v", err)
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(package .*?)```")

// TestCustomPage compiles and runs the example of the page for users.
func TestCustomPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/custom.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllSubmatch(page, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d files of Go on the page, want the format and a program", len(blocks))
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replaced := map[string]string{} // files of the module that lie elsewhere
	for i, b := range blocks {
		file := filepath.Join(dir, []string{"semicolons.go", "main.go"}[i])
		if err := os.WriteFile(file, b[1], 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(root, "customexample", filepath.Base(file))] = file
	}
	var overlay []byte
	for at, file := range replaced {
		overlay = append(overlay, `,"`+filepath.ToSlash(at)+`":"`+filepath.ToSlash(file)+`"`...)
	}
	over := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(over, []byte(`{"Replace":{`+string(overlay[1:])+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(run, "go", "run", "-overlay", over, "./customexample")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := regexp.MustCompile("(?s)```text\n(.*?)```").FindSubmatch(page)
	if want == nil || string(out) != string(want[1]) {
		t.Errorf("the example prints\n%s\nwant what the page says", out)
	}
}
