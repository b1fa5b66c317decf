package data

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestParts(t *testing.T) {
	p, err := ParseParts([]string{"a=0.5", "b=0.3", "c=0.2"})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Order([]float64{9, 1, 2, 3, 4, 5, 5, 6, 7, 8}) // the second 5 would be in b, and stays with the first
	want := []int{2, 0, 0, 0, 0, 0, 0, 1, 1, 2}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	counts := make([]int, 3)
	for i := range uint64(100_000) {
		counts[p.Draw(3, i)]++
	}
	for k, want := range []int{50_000, 30_000, 20_000} {
		if counts[k] < want-1000 || counts[k] > want+1000 {
			t.Errorf("part %d has %d, want about %d", k, counts[k], want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n, last := rapid.IntRange(1, 300).Draw(t, "n"), 0
		for i := range n {
			at := p.Place(i, n)
			if at < last || at > 2 {
				t.Fatalf("example %d of %d is in part %d after %d", i, n, at, last)
			}
			last = at
		}
	})
}

func TestPartsThatAreNone(t *testing.T) {
	for _, words := range [][]string{nil, {"a=1"}, {"a=0.5", "b=0.6"}, {"a=0.5", "a=0.5"}, {"a", "b=1"}, {"a=NaN", "b=1"}, {"a/=0.5", "b=0.5"},
		{"=0.5", "b=0.5"}, {"a=-0.5", "b=1.5"}} {
		if _, err := ParseParts(words); !errors.Is(err, ErrOption) {
			t.Errorf("%v: %v", words, err)
		}
	}
}

// Of all examples every part has its share, and so of each class to within one example, and other seeds give other parts.
func TestStratify(t *testing.T) {
	p, err := ParseParts([]string{"a=0.7", "b=0.1", "c=0.2"})
	if err != nil {
		t.Fatal(err)
	}
	shares := []float64{0.7, 0.1, 0.2}
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 300).Draw(t, "classes")
		seed := rapid.Uint64().Draw(t, "seed")
		all, sizes := make([]int, 3), map[int32]int{}
		counts := map[int32][3]int{}
		for i, part := range p.Stratify(seed, classes) {
			all[part]++
			sizes[classes[i]]++
			c := counts[classes[i]]
			c[part]++
			counts[classes[i]] = c
		}
		for part, share := range shares {
			if d := float64(all[part]) - share*float64(len(classes)); d > 1.5 || d < -1.5 {
				t.Fatalf("part %d has %d of %d", part, all[part], len(classes))
			}
			for class, n := range sizes {
				if d := float64(counts[class][part]) - share*float64(n); d >= 1.001 || d <= -1.001 {
					t.Fatalf("part %d has %d of %d of class %d", part, counts[class][part], n, class)
				}
			}
		}
	})
	classes := make([]int32, 200)
	one, two := p.Stratify(1, classes), p.Stratify(2, classes)
	if slices.Equal(one, two) || !slices.Equal(one, p.Stratify(1, classes)) {
		t.Errorf("parts by seed 1 %v, by seed 2 %v", one, two)
	}
	if first := one[:140]; !slices.ContainsFunc(first, func(part int) bool { return part > 0 }) {
		t.Error("the first examples are the first part")
	}
}
