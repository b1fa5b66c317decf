package gbdt

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// binIn is the bin of a column that the code of a row says; -1: the group has no such code.
func binIn(b *Binned, row int, c *column) int {
	g := &b.groups[c.group]
	code := int(b.codes.Row(row)[g.at])
	if g.wide {
		code += int(b.codes.Row(row)[g.at+1]) << 8
	}
	if code >= g.codes {
		return -1
	}
	for bin := range c.all() {
		if c.code(bin) == code {
			return bin
		}
	}
	return c.usual
}

// TestCodes holds the codes of rows to bins that are found by looking at all values, of rows that are learned from and held out.
func TestCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		all, _ := random(r, 2+r.IntN(200), 1+r.IntN(8))
		learn := 1 + r.IntN(all.Len()-1)
		rows, bins := all.part(0, learn), 2+r.IntN(14)
		b := binned(t, rows, all.part(learn, all.Len()), bins)
		of := map[int]*column{}
		for i := range b.columns {
			of[b.columns[i].feature] = &b.columns[i]
		}
		for f := range all.features {
			seen, missing := map[float32]int{}, 0
			for _, row := range rows.rows {
				if v := row[f]; v == v {
					seen[v]++
				} else {
					missing++
				}
			}
			c := of[f]
			if c == nil {
				if len(seen) > 1 || len(seen) == 1 && missing > 0 {
					t.Fatalf("feature %d of %d values has no column", f, len(seen))
				}
				continue
			}
			if want := min(bins, len(seen)); c.bins != want && !all.features[f].Categorical {
				t.Fatalf("feature %d: %d bins of %d values, want %d", f, c.bins, len(seen), want)
			}
			if all.features[f].Categorical && c.bins != len(seen) {
				t.Fatalf("feature %d: %d bins of %d levels", f, c.bins, len(seen))
			}
			for i, row := range all.rows {
				if got, want := binIn(b, i, c), slowBin(c, float64(row[f])); got != want {
					t.Fatalf("row %d, feature %d, value %v: bin %d, want %d of %v %v", i, f, row[f], got, want, c.uppers, c.levels)
				}
			}
		}
	})
}

// slowBin looks at all bounds.
func slowBin(c *column, v float64) int {
	if c.categorical {
		if at := slices.Index(c.levels, int32(v)); v >= 0 && at >= 0 {
			return at
		}
		return c.bins
	}
	if v != v {
		return c.bins
	}
	for i, u := range c.uppers {
		if v <= u {
			return i
		}
	}
	return len(c.uppers)
}

// TestCrowd has values that fill bins by themselves, with rare ones between them, and then many rare ones: those between must not take the
// bins of all that comes after them.
func TestCrowd(t *testing.T) {
	for _, c := range []struct{ full, after, most, least int }{{200, 0, 110, 199}, {50, 3000, 110, 250}, {1, 1000, 110, 250},
		{240, 3000, 500, 240}} {
		var runs []run
		for v := range 2 * c.full {
			runs = append(runs, run{float64(v), int32(100 - 99*(v&1))})
		}
		for v := range c.after {
			runs = append(runs, run{float64(1000 + v), 1})
		}
		uppers := cut(runs, 255, true)
		counts := make([]int, len(uppers)+1)
		for _, r := range runs {
			counts[binOf(uppers, r.value)] += int(r.rows)
		}
		if most := slices.Max(counts); most > c.most || len(uppers) < c.least || len(uppers) > 254 {
			t.Errorf("%+v: %d bins, the largest of %d rows", c, len(counts), most)
		}
	}
}

// TestManyLevels has levels beyond a byte, beyond two, with gaps, below 0 and unseen ones.
func TestManyLevels(t *testing.T) {
	for _, n := range []int{300, LevelLimit, LevelLimit + 300} {
		rows := make([][]float32, 0, 2*n+3)
		for l := range n { // level 254 l of 2^24, of which those below 100 are twice as frequent
			rows = append(rows, []float32{float32(254 * l)})
			if l < 100 {
				rows = append(rows, []float32{float32(254 * l)})
			}
		}
		rows = append(rows, []float32{-1}, []float32{-3}, []float32{nan()})
		g := gridOf(rows...)
		g.features[0].Categorical = true
		held := gridOf([]float32{0}, []float32{254 * 299}, []float32{7}, []float32{1<<24 - 1}, []float32{nan()}, []float32{-2})
		held.features = g.features
		b := binned(t, g, held, 255)
		c := &b.columns[0]
		if want := min(n, LevelLimit); c.bins != want || len(c.levels) != want || c.levels[0] != 0 || c.levels[99] != 99*254 {
			t.Fatalf("%d levels: %d bins, %d levels, want %d", n, c.bins, len(c.levels), want)
		}
		if got := len(b.Crowded()); got != map[bool]int{true: 1}[n > LevelLimit] {
			t.Errorf("%d levels: %d features have too many", n, got)
		}
		for i, want := range []int{0, 299, c.bins, c.bins, c.bins, c.bins} {
			if got := binIn(b, b.rows+i, c); got != want {
				t.Errorf("%d levels: value %v has bin %d, want %d", n, held.rows[i], got, want)
			}
		}
		label := make([]float32, len(rows)+held.Len())
		for i := range 150 {
			label[i] = 5
		}
		conf := settings(t, "l2", 1)
		conf.LevelWeight, conf.MaxLevels = 1, 200
		var p Progress
		e := trained(t, b, &Labels{Label: label}, conf, Options{Each: func(now *Progress) (float64, error) { p = *now; return 0, nil }})
		if got := scoresOf(e, held)[0]; !slices.Equal(got, p.Held[0]) {
			t.Errorf("%d levels: held-out rows score %v in training, %v by the trees", n, p.Held[0], got)
		}
		if got := scoresOf(e, g)[0]; !slices.Equal(got, p.Scores[0]) || len(e.Trees[0].Feature) == 0 {
			t.Errorf("%d levels: scores in training are not those of the trees", n)
		}
	}
}

// TestBundles: bundled or not, in narrow groups or wide ones, with conflicts where the sample does not look and among rows held out,
// features make the same trees.
func TestBundles(t *testing.T) {
	const n, features = 3*sampleRows + 100, 40
	r := rand.New(rand.NewPCG(5, 5))
	sparse := &grid{lacks: make([]bool, features), aloud: make([]bool, features)}
	sparse.features = gridOf(make([]float32, features)).features
	label := make([]float32, 0, n)
	for i := range n {
		row, f := make([]float32, features), r.IntN(features)
		row[f] = float32(r.IntN(100)) - 20
		if i == n-1 || i%blockRows == 7 && i > n/2 {
			row[(f+1)%features] = 3
		}
		sparse.rows = append(sparse.rows, row)
		label = append(label, row[f]*float32(f%3)+float32(r.NormFloat64()))
	}
	held := sparse.part(n-5, n)
	held.rows = append(slices.Clone(held.rows), append([]float32{2, 2, 2}, make([]float32, features-3)...))
	loud := *sparse
	loud.aloud = slices.Repeat([]bool{true}, features)
	b, alone := binned(t, sparse, held, 255), binned(t, &loud, nil, 255)
	if len(b.groups) >= features || len(alone.groups) != features || !slices.ContainsFunc(b.groups, func(g group) bool { return g.wide }) {
		t.Fatalf("%d groups, and %d without bundles", len(b.groups), len(alone.groups))
	}
	conf := settings(t, "l2", 3)
	y := &Labels{Label: label}
	want := trained(t, alone, y, conf, Options{})
	got := trained(t, b, &Labels{Label: append(slices.Clone(label), make([]float32, held.Len())...)}, conf, Options{})
	if text := differ(want, got); text != "" {
		t.Error(text)
	}
}

// TestNumbersOfAnySize has values at the ends of what float32 can say.
func TestNumbersOfAnySize(t *testing.T) {
	values := []float32{-math.MaxFloat32, -1e30, -math.SmallestNonzeroFloat32, 0, math.SmallestNonzeroFloat32, 1e-30, 1e30, math.MaxFloat32}
	g := single(append(values, float32(math.Copysign(0, -1)))...)
	b := binned(t, g, nil, 255)
	c := &b.columns[0]
	if c.bins != len(values) {
		t.Fatalf("%d bins, want %d", c.bins, len(values))
	}
	for i := range values {
		if got := binIn(b, i, c); got != i {
			t.Errorf("value %v is in bin %d, want %d", values[i], got, i)
		}
	}
	if got := binIn(b, len(values), c); got != 3 {
		t.Errorf("-0 is in bin %d, want that of 0", got)
	}
}
