package format_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// gauge counts the rows that it is given and keeps their cells.
type gauge struct {
	rows  int64
	next  int64 // the first that was not given yet
	cells []said
}

// said is a cell as its text.
type said struct {
	row, col int64
	value    string
}

func (a said) order(b said) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col)) }

func (g *gauge) Rows(_ context.Context, lanes []matrix.Block) error {
	rows := lanes[0].At.Rows
	if rows.Lo < g.next {
		return fmt.Errorf("rows %v after row %d", rows, g.next-1)
	}
	g.next = rows.Hi
	g.rows += rows.Len()
	for _, b := range lanes {
		if err := b.Check(); err != nil {
			return err
		}
		_ = b.EachText(func(row, col int64, v []byte) error {
			g.cells = append(g.cells, said{row, col, string(v)})
			return nil
		})
	}
	return nil
}

func (g *gauge) End() error { return nil }

// TestRowsFollowCells writes matrices of 2^40 rows with some cells anywhere: the sink sees the cells in order, and rows
// without one only a few for each cell.
func TestRowsFollowCells(t *testing.T) {
	ctx := context.Background()
	const rows = 1 << 40
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m := matrix.Meta{Name: "m", Rows: rows, Cols: 6, DType: matrix.F64, Layout: matrix.RowSparse}
		if seed%3 == 0 {
			m.ColTypes = []matrix.DType{matrix.I8, matrix.I8, matrix.F32, matrix.F64, matrix.F64, matrix.I8}
		}
		ends := []int64{0, rnd.Int64N(rows), rows}
		split := rnd.Int64N(6)
		var want []said
		var blocks []matrix.Block
		for i := range 2 {
			for _, cols := range [][2]int64{{0, split}, {split, 6}} {
				at := matrix.At(ends[i], ends[i+1], cols[0], cols[1])
				d := &matrix.COO[float64]{}
				seen := map[[2]int64]bool{}
				for k := range rnd.IntN(40) {
					if at.Empty() {
						break
					}
					cell := [2]int64{rnd.Int64N(at.Rows.Len()), cols[0] + rnd.Int64N(cols[1]-cols[0])}
					if rnd.IntN(2) == 0 { // near others
						cell[0] = rnd.Int64N(min(at.Rows.Len(), 3000))
					}
					if seen[cell] {
						continue
					}
					seen[cell] = true
					d.Row, d.Col, d.Val = append(d.Row, cell[0]), append(d.Col, cell[1]), append(d.Val, float64(k))
					want = append(want, said{at.Rows.Lo + cell[0], cell[1], fmt.Sprint(k)})
				}
				blocks = append(blocks, matrix.Block{At: at, Data: d})
			}
		}
		g := &gauge{}
		file := format.RowFile{Metas: []matrix.Meta{m}, Gaps: true, Begin: func(io.Writer) (format.RowSink, error) { return g, nil }}
		o := format.Options{Stage: []string{"", "s"}[seed%2]}
		if rnd.IntN(2) == 0 {
			rnd.Shuffle(len(blocks), func(i, k int) { blocks[i], blocks[k] = blocks[k], blocks[i] })
		}
		b := &blob.Mem{}
		w, err := format.NewRowWriter(b, "f", o, file)
		if err != nil {
			t.Fatal(err)
		}
		var parts []format.Part
		for _, one := range blocks {
			p, err := w.Put(ctx, "m", one)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
		if err := w.Commit(ctx, parts); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, said.order)
		slices.SortFunc(g.cells, said.order) // which stand lane by lane
		if !slices.Equal(g.cells, want) {
			t.Errorf("seed %d: cells %v, want %v", seed, g.cells, want)
		}
		if most := int64(16*len(want) + 1024*len(want)); g.rows > most {
			t.Errorf("seed %d: %d rows for %d cells, want at most %d", seed, g.rows, len(want), most)
		}
	}
}

// TestRowsBetween writes rows without cells too where the sink needs them, however the blocks are held.
func TestRowsBetween(t *testing.T) {
	ctx := context.Background()
	m := matrix.Meta{Name: "m", Rows: 9000, Cols: 3, DType: matrix.F32, Layout: matrix.RowSparse}
	coo := matrix.Block{At: m.Rect(), Data: &matrix.COO[float32]{Row: []int64{8000, 3, 3, 5000}, Col: []int64{1, 2, 0, 1}, Val: []float32{8, 3, 1, 5}}}
	for i, b := range []matrix.Block{coo, coo.ToCSR()} {
		for _, stage := range []string{"", "s"} {
			bucket := &blob.Mem{}
			w, err := format.NewRowWriter(bucket, "f", format.Options{Stage: stage}, listing([]matrix.Meta{m}))
			if err != nil {
				t.Fatal(err)
			}
			p, err := w.Put(ctx, "m", b)
			if err == nil {
				err = w.Commit(ctx, []format.Part{p})
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := blob.ReadAll(ctx, bucket, "f", 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Builder{}
			cells := map[int]string{3: " 0=1 2=3", 5000: " 1=5", 8000: " 1=8"}
			for r := range 9000 {
				fmt.Fprintf(&want, "%d: f32%s\n", r, cells[r])
			}
			if string(got) != want.String()+"end\n" {
				t.Errorf("case %d, stage %q: other rows", i, stage)
			}
		}
	}
}
