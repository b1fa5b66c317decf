package matrix

// Lookup is what a computation needs of a matrix: all rows, and the columns Cols (ascending, none twice), or all columns if
// Cols is nil.
type Lookup struct {
	Matrix string
	Cols   []int64
}
