package part_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/part"
)

// TestRoundTrip: a map that went through its text is the same and routes the same.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := wide(t)
		n := rapid.IntRange(1, 40).Draw(t, "servers")
		p := rapid.SampledFrom(part.Partitioners()).Draw(t, "partitioner")
		if p.Hash {
			m.Layout = matrix.RowSparse
		}
		one := newMap(t, &m, p, n)
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		two, err := part.Parse(text, &m, n)
		if err != nil || !two.Equal(one) {
			t.Fatalf("%s comes back as %+v: %v", text, two, err)
		}
		if m.Cols > 0 {
			key := rapid.Int64Range(m.ColLo, m.ColLo+m.Cols-1).Draw(t, "key")
			if one.Of(key) != two.Of(key) {
				t.Fatalf("key %d is in partition %d and %d", key, one.Of(key), two.Of(key))
			}
		}
	})
}

// TestUneven: bounds that are far from even are looked up right, too.
func TestUneven(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 2, Cols: 1000}
	mp, err := part.Parse([]byte(`{"version":3,"rows":[0,2],"cols":[0,1,2,3,500,998,999,1000],"owners":[0,1,2,0,1,2,0]}`), &m, 3)
	if err != nil {
		t.Fatal(err)
	}
	for key := range int64(1000) {
		if p := mp.Of(key); !mp.At(p).Cols.Has(key) {
			t.Fatalf("key %d is in partition %d at %v", key, p, mp.At(p))
		}
	}
	if own := mp.Owned(1); !slices.Equal(own, []int{1, 4}) {
		t.Errorf("server 1 owns %v", own)
	}
}

// TestHostile: what is wrong with a map is said.
func TestHostile(t *testing.T) {
	sparse := matrix.Meta{Name: "m", Rows: 2, Cols: 10, Layout: matrix.RowSparse}
	dense := matrix.Meta{Name: "m", Rows: 2, Cols: 10}
	empty := matrix.Meta{Name: "m", Rows: 2, ColLo: 5}
	for _, c := range []struct {
		meta *matrix.Meta
		text string
		want string
	}{
		{&dense, `{`, "unexpected end"},
		{&dense, `{"version":-1}`, "cannot unmarshal"},
		{&dense, `{}`, "0 bounds of rows, want some from 0 to 2"},
		{&dense, `{"rows":[0,2],"cols":[0]}`, "1 bounds of columns, want some from 0 to 10"},
		{&dense, `{"rows":[0,3],"cols":[0,10],"owners":[0]}`, "2 bounds of rows"},
		{&dense, `{"rows":[0,2],"cols":[1,10],"owners":[0]}`, "2 bounds of columns"},
		{&dense, `{"rows":[0,2],"cols":[0,5,5,10],"owners":[0,0,0]}`, "bound of columns 5 after 5"},
		{&dense, `{"rows":[0,2],"cols":[0,12,10],"owners":[0,0]}`, "bound of columns 10 after 12"},
		{&dense, `{"rows":[0,2],"cols":[0,-5,10],"owners":[0,0]}`, "bound of columns -5 after 0"},
		{&dense, `{"rows":[0,2],"cols":[0,5,10],"owners":[0]}`, "1 owners of 2 partitions"},
		{&dense, `{"rows":[0,2],"cols":[0,5,10],"owners":[0,2]}`, "partition 1 is owned by server 2, want one of 2"},
		{&dense, `{"rows":[0,2],"cols":[0,5,10],"owners":[-1,0]}`, "partition 0 is owned by server -1"},
		{&dense, `{"bits":1,"rows":[0,2],"cols":[0,10],"owners":[0,0]}`, "hash partitions of a dense matrix"},
		{&sparse, `{"bits":17,"rows":[0,2],"cols":[0,10],"owners":[0,0]}`, "2^17 hash partitions"},
		{&sparse, `{"bits":-1,"rows":[0,2],"cols":[0,10],"owners":[0,0]}`, "2^-1 hash partitions"},
		{&sparse, `{"bits":1,"rows":[0,1,2],"cols":[0,10],"owners":[0,0]}`, "2 bounds of hash partitions"},
		{&sparse, `{"bits":2,"rows":[0,2],"cols":[0,10],"owners":[0,0]}`, "2 owners of 4 partitions"},
		{&empty, `{"rows":[0,2],"cols":[5,5,5],"owners":[0,0]}`, "bound of columns 5 after 5"},
	} {
		if _, err := part.Parse([]byte(c.text), c.meta, 2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	for meta, text := range map[*matrix.Meta]string{
		&sparse: `{"bits":1,"rows":[0,2],"cols":[0,10],"owners":[1,0]}`,
		&dense:  `{"rows":[0,1,2],"cols":[0,3,10],"owners":[1,0,0,1]}`,
		&empty:  `{"rows":[0,2],"cols":[5,5],"owners":[1]}`,
	} {
		if _, err := part.Parse([]byte(text), meta, 2); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzParse: whatever passes the check can be asked for anything.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":3,"rows":[0,2],"cols":[0,1,2,3,500,998,999,1000],"owners":[0,1,2,0,1,2,0]}`), int64(17))
	f.Add([]byte(`{"bits":2,"rows":[0,2],"cols":[0,1000],"owners":[0,1,2,0]}`), int64(999))
	f.Fuzz(func(t *testing.T, text []byte, key int64) {
		m := matrix.Meta{Name: "m", Rows: 2, Cols: 1000, Layout: matrix.RowSparse}
		mp, err := part.Parse(text, &m, 3)
		if err != nil {
			return
		}
		key = int64(uint64(key) % 1000)
		if p := mp.Of(key); !mp.At(p).Cols.Has(key) {
			t.Fatalf("key %d is in partition %d at %v", key, p, mp.At(p))
		}
		n := 0
		for p, at := range mp.Route(m.Rect()) {
			if n++; mp.Owners[p] < 0 || mp.Owners[p] >= 3 || mp.At(p) != at {
				t.Fatalf("partition %d of server %d at %v", p, mp.Owners[p], at)
			}
		}
		if n != len(mp.Owners) {
			t.Fatalf("%d of %d partitions", n, len(mp.Owners))
		}
	})
}
