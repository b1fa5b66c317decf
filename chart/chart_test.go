package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var nan, inf = math.NaN(), math.Inf(1)

func svg(t interface{ Fatal(...any) }, c *Chart) string {
	var b bytes.Buffer
	if err := c.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// elements are the elements of well-formed XML, as "name" and, of those with a d, cx or rect's y, "name attribute".
func elements(t interface {
	Fatalf(string, ...any)
}, text string) (found []xml.StartElement, words []string) {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return found, words
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch x := token.(type) {
		case xml.StartElement:
			found = append(found, x.Copy())
		case xml.CharData:
			words = append(words, string(x))
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		axis   Axis
		lo, hi float64
		n      int
		want   string
		ends   [2]float64
	}{
		{Axis{}, 0, 1, 5, "0 0.2 0.4 0.6 0.8 1", [2]float64{0, 1}},
		{Axis{}, 0.13, 0.98, 5, "0 0.2 0.4 0.6 0.8 1", [2]float64{0, 1}},
		{Axis{}, -3, 4, 4, "-4 -2 0 2 4", [2]float64{-4, 4}},
		{Axis{}, 0, 1e6, 4, "0 500000 1000000", [2]float64{0, 1e6}},
		{Axis{}, 0, 3e9, 3, "0 1e+09 2e+09 3e+09", [2]float64{0, 3e9}},
		{Axis{}, 0, 3e-7, 3, "0 1e-07 2e-07 3e-07", [2]float64{0, 3e-7}},
		{Axis{}, 1, 0, 5, "0 0.2 0.4 0.6 0.8 1", [2]float64{0, 1}}, // nothing to draw
		{Axis{}, 0, 0, 4, "-1 -0.5 0 0.5 1", [2]float64{-1, 1}},    // one number
		{Axis{}, 50, 50, 5, "44 46 48 50 52 54 56", [2]float64{44, 56}},
		{Axis{Whole: true}, 1, 3, 5, "1 2 3", [2]float64{1, 3}},
		{Axis{Whole: true}, 1, 1, 5, "0 1 2", [2]float64{0, 2}},
		{Axis{Lo: 0.5, Hi: 3.5}, 0, 9, 3, "1 2 3", [2]float64{0.5, 3.5}},
		{Axis{}, 1000000.1, 1000000.3, 2, "1000000.1 1000000.2 1000000.3", [2]float64{1000000.1, 1000000.3}},
	} {
		s := tt.axis.scaled(tt.lo, tt.hi, tt.n)
		if got := strings.Join(labels(s.ticks), " "); got != tt.want || math.Abs(s.lo-tt.ends[0])+math.Abs(s.hi-tt.ends[1]) > 1e-9 {
			t.Errorf("%+v, %v to %v: %s from %v to %v, want %s from %v", tt.axis, tt.lo, tt.hi, got, s.lo, s.hi, tt.want, tt.ends)
		}
	}
}

func TestTicksOfAnything(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1, 1 + 0x1p-52}))
	rapid.Check(t, func(t *rapid.T) {
		lo, hi := number.Draw(t, "lo"), number.Draw(t, "hi")
		lo, hi = min(lo, hi), max(lo, hi)
		n := rapid.IntRange(2, 10).Draw(t, "n")
		s := (&Axis{Whole: rapid.Bool().Draw(t, "whole")}).scaled(lo, hi, n)
		s.to = 100
		if !(s.lo <= lo && s.hi >= hi && s.lo < s.hi) || !finite(s.lo) || !finite(s.hi) {
			t.Fatalf("%v to %v for %v to %v", s.lo, s.hi, lo, hi)
		}
		if len(s.ticks) > 4*n || !slices.IsSorted(s.ticks) {
			t.Fatalf("%v", s.ticks)
		}
		for _, v := range append(s.ticks, lo, hi) {
			if p := s.place(v); !(p >= 0 && p <= 100) {
				t.Fatalf("%v at pixel %v of 100, ends %v and %v", v, p, s.lo, s.hi)
			}
		}
	})
}

// TestPixels holds a chart to places that follow from its size: without title, labels and legend the axis X ends 16 pixels before
// the right, Y goes from 16 to 26 pixels before the bottom.
func TestPixels(t *testing.T) {
	c := Chart{Width: 400, Height: 226, X: Axis{Lo: 0, Hi: 10}, Y: Axis{Lo: 0, Hi: 1},
		Bars:  []Bars{{Lo: []float64{0, 5, nan}, Hi: []float64{5, 10, 3}, Y: []float64{0.5, 1, 1}}},
		Lines: []Line{{X: []float64{10, 10, 10, nan, 10}, Y: []float64{0, 1, nan, 0, 0.25}}}}
	all, _ := elements(t, svg(t, &c))
	var paths, rects, dots []string
	for _, e := range all {
		switch e.Name.Local {
		case "path":
			paths = append(paths, attr(e, "d"))
		case "rect":
			rects = append(rects, attr(e, "y")+" "+attr(e, "height"))
		case "circle":
			dots = append(dots, attr(e, "cx")+","+attr(e, "cy"))
		}
	}
	if want := "M384.00,200.00L384.00,16.00M384.00,154.00"; paths[len(paths)-1] != want {
		t.Errorf("line %s, want %s", paths[len(paths)-1], want)
	}
	if want := []string{" 226", "108.00 92.00", "16.00 184.00"}; !slices.Equal(rects, want) {
		t.Errorf("bars %q, want %q", rects, want)
	}
	if want := []string{"384.00,154.00"}; !slices.Equal(dots, want) { // alone, it would not be seen as a line
		t.Errorf("dots %q, want %q", dots, want)
	}
}

func TestLegend(t *testing.T) {
	c := Chart{Title: "loss & more", X: Axis{Label: "epoch"}, Y: Axis{Label: "<logloss>"}, Height: 200}
	for range 40 {
		c.Lines = append(c.Lines, Line{Name: strings.Repeat("run", 40)})
	}
	c.Lines[1].Name, c.Lines[2].Name = "", `a "b" </svg>`
	_, words := elements(t, svg(t, &c))
	text := strings.Join(words, "|")
	for _, want := range []string{"loss & more", "epoch", "<logloss>", `a "b" </svg>`, "runrunrun", "…", "and 34 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// TestAnythingIsSound draws whatever there is: well-formed XML of finite places, and the same bytes again.
func TestAnythingIsSound(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{nan, inf, -inf, 0, 1e308, -1e308, 5e-324}))
	numbers, text := rapid.SliceOfN(number, 0, 8), rapid.OneOf(rapid.String(), rapid.Just("\x00\xff]]>&<"))
	rapid.Check(t, func(t *rapid.T) {
		axis := func(name string) Axis {
			return Axis{Label: text.Draw(t, name), Lo: number.Draw(t, "lo"), Hi: number.Draw(t, "hi"), Whole: rapid.Bool().Draw(t, "whole")}
		}
		c := Chart{Title: text.Draw(t, "title"), X: axis("x"), Y: axis("y"), Width: rapid.Int().Draw(t, "width"), Height: rapid.Int().Draw(t, "height")}
		for range rapid.IntRange(0, 9).Draw(t, "lines") {
			c.Lines = append(c.Lines, Line{Name: text.Draw(t, "name"), X: numbers.Draw(t, "x"), Y: numbers.Draw(t, "y"), Dots: rapid.Bool().Draw(t, "dots")})
			c.Bars = append(c.Bars, Bars{Name: text.Draw(t, "name"), Lo: numbers.Draw(t, "lo"), Hi: numbers.Draw(t, "hi"), Y: numbers.Draw(t, "y")})
		}
		got := svg(t, &c)
		all, _ := elements(t, got)
		for _, e := range all {
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("%s of %s is %s", a.Name.Local, e.Name.Local, a.Value)
				}
			}
		}
		if svg(t, &c) != got {
			t.Fatal("other bytes the second time")
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestErrorOfWriter(t *testing.T) {
	if err := (&Chart{}).SVG(full{}); err == nil || err.Error() != "full" {
		t.Errorf("%v, want full", err)
	}
}
