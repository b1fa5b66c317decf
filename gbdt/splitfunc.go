package gbdt

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"thole.example/matrix"
	"thole.example/psf"
)

// SplitName is the function that runs beside the histograms of a Shape, on the servers.
const SplitName = "gbdt.split"

// Funcs are the functions that servers need for training with several workers, a new slice on every call.
func Funcs() []psf.Func {
	return []psf.Func{{
		Name: SplitName,
		Help: "the best splits of nodes of a tree by their histograms, in each block of columns, after those of siblings were made",
		Params: []psf.Param{
			{Name: "nodes", Kind: psf.Any, Help: "rows with their sums, and the rows that are taken off first"},
			{Name: "scale", Kind: psf.Numbers, Help: "of first and second derivatives"},
			{Name: "child", Kind: psf.Number, Optional: true, Help: "second derivatives that both sides of a split have at least (default: the " +
				"min-child-weight of the matrix)"},
			{Name: "columns", Kind: psf.Any, Optional: true, Help: "features that may be asked for (default: all)"},
			{Name: "root", Kind: psf.Any, Optional: true, Help: "the tree's first node, as its row was then: it puts levels in order"},
		},
		Bind: bindSplit,
	}}
}

// errShape is what matrices that no Shape describes are refused with.
var errShape = errors.New("not a matrix of histograms")

// splitFunc is the function with its arguments.
type splitFunc struct {
	finder
	blocks []int   // of each column
	answer int64   // cells of an answer
	block  int64   // columns of a block
	cells  int     // of a histogram in a block
	all    int64   // bins so far, but for the one of each column that has no cell
	most   int64   // columns of the matrix
	nodes  []asked // whose splits are looked for
	ask    []bool  // for each column whether it may be asked for
	root   *root   // the root of the tree, whose row still has its histogram; nil: it puts no levels in order
}

func bindSplit(a psf.Args, m *matrix.Meta) (*psf.Call, error) {
	b := &splitFunc{block: m.BlockCols, most: m.Cols}
	if err := b.describe(m); err != nil {
		return nil, err
	}
	by := a.Numbers("scale")
	if len(by) != 2 || !(by[0] > 0 && by[1] > 0) {
		return nil, fmt.Errorf("scale is %v, want two numbers above 0", by)
	}
	b.scale, b.child = scale{by[0], by[1]}, b.MinWeight
	if a.Has("child") {
		b.child = a.Number("child")
	}
	if err := json.Unmarshal(a.JSON("nodes"), &b.nodes); err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	if a.Has("root") {
		if err := json.Unmarshal(a.JSON("root"), &b.root); err != nil {
			return nil, fmt.Errorf("root: %w", err)
		}
	}
	rows := b.rows()
	if len(rows) > 0 && (rows[0] < 0 || rows[len(rows)-1] >= m.Rows) {
		return nil, fmt.Errorf("nodes in rows %d to %d, want some in [0,%d)", rows[0], rows[len(rows)-1], m.Rows)
	}
	if err := b.askFor(a); err != nil {
		return nil, err
	}
	some := psf.Rows{Of: rows}
	return &psf.Call{Reads: some, Writes: some, Together: true, Part: b.part}, nil
}

// rows are those of the matrix that the function reads or writes, ascending.
func (b *splitFunc) rows() (all []int64) {
	if b.root != nil {
		all = append(all, b.root.Row)
	}
	for i, n := range b.nodes {
		all = append(all, int64(i), n.Row)
		if n.Less != nil {
			all = append(all, *n.Less)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// askFor finds the columns that may be asked for.
func (b *splitFunc) askFor(a psf.Args) error {
	b.ask = make([]bool, len(b.blocks))
	if !a.Has("columns") {
		for i := range b.ask {
			b.ask[i] = true
		}
		return nil
	}
	var some []int
	if err := json.Unmarshal(a.JSON("columns"), &some); err != nil {
		return fmt.Errorf("columns: %w", err)
	}
	for _, at := range some {
		if at < 0 || at >= len(b.ask) {
			return fmt.Errorf("column %d, want one of %d", at, len(b.ask))
		}
		b.ask[at] = true
	}
	return nil
}

// part searches the groups of one block.
func (shared *splitFunc) part(v psf.View) ([]byte, error) {
	cells, is := v.Cells().(psf.Cells[int64])
	at, first := v.At().Cols, v.Meta().ColLo
	if !is || at.Len() != shared.block || (at.Lo-first)%shared.block != 0 {
		return nil, fmt.Errorf("%w: a partition of columns %v of %v, want a block of %d int64", errShape, at, v.Meta().DType, shared.block)
	}
	b := *shared // partitions are searched at the same time
	b.bins, b.order, b.ratios = nil, nil, nil
	block := int((at.Lo - first) / b.block)
	answers, hist, row := make([]int64, len(b.nodes)*int(b.answer)), make(histogram, b.cells), make([]int64, b.block)
	if err := b.arrange(cells, row, at.Lo, hist, block); err != nil {
		return nil, err
	}
	for i := range b.nodes {
		n := &b.nodes[i]
		if err := b.read(n, cells, row, at.Lo, hist); err != nil {
			return nil, err
		}
		in := unlimited
		if n.Low != nil {
			in.lo = *n.Low
		}
		if n.High != nil {
			in.hi = *n.High
		}
		var best split
		for k, of := range b.blocks {
			if of != block || !b.ask[k] {
				continue
			}
			if s := b.column(k, hist, sum{G: n.G, H: n.H}, in); s.better(&best) {
				best = s
			}
		}
		best.answer(answers[i*int(b.answer):][:b.answer])
	}
	return nil, b.write(cells, at.Lo, answers)
}

// arrange puts levels of the columns of the block in order by the histogram of the root.
func (b *splitFunc) arrange(cells psf.Cells[int64], row []int64, lo int64, hist histogram, block int) error {
	var columns []int
	for _, k := range b.orderedColumns(b.layout) {
		if b.blocks[k] == block && b.ask[k] {
			columns = append(columns, k)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	if b.root == nil || b.root.Less != nil {
		return fmt.Errorf("no root, want that of the tree: it puts the levels of column %d in order", columns[0])
	}
	if err := b.read(&b.root.asked, cells, row, lo, hist); err != nil {
		return err
	}
	b.orders, b.noise = make([]ordering, len(b.blocks)), b.root.Noise
	for _, k := range columns {
		c := &b.layout.columns[k]
		bins := hist.column(b.layout, c, sum{G: b.root.G, H: b.root.H}, make([]sum, c.all()))
		b.orders[k] = b.orderOf(b.scale, bins[:c.bins])
	}
	return nil
}

// read reads the histogram of a node.
func (b *splitFunc) read(n *asked, cells psf.Cells[int64], row []int64, lo int64, hist histogram) error {
	if err := n.read(cells, row, lo); err != nil {
		return err
	}
	for k := range hist {
		hist[k] = sum{G: row[b.answer:][2*k], H: row[b.answer:][2*k+1]}
	}
	return nil
}

// read reads the node's row of a partition, the columns of which begin at lo, after it has taken off the row that is to be.
func (n *asked) read(cells psf.Cells[int64], row []int64, lo int64) error {
	rows, changed := []int64{n.Row}, 0
	if n.Less != nil {
		rows, changed = []int64{*n.Less, n.Row}, 1
	}
	return cells.Together(rows, changed, func(c *psf.Chunk[int64]) error {
		own := c.Rows[len(c.Rows)-1]
		if n.Less != nil {
			for i, x := range c.Rows[0] {
				own[i] -= x
			}
		}
		if c.Cols != nil {
			return errShape
		}
		copy(row[c.Col-lo:], own)
		return nil
	})
}

// write writes the answers where workers look for them: that for node i into row i.
func (b *splitFunc) write(cells psf.Cells[int64], lo int64, answers []int64) error {
	rows, cols := make([]int64, len(b.nodes)), make([]int64, b.answer)
	for i := range rows {
		rows[i] = int64(i)
	}
	for i := range cols {
		cols[i] = lo + int64(i)
	}
	return cells.Pick(rows, cols, func(c *psf.Chunk[int64]) error {
		for i, to := range c.Rows {
			for k := range to {
				to[k] = answers[i*int(b.answer)+int(c.Column(k)-lo)]
			}
		}
		return nil
	})
}

// search is the settings that the search for splits depends on.
type search struct {
	L1          float64    `json:"l1"`
	L2          float64    `json:"l2"`
	Gamma       float64    `json:"gamma"`
	MinWeight   float64    `json:"min_weight"`
	MaxStep     float64    `json:"max_step"`
	OneHot      int        `json:"one_hot"`
	Order       LevelOrder `json:"order"`
	MaxLevels   int        `json:"max_levels"`
	Smooth      float64    `json:"smooth"`
	Level2      float64    `json:"level_l2"`
	LevelWeight float64    `json:"level_weight"`
	Answer      int64      `json:"answer"` // cells of an answer
}

func searchOf(c *Config, answer int64) search {
	return search{c.L1, c.L2, c.Gamma, c.MinWeight, c.MaxStep, c.OneHot, c.Order, c.MaxLevels, c.Smooth, c.Level2, c.LevelWeight, answer}
}

// Bits of what a column is.
const (
	isCategorical = 1 << iota
	hasMissing
	isAlone
	isRising
	isFalling
)

// describeColumns says of each column, in uvarints: its block, the first cell of its group there, what it is, its bins, the usual one, and
// the code of the first.
func (s *Shape) describeColumns(c *Config) string {
	var text []byte
	for i := range s.layout.columns {
		col, is := &s.layout.columns[i], uint64(0)
		for _, one := range []struct {
			set bool
			bit uint64
		}{
			{col.categorical, isCategorical}, {col.missing, hasMissing}, {col.alone, isAlone},
			{c.monotoneOf(col) > 0, isRising}, {c.monotoneOf(col) < 0, isFalling},
		} {
			if one.set {
				is |= one.bit
			}
		}
		at := s.at[col.group]
		for _, v := range []uint64{uint64(at / s.Block), uint64(at%s.Block-s.Answer) / 2, is, uint64(col.bins), uint64(col.usual),
			uint64(col.first)} {
			text = binary.AppendUvarint(text, v)
		}
	}
	return base64.StdEncoding.EncodeToString(text)
}

// describe reads what the attributes of a matrix say of its columns and of the search.
func (b *splitFunc) describe(m *matrix.Meta) error {
	var s search
	if err := json.Unmarshal([]byte(m.Attrs[attrSearch]), &s); err != nil {
		return fmt.Errorf("%w: %s: %w", errShape, attrSearch, err)
	}
	if b.answer = s.Answer; s.Answer < setAt || s.Answer > b.block || m.DType != matrix.I64 || m.Layout != matrix.RowDense {
		return fmt.Errorf("%w: answers of %d cells in blocks of %d", errShape, s.Answer, b.block)
	}
	b.Config = &Config{L1: s.L1, L2: s.L2, Gamma: s.Gamma, MinWeight: s.MinWeight, MaxStep: s.MaxStep, OneHot: s.OneHot, Order: s.Order,
		MaxLevels: s.MaxLevels, Smooth: s.Smooth, Level2: s.Level2, LevelWeight: s.LevelWeight}
	b.cells = int((b.block - b.answer) / 2)
	text, err := base64.StdEncoding.DecodeString(m.Attrs[attrColumns])
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errShape, attrColumns, err)
	}
	b.layout = &Layout{}
	for r := bytes.NewReader(text); r.Len() > 0; {
		var v [6]int
		for i := range v {
			x, err := binary.ReadUvarint(r)
			if err != nil || x > math.MaxInt32 {
				return fmt.Errorf("%w: %s: column %d is cut or beyond its limits", errShape, attrColumns, len(b.blocks))
			}
			v[i] = int(x)
		}
		if err := b.addColumn(v); err != nil {
			return fmt.Errorf("%w: %s: column %d: %w", errShape, attrColumns, len(b.blocks), err)
		}
	}
	return nil
}

// addColumn adds a column that is described so.
func (b *splitFunc) addColumn(v [6]int) error {
	at, is := len(b.blocks), v[2]
	c := column{feature: at, group: at, categorical: is&isCategorical != 0, missing: is&hasMissing != 0, alone: is&isAlone != 0,
		bins: v[3], usual: v[4], first: v[5]}
	end := c.all()
	b.all += int64(end - 1)
	if !c.alone {
		end += c.first - 1
	}
	switch {
	case c.bins < 1 || !c.alone && (c.usual >= c.all() || c.first < 1) || v[1]+end > b.cells:
		return fmt.Errorf("%d bins, usual %d, in cells %d to %d of %d", c.bins, c.usual, v[1], v[1]+end, b.cells)
	case b.all > b.most:
		return fmt.Errorf("%d bins so far, want no more than there are columns in the matrix, %d", b.all, b.most)
	case c.categorical && setAt+int64(c.bins+63)/64 > b.answer:
		return fmt.Errorf("%d levels, want no more than there are bits in an answer of %d cells", c.bins, b.answer)
	}
	b.Monotone = append(b.Monotone, int8(is/isRising&1-is/isFalling&1))
	b.blocks = append(b.blocks, v[0])
	b.layout.columns = append(b.layout.columns, c)
	b.layout.groups = append(b.layout.groups, group{cell: v[1]})
	return nil
}
