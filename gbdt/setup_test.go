package gbdt

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/tree"
)

// setupOf is the setup of rows of an objective, with everything that one can have.
func setupOf(t failer, objective string, n int) (*Setup, *Binned, *Labels) {
	t.Helper()
	g, y := some(objective, 31, n)
	for seed := uint64(32); !slices.ContainsFunc(g.features, func(f tree.Feature) bool { return f.Categorical }); seed++ {
		g, y = some(objective, seed, n)
	}
	conf := settings(t, objective, 3)
	conf.Rows, conf.Columns = 0.8, 0.9
	if objective == "l2" {
		conf.Monotone = make([]int8, len(g.features))
		conf.Monotone[slices.IndexFunc(g.features, func(f tree.Feature) bool { return !f.Categorical })] = 1
	}
	b := binned(t, g, nil, 30)
	s, err := NewSetup(b.Layout, y, conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, b, y
}

// TestSetupSent: workers that have a setup and rows from another one grow its trees, and the rows are those that it has.
func TestSetupSent(t *testing.T) {
	for _, name := range names() {
		s, b, y := setupOf(t, name, 240)
		want := trained(t, b, y, s.Config, Options{})
		text, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseSetup(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows, z, err := got.Unpack(0, 240, s.Pack(nil, b, y))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e, err := Train(context.Background(), rows, z, got.Config, Options{Setup: got})
		if err != nil {
			t.Fatal(err)
		}
		e.Features = want.Features // which are not sent
		if text := differ(want, e); text != "" {
			t.Errorf("%s: %s", name, text)
		}
		const lo, hi = 90, 171 // whole groups
		part := &Binned{Layout: b.Layout, first: lo, learn: hi - lo, codes: b.codes}
		part.codes.Bytes = b.codes.Bytes[lo*b.codes.Stride:]
		some := y.Part(lo, hi, 240, false)
		rows, z, err = got.Unpack(lo, hi, s.Pack(nil, part, some))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size := (hi - lo) * b.codes.Stride
		if rows.first != lo || rows.learn != hi-lo || !bytes.Equal(rows.codes.Bytes[:size], part.codes.Bytes[:size]) ||
			!slices.Equal(z.Label, y.Label[lo:hi]) || !slices.Equal(z.Weight, y.Weight[lo:hi]) || name == "lambdarank" &&
			!slices.Equal(z.Group, y.Group[lo:hi]) {
			t.Errorf("%s: rows %d to %d came as others", name, lo, hi)
		}
	}
}

// TestSetupRefuses: what cannot be is refused, and said.
func TestSetupRefuses(t *testing.T) {
	s, _, _ := setupOf(t, "binary", 60)
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`{`, `[`, "setup of a training"},
		{`"Objective":"binary"`, `"Objective":"binry"`, "binry"},
		{`"Depth":6`, `"Depth":600`, "depth 600"},
		{`"Rows":60`, `"Rows":0`, "0 rows"},
		{`"Features":5`, `"Features":-1`, "-1 features"},
		{`"Features":5`, `"Features":1`, "ascending ones of 1"},
		{`"Start":[`, `"Start":[1,`, "2 start scores"},
		{`"Before":0`, `"Before":-1`, "-1 iterations"},
		{`"Groups":false`, `"Groups":true`, "groups are sent: true"},
		{`"Group":0`, `"Group":99`, "group 99"},
		{`"Group":0`, `"Group":-1`, "group -1"},
		{`"Usual":`, `"Usual":70000`, "the usual one"},
		{`"Uppers":[`, `"Uppers":[9e9,`, "want more than 8.999999488e+09"},
		{`"Levels":[`, `"Levels":[-1,`, "level -1"},
		{`"Levels":[`, `"Uppers":[1],"Levels":[`, "levels and bounds"},
		{`"Feature":0`, `"Feature":7`, "feature 7"},
		{`"Monotone":null`, `"Monotone":[1]`, "1 monotone constraints"},
	} {
		bad := strings.Replace(string(text), c.old, c.new, 1)
		if bad == string(text) {
			t.Fatalf("%s is not in %s", c.old, text)
		}
		if _, err := ParseSetup([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %q", c.new, c.old, err, c.want)
		}
	}
	if _, err := layoutOf(1, 1, []columnText{{Levels: make([]int32, LevelLimit+1)}}); err == nil || !strings.Contains(err.Error(), "levels") {
		t.Errorf("too many levels: %v", err)
	}
	two := []columnText{{Levels: make([]int32, LevelLimit)}, {Feature: 1, Uppers: []float32{1, 2, 3}}} // of one group
	if _, err := layoutOf(1, 2, two); err == nil || !strings.Contains(err.Error(), "more than 65536 codes") {
		t.Errorf("too many codes: %v", err)
	}
}

// TestUnpackRefuses: rows that are none, or of which sums would lie elsewhere.
func TestUnpackRefuses(t *testing.T) {
	s, b, y := setupOf(t, "l2", 60)
	packed := s.Pack(nil, b, y)
	if int64(len(packed)) != s.ShardLen(60) {
		t.Fatalf("%d bytes, want %d", len(packed), s.ShardLen(60))
	}
	stride := b.codes.Stride
	for what, c := range map[string]struct {
		lo, hi int
		change func(p []byte) []byte
		want   string
	}{
		"cut":         {0, 60, func(p []byte) []byte { return p[:len(p)-1] }, "bytes of 60 rows"},
		"fewer rows":  {0, 59, func(p []byte) []byte { return p }, "bytes of 59 rows"},
		"beyond":      {1, 61, func(p []byte) []byte { return p }, "rows 1 to 61, want some of 60"},
		"a code":      {0, 60, func(p []byte) []byte { p[59*stride+b.groups[0].at] = 255; return p }, "code 255"},
		"a label":     {0, 60, func(p []byte) []byte { copy(p[60*stride:], []byte{0, 0, 0xc0, 0x7f}); return p }, "row 0 has the label NaN"},
		"at no place": {1, 0, func(p []byte) []byte { return p }, "rows 1 to 0"},
	} {
		_, _, err := s.Unpack(c.lo, c.hi, c.change(slices.Clone(packed)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// Whatever is told of a training, and sent as its rows, is refused, or something to grow trees from.
func FuzzSetup(f *testing.F) {
	for _, name := range []string{"binary", "multiclass", "lambdarank"} {
		s, b, y := setupOf(f, name, 18)
		text, err := s.JSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, s.Pack(nil, b, y))
	}
	f.Fuzz(func(t *testing.T, text, rows []byte) {
		s, err := ParseSetup(text)
		if err != nil {
			return
		}
		n := min(s.Layout.rows, len(rows)/max(1, int(s.ShardLen(1))))
		b, y, err := s.Unpack(0, n, rows[:int64(n)*s.ShardLen(1)])
		if err != nil || s.Layout.cells > 1<<14 || len(s.Start) > 9 {
			return
		}
		c := s.Config
		c.Trees, c.Cores, c.Depth, c.Leaves = 1, 1, 3, 0
		if e, err := Train(context.Background(), b, y, c, Options{Setup: s}); err == nil && len(e.Trees) != len(s.Start) {
			t.Errorf("%d trees, want %d", len(e.Trees), len(s.Start))
		}
	})
}

// TestPart: labels of some rows, with those held out or without.
func TestPart(t *testing.T) {
	y := &Labels{Label: []float32{0, 1, 2, 3, 9}, Group: []int64{1, 1, 2, 2, 3}, Start: []float64{10, 11, 12, 13, 19, 20, 21, 22, 23, 29}}
	some := y.Part(1, 3, 4, false)
	if !slices.Equal(some.Label, []float32{1, 2}) || some.Weight != nil || !slices.Equal(some.Group, []int64{1, 2}) ||
		!slices.Equal(some.Start, []float64{11, 12, 21, 22}) {
		t.Errorf("%+v", some)
	}
	some = y.Part(0, 2, 4, true)
	if !slices.Equal(some.Label, []float32{0, 1, 9}) || !slices.Equal(some.Start, []float64{10, 11, 19, 20, 21, 29}) {
		t.Errorf("with held-out rows %+v", some)
	}
	if math.IsNaN(some.Start[0]) || y.Part(0, 4, 4, true) != y {
		t.Error("all are other labels")
	}
}
