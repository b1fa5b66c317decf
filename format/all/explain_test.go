package all

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// TestExplain explains every plain sample, then every file of it cut at every byte: always something of a whole one, and
// never a panic.
func TestExplain(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		ctx, b := context.Background(), &blob.Mem{}
		if err := write(t, b, c, s, format.Options{}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := c.Explain(ctx, b, pathOf(c), dump.New(&out)); err != nil || out.Len() == 0 {
			t.Errorf("%d bytes of explanation, %v", out.Len(), err)
		}
		for name, data := range snapshot(t, b) {
			for n := range len(data) {
				if err := blob.WriteAll(ctx, b, name, []byte(data[:n])); err != nil {
					t.Fatal(err)
				}
				out.Reset()
				if err := c.Explain(ctx, b, pathOf(c), dump.New(&out)); err != nil && !sentinel(err) {
					t.Errorf("%s cut at byte %d: %v: wraps no error of package format", name, n, err)
				}
			}
			if err := blob.WriteAll(ctx, b, name, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// explained is a line of an explanation: a place, and the bytes there, or how many of them are left out.
type explained struct {
	off   int
	n     int
	bytes string // "": left out
}

var explainedLine = regexp.MustCompile(`^([0-9a-f]{8,})  (?:… (\d+) bytes: .*|("(?:[^"\\]|\\.)*").*|((?:[0-9a-f]{2} ?){0,8}).*)$`)

// sections are the lines of an explanation, those below each heading together.
func sections(t *testing.T, text string) (all [][]explained) {
	t.Helper()
	all = [][]explained{nil}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# ") {
			all = append(all, nil)
			continue
		}
		p := explainedLine.FindStringSubmatch(line)
		if p == nil {
			t.Fatalf("line %q has no place", line)
		}
		off, err := strconv.ParseInt(p[1], 16, 64)
		e := explained{off: int(off)}
		switch {
		case p[2] != "":
			e.n, err = strconv.Atoi(p[2])
		case p[3] != "":
			e.bytes, err = strconv.Unquote(p[3])
		default:
			var raw []byte
			raw, err = hex.DecodeString(strings.ReplaceAll(p[4], " ", ""))
			e.bytes = string(raw)
		}
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		e.n += len(e.bytes)
		all[len(all)-1] = append(all[len(all)-1], e)
	}
	return all
}

// members are the files of which places are told: of an archive those in it.
func members(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, data := range files {
		if !strings.HasSuffix(name, ".npz") {
			all[name] = data
			continue
		}
		z, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			all[f.Name] = string(text)
		}
	}
	return all
}

// checkExplained holds an explanation to the files: the lines below a heading go through one of them, without going back, and show
// what is there. Together they leave out nothing but what stands between things in text.
func checkExplained(t *testing.T, text string, files map[string]string) {
	t.Helper()
	told := map[string][]bool{}
	for name, data := range files {
		told[name] = make([]bool, len(data))
	}
	for _, lines := range sections(t, text) {
		end, found := 0, false
		for _, e := range lines {
			if e.off < end {
				t.Errorf("byte %x is explained behind byte %x", e.off, end)
			}
			end = e.off + e.n
		}
	file:
		for name, data := range files {
			for _, e := range lines {
				if e.off+e.n > len(data) || e.bytes != "" && data[e.off:e.off+e.n] != e.bytes {
					continue file
				}
			}
			found = true
			for _, e := range lines {
				for i := range e.n {
					told[name][e.off+i] = true
				}
			}
		}
		if !found {
			t.Errorf("no file has %+v", lines)
		}
	}
	for name, data := range files {
		for i, is := range told[name] {
			if !is && !strings.ContainsRune("{}[]:, \n", rune(data[i])) {
				t.Errorf("byte %x of %s is not explained", i, name)
				break
			}
		}
	}
}

// TestExplainEverything explains matrices of every small size, of which the larger are shown in part: every line is right, and
// every byte is shown or counted.
func TestExplainEverything(t *testing.T) {
	var list []sample
	for n := int64(1); n <= 20; n++ {
		cuts := make([]int64, n+1)
		for i := range cuts {
			cuts[i] = int64(i)
		}
		list = append(list,
			dense("row", matrix.F32, 1, n), dense("column", matrix.F64, n, 1), tiled("rows", dense("", matrix.F32, n, 2), cuts, []int64{0, 2}),
			tiled("sparse", thin("", matrix.F32, n, 6, 2), cuts, []int64{0, 6}), tiled("columns", thin("", matrix.F32, 2, n, 1), []int64{0, 2}, cuts))
	}
	list = append(list, dense("large", matrix.F32, 50, 14), thin("large, sparse", matrix.F64, 50, 40, 3))
	eachAny(t, func(t *testing.T, c kind) {
		for _, s := range list {
			ctx, b := context.Background(), &blob.Mem{}
			if write(t, b, c, s, format.Options{}) != nil {
				continue
			}
			t.Run(s.what, func(t *testing.T) {
				var out bytes.Buffer
				if err := c.Explain(ctx, b, pathOf(c), dump.New(&out)); err != nil {
					t.Fatal(err)
				}
				if checkExplained(t, out.String(), members(t, snapshot(t, b))); t.Failed() {
					t.Logf("%d x %d: %s", s.meta.Rows, s.meta.Cols, &out)
				}
			})
		}
	})
}
