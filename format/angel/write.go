package angel

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// writer puts every block into a file of its own in the stage. Writers of one stage never write the same file, unless
// somebody puts a block twice.
type writer struct {
	bucket blob.Bucket
	stage  *format.Stage
	plans  []*plan
	files  map[string][]byte
}

func (c codec) Create(_ context.Context, b blob.Bucket, to string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	to = strings.TrimSuffix(to, "/")
	w := &writer{bucket: b, stage: format.NewStage(b, to, o.Stage), files: o.Files}
	if len(ms) == 0 {
		return nil, fmt.Errorf("no matrix to write")
	}
	for i := range ms {
		p, err := c.newPlan(ms[i], i, &o)
		if err != nil {
			return nil, format.Wrap(name, to, err)
		}
		w.plans = append(w.plans, p)
	}
	return w, format.Wrap(name, to, w.checkNames())
}

// checkNames reports names that would lie within each other.
func (w *writer) checkNames() error {
	var names []string
	for _, p := range w.plans {
		names = append(names, p.meta.Name)
	}
	for _, f := range slices.Sorted(maps.Keys(w.files)) {
		if f == "" || strings.ContainsAny(f, "/\\\x00") || hidden(f) || slices.Contains(metaNames, f) {
			return fmt.Errorf("%q cannot be the name of a file beside the matrices", f)
		}
		names = append(names, f)
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] || strings.HasPrefix(names[i], names[i-1]+"/") {
			return fmt.Errorf("%q and %q cannot lie in one folder", names[i-1], names[i])
		}
	}
	return nil
}

func (w *writer) find(matrixName string) (*plan, error) {
	for _, p := range w.plans {
		if p.meta.Name == matrixName {
			return p, nil
		}
	}
	return nil, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)
}

func (w *writer) Put(ctx context.Context, matrixName string, b matrix.Block) (format.Part, error) {
	p, err := w.find(matrixName)
	if err != nil {
		return nil, err
	}
	if err := b.Check(); err != nil {
		return nil, err
	}
	if !p.grid.whole.Contains(b.At) {
		return nil, fmt.Errorf("matrix %s: block %v, want one within %v", matrixName, b.At, p.grid.whole)
	}
	rows := savedIn(&p.meta, b.At.Rows)
	if b.At.Empty() || rows.len() == 0 {
		return format.Part{}, nil
	}
	if b, err = p.prepare(b); err != nil {
		return nil, err
	}
	out := put{matrix: matrixName, cell: -1}
	file := "p." + rand.Text()
	if id, ok := p.isCell(b.At); ok {
		out.cell = int32(id)
		if p.meta.Layout == matrix.RowDense { // sparse blocks of one place may come from hash partitions
			file = fmt.Sprint(id)
		}
	}
	how := p
	if p.hash > 0 || out.cell < 0 && (p.fixed || p.tall()) || p.layout.column && hasHoles(b, rows) {
		out.raw, out.cell = true, -1
		how, file = p.raw(), "p."+rand.Text()
		if how.layout.colID && shapeOf(b.Data) != shapeDense {
			b = b.ToCSR()
		}
	}
	if out.part, err = w.write(ctx, how, file, b, rows); err != nil {
		return nil, err
	}
	out.part.rows = rows.bounds()
	if out.cell >= 0 {
		out.part.id, out.part.rows = out.cell, p.grid.cell(int(out.cell)).Rows
	}
	return out.encode(), nil
}

// write makes one data file of a block.
func (w *writer) write(ctx context.Context, p *plan, file string, b matrix.Block, rows rowSet) (partMeta, error) {
	out, err := w.bucket.Create(ctx, w.name(p, file))
	if err != nil {
		return partMeta{}, err
	}
	defer out.Abort()
	e := p.begin(ctx, out, 0, b.At, rows)
	if err := e.add(b, rows); err != nil {
		return e.part, err
	}
	part, err := e.end()
	if err != nil {
		return part, err
	}
	part.file = file
	return part, out.Commit()
}

// hasHoles reports whether some row lacks a column that another has.
func hasHoles(b matrix.Block, rows rowSet) bool {
	switch d := b.Data.(type) {
	case *matrix.CSR[float64]:
		return csrHasHoles(d, b.At, rows)
	case *matrix.CSR[float32]:
		return csrHasHoles(d, b.At, rows)
	case *matrix.CSR[int64]:
		return csrHasHoles(d, b.At, rows)
	case *matrix.CSR[int32]:
		return csrHasHoles(d, b.At, rows)
	}
	return false
}

func csrHasHoles[T Number](d *matrix.CSR[T], at matrix.Rect, rows rowSet) bool {
	first := rows[0].Lo - at.Rows.Lo
	want := d.Idx[d.Ptr[first]:d.Ptr[first+1]]
	for row := range rows.all() {
		i := row - at.Rows.Lo
		if !slices.Equal(d.Idx[d.Ptr[i]:d.Ptr[i+1]], want) {
			return true
		}
	}
	return false
}

// name is the place of a matrix's file in the stage.
func (w *writer) name(p *plan, file string) string { return w.stage.Name(blob.Join(p.meta.Name, file)) }

// isCell tells which cell of the grid a place is, apart from rows that are not saved.
func (p *plan) isCell(at matrix.Rect) (id int, ok bool) {
	if !p.direct {
		return 0, false
	}
	id = p.grid.find(at)
	cell := p.grid.cell(id)
	return id, cell.Cols == at.Cols && cell.Rows.Contains(at.Rows) &&
		savedIn(&p.meta, cell.Rows).len() == savedIn(&p.meta, at.Rows).len()
}

// tall reports whether a block may have more rows than a record of the format should.
func (p *plan) tall() bool { return p.layout.column && p.grid.down > 1 }

// maxFill is how many cells of a dense matrix a block may stand for without storing them.
const maxFill = 1 << 31

// prepare gives a block the element type and the shape that encode takes.
func (p *plan) prepare(b matrix.Block) (matrix.Block, error) {
	if b.Data.DType() != p.meta.DType && p.meta.ColTypes == nil {
		return b, fmt.Errorf("matrix %s: block of %v, want %v", p.meta.Name, b.Data.DType(), p.meta.DType)
	}
	cast, exact := b.Cast(heldAs(p.meta.DType))
	if !exact {
		if err := p.lossy.Lose(format.Types, p.meta.Name, "values of %v do not fit %v", b.Data.DType(), cast.Data.DType()); err != nil {
			return b, err
		}
	}
	switch stored, shape := int64(cast.Data.NNZ()), shapeOf(cast.Data); {
	case shape == shapeDense:
		return cast, nil
	case shape == shapeCols && p.layout.column && (!p.filled || isFull(b.At, stored)):
		return cast, nil
	case !p.filled:
		return cast.ToCSR(), nil
	}
	if n, ok := b.At.Cells(); !ok || n > maxFill {
		return b, fmt.Errorf("matrix %s: dense block %v, want at most %d cells: %w", p.meta.Name, b.At, int64(maxFill), format.ErrLimit)
	}
	return cast.ToDense(), nil
}

// shape is a way to hold data, whatever the element type.
type shape int

const (
	shapeOther shape = iota
	shapeDense
	shapeCols
)

func shapeOf(d matrix.Data) shape {
	switch d.(type) {
	case *matrix.Dense[float64], *matrix.Dense[float32], *matrix.Dense[int64], *matrix.Dense[int32]:
		return shapeDense
	case *matrix.Cols[float64], *matrix.Cols[float32], *matrix.Cols[int64], *matrix.Cols[int32]:
		return shapeCols
	}
	return shapeOther
}

// isFull reports whether stored values are all cells of a place.
func isFull(at matrix.Rect, stored int64) bool {
	n, ok := at.Cells()
	return ok && n == stored
}

func (w *writer) Abort(ctx context.Context) { w.stage.Abort(ctx) }
