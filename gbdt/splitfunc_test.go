package gbdt

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/tree"
)

// block is one partition of a dense matrix, as functions see it.
type block struct {
	psf.View
	meta *matrix.Meta
	at   matrix.Rect
	rows [][]int64
}

func (b *block) Meta() *matrix.Meta { return b.meta }
func (b *block) At() matrix.Rect    { return b.at }
func (b *block) Cells() any         { return cells{nil, b} }

type cells struct {
	psf.Cells[int64]
	b *block
}

func (c cells) chunk(rows []int64, lo, hi int) *psf.Chunk[int64] {
	out := &psf.Chunk[int64]{IDs: rows, Col: c.b.at.Cols.Lo + int64(lo)}
	for _, r := range rows {
		out.Rows = append(out.Rows, c.b.rows[r][lo:hi])
	}
	return out
}

func (c cells) Together(rows []int64, _ int, f func(c *psf.Chunk[int64]) error) error {
	for lo, n := 0, int(c.b.at.Cols.Len()); lo < n; lo += 7 { // chunks are of any size
		if err := f(c.chunk(rows, lo, min(lo+7, n))); err != nil {
			return err
		}
	}
	return nil
}

func (c cells) Pick(rows, cols []int64, f func(c *psf.Chunk[int64]) error) error {
	lo := int(cols[0] - c.b.at.Cols.Lo)
	return f(c.chunk(rows, lo, lo+len(cols)))
}

// one is the matrix of a table of six rows: x is 0 to 5, k a level, and y = x.
func one(t testing.TB) (*Shape, *matrix.Meta) {
	t.Helper()
	l, err := Survey(context.Background(), sixRows{}, nil, 255, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := Defaults()
	c.MinWeight, c.L2 = 0, 0
	s, err := l.Shape(&c, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s, &matrix.Meta{Name: "h", Rows: s.Rows, Cols: s.Cols, BlockCols: s.Block, DType: matrix.I64, Attrs: s.Attrs}
}

type sixRows struct{}

func (sixRows) Len() int         { return 6 }
func (sixRows) Missing(int) bool { return true }
func (sixRows) Features() tree.Features {
	return tree.FeaturesOf(tree.Feature{Name: "x"}, tree.Feature{Name: "k", Categorical: true})
}

func (sixRows) Read(lo, hi int, into *Block) {
	for i := lo; i < hi; i++ {
		into.Feature = append(into.Feature, 0, 1)
		into.Value = append(into.Value, float64(i), float64(i%3))
		into.Ptr = append(into.Ptr, len(into.Feature))
	}
}

// runSplit binds the function and runs it on a matrix of one block.
func runSplit(m *matrix.Meta, arg string, rows [][]int64) error {
	f := Funcs()[0]
	a, err := psf.ParseArgs(f.Params, []byte(arg))
	if err != nil {
		return err
	}
	call, err := f.Bind(a, m)
	if err != nil {
		return err
	}
	_, err = call.Part(&block{meta: m, at: matrix.At(0, m.Rows, 0, m.BlockCols), rows: rows})
	return err
}

// spread adds a histogram to an empty row of the matrix.
func spread(s *Shape, row []int64, h histogram) {
	sums := make(histogram, len(row)/2)
	s.join(sums, h, 1)
	copy(row, kernel.Flat(sums))
}

// Of six rows with the derivatives g = -5, -3, -1, 1, 3, 5 and h = 1 the best split is in the middle: the sums of the sides are -9 and 9,
// the gain 81/3 + 81/3 - 0. Its right side is what is left of it.
func TestSplitBeside(t *testing.T) {
	s, m := one(t)
	rows := make([][]int64, m.Rows)
	for i := range rows {
		rows[i] = make([]int64, m.Cols)
	}
	h := make(histogram, s.layout.cells)
	for i := range 6 {
		g := int64(2*i - 5)
		for at, bin := range []int{i, s.layout.columns[1].binOf(float64(i % 3))} {
			h[s.layout.groups[s.layout.columns[at].group].cell+bin].Add(sum{G: g, H: 1})
		}
	}
	spread(s, rows[2], h)
	find := func(nodes ...asked) []split {
		t.Helper()
		arg, err := json.Marshal(query{Nodes: nodes, Scale: [2]float64{1, 1}})
		if err == nil {
			err = runSplit(m, string(arg), rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		q := &Query{shape: s, found: make([]split, len(nodes))}
		var answers []int64
		for i, n := range nodes {
			q.sums = append(q.sums, sum{G: n.G, H: n.H})
			answers = append(answers, rows[i][:s.Answer]...)
		}
		if err := q.Take(answers); err != nil {
			t.Fatal(err)
		}
		return q.found
	}
	got := find(asked{Row: 2, G: 0, H: 6})[0]
	if got.gain != 54 || got.column != 0 || got.bin != 2 || got.left != (sum{G: -9, H: 3}) || got.right != (sum{G: 9, H: 3}) ||
		got.value != [2]float64{3, -3} {
		t.Fatalf("split %+v, want bin 2 of column 0 with gain 54", got)
	}
	left := make(histogram, len(h)) // the rows 0 to 2
	for i := range 3 {
		for at, bin := range []int{i, s.layout.columns[1].binOf(float64(i % 3))} {
			left[s.layout.groups[s.layout.columns[at].group].cell+bin].Add(sum{G: int64(2*i - 5), H: 1})
		}
	}
	spread(s, rows[3], left)
	less := int64(3)
	both := find(asked{Row: 3, G: -9, H: 3}, asked{Row: 2, Less: &less, G: 9, H: 3})
	// -5 against -3 -1: 25 + 16/2 - 81/3, and as much at the next bin, which comes later; on the other side 1 against 3 5.
	if want := 25.0 + 8 - 27; both[0].gain != want || both[0].bin != 0 || both[1].gain != want || both[1].bin != 3 {
		t.Errorf("splits %+v, want gains %v at bins 0 and 3", both, want)
	}
}

// What a client sends that is not as it should be is refused, and says what is wrong.
func TestSplitRefuses(t *testing.T) {
	columns := func(v ...byte) string { return base64.StdEncoding.EncodeToString(v) }
	for _, c := range []struct{ attrs, arg, want string }{
		{"", `{"nodes":[{"row":0,"g":1,"h":1}],"scale":[1]}`, "scale is [1], want two"},
		{"", `{"nodes":[{"row":0,"g":1,"h":1}],"scale":[1,0]}`, "scale is [1 0], want two"},
		{"", `{"nodes":[{"row":99,"g":1,"h":1}],"scale":[1,1]}`, "nodes in rows 0 to 99"},
		{"", `{"nodes":[{"row":0,"less":-1}],"scale":[1,1]}`, "nodes in rows -1 to 0"},
		{"", `{"nodes":3,"scale":[1,1]}`, "nodes: "},
		{"", `{"nodes":[],"scale":[1,1],"root":[]}`, "root: "},
		{"", `{"nodes":[],"scale":[1,1],"root":{"row":99}}`, "nodes in rows 99 to 99"},
		{columns(0, 0, isAlone|isCategorical, 9, 1, 0), `{"nodes":[],"scale":[1,1]}`, "no root, want that of the tree: it puts the levels of column 0"},
		{"", `{"nodes":[],"scale":[1,1],"columns":[2]}`, "column 2, want one of 2"},
		{"", `{"nodes":[],"scale":[1,1],"columns":{}}`, "columns: "},
		{"!", `{"nodes":[],"scale":[1,1]}`, "gbdt.columns: illegal base64"},
		{columns(0, 0), `{"nodes":[],"scale":[1,1]}`, "column 0 is cut"},
		{columns(0, 0, isAlone, 200, 1, 0, 0), `{"nodes":[],"scale":[1,1]}`, "column 0"},
		{columns(0, 0, 0, 2, 0, 0), `{"nodes":[],"scale":[1,1]}`, "column 0: 2 bins"},
		{columns(0, 0, 0, 3, 3, 1), `{"nodes":[],"scale":[1,1]}`, "column 0: 3 bins, usual 3"},
	} {
		s, m := one(t)
		if c.attrs != "" {
			m.Attrs = map[string]string{attrSearch: m.Attrs[attrSearch], attrColumns: c.attrs}
		}
		if err := runSplit(m, c.arg, make([][]int64, s.Rows)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of a matrix with columns %q: %v, want %q", c.arg, c.attrs, err, c.want)
		}
	}
}

// Whatever a client says of the matrix and asks for, servers answer or refuse.
func FuzzSplit(f *testing.F) {
	_, m := one(f)
	text, err := base64.StdEncoding.DecodeString(m.Attrs[attrColumns])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, m.Attrs[attrSearch], `{"nodes":[{"row":1,"g":1,"h":9},{"row":2,"less":1,"g":3,"h":4,"low":-1}],"scale":[1,2],"columns":[1]}`)
	f.Add([]byte{0, 0, isAlone | isCategorical, 5, 1, 0}, `{"answer":8,"order":"tree"}`,
		`{"nodes":[{"row":1,"g":1,"h":9}],"root":{"row":2,"g":3,"h":9},"scale":[1,2]}`)
	f.Add([]byte{0, 0, isAlone | isCategorical, 9, 1, 0}, `{"answer":8,"one_hot":2,"max_levels":-1}`, `{"nodes":[{"row":0}],"scale":[1,1]}`)
	f.Fuzz(func(t *testing.T, columns []byte, search, arg string) {
		m := m.Clone()
		m.Attrs = map[string]string{attrSearch: search, attrColumns: base64.StdEncoding.EncodeToString(columns)}
		rows := make([][]int64, m.Rows)
		for i := range rows {
			rows[i] = make([]int64, m.Cols)
			for k := range rows[i] {
				rows[i][k] = int64(i*k%11 - 3)
			}
		}
		if err := runSplit(&m, arg, rows); err != nil && fmt.Sprint(err) == "" {
			t.Error("an error without words")
		}
	})
}

// Shares are of all rows, each once, about as many, and cut no group.
func TestShare(t *testing.T) {
	groups := []int64{1, 1, 1, 2, 3, 3, 3, 3, 3, 4}
	for tasks := 1; tasks < 14; tasks++ {
		for _, group := range [][]int64{nil, groups} {
			end := 0
			for task := range tasks {
				lo, hi := Shard(group, 10, tasks, task)
				if lo != end || hi < lo {
					t.Fatalf("task %d of %d has rows %d to %d after %d", task, tasks, lo, hi, end)
				}
				if end = hi; group != nil && hi < 10 && hi > 0 && group[hi] == group[hi-1] {
					t.Fatalf("task %d of %d ends within a group, at row %d", task, tasks, hi)
				}
				if group == nil && (hi-lo)*tasks > 10+tasks {
					t.Fatalf("task %d of %d has %d of 10 rows", task, tasks, hi-lo)
				}
			}
			if end != 10 {
				t.Fatalf("%d tasks have %d rows, want 10", tasks, end)
			}
		}
	}
}
