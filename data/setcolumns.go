package data

// places numbers the columns that have values from 0: by themselves, or in the order in which they come if Dim is more than there are
// values. n is above all numbers.
func (s *Set) places() (of func(column int64) int, n int) {
	if s.dim <= int64(s.values) {
		return func(column int64) int { return int(column) }, int(s.dim)
	}
	index := s.index()
	return index.find, index.taken
}

// index numbers the columns that have values from 0, in the order in which they come.
func (s *Set) index() *columnIndex {
	index := newColumnIndex(1)
	for _, row := range s.all() {
		for _, col := range row.idx {
			if index.find(col) < 0 {
				index.add(col, index.taken)
			}
		}
	}
	return index
}

// SharedMoreThan reports whether more than n columns have values in two examples or more.
func (s *Set) SharedMoreThan(n int) bool {
	if s.dim <= int64(n) {
		return false
	}
	seen, shared := newColumnIndex(1), 0 // the numbers are examples, up to 2
	for _, row := range s.all() {
		for _, col := range row.idx {
			switch seen.find(col) {
			case -1:
				seen.add(col, 1)
			case 1:
				seen.slot(col).number = 2
				if shared++; shared > n {
					return true
				}
			}
		}
	}
	return false
}

// Rare is how many columns there are that have values, and how many of them in fewer than n examples.
func (s *Set) Rare(n uint32) (occur, rare int) {
	place, columns := s.places()
	counts := make([]uint32, columns)
	for _, row := range s.all() {
		for _, col := range row.idx {
			counts[place(col)]++
		}
	}
	for _, count := range counts {
		if count > 0 {
			occur++
			if count < n {
				rare++
			}
		}
	}
	return occur, rare
}

// Noise estimates the variance of residuals, one for each example with a mean of 0, over the variance of the weights with which the columns
// explain them. Divided by the number of examples it is the penalty of ridge regression at which weights are to be believed as much as they
// say. The variance of the weights comes from products of the residuals of two examples of a column (the method of moments for random
// effects: Henderson, Estimation of variance and covariance components, 1953). Noise is the number of examples where the columns explain
// nothing, and at most that.
func (s *Set) Noise(residual []float32) float64 {
	n, variance := float64(s.Len()), 0.0
	place, columns := s.places()
	type sums struct{ square, fourth, product, squares float64 } // of x², x⁴, x·r and x²·r²
	all := make([]sums, columns)
	for i, row := range s.all() {
		r, x := float64(residual[i]), 1.0
		variance += float64(r * r / n)
		for k, col := range row.idx {
			if len(row.val) > 0 {
				x = float64(row.val[k])
			}
			c := &all[place(col)]
			c.square += float64(x * x)
			c.fourth += float64(x * x * x * x)
			c.product += float64(x * r)
			c.squares += float64(x * x * r * r)
		}
	}
	effect, pairs := 0.0, 0.0
	for _, c := range all {
		if c.square > 0 {
			effect += (float64(c.product*c.product) - c.squares) / c.square
			pairs += c.square - c.fourth/c.square
		}
	}
	if effect <= 0 || variance*pairs >= n*effect {
		return n
	}
	return variance * pairs / effect
}

// Size is the mean over the examples of the sum of their squared values, of which each counts at most 1: of one-hot features, how many an
// example has.
func (s *Set) Size() float64 {
	sum := 0.0
	for _, row := range s.all() {
		if len(row.val) == 0 {
			sum += float64(len(row.idx))
		}
		for _, v := range row.val {
			sum += min(1, float64(v)*float64(v))
		}
	}
	return sum / float64(max(1, s.Len()))
}
