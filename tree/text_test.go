package tree

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for i, want := range []string{`tree 0 (iteration 0): 3 leaves, depth 2
age <= 30.5 (missing: yes)   gain 8, 10 rows
  yes: town in Wells (missing: no)   gain 4, 6 rows
    yes: -1   2 rows
    no:  0.5   4 rows
  no:  2   4 rows
`, `tree 1 (iteration 1): 1 leaf, depth 0
0.125   10 rows
`} {
		var b bytes.Buffer
		if err := two().Text(&b, i, 0); err != nil || b.String() != want {
			t.Errorf("%v:\n%s\nwant\n%s", err, b.String(), want)
		}
	}
	var b bytes.Buffer
	want := "tree 0 (iteration 0): 3 leaves, depth 2\nage <= 30.5 (missing: yes)   gain 8, 10 rows\n" +
		"  yes: ... 2 leaves   gain 4, 6 rows\n  no:  2   4 rows\n"
	if err := two().Text(&b, 0, 1); err != nil || b.String() != want {
		t.Errorf("%v:\n%s\nwant\n%s", err, b.String(), want)
	}
	for _, tree := range []int{-1, 2} {
		for _, err := range []error{two().Text(io.Discard, tree, 0), two().SVG(io.Discard, tree, 0)} {
			if err == nil || !strings.Contains(err.Error(), "0 to 1") {
				t.Errorf("tree %d: %v", tree, err)
			}
		}
	}
}

func TestQuestion(t *testing.T) {
	f := Feature{Name: "town", Categorical: true}
	for i := range 40 {
		f.Levels = append(f.Levels, fmt.Sprint("t", i))
	}
	for want, set := range map[string][]uint32{"no level": {0, 0}, "t1, t31": {1<<31 | 2}, "t0, t1, t2": {7}, "t0, t1 and 2 more": {15},
		"t32, 40": {0, 1<<8 | 1}, "t0, t1 and 62 more": {1<<32 - 1, 1<<32 - 1}} {
		if got := f.levels(set, 2); got != want {
			t.Errorf("%x: %s, want %s", set, got, want)
		}
	}
	for _, c := range []struct {
		v            float64
		single, want string
	}{{0.1000000015, "0.1", "0.1000000015"}, {0.49999999, "0.49999997", "0.49999999"}, {ZeroMost, "1e-35", "1.0000000180025095e-35"},
		{-1e300, "-Inf", "-1e+300"}, {1<<24 + 0.5, "16777216", "16777216.5"}, {1600000000.5, "1600000000", "1600000000.5"}} {
		e := two()
		e.Trees[0].Threshold[0] = c.v
		if got := e.question(&e.Trees[0], 0, 2); got != "age <= "+c.want {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
		if e.Numbers = Float32; e.question(&e.Trees[0], 0, 2) != "age <= "+c.single {
			t.Errorf("%v of 32 bits: %s, want %s", c.v, e.question(&e.Trees[0], 0, 2), c.single)
		}
	}
	for want, k := range map[string]Kind{"missing as 0": DefaultLeft, "0 and missing: yes": ZeroMissing | DefaultLeft,
		"0 and missing: no": ZeroMissing, "missing: no": NaNMissing, "missing: yes": NaNMissing | DefaultLeft} {
		e := two()
		e.Trees[0].Kind[0] = k
		if got := e.Trees[0].missing(0); got != want {
			t.Errorf("%v: %s, want %s", k, got, want)
		}
		want = "missing: no"
		if k == NaNMissing|DefaultLeft {
			want = "missing: yes"
		}
		e.Trees[0].Kind[1] = k | Categorical
		if got := e.Trees[0].missing(1); got != want {
			t.Errorf("a set, %v: %s, want %s", k, got, want)
		}
	}
}

// hostile is two with names that are none.
func hostile() *Ensemble {
	e := two()
	e.Features.Set(0, Feature{Name: "a\nb\x1b[2J</text><script>alert(1)</script>\xff"})
	e.Features.Set(1, Feature{Categorical: true, Levels: []string{"", "Bath", strings.Repeat("\"&<]]>\u202e", 50)}})
	return e
}

// TestHostileNames are printed on one line of printable letters, and as text of XML.
func TestHostileNames(t *testing.T) {
	e := hostile()
	var b bytes.Buffer
	if err := e.Text(&b, 0, 0); err != nil || strings.Count(b.String(), "\n") != 6 || strings.ContainsAny(b.String(), "\x1b\u202e\xff") {
		t.Errorf("%v\n%q", err, b.String())
	}
	b.Reset()
	if err := e.SVG(&b, 0, 0); err != nil || strings.Contains(b.String(), "<script") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestSVG draws any tree: well-formed XML of a bounded width, all leaves or what stands for them, and nothing outside of the picture.
func TestSVG(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawing{features: 5, trees: 1, leaves: 60, sets: true, levels: 40}.ensemble(t)
		levels := rapid.IntRange(0, 9).Draw(t, "levels")
		for i := range e.Trees {
			var b bytes.Buffer
			if err := e.SVG(&b, i, levels); err != nil || !utf8.Valid(b.Bytes()) {
				t.Fatal(err)
			}
			d, boxes, leaves, width, height := xml.NewDecoder(&b), 0, 0, 0.0, 0.0
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				el, ok := token.(xml.StartElement)
				switch {
				case !ok:
				case el.Name.Local == "svg":
					width, height = attr(el, "width"), attr(el, "height")
				case el.Name.Local == "rect" && attr(el, "rx") > 0:
					boxes++
					if attr(el, "rx") == 12 {
						leaves++
					}
					if attr(el, "x") < 0 || attr(el, "y") < 0 || attr(el, "x")+boxWidth > width || attr(el, "y")+boxHeight > height {
						t.Fatalf("a box is outside of %v x %v: %v", width, height, el)
					}
				}
			}
			n, depth := e.Trees[i].Leaves(), e.Trees[i].Depth()
			if levels > 0 && levels < depth && leaves == n || depth <= levels && (leaves != n || boxes != 2*n-1) {
				t.Fatalf("%d boxes and %d leaves of %d", boxes, leaves, n)
			}
			if width > boxWidth+2*svgMargin+levelWidth*float64(max(levels, svgLevels)) {
				t.Fatalf("%v wide", width)
			}
		}
	})
}

func attr(e xml.StartElement, name string) (v float64) {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			fmt.Sscan(a.Value, &v)
		}
	}
	return v
}

func TestImportance(t *testing.T) {
	e := two()
	e.Trees[1] = e.Trees[0]
	e.Trees[1].Gain = []float64{2, 1}
	for kind, want := range map[string][]float64{"split": {2, 2}, "gain": {10, 5}, "mean-gain": {5, 2.5}, "cover": {9, 5}, "rows": {20, 12}} {
		if got, err := e.Importance(kind); err != nil || !slices.Equal(got, []Important{{0, want[0]}, {1, want[1]}}) {
			t.Errorf("%s: %v, %v, want %v", kind, got, err, want)
		}
	}
	e.Best = 1 // what does not score does not count
	if got, err := e.Importance("gain"); err != nil || !slices.Equal(got, []Important{{0, 8}, {1, 4}}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := e.Importance("gian"); err == nil || !strings.Contains(err.Error(), "gain") {
		t.Errorf("%v", err)
	}
}
