package arrow

import (
	"fmt"
	"math"
	"math/bits"

	"thole.example/matrix"
	"thole.example/wire"
)

// nulls says what a null is.
type nulls uint8

const (
	nullError nulls = iota
	nullNaN
	nullZero
)

// value is the bytes of what a null of the type is.
func (n nulls) value(d matrix.DType) ([]byte, error) {
	v := 0.0
	switch {
	case n == nullError:
		return nil, fmt.Errorf("a null, want a number (the option nulls says what it shall be)")
	case n == nullNaN && !d.Float():
		return nil, fmt.Errorf("a null, which %v cannot hold as nan (the option nulls=0 makes it zero)", d)
	case n == nullNaN:
		v = math.NaN()
	}
	b, _ := matrix.Block{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[float64]{Val: []float64{v}}}.Cast(d)
	raw, _ := wire.ViewAny(b.Data.Values())
	return raw, nil
}

// bitmap is bits from the lowest of each byte on; the first of them is bit skip.
type bitmap struct {
	b    []byte
	skip int
}

func (m bitmap) has(i int) bool {
	i += m.skip
	return m.b[i/8]>>(i%8)&1 == 1
}

// absent counts the zeros among the first n bits.
func (m bitmap) absent(n int) int {
	ones, i := 0, 0
	for ; i < n && (i+m.skip)%8 != 0; i++ {
		ones += int(m.b[(i+m.skip)/8] >> ((i + m.skip) % 8) & 1)
	}
	for ; i+8 <= n; i += 8 {
		ones += bits.OnesCount8(m.b[(i+m.skip)/8])
	}
	for ; i < n; i++ {
		ones += int(m.b[(i+m.skip)/8] >> ((i + m.skip) % 8) & 1)
	}
	return n - ones
}
