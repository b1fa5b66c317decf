package matrix

// Lookup is what a computation needs of a matrix: all rows of the columns Cols (ascending, none twice), or of all columns if
// Cols is nil. It is what layers know as an embedding lookup.
type Lookup struct {
	Matrix string
	Cols   []int64
}
