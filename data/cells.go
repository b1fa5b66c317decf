package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"

	"thole.example/feature"
)

// CellTable is a table whose cells are no lines of text, such as one of Parquet. Any number of goroutines may read it.
type CellTable interface {
	// Header are the names of its columns.
	Header() []string
	// Status says of a column whether it holds the index of a DataFrame, and why it cannot be read; nil: it can. Cells of one that cannot be
	// asked for are an error.
	Status(column int) (index bool, err error)
	// Zones are the time zones of columns of instants, by the name of the column.
	Zones() map[string]string
	// Widen lets a column give float32 and half floats with all digits of the float64 that they are, and not as the shortest decimals that
	// stand for them. It reports whether the column has such numbers.
	Widen(column string) bool
	// Rows is how many there are.
	Rows() int64
	// Blocks gives the cells of the columns of the rows lo to hi as texts, at most feature.BlockRows of them at a time: those of each
	// column that was asked for, good until the next ones.
	Blocks(ctx context.Context, columns []int, lo, hi int64) iter.Seq2[[]feature.Cells, error]
	Close() error
}

// cellTable is a source of such tables.
func cellTable(name, help string) Source {
	return Source{Name: name, Help: help, named: true, positional: true, table: true, cells: true}
}

var (
	parquetTable = cellTable("parquet", "an Apache Parquet file: columns of numbers, texts, times, truth values, lists")
	arrowTable   = cellTable("arrow", "an Apache Arrow IPC file (Feather): the same")
)

// cellRows is how many rows of such a table are a chunk.
const cellRows = 16 << 10

// cellSheet plans the rows of a table.
func (s *settings) cellSheet(ctx context.Context, path string, t CellTable, plan *feature.Plan) (*sheet, error) {
	sh := &sheet{cells: t, commas: s.columns().decimal() == ','}
	rows, err := sampledCells(ctx, t)
	if err != nil {
		return nil, err
	}
	s.ignoreCells(path, t)
	if err := s.planSheet(sh, t.Header(), rows, plan); err != nil {
		return nil, err
	}
	var first error
	var names []string
	for _, k := range sh.used {
		if _, err := t.Status(k); err != nil {
			first, names = cmp.Or(first, err), append(names, t.Header()[k])
		}
	}
	switch len(names) {
	case 0:
		return sh, nil
	case 1:
		return nil, fmt.Errorf("%w; --ignore %s leaves it out", first, names[0])
	}
	return nil, fmt.Errorf("%w; %d columns cannot be read, and --ignore %s leaves them out", first, len(names), strings.Join(names, ","))
}

// ignoreCells ignores columns of a training table of which nothing can be learned and the user says nothing: the index of a DataFrame, and
// in a survey what cannot be read.
func (s *settings) ignoreCells(path string, t CellTable) {
	known := *s.columns()
	known.Spec.Columns = maps.Clone(known.Spec.Columns)
	for i, name := range t.Header() {
		index, err := t.Status(i)
		if _, said := known.Spec.Columns[name]; said || !index && (err == nil || !s.surveys) {
			continue
		}
		if known.Spec.Set(name, feature.Column{Kind: feature.Ignore}) == nil && s.Note != nil && known.Transform == nil {
			why := fmt.Sprintf("column %q is ignored: it is the index of a pandas DataFrame (--numeric, --categorical or --date %s takes it)",
				name, name)
			if err != nil {
				why = fmt.Sprintf("%v; it is ignored", err)
			}
			s.Note(path, 0, why)
		}
	}
	s.Table = &known
}

// sampledCells are the first rows of a table.
func sampledCells(ctx context.Context, t CellTable) (rows [][]string, err error) {
	all := readable(t)
	if len(all) == 0 {
		_, err := t.Status(0)
		return nil, err
	}
	for cells, err := range t.Blocks(ctx, all, 0, min(sampleRows, t.Rows())) {
		if err != nil {
			return nil, err
		}
		for k := range cells[0].Lo {
			row := make([]string, len(t.Header()))
			for i, c := range cells {
				row[all[i]] = string(c.Text[c.Lo[k]:c.Hi[k]])
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// readable are the columns of a table that can be read.
func readable(t CellTable) (all []int) {
	for i := range t.Header() {
		if _, err := t.Status(i); err == nil {
			all = append(all, i)
		}
	}
	return all
}

// feedCells gives chunks the numbers of their rows.
func feedCells(ctx context.Context, rows int64, free <-chan *chunk, work, order chan<- *chunk) {
	defer close(work)
	defer close(order)
	for lo := int64(0); lo < rows; lo += cellRows {
		select {
		case <-ctx.Done():
			return
		case c := <-free:
			c.reset()
			c.lo, c.hi = lo, min(lo+cellRows, rows)
			c.end = c.hi
			order <- c
			work <- c
		}
	}
}

// cells fills the rows from those of a table, up to the first error. Rows stand for lines.
func (c *chunk) cells(ctx context.Context, s *settings, p *tableParser) {
	p.begin()
	line := int64(0)
	for cells, err := range p.sheet.cells.Blocks(ctx, p.used, c.lo, c.hi) {
		if err != nil {
			c.err, c.lines = err, 0
			return
		}
		n := len(cells[0].Lo)
		for k := range n {
			p.line[k] = line + int64(k) + 1
		}
		line += int64(n)
		p.enc.Begin(n)
		if err := p.enc.Texts(func(column int) feature.Cells { return p.pointed(cells[p.place[column]], column) }); err != nil {
			c.err, c.lines = err, p.line[0]
			return
		}
		p.keeping = p.keeping[:0]
		for _, column := range p.kept {
			p.keeping = append(p.keeping, cells[p.place[column]])
		}
		if c.block(s, p.enc, p.line[:n], p.keeping); c.err != nil {
			return
		}
	}
	c.lines = line
}

// openTable opens a table that is no text, and refuses one without columns.
func (s *settings) openTable(ctx context.Context, name string) (CellTable, error) {
	if s.OpenTable == nil {
		return nil, fmt.Errorf("data: %s without Options.OpenTable, which reads it: %w", s.Name, ErrOption)
	}
	t, err := s.OpenTable(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(t.Header()) == 0 {
		return nil, errors.Join(&Error{name, 0, errors.New("no columns")}, t.Close())
	}
	return inFolders(t, s.folders), nil
}

// openCells opens the table of an input.
func (r *reader) openCells(ctx context.Context, in *Input, s *settings) (CellTable, error) {
	if err := r.checkFitted(s); err != nil {
		return nil, &Error{in.Name, 0, err}
	}
	if in.Stream != nil {
		return nil, errors.New("a stream, want a file: its columns are not stored one row after the other")
	}
	t, err := s.openTable(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if s.sheet, err = s.cellSheet(ctx, in.Name, t, r.plan); err != nil {
		return nil, errors.Join(&Error{in.Name, 0, err}, t.Close())
	}
	r.begin(in.Name, s)
	return t, nil
}
