package matrix

// Want is a piece of a matrix that a computation needs: all rows, and the columns Cols (ascending, none twice), or all
// columns if Cols is nil.
type Want struct {
	Matrix string
	Cols   []int64
}
