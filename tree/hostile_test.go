package tree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
)

// TestCheck: what contradicts itself is refused with its place, always the same one.
func TestCheck(t *testing.T) {
	for want, spoil := range map[string]func(e *Ensemble){
		"0 scores of a row":                      func(e *Ensemble) { e.Classes = 0 },
		"2 start scores, want 1":                 func(e *Ensemble) { e.Start = make([]float64, 2) },
		"start score 0 is NaN":                   func(e *Ensemble) { e.Start[0] = math.NaN() },
		"0 trees in an iteration":                func(e *Ensemble) { e.Group = 0 },
		"2 trees, want a multiple of 3":          func(e *Ensemble) { e.Group = 3 },
		"the best iteration is 3 of 2":           func(e *Ensemble) { e.Best = 3 },
		`the link "logit"`:                       func(e *Ensemble) { e.Objective.Link = "logit" },
		"the sigmoid -1":                         func(e *Ensemble) { e.Objective.Sigmoid = -1 },
		"tree 0: 2 leaves and 2 splits":          func(e *Ensemble) { e.Trees[0].LeafValue = e.Trees[0].LeafValue[:2] },
		"tree 0: 0 thresholds, want 2":           func(e *Ensemble) { e.Trees[0] = Tree{Feature: []int32{0, 1}, LeafValue: make([]float64, 3)} },
		"tree 0: class 1 of 1":                   func(e *Ensemble) { e.Trees[0].Class = 1 },
		"tree 0: leaf 1 has the value +Inf":      func(e *Ensemble) { e.Trees[0].LeafValue[1] = math.Inf(1) },
		"tree 0: node 1 asks for feature 2 of":   func(e *Ensemble) { e.Trees[0].Feature[1] = 2 },
		"tree 0: node 0 has the threshold NaN":   func(e *Ensemble) { e.Trees[0].Threshold[0] = math.NaN() },
		"tree 0: node 1 asks for set 1 of 1":     func(e *Ensemble) { e.Trees[0].Threshold[1] = 1 },
		"tree 0: node 1 asks for set NaN of 1":   func(e *Ensemble) { e.Trees[0].Threshold[1] = math.NaN() },
		"tree 0: node 0 is of kind 16":           func(e *Ensemble) { e.Trees[0].Kind[0] = 16 },
		"tree 0: node 0 has the child 0":         func(e *Ensemble) { e.Trees[0].Left[0] = 0 },
		"tree 0: node 0 has the child 2":         func(e *Ensemble) { e.Trees[0].Left[0] = 2 },
		"tree 0: node 1 has the leaf 3 of 3":     func(e *Ensemble) { e.Trees[0].Left[1] = ^3 },
		"node 1 has the child -2, which another": func(e *Ensemble) { e.Trees[0].Left[1] = ^1 },
		"tree 0: bounds of sets do not cover":    func(e *Ensemble) { e.Trees[0].Bounds[1] = 2 },
	} {
		e := two()
		spoil(e)
		if err := e.Check(); !errors.Is(err, ErrTrees) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// bytesOf is matrices as the fuzzer changes them: the number of columns of each, and their values.
func bytesOf(metas []matrix.Meta, blocks []matrix.Block) (raw []byte) {
	for _, name := range MatrixNames() {
		at := slices.IndexFunc(metas, func(m matrix.Meta) bool { return m.Name == name })
		if at < 0 {
			raw = append(raw, 0)
			continue
		}
		raw = binary.AppendUvarint(raw, uint64(metas[at].Cols))
		switch d := blocks[at].Data.(type) {
		case *matrix.Dense[float64]:
			raw, _ = binary.Append(raw, binary.LittleEndian, d.Val)
		case *matrix.Dense[int32]:
			raw, _ = binary.Append(raw, binary.LittleEndian, d.Val)
		case *matrix.Dense[int64]:
			raw, _ = binary.Append(raw, binary.LittleEndian, d.Val)
		}
	}
	return raw
}

// matricesOf is the way back; what is cut has fewer columns.
func matricesOf(raw []byte) map[string]matrix.Block {
	all, rest := map[string]matrix.Block{}, bytes.NewReader(raw)
	rows := map[string]int{treeName: 2, childrenName: 2, statsName: 4, leavesName: 2}
	for _, name := range MatrixNames() {
		said, err := binary.ReadUvarint(rest)
		if err != nil {
			break
		}
		n := max(1, rows[name])
		cols := func(width int) int { return int(min(said, uint64(rest.Len()/width/n))) }
		var d matrix.Data
		switch name {
		case startName, valueName, statsName, leafName, leavesName:
			d = read[float64](rest, n*cols(8))
		case levelsName:
			d = read[int64](rest, n*cols(8))
		default:
			d = read[int32](rest, n*cols(4))
		}
		if d.NNZ() > 0 {
			all[name] = matrix.Block{At: matrix.At(0, int64(n), 0, int64(d.NNZ()/n)), Data: d}
		}
	}
	return all
}

func read[T matrix.Elem](r io.Reader, n int) *matrix.Dense[T] {
	d := &matrix.Dense[T]{Val: make([]T, n)}
	_ = binary.Read(r, binary.LittleEndian, d.Val) // there are as many bytes
	return d
}

// FuzzParse: whatever the text and the matrices are, they are refused with ErrTrees, or are trees that are printed, explained, scored in
// both ways alike, and the same after they were written and read again.
func FuzzParse(f *testing.F) {
	empty := two() // its one set is the last of all values
	empty.Trees[0].Bounds, empty.Trees[0].Words = []int32{0, 0}, nil
	for _, e := range []*Ensemble{two(), empty, grown(3, 2, 0, 9), grown(3, 2, 3, 0)} {
		text, err := e.JSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, append(bytesOf(e.Matrices()), make([]byte, 8)...)) // which nobody reads
	}
	wide := grown(3, 2, 0, 9)
	wide.Features.Width = FeatureLimit
	text, err := wide.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, bytesOf(wide.Matrices()))
	f.Fuzz(func(t *testing.T, text, raw []byte) {
		all := matricesOf(raw)
		e, err := Parse(text, func(name string) (matrix.Block, error) { return all[name], nil })
		if err != nil {
			if !errors.Is(err, ErrTrees) {
				t.Fatalf("%v, want ErrTrees", err)
			}
			return
		}
		row, want, got := []float64{1, nan, -1, 2, 17}, make([]float64, e.Classes), make([]float64, e.Classes)
		e.Score(row, want)
		s := Compile(e)
		if s.Row(row, got); !same(got, want) {
			t.Fatalf("scores %v, want %v", got, want)
		}
		single, exact := split(row)
		if s.Sparse([]int{0, 5}, []int64{0, 1, 2, 3, 4}, single, exact, 0, got); !same(got, want) {
			t.Fatalf("sparse scores %v, want %v", got, want)
		}
		if numbers := e.Classes * (e.Features.Width + 1); numbers <= 1<<20 { // which the caller makes room for
			if x, err := NewExplainer(e); err == nil {
				x.Contributions(row, make([]float64, numbers))
			}
		}
		for i := range min(len(e.Trees), 3) {
			if err := errors.Join(e.Text(io.Discard, i, 0), e.SVG(io.Discard, i, 0)); err != nil {
				t.Fatal(err)
			}
		}
		again, err := e.JSON()
		if err != nil {
			t.Fatal(err)
		}
		all = matricesOf(bytesOf(e.Matrices()))
		g, err := Parse(again, func(name string) (matrix.Block, error) { return all[name], nil })
		if err != nil {
			t.Fatal(err)
		}
		if g.Score(row, got); !same(got, want) {
			t.Fatalf("scores %v after writing, want %v", got, want)
		}
	})
}
