package parquet

import (
	"context"
	"errors"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	// openBytes is how much memory the pages of columns that are read side by side may take.
	openBytes = 128 << 20
	// pageBytes is how much a page and its dictionary usually take at most.
	pageBytes = 2 << 20
	// bandBytes is about how many bytes of values are read at a time, of all columns of a strip; bandRows are rows at least.
	bandBytes = 4 << 20
	bandRows  = 1 << 10
	// tileRows are as many rows of a few columns as a processor keeps near when they are put beside each other.
	tileRows = 1 << 10
)

// strip is columns that are read side by side within a row group, some rows at a time.
type strip struct {
	r     *reader
	g     *group
	at    matrix.Rect
	lanes []format.Lane
	step  int64    // rows at a time
	most  int64    // bytes that an open page may take
	free  [][]byte // memory for columns
}

// strip is the columns from the first of the place on that can be read side by side.
func (r *reader) strip(g *group, at matrix.Rect) *strip {
	s := &strip{r: r, g: g, at: at}
	s.at.Cols.Hi = at.Cols.Lo
	width := int64(0)
	for open := int64(0); s.at.Cols.Hi < at.Cols.Hi; s.at.Cols.Hi++ {
		size := int64(r.m.ColType(s.at.Cols.Hi).Size())
		if open += min(pageBytes, g.rows.Len()*size); open > openBytes && width > 0 {
			break
		}
		width += size
	}
	s.step = max(bandRows, bandBytes/width)
	if n := s.at.Cols.Len(); n > 1 {
		s.most = openBytes / n
	}
	for _, l := range format.Lanes(&r.m) {
		if l.Cols = l.Cols.Intersect(s.at.Cols); l.Cols.Len() > 0 {
			s.lanes = append(s.lanes, l)
		}
	}
	return s
}

// read gives the blocks of the strip. If a page is too large for it, the rest is read column by column.
func (s *strip) read(ctx context.Context, cursors []*cursor, emit func(matrix.Block) error) error {
	done, err := s.bands(ctx, cursors, emit)
	if !errors.Is(err, errLarge) {
		return err
	}
	for _, l := range s.lanes {
		for c := l.Cols.Lo; c < l.Cols.Hi; c++ {
			one := strip{r: s.r, g: s.g, step: bandBytes / int64(l.DType.Size()), lanes: []format.Lane{l}}
			one.lanes[0].Cols = matrix.Range{Lo: c, Hi: c + 1}
			one.at = matrix.Rect{Rows: matrix.Range{Lo: done, Hi: s.at.Rows.Hi}, Cols: one.lanes[0].Cols}
			if _, err := one.bands(ctx, cursors, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// bands gives the blocks of the strip, and the first row of which it gave none.
func (s *strip) bands(ctx context.Context, cursors []*cursor, emit func(matrix.Block) error) (done int64, err error) {
	for i := range s.at.Cols.Len() {
		col := s.at.Cols.Lo + i
		cursors[i].begin(&s.r.footer.columns[col], &s.g.chunks[col], s.r.m.ColType(col), s.g.rows.Len(), s.most)
	}
	done = s.at.Rows.Lo
	var columns [][]byte
	for values, err := range format.Ahead(s.jobs(ctx, cursors)) {
		if err != nil {
			return done, err
		}
		if columns = append(columns, values); int64(len(columns)) < s.at.Cols.Len() {
			continue
		}
		rows := matrix.Range{Lo: done, Hi: min(s.at.Rows.Hi, done+s.step)}
		if err := s.emit(rows, columns, emit); err != nil {
			return done, err
		}
		done, columns = rows.Hi, columns[:0]
	}
	return done, nil
}

// jobs read the columns of one band after the other. Those of one column wait for each other.
func (s *strip) jobs(ctx context.Context, cursors []*cursor) func(yield func(func() ([]byte, error)) bool) {
	return func(yield func(func() ([]byte, error)) bool) {
		for lo := s.at.Rows.Lo; lo < s.at.Rows.Hi; lo += s.step {
			rows := matrix.Range{Lo: lo, Hi: min(s.at.Rows.Hi, lo+s.step)}
			for i := range s.at.Cols.Len() {
				c, skip := cursors[i], int64(0)
				if lo == s.at.Rows.Lo {
					skip = lo - s.g.rows.Lo
				}
				dst, turn, next := s.memory(rows.Len()*int64(c.to.Size())), c.turn, make(chan struct{})
				c.turn = next
				if !yield(func() ([]byte, error) {
					defer close(next)
					<-turn
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					if err := c.skip(skip); err != nil {
						return nil, err
					}
					return dst, c.read(dst)
				}) {
					return
				}
			}
		}
	}
}

// memory is n bytes, of which none is known.
func (s *strip) memory(n int64) []byte {
	last := len(s.free) - 1
	if last < 0 {
		return grown(nil, int(n))
	}
	b := s.free[last]
	s.free = s.free[:last]
	return grown(b, int(n))
}

// emit gives the blocks of some rows, whose columns these are.
func (s *strip) emit(rows matrix.Range, columns [][]byte, emit func(matrix.Block) error) error {
	for _, l := range s.lanes {
		b := matrix.NewDense(l.DType, matrix.Rect{Rows: rows, Cols: l.Cols})
		n := int(l.Cols.Len())
		putRows(b, columns[:n])
		s.free, columns = append(s.free, columns[:n]...), columns[n:]
		if err := emit(b); err != nil {
			return err
		}
	}
	return nil
}

// putRows puts the columns of a block beside each other.
func putRows(b matrix.Block, columns [][]byte) {
	dst, size := wire.ViewAny(b.Data.Values())
	if len(columns) == 1 {
		copy(dst, columns[0])
		return
	}
	pitch := len(columns) * size
	var some [format.Together][]byte
	for lo := 0; lo < len(columns[0]); lo += tileRows * size {
		for first := 0; first < len(columns); first += format.Together {
			n := copy(some[:], columns[first:])
			hi := min(len(columns[0]), lo+tileRows*size)
			for k := range n {
				some[k] = columns[first+k][lo:hi]
			}
			format.ToRows(dst[lo/size*pitch+first*size:], pitch, size, some[:n])
		}
	}
}
