package matrix

// Kind builds data of one element type chosen while running. KindOf returns the one of a DType.
type Kind interface {
	// Dense is dense data over a new slice of n zeros.
	Dense(n int) Data
	// CSR is compressed sparse rows over ptr and idx and a new slice of len(idx) zeros.
	CSR(ptr []int, idx []int64) Data
	// COO is coordinates over row and col and a new slice of len(row) zeros.
	COO(row, col []int64) Data
	// Cols is selected columns over idx and a new slice of len(idx)*rows zeros.
	Cols(idx []int64, rows int) Data
}

type kind[T Stored] struct{}

func (kind[T]) Dense(n int) Data                { return &Dense[T]{make([]T, n)} }
func (kind[T]) CSR(ptr []int, idx []int64) Data { return &CSR[T]{ptr, idx, make([]T, len(idx))} }
func (kind[T]) COO(row, col []int64) Data       { return &COO[T]{row, col, make([]T, len(row))} }
func (kind[T]) Cols(idx []int64, rows int) Data { return &Cols[T]{idx, make([]T, len(idx)*rows)} }

var kinds = [...]Kind{
	F64: kind[float64]{}, F32: kind[float32]{},
	I64: kind[int64]{}, I32: kind[int32]{}, I16: kind[int16]{}, I8: kind[int8]{},
	U64: kind[uint64]{}, U32: kind[uint32]{}, U16: kind[uint16]{}, U8: kind[uint8]{},
	F16: kind[Float16]{}, BF16: kind[BFloat16]{}, Bool: kind[Boolean]{},
}

// KindOf builds data of element type d, which must be valid: it panics on Invalid, a bug of the caller (codecs check
// the codes they read before).
func KindOf(d DType) Kind { return kinds[d] }

// NewDense is a dense block of zeros at the place. The caller has checked that the place is small enough to allocate.
func NewDense(d DType, at Rect) Block {
	n, _ := at.Cells()
	return Block{at, KindOf(d).Dense(int(n))}
}
