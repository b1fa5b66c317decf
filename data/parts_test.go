package data

import (
	"errors"
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
