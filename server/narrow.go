package server

import (
	"fmt"
	"sync"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// widen gives a push whose values came in fewer bytes than the matrices' have memory with all of them: what is behind knows values of
// the matrices' types only. The request itself is the caller's, who may send it again.
func (s *Server) widen(j *job, x *rpc.Exchange) error {
	size, any := int64(0), false
	for i := range x.Parts {
		p := &x.Parts[i]
		bytes := int64(len(p.Values))
		st, narrow, err := j.narrowed(p)
		if err != nil {
			return err
		}
		if narrow {
			any = true
			n, _ := p.Cells() // they were counted
			bytes = n * int64(st.meta.DType.Size())
		}
		size += (bytes+7)&^7 + 8*int64(len(p.Keys))
	}
	if !any {
		return nil
	}
	q := *x.Request
	q.Parts = make([]rpc.Part, len(x.Parts))
	q.Memory = rpc.MappedBuffer(int(size), s.Ledger.Force(budget.Queues, rpc.Taken(int(size))))
	room := q.Memory.Bytes()
	for i, p := range x.Parts {
		var err error
		if room, err = j.widenPart(&p, room); err != nil {
			q.Memory.Release()
			return err
		}
		q.Parts[i] = p
	}
	memory := x.Memory
	x.Request = &q
	memory.Release()
	return nil
}

// narrowed reports whether the part brings values in fewer bytes than those of its matrix have, and checks how many bytes.
func (j *job) narrowed(p *rpc.Part) (st *store, narrow bool, err error) {
	if p.Values == nil || p.Kind != rpc.KindDense && p.Kind != rpc.KindKeys {
		return nil, false, nil
	}
	if st, err = j.store(p.Matrix); err != nil || p.DType == st.meta.DType || !rpc.CanNarrow(st.meta.DType, p.DType) {
		return st, false, err
	}
	if size, ok := p.NarrowBytes(p.DType); !ok || size != int64(len(p.Values)) {
		return nil, false, fmt.Errorf("matrix %q: %d bytes of values of %v, want %d for the cells of the part: %w",
			st.meta.Name, len(p.Values), p.DType, size, rpc.ErrMalformed)
	}
	return st, true, nil
}

// widenPart moves the part's keys and values to the memory, and gives what is left of that.
func (j *job) widenPart(p *rpc.Part, room []byte) (left []byte, err error) {
	if n := 8 * len(p.Keys); n > 0 {
		keys, _ := wire.Numbers[int64](room[:n])
		copy(keys, p.Keys)
		p.Keys, room = keys, room[n:]
	}
	if p.Values == nil {
		return room, nil
	}
	st, narrow, err := j.narrowed(p)
	if err != nil {
		return nil, err
	}
	n := len(p.Values)
	if !narrow {
		copy(room, p.Values)
	} else {
		cells, _ := p.Cells()
		n = int(cells) * st.meta.DType.Size()
		if st.meta.DType == matrix.F32 {
			dst, _ := wire.Numbers[float32](room[:n])
			err = rpc.Widen(p, dst)
		} else {
			dst, _ := wire.Numbers[float64](room[:n])
			err = rpc.Widen(p, dst)
		}
		if err != nil {
			return nil, fmt.Errorf("matrix %q: %w", st.meta.Name, err)
		}
		p.DType = st.meta.DType
	}
	p.Values = room[:n:n]
	return room[(n+7)&^7:], nil
}

// answerType is the type of the values of an answer: f16 or bf16 if that is asked for and the matrix has wider floats.
func (s *store) answerType(p *rpc.Part) matrix.DType {
	if p.Kind != rpc.KindStored && !p.Own && p.DType != matrix.I8 && rpc.CanNarrow(s.meta.DType, p.DType) {
		return p.DType
	}
	return s.meta.DType
}

// narrowBytes is how many bytes a partition reads at once to narrow them.
const narrowBytes = 32 << 10

// wides are memory for that.
var wides = sync.Pool{New: func() any { return new([narrowBytes / 8]uint64) }}

// readNarrow reads dense cells or columns, some at a time, and puts them into dst as f16 or bf16.
func (r *read) readNarrow(dst []byte, p *rpc.Part) error {
	memory := wides.Get().(*[narrowBytes / 8]uint64)
	defer wides.Put(memory)
	room, from := wire.View(memory[:]), r.from.shard
	size, narrow := r.from.of.meta.DType.Size(), p.DType.Size()
	some := func(n int, one *rpc.Part, read func(wide []byte) error) error {
		wide := room
		if n*size > len(room) {
			wide = wire.View(make([]uint64, (n*size+7)/8)) // a column of many rows
		}
		wide = wide[:n*size]
		if err := read(wide); err != nil {
			return err
		}
		bad := narrowHalf(dst[:n*narrow], p.DType, r.from.of.meta.DType, wide)
		dst = dst[n*narrow:]
		if bad < 0 {
			return nil
		}
		row, col := r.from.of.cell(one, bad)
		return fmt.Errorf("matrix %q: the value of row %d, column %d is too large for %v: %w",
			r.from.of.meta.Name, row, col, p.DType, rpc.ErrRefused)
	}
	if p.Kind == rpc.KindKeys {
		rows := int(p.Rows.Len())
		most := max(1, narrowBytes/max(1, rows*size))
		for keys := r.keys; len(keys) > 0; {
			n := min(most, len(keys))
			one := rpc.Part{Kind: p.Kind, Rows: p.Rows, Keys: keys[:n]}
			if err := some(n*rows, &one, func(wide []byte) error { return from.Read(wide, p.Rows, one.Keys) }); err != nil {
				return err
			}
			keys = keys[n:]
		}
		return nil
	}
	for at := range strips(matrix.Rect{Rows: p.Rows, Cols: p.Cols}, narrowBytes/int64(size)) {
		cells, _ := at.Cells()
		one := rpc.Part{Kind: p.Kind, Rows: at.Rows, Cols: at.Cols}
		if err := some(int(cells), &one, func(wide []byte) error { return from.ReadRect(wide, at) }); err != nil {
			return err
		}
	}
	return nil
}

// narrowHalf rounds values of the type wide, and tells which is too large.
func narrowHalf(dst []byte, as, wide matrix.DType, values []byte) (tooLarge int) {
	if wide == matrix.F32 {
		v, _ := wire.Numbers[float32](values)
		return rpc.NarrowHalf(dst, as, v)
	}
	v, _ := wire.Numbers[float64](values)
	return rpc.NarrowHalf(dst, as, v)
}

// strips yields parts of the rectangle, row-major: whole rows of at most so many cells together, or parts of a row that has more.
func strips(at matrix.Rect, cells int64) func(yield func(matrix.Rect) bool) {
	return func(yield func(matrix.Rect) bool) {
		width := min(at.Cols.Len(), cells)
		high := max(1, cells/max(1, width))
		if width < at.Cols.Len() {
			high = 1
		}
		for row := at.Rows.Lo; row < at.Rows.Hi; row = min(row+high, at.Rows.Hi) {
			rows := matrix.Range{Lo: row, Hi: min(row+high, at.Rows.Hi)}
			for col := at.Cols.Lo; col < at.Cols.Hi; col = min(col+width, at.Cols.Hi) {
				if !yield(matrix.Rect{Rows: rows, Cols: matrix.Range{Lo: col, Hi: min(col+width, at.Cols.Hi)}}) {
					return
				}
			}
		}
	}
}
