package matrix

// Compact holds the stored cells of b by the rows that have any, in time and memory that follow them and not the rows of
// the place: row i of the result, which is CSR with as many rows, is row rows[i] of b, ascending. CSR and dense data share
// their values with the result. (CSR data have a pointer for each row already, and that time it takes to look at them.)
func (b Block) Compact() (rows []int64, c Block) {
	rows, d := b.Data.compact(b.At)
	return rows, Block{Rect{Range{0, int64(len(rows))}, b.At.Cols}, d}
}

// Spread is the opposite of Compact: CSR data of the rows at, in which row i of b is row rows[i]. rows ascend within at,
// and there is one for each row of b, which is CSR. It shares everything but the row pointers with b.
func (b Block) Spread(rows []int64, at Range) Block {
	return Block{Rect{at, b.At.Cols}, b.Data.(spreader).spread(rows, at)}
}

type spreader interface {
	spread(rows []int64, at Range) Data
}

func (d *CSR[T]) spread(rows []int64, at Range) Data {
	ptr := make([]int, at.Len()+1)
	next := int64(0)
	for i, r := range rows {
		for ; next <= r-at.Lo; next++ {
			ptr[next] = d.Ptr[i]
		}
	}
	for end := d.Ptr[len(rows)]; next < int64(len(ptr)); next++ {
		ptr[next] = end
	}
	return &CSR[T]{ptr, d.Idx, d.Val}
}

func (e Empty) compact(Rect) ([]int64, Data) { return nil, KindOf(e.D).CSR([]int{0}, nil) }

func (d *CSR[T]) compact(at Rect) ([]int64, Data) {
	var rows []int64
	ptr := []int{0}
	for r := 1; r < len(d.Ptr); r++ {
		if d.Ptr[r] > d.Ptr[r-1] {
			rows, ptr = append(rows, at.Rows.Lo+int64(r)-1), append(ptr, d.Ptr[r])
		}
	}
	return rows, &CSR[T]{ptr, d.Idx, d.Val}
}

func (d *COO[T]) compact(at Rect) ([]int64, Data) {
	var rows []int64
	out := &CSR[T]{[]int{0}, make([]int64, len(d.Row)), make([]T, len(d.Row))}
	for i, o := range d.order() {
		out.Idx[i], out.Val[i] = d.Col[o], d.Val[o]
		if r := at.Rows.Lo + d.Row[o]; len(rows) == 0 || rows[len(rows)-1] != r {
			rows, out.Ptr = append(rows, r), append(out.Ptr, i)
		}
		out.Ptr[len(rows)] = i + 1
	}
	return rows, out
}

func (d *Cols[T]) compact(at Rect) ([]int64, Data) {
	return compactFull(d, len(d.Val), at, &CSR[T]{Ptr: []int{0}})
}
func (d *Dense[T]) compact(at Rect) ([]int64, Data) {
	return compactFull(d, len(d.Val), at, &CSR[T]{Ptr: []int{0}})
}

// compactFull is compact of data in which every row has cells, or none has; none is the result then.
func compactFull(d Data, cells int, at Rect, none Data) ([]int64, Data) {
	if cells == 0 {
		return nil, none
	}
	rows := make([]int64, at.Rows.Len())
	for i := range rows {
		rows[i] = at.Rows.Lo + int64(i)
	}
	return rows, d.csr(at)
}
