package tree

import (
	"fmt"
	"reflect"
	"slices"

	"encoding/json"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// allocated is how many bytes f asks for.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestWidthIsCheap: what a text says in a few bytes takes a few bytes.
func TestWidthIsCheap(t *testing.T) {
	for _, text := range []string{
		`{"width":16777216}`,
		`{"width":16777216,"features":[{"at":16777215,"name":"last"}]}`,
	} {
		used := allocated(func() {
			if err := json.Unmarshal([]byte(text), &Ensemble{}); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		})
		if most := uint64(16<<10 + 64*len(text)); used > most {
			t.Errorf("%.40s: %d bytes for %d, want at most %d", text, used, len(text), most)
		}
	}
}

// TestFeatures holds a sparse list of features to a plain one.
func TestFeatures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plain []Feature
		f := Features{Stem: rapid.SampledFrom([]string{"", "f", "Column_"}).Draw(t, "stem")}
		called := func(i int, one Feature) Feature { // by the stem, if by nothing else
			if one.Name == "" && f.Stem != "" {
				one.Name = fmt.Sprint(f.Stem, i)
			}
			return one
		}
		f.Width = rapid.IntRange(0, 200).Draw(t, "width")
		for i := range f.Width {
			plain = append(plain, called(i, Feature{}))
		}
		for range rapid.IntRange(0, 80).Draw(t, "changes") {
			one := Feature{Name: rapid.SampledFrom([]string{"", "", "age", "f3", "f03", "Column_7"}).Draw(t, "name"),
				Monotone: rapid.IntRange(-1, 1).Draw(t, "sign")}
			i := rapid.IntRange(0, len(plain)).Draw(t, "at")
			if i == len(plain) {
				f.Add(one)
				plain = append(plain, called(i, one))
				continue
			}
			plain[i] = called(i, one)
			if k := rapid.IntRange(0, len(plain)-1).Draw(t, "also"); i != k && rapid.Bool().Draw(t, "several") {
				f.Change(map[int]Feature{i: one, k: {Name: "also"}})
				plain[k] = Feature{Name: "also"}
				continue
			}
			f.Set(i, one)
		}
		if f.Named() {
			f.Stem = "" // which says nothing
		}
		text, err := json.Marshal(&Ensemble{Features: f})
		var e Ensemble
		if err == nil {
			err = json.Unmarshal(text, &e)
		}
		if err != nil || !reflect.DeepEqual(e.Features, f) {
			t.Fatalf("%s: %+v, %v, want %+v", text, e.Features, err, f)
		}
		for i, want := range plain {
			if got := f.At(i); !reflect.DeepEqual(got, want) {
				t.Fatalf("feature %d: %+v, want %+v", i, got, want)
			}
			first := slices.IndexFunc(plain, func(o Feature) bool { return o.Name == want.Name })
			if got := f.Find(want.Name); want.Name != "" && got != first {
				t.Errorf("%s is feature %d, want %d", want.Name, got, first)
			}
		}
		bare := 0
		for i, one := range plain {
			if one.Name == "" || one.Name == fmt.Sprint(f.Stem, i) && f.Stem != "" {
				bare++
			}
		}
		if f.Named() != (bare == 0) {
			t.Errorf("%d features without names of their own: %v", bare, f.Named())
		}
		listed := 0
		for i, one := range f.Listed() {
			if listed++; !reflect.DeepEqual(one, plain[i]) || reflect.DeepEqual(one, called(i, Feature{})) {
				t.Errorf("feature %d: %+v is listed, want %+v", i, one, plain[i])
			}
		}
		said := 0
		for i, one := range plain {
			if !reflect.DeepEqual(one, called(i, Feature{})) {
				said++
			}
		}
		if listed != said {
			t.Errorf("%d features are listed, want %d", listed, said)
		}
	})
}
