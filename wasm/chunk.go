package wasm

import (
	"context"
	"unsafe"

	"thole.example/wire"
)

// ChunkLimit is the greatest number of cells that a module is given at once.
const ChunkLimit = 16384

// Elem is the type of cells.
type Elem interface {
	float64 | float32 | int64 | int32
}

// Codes of the types of cells.
const (
	CodeF64 = 1
	CodeF32 = 2
	CodeI64 = 3
	CodeI32 = 4
)

func codeOf[T Elem]() uint64 {
	switch any(*new(T)).(type) {
	case float64:
		return CodeF64
	case float32:
		return CodeF32
	case int64:
		return CodeI64
	}
	return CodeI32
}

// aligned is n rounded up to a multiple of 8.
func aligned(n int) int { return (n + 7) &^ 7 }

// Map computes the cells of dst from those of rows, which have the same length; dst may be one of them. The columns are first,
// first+1 and so on, or those of cols, one for each cell, if it is not nil. rows are as many as the module's Description says.
// After an error, dst holds what it held or what was computed, in pieces of [ChunkLimit].
func Map[T Elem](ctx context.Context, in *Instance, dst []T, rows [][]T, first int64, cols []int64) error {
	if !in.m.c.has[exportMap] {
		return in.m.failed(exportMap, "the module does not export it")
	}
	if err := in.fits(exportMap, len(dst), lengths(rows), cols); err != nil {
		return err
	}
	return pieces(len(dst), rows, first, cols, func(lo, hi int, rows [][]T, first int64, cols []int64) error {
		return run(ctx, in, exportMap, rows, first, cols, nil, dst[lo:hi])
	})
}

// Add gives a get function the cells of a row, or of several beside each other, as Map does; row is the number of the first.
func Add[T Elem](ctx context.Context, in *Instance, row int64, rows [][]T, first int64, cols []int64) error {
	if !in.m.c.has[exportChunk] {
		return in.m.failed(exportChunk, "the module does not export it")
	}
	if len(rows) == 0 {
		return in.m.failed(exportChunk, "no rows, want %d", in.m.c.about.Rows)
	}
	n := len(rows[0])
	if err := in.fits(exportChunk, n, lengths(rows), cols); err != nil {
		return err
	}
	return pieces(n, rows, first, cols, func(lo, hi int, rows [][]T, first int64, cols []int64) error {
		return run(ctx, in, exportChunk, rows, first, cols, []uint64{uint64(row)}, nil)
	})
}

func lengths[T Elem](rows [][]T) []int {
	n := make([]int, len(rows))
	for i, row := range rows {
		n[i] = len(row)
	}
	return n
}

// fits checks the shape of a call's cells.
func (in *Instance) fits(function string, n int, rows []int, cols []int64) error {
	if len(rows) != in.m.c.about.Rows {
		return in.m.failed(function, "%d rows, want %d", len(rows), in.m.c.about.Rows)
	}
	for i, k := range rows {
		if k != n {
			return in.m.failed(function, "%d cells in row %d, want %d", k, i, n)
		}
	}
	if cols != nil && len(cols) != n {
		return in.m.failed(function, "%d columns, want %d", len(cols), n)
	}
	return nil
}

// pieces calls f for pieces of the cells that a module can be given.
func pieces[T Elem](n int, rows [][]T, first int64, cols []int64, f func(lo, hi int, rows [][]T, first int64, cols []int64) error) error {
	cut := make([][]T, len(rows))
	for lo := 0; lo < n; lo += ChunkLimit {
		hi := min(lo+ChunkLimit, n)
		for i, row := range rows {
			cut[i] = row[lo:hi]
		}
		var some []int64
		if cols != nil {
			some = cols[lo:hi]
		}
		if err := f(lo, hi, cut, first+int64(lo), some); err != nil {
			return err
		}
	}
	return nil
}

// run gives the module one piece: the rows, each from a multiple of 8 on, and the columns behind them. If dst is not nil, the
// result stands where the first row was.
func run[T Elem](ctx context.Context, in *Instance, name string, rows [][]T, first int64, cols []int64, more []uint64, dst []T) error {
	if err := in.rt.enter(); err != nil {
		return err
	}
	defer in.rt.leave()
	size := int(unsafe.Sizeof(*new(T)))
	n := len(rows[0])
	stride := aligned(n * size)
	need := len(rows)*stride + 8*len(cols)
	b, err := in.room(ctx, max(need, aligned(ChunkLimit*size)*len(rows))) // a first, short piece should not ask twice
	if err != nil {
		return err
	}
	for i, row := range rows {
		wire.Put(b[i*stride:i*stride+n*size], row, wire.Little)
	}
	var at uint64
	if cols != nil {
		wire.Put(b[len(rows)*stride:need], cols, wire.Little)
		at = uint64(in.buffer) + uint64(len(rows)*stride)
	}
	args := append([]uint64{codeOf[T](), uint64(n), uint64(len(rows)), uint64(first), at}, more...)
	if err := in.status(ctx, name, args...); err != nil || dst == nil {
		return err
	}
	if b, err = in.view(name, in.buffer, uint32(n*size)); err != nil { // the memory may have moved
		return err
	}
	wire.Get(dst, b, wire.Little)
	return nil
}

// End is the answer of a get function for what it was given.
func (in *Instance) End(ctx context.Context) ([]byte, error) {
	if !in.m.c.has[exportEnd] {
		return nil, in.m.failed(exportEnd, "the module does not export it")
	}
	if err := in.rt.enter(); err != nil {
		return nil, err
	}
	defer in.rt.leave()
	return in.answer(ctx, exportEnd, in.m.limits.Result)
}

// Merge makes one answer of the answers of all partitions, in their order. It runs at the caller, in an instance of its own
// with the same argument.
func (m *Module) Merge(ctx context.Context, arg []byte, parts [][]byte) ([]byte, error) {
	if !m.c.has[exportMerge] {
		return nil, m.failed(exportMerge, "the module does not export it")
	}
	need := 0
	for i, p := range parts {
		if len(p) > m.limits.Result {
			return nil, m.failed(exportMerge, "part %d has %d bytes, want at most %d", i, len(p), m.limits.Result)
		}
		if need += 8 + aligned(len(p)); int64(need) > m.limits.Memory {
			return nil, m.failed(exportMerge, "the answers of %d partitions, want at most %d bytes in all", len(parts), m.limits.Memory)
		}
	}
	in, err := m.New(ctx, arg)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := m.rt.enter(); err != nil {
		return nil, err
	}
	defer m.rt.leave()
	b, err := in.room(ctx, need)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		wire.Put(b[:8], []uint64{uint64(len(p))}, wire.Little)
		end := 8 + aligned(len(p))
		clear(b[8+copy(b[8:], p) : end])
		b = b[end:]
	}
	return in.answer(ctx, exportMerge, m.limits.Result, uint64(len(parts)))
}
