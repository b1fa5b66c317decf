package kernel

import "unsafe"

// Gradient is the first and the second derivative of a loss by one score, as whole numbers: multiples of a power of two.
type Gradient struct{ G, H int32 }

// GradientSum is a sum of them. Sums of whole numbers have no order.
type GradientSum struct{ G, H int64 }

// Add adds another sum.
func (s *GradientSum) Add(o GradientSum) { s.G, s.H = s.G+o.G, s.H+o.H }

// Minus is the sum without another one.
func (s GradientSum) Minus(o GradientSum) GradientSum { return GradientSum{s.G - o.G, s.H - o.H} }

// Flat is the same memory as numbers: G and H of one sum after the other.
func Flat(sums []GradientSum) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(sums))), 2*len(sums))
}

// Codes are rows of small numbers: row r is Bytes[r*Stride:], with a byte for each of Narrow and, from the next even place on, two
// (little-endian) for each of Wide. Code c of a group belongs to cell c beyond the group's.
type Codes struct {
	Bytes        []byte
	Stride       int
	Narrow, Wide []uint32 // first cells
}

// Row is one row.
func (c *Codes) Row(r int) []byte { return c.Bytes[r*c.Stride:][:c.Stride] }

// WideAt is where the first code of two bytes lies in a row.
func (c *Codes) WideAt() int { return (len(c.Narrow) + 1) &^ 1 }

// SumGradients adds grads[r] of each of the rows to the cells of the row's codes. That rows and codes are no larger than there is room
// for is up to the caller: the assembly does not look.
func SumGradients(sums []GradientSum, c *Codes, rows []uint32, grads []Gradient) {
	checkGroups(sums, c)
	if rest := sumGradientsOn(machine, sums, c, rows, grads); len(rest) > 0 {
		sumGradients(sums, c, rest, grads)
	}
}

// checkGroups panics if codes are of no use.
func checkGroups(sums []GradientSum, c *Codes) {
	for _, first := range c.Narrow {
		_ = sums[first]
	}
	for _, first := range c.Wide {
		_ = sums[first]
	}
	need := len(c.Narrow)
	if len(c.Wide) > 0 {
		need = c.WideAt() + 2*len(c.Wide)
	}
	checkLen(min(c.Stride, need), need, "rows of codes")
}

func sumGradients(sums []GradientSum, c *Codes, rows []uint32, grads []Gradient) {
	narrow, at := len(c.Narrow), c.WideAt()
	for _, r := range rows {
		d := grads[r]
		g, h := int64(d.G), int64(d.H)
		row := c.Row(int(r))
		for i, code := range row[:narrow] {
			s := &sums[int(c.Narrow[i])+int(code)]
			s.G += g
			s.H += h
		}
		for i, first := range c.Wide {
			s := &sums[int(first)+(int(row[at+2*i])|int(row[at+2*i+1])<<8)]
			s.G += g
			s.H += h
		}
	}
}
