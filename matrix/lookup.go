package matrix

// Lookup is what a computation needs of a matrix: all rows of the columns Cols (ascending, none twice), or of those of Plan, or
// of all columns if there is neither. It is what layers know as an embedding lookup.
type Lookup struct {
	Matrix string
	Cols   []int64
	Plan   Plan
	// Into, if not nil, is where the values of a float32 matrix go: row-major if all columns are asked for; with a Plan, column
	// after column with its values for all rows. It has their number of elements, and the answer's data are over it.
	Into []float32
}

// Plan is the different columns that a batch names, in an order that suits whoever keeps the matrix.
type Plan interface {
	// Unique is the columns without duplicates. The slice is the plan's.
	Unique() []int64
	// Positions appends to dst, for each column that was planned, its position in Unique.
	Positions(dst []uint32) []uint32
}
