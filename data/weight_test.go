package data

import (
	"slices"
	"testing"
)

// weighted is rows of no features.
func weighted(label, weight []float32, group []int64) *rows {
	return &rows{label: label, ptr: make([]int, len(label)+1), weight: weight, group: group}
}

// Rows with weights and groups and rows without them are in one set and in one batch: those without count 1, in group 0.
func TestWeightsOfSome(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rows   []*rows
		weight []float32
		group  []int64
	}{
		{"none", []*rows{weighted([]float32{1}, nil, nil), weighted([]float32{2}, nil, nil)}, nil, nil},
		{"first", []*rows{weighted([]float32{1}, []float32{3}, nil), weighted([]float32{2, 3}, nil, nil)}, []float32{3, 1, 1}, nil},
		{"last", []*rows{weighted([]float32{1, 2}, nil, nil), weighted([]float32{3}, []float32{0}, []int64{-7})},
			[]float32{1, 1, 0}, []int64{0, 0, -7}},
		{"either", []*rows{weighted([]float32{1}, []float32{2}, nil), weighted([]float32{2}, nil, []int64{5})},
			[]float32{2, 1}, []int64{0, 5}},
	} {
		s, all := newSet(), newRows(0, 0, false)
		for _, r := range tt.rows {
			if err := s.add(r); err != nil {
				t.Fatal(err)
			}
			all.add(r, 0, len(r.label))
		}
		for _, b := range []*Batch{s.Batch(), all.batch(0, 0, 0)} {
			if !slices.Equal(b.Weight, tt.weight) || !slices.Equal(b.Group, tt.group) {
				t.Errorf("%s: weights %v, groups %v, want %v and %v", tt.name, b.Weight, b.Group, tt.weight, tt.group)
			}
		}
	}
}

// The checksum of a set without weights is what it was before there were any, and weights and groups change it.
func TestChecksumOfWeights(t *testing.T) {
	seen := map[uint32]int{}
	sets := []*rows{
		weighted([]float32{1, 2}, nil, nil), weighted([]float32{1, 2}, []float32{1, 0}, nil), weighted([]float32{1, 2}, []float32{1, 2}, nil),
		weighted([]float32{1, 2}, nil, []int64{1, 2}), weighted([]float32{1, 2}, []float32{1, 2}, []int64{1, 2}),
	}
	for i, r := range sets {
		s := newSet()
		if err := s.add(r); err != nil {
			t.Fatal(err)
		}
		if j, ok := seen[s.Checksum()]; ok {
			t.Errorf("sets %d and %d have the same checksum", j, i)
		}
		seen[s.Checksum()] = i
	}
	if _, ok := seen[plainChecksum]; !ok {
		t.Errorf("checksums %v, want %d of the set without weights", seen, plainChecksum)
	}
}

// plainChecksum is that of the labels 1 and 2 without features, from before examples had weights.
const plainChecksum = 167091932

// Examples keep their weights, groups and start scores where features are left out and fields are found by place.
func TestWeightsStay(t *testing.T) {
	r := newRows(0, 0, false)
	r.label, r.weight, r.group, r.start = []float32{1, 2, 3}, []float32{4, 0, 6}, []int64{7, 8, 9}, []float64{1, 2, 3, 4, 5, 6}
	r.idx, r.val, r.ptr = []int64{0, 1, 2}, []float32{1, 1, 1}, []int{0, 1, 2, 3}
	s := newSet()
	if err := s.add(&r); err != nil {
		t.Fatal(err)
	}
	kept, _, err := s.Keep(&Columns{Hi: 2})
	if err != nil {
		t.Fatal(err)
	}
	placed, err := s.Place(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Set{kept, placed} {
		if b := s.Batch(); !slices.Equal(b.Weight, r.weight) || !slices.Equal(b.Group, r.group) || !slices.Equal(b.Start, r.start) {
			t.Errorf("weights %v, groups %v and start scores %v, want %v, %v and %v", b.Weight, b.Group, b.Start, r.weight, r.group, r.start)
		}
	}
}

// The qid of a row is its group, in whichever chunk and place of the line it stands; rows without are of group 0 beside others.
func TestQueries(t *testing.T) {
	text := []byte("1 qid:7 1:1\n0 1:1 qid:8\n1 1:1\n0 qid:7 2:1\n1 2:1\n1 1:1\n")
	want := []int64{7, 8, 0, 7, 0, 0}
	for step := 1; step < len(text); step++ {
		b, err := loadSteps(t, text, Options{}, step, 100)
		if err != nil || !slices.Equal(b.Group, want) {
			t.Fatalf("chunks of %d bytes: groups %v, %v, want %v", step, b.Group, err, want)
		}
	}
	b, err := loadSteps(t, []byte("1 qid:9 1:x\n1 1:1\n0 qid:7 1:1 1:1\n0 qid:8 1:1\n"), Options{SkipBad: 2}, 100, 100)
	if err != nil || !slices.Equal(b.Group, []int64{0, 8}) {
		t.Errorf("groups %v of lines of which two are left out, %v, want 0 and 8", b.Group, err)
	}
	_, err = loadSteps(t, []byte("1 1:1\n1 qid:3 qid:4 1:1\n"), Options{}, 100, 100)
	wantError(t, err, `t:2: "qid:4" beside qid:3, want one for a row`)
}
