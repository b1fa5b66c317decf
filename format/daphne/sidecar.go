package daphne

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"thole.example/blob"
	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
)

// describe writes FILE.meta from the committed file if the options asked for it. One that we wrote for an earlier file is
// removed if not.
func (p *plan) describe(ctx context.Context, b blob.Bucket, path string) error {
	if !p.sidecar {
		was, err := format.ReadSidecar(ctx, b, path)
		if err != nil || !ours(was) {
			return nil // not ours, whatever it is
		}
		return b.Remove(ctx, path+format.SidecarExt)
	}
	o, err := b.Open(ctx, path)
	if err != nil {
		return err
	}
	defer o.Close()
	f, err := parse(ctx, o, o.Size(), p.dialect)
	if err != nil {
		return fmt.Errorf("the file that was written: %w", err)
	}
	m := f.meta(p.from.Name)
	m.Dims = p.from.Dims
	if p.data == frame {
		m.Labels = p.names
	}
	s := format.NewSidecar(&m)
	s.Thole.Dialect, s.Thole.First, s.Thole.Length = f.dialect, p.from.ColLo, f.size
	if p.data == csrMatrix {
		n := f.stored()
		s.NumNonZeros, s.Thole.Names = &n, p.names
	}
	if s.Thole.Sums, err = f.sums(ctx, o); err != nil {
		return err
	}
	return s.Write(ctx, b, path)
}

// ours reports whether the sidecar is one that describe wrote.
func ours(s *format.Sidecar) bool { return s != nil && s.Thole != nil && s.Thole.Length > 0 }

// otherFile is the error of a sidecar of ours that does not fit the file.
func (f *file) otherFile(s *format.Sidecar) error {
	return fmt.Errorf("%s was written for another file, of %d bytes and layout %q: remove it, or do not look at it (meta=false): %w",
		f.beside, s.Thole.Length, s.Thole.Dialect, format.ErrCorrupt)
}

// stored is the number of stored cells, -1 if it is beyond int64.
func (f *file) stored() (n int64) {
	for _, e := range f.blocks {
		cells := e.N
		if e.Kind == blockio.Dense {
			cells, _ = e.At.Cells()
		}
		if n += cells; n < 0 {
			return -1
		}
	}
	return n
}

// span is the place of the block i in the file, with its position and head.
func (f *file) span(i int) (lo, hi int64) {
	e := f.blocks[i]
	lo = e.off - int64(e.Len())
	switch {
	case f.dialect == oldName:
		lo = oldHeader
	case e.as == asRecords:
		lo = e.off - recordGap
	}
	return lo, e.off + e.Body
}

// inFile are the blocks in the order of the file.
func (f *file) inFile() []int {
	order := make([]int, len(f.blocks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, k int) int { return cmp.Compare(f.blocks[i].off, f.blocks[k].off) })
	return order
}

// sums are the CRC-32 (IEEE) of the header and of each block, in the order of the file.
func (f *file) sums(ctx context.Context, r io.ReaderAt) ([]uint32, error) {
	spans := [][2]int64{{0, f.size}}
	for k, i := range f.inFile() {
		lo, hi := f.span(i)
		if k == 0 {
			spans[0][1] = lo
		}
		spans = append(spans, [2]int64{lo, hi})
	}
	sums := make([]uint32, 0, len(spans))
	for sum, err := range format.Ahead(func(yield func(func() (uint32, error)) bool) {
		for _, s := range spans {
			if !yield(func() (uint32, error) { return sumOf(ctx, r, s[0], s[1]) }) {
				return
			}
		}
	}) {
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return sums, nil
}

// sumBytes is how many bytes are read at a time for a sum; they stay in the processor's cache.
const sumBytes = 1 << 18

func sumOf(ctx context.Context, r io.ReaderAt, lo, hi int64) (uint32, error) {
	sum := crc32.NewIEEE()
	buf := make([]byte, max(1, min(sumBytes, hi-lo)))
	for part := io.NewSectionReader(r, lo, hi-lo); ; {
		n, err := io.ReadFull(part, buf)
		sum.Write(buf[:n])
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			if at, _ := part.Seek(0, io.SeekCurrent); at < hi-lo {
				return 0, misfit(lo+at, "the file became shorter: %w", io.ErrUnexpectedEOF)
			}
			return sum.Sum32(), nil
		case err != nil:
			return 0, err
		}
	}
}

// check compares the block i with its sum, if there is one.
func (f *file) check(ctx context.Context, r io.ReaderAt, i int) error {
	if f.sum == nil {
		return nil
	}
	lo, hi := f.span(i)
	got, err := sumOf(ctx, r, lo, hi)
	if err == nil && got != f.sum[i] {
		err = misfit(lo, "block %v, %d bytes: CRC-32 is %08x, want %08x as %s says", f.blocks[i].At, hi-lo, got, f.sum[i], f.beside)
	}
	return err
}

// settleLayout finds out whether the file fits another layout as well, because it holds no cell whose size would tell. The
// sidecar decides then, else the file is what it was taken for, and a note says so.
func (f *file) settleLayout(ctx context.Context, src io.ReaderAt, side *format.Sidecar) (*file, error) {
	for _, e := range f.blocks {
		if e.N > 0 || e.Kind == blockio.Dense && e.Body > 0 {
			return f, nil
		}
	}
	for _, l := range layouts {
		if l.name == f.dialect {
			continue
		}
		other, err := parse(ctx, src, f.size, l.name)
		if ctx.Err() != nil {
			return f, context.Cause(ctx)
		}
		if err != nil || slices.Equal(other.types, f.types) {
			continue
		}
		if side != nil && other.agrees(side) && !f.agrees(side) {
			note := fmt.Sprintf("no cell tells the layout: %s as %s says, else %s", l.name, f.beside, f.dialect)
			other.beside, other.notes = f.beside, append(other.notes, note)
			return other, nil
		}
		if len(f.types) > 0 {
			f.notes = append(f.notes, format.Warning(fmt.Sprintf("no cell tells the layout: %s with values of %v is taken; dialect=%s reads %v",
				f.dialect, f.types[0], l.name, other.types[0])))
		}
		return f, nil
	}
	return f, nil
}

// agrees reports whether the sidecar speaks of the same size and types.
func (f *file) agrees(s *format.Sidecar) bool {
	said, m := matrix.Meta{Name: "x"}, f.meta("x")
	if s.Fill(&said) != nil || said.Rows != m.Rows || said.Cols != m.Cols {
		return false
	}
	for c := range m.Cols {
		if said.ColType(c) != m.ColType(c) {
			return false
		}
		if m.ColTypes == nil && said.ColTypes == nil {
			break // all are the same
		}
	}
	return true
}

// apply takes from the sidecar what the file does not say. One that we did not write may be wrong: the file counts then,
// and a note says so.
func (r *reader) apply(s *format.Sidecar) error {
	if s == nil {
		return nil
	}
	said := matrix.Meta{Name: r.meta.Name}
	filled, agrees := s.Fill(&said), r.agrees(s)
	if !ours(s) {
		switch {
		case filled != nil:
			r.notes = append(r.notes, format.Warning(fmt.Sprintf("%s is of no use: %v", r.beside, filled)))
		case !agrees:
			r.notes = append(r.notes, format.Warning(fmt.Sprintf("%s speaks of another matrix, of %d x %d %v: the file counts",
				r.beside, said.Rows, said.Cols, said.DType)))
		default:
			r.label(said.Labels)
		}
		return nil
	}
	own := s.Thole
	if filled != nil || !agrees || own.Length != r.size || own.Sums != nil && len(own.Sums) != len(r.blocks)+1 {
		return r.otherFile(s)
	}
	if own.First > math.MaxInt64-r.meta.Cols {
		return fmt.Errorf("%s: first column %d: %w", r.beside, own.First, format.ErrCorrupt)
	}
	r.meta.Dims, r.meta.ColLo = said.Dims, own.First
	if r.label(said.Labels); r.data == csrMatrix && own.Names != nil {
		r.meta.Labels = own.Names
	}
	if own.Sums != nil {
		r.headSum, r.sum = own.Sums[0], make([]uint32, len(r.blocks))
		for k, i := range r.inFile() {
			r.sum[i] = own.Sums[k+1]
		}
	}
	return nil
}

// label gives the columns of a frame names that the file does not have.
func (r *reader) label(names []string) {
	if r.data == frame && len(names) > 0 && !slices.ContainsFunc(r.meta.Labels, func(l string) bool { return l != "" }) {
		r.meta.Labels = names
	}
}

// Verify implements format.Verifier: every block is compared with its sum in the sidecar, if there is one.
func (r *reader) Verify(ctx context.Context) (problems []string, err error) {
	if r.sum == nil {
		return nil, nil
	}
	got, err := r.sums(ctx, r.src)
	if err != nil {
		return nil, format.Wrap(name, r.path, err)
	}
	if got[0] != r.headSum {
		problems = append(problems, fmt.Sprintf("header: CRC-32 is %08x, want %08x", got[0], r.headSum))
	}
	for k, i := range r.inFile() {
		if lo, hi := r.span(i); got[k+1] != r.sum[i] {
			problems = append(problems, fmt.Sprintf("block %v, bytes %d to %d: CRC-32 is %08x, want %08x",
				r.blocks[i].At, lo, hi, got[k+1], r.sum[i]))
		}
	}
	return problems, nil
}

var _ format.Verifier = (*reader)(nil)
