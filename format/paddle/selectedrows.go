package paddle

import (
	"context"
	"encoding/binary"
	"io"
	"iter"
	"slices"
	"sort"

	"thole.example/format"
	"thole.example/matrix"
)

// selectedRows are some rows of a tall matrix, as gradients of embeddings and their slices on servers are:
//
//	0    u32   version, 0
//	4    u64   number n of rows
//	12   n     row ids, i64 each, none twice, in any order
//	     i64   height: the number of rows of the whole matrix
//	     u32   tensor version, 0
//	     i32   size s of the description
//	     s     TensorDesc: the first dimension is n
//	     …     values, row-major, in the order of the row ids
//
// All numbers are little-endian. Paddle checks none of them. The rows become Meta.Saved: the others are absent.
var selectedRows = rowsProfile{layout{name: rowsName, like: likeRows, walk: walkRows}}

// rowsProfile is a layout that is written too.
type rowsProfile struct{ layout }

// likeRows reports whether there is a tensor behind rows and height, or could be if the file were longer.
func likeRows(head []byte, size int64) bool {
	if len(head) < 12 || binary.LittleEndian.Uint32(head) != 0 {
		return false
	}
	n := binary.LittleEndian.Uint64(head[4:])
	if n > uint64(size)/8 {
		return n < 1<<24 // as of a file that was cut; anything may begin so with a larger number
	}
	at := 12 + 8*int64(n) + 8
	return at+10 > int64(len(head)) || likeBare(head[at:], size-at)
}

func walkRows(l *listing) {
	walkSomeRows(l, l.ownName(), l.variable == "")
	l.end("the values")
}

// walkSomeRows walks over rows of a variable that need not be all that the file holds. unnamed says that the file does not
// name it.
func walkSomeRows(l *listing, variable string, unnamed bool) {
	s := l.scan
	l.head("rows")
	if v := s.u32("version"); v != 0 {
		s.fault(FaultVersion, s.off-4, "version %d, want 0: %w", v, format.ErrVersion)
	}
	s.means("version 0")
	n := s.number((s.size-s.off)/8, "number of rows")
	s.means("%d rows", n)
	at := s.off
	ids := s.sizes(n, true, "row")
	s.means("row ids")
	height := int64(0)
	if h := s.sizes(1, true, "height"); h != nil {
		height = h[0]
	}
	s.means("height %d", height)
	l.head("tensor")
	r := l.readBare(variable)
	r.unnamed = unnamed
	if s.err != nil {
		return
	}
	if len(r.dims) == 0 || r.dims[0] != n {
		s.fault(FaultRows, r.start, "dimensions %v for %d rows, want the first to be their number", r.dims, n)
		return
	}
	if !slices.IsSorted(ids) {
		l.note("rows in another order than ascending")
	}
	l.addRows(&r, ids, height, at)
}

// addRows appends the matrix of which the record holds the rows ids, which stand at byte at.
func (l *listing) addRows(r *record, ids []int64, height, at int64) {
	s := l.scan
	dims := append([]int64{height}, r.dims[1:]...)
	if len(dims) == 1 {
		dims = append(dims, 1) // one value in each row
	}
	whole := *r
	whole.dims = dims
	if err := whole.settle(int64(r.code)); err != nil {
		s.fault(settleFault(err), at, "%w", err)
		return
	}
	order := make([]int, len(ids)) // positions, by row
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return ids[order[a]] < ids[order[b]] })
	for k, i := range order {
		off := at + 8*int64(i)
		switch {
		case ids[i] >= height:
			s.fault(FaultRows, off, "row %d, want 0..%d, below the height", ids[i], height-1)
		case k > 0 && ids[i] == ids[order[k-1]]:
			s.fault(FaultRows, off, "row %d a second time: rows that are still to be added up are not read: %w", ids[i], format.ErrVersion)
		}
	}
	if s.err != nil {
		return
	}
	m := whole.meta()
	m.Saved = []matrix.Range{}
	runs := runsOf(ids, order)
	for _, run := range runs {
		m.Saved = addRange(m.Saved, run.rows)
	}
	l.add(r.start, stored{meta: m, code: r.code, rows: int64(len(ids)), values: r.values, blocks: rowBlocks(s.r, whole.slab(s), runs)})
}

// rowRun are rows that follow each other in the matrix and in the file, where they begin with the at-th.
type rowRun struct {
	rows matrix.Range
	at   int
}

// runsOf cuts the rows, ascending, into runs.
func runsOf(ids []int64, order []int) (runs []rowRun) {
	for _, i := range order {
		if n := len(runs); n > 0 && runs[n-1].rows.Hi == ids[i] && runs[n-1].at+int(runs[n-1].rows.Len()) == i {
			runs[n-1].rows.Hi++
			continue
		}
		runs = append(runs, rowRun{matrix.Range{Lo: ids[i], Hi: ids[i] + 1}, i})
	}
	return runs
}

// addRange appends a range, or lengthens the last one if they touch.
func addRange(to []matrix.Range, r matrix.Range) []matrix.Range {
	if n := len(to); n > 0 && to[n-1].Hi == r.Lo {
		to[n-1].Hi = r.Hi
		return to
	}
	return append(to, r)
}

// rowBlocks reads runs of rows, ascending, of a matrix of which only they are stored.
func rowBlocks(src io.ReaderAt, whole format.ElementSlab, runs []rowRun) func(context.Context, matrix.Rect) iter.Seq2[matrix.Block, error] {
	width := whole.At.Cols.Len() * int64(whole.DType.Size())
	return func(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		return func(yield func(matrix.Block, error) bool) {
			first := sort.Search(len(runs), func(i int) bool { return runs[i].rows.Hi > want.Rows.Lo })
			for _, run := range runs[first:] {
				if run.rows.Lo >= want.Rows.Hi {
					return
				}
				slab := whole
				slab.At.Rows, slab.Off = run.rows, whole.Off+int64(run.at)*width
				for b, err := range slab.Blocks(ctx, src, want) {
					if !yield(b, err) || err != nil {
						return
					}
				}
			}
		}
	}
}
