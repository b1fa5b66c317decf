package kernel

import (
	"math"
	"math/bits"
)

// AddAll adds all values of v to e, exactly.
func AddAll[T Number](e *Exact, v []T) {
	switch v := any(v).(type) {
	case []float64:
		addFloats(machine, e, v, nil, valuesOf)
	case []float32:
		addFloats(machine, e, v, nil, valuesOf)
	case []int64:
		addInts(machine, e, v)
	case []int32:
		addInts(machine, e, v)
	}
}

// AddAbs adds the absolute values of v to e, exactly: that of the smallest integer too.
func AddAbs[T Number](e *Exact, v []T) {
	switch v := any(v).(type) {
	case []float64:
		addFloats(machine, e, v, nil, absOf)
	case []float32:
		addFloats(machine, e, v, nil, absOf)
	case []int64:
		addIntAbs(e, v)
	case []int32:
		addIntAbs(e, v)
	}
}

// AddSquares adds the squares of v to e, exactly: also those that are beyond T.
func AddSquares[T Number](e *Exact, v []T) { AddProducts(e, v, v) }

// AddProducts adds a[i]*b[i] to e, exactly: also products that are beyond T. a and b have one length.
func AddProducts[T Number](e *Exact, a, b []T) {
	checkLen(len(b), len(a), "b")
	switch a := any(a).(type) {
	case []float64:
		addFloats(machine, e, a, any(b).([]float64), productsOf)
	case []float32:
		addFloats(machine, e, a, any(b).([]float32), productsOf)
	case []int64:
		addIntProducts(e, a, any(b).([]int64))
	case []int32:
		addInt32Products(e, a, any(b).([]int32))
	}
}

// terms says what of the arguments is added.
type terms int

const (
	valuesOf terms = iota
	absOf
	productsOf
)

// chunk is how many values are cut into slices at a time.
const (
	chunkBits = 11
	chunk     = 1 << chunkBits
)

// addFloats adds what t says of a, and of b if it is about products. Chunks whose values are of similar size are added in a
// few float64, from which nothing is rounded away: see grid. The others, which are rare, go value by value.
func addFloats[T Float](on level, e *Exact, a, b []T, t terms) {
	if e.scale == 0 {
		e.scale = firstScale(a, b, t)
	}
	for len(a) > 0 {
		n := min(len(a), chunk)
		x, y := a[:n], b
		a = a[n:]
		if t == productsOf {
			y, b = b[:n], b[n:]
		}
		if addSlices(on, e, x, y, t) {
			e.failed = max(e.failed-1, 0)
			continue
		}
		if scale, ok := scaleOf(x, y, t); !ok || !addSlicesAt(on, e, x, y, t, scale) {
			addPieces(on, e, x, y, t)
		}
	}
}

// piece is how many values go one by one because of one of them.
const piece = 128

// addPieces adds a chunk of which some values do not fit in slices.
func addPieces[T Float](on level, e *Exact, a, b []T, t terms) {
	for len(a) > 0 {
		n := min(len(a), piece)
		x, y := a[:n], b
		a = a[n:]
		if t == productsOf {
			y, b = b[:n], b[n:]
		}
		if !addSlices(on, e, x, y, t) {
			addEach(e, x, y, t)
		}
	}
}

// addSlicesAt tries again with a scale that suits the chunk, and if that is the old one, with more slices.
func addSlicesAt[T Float](on level, e *Exact, a, b []T, t terms, scale int) bool {
	old := e.scale
	e.scale = scale
	if (scale > old || scale < old-sample) && addSlices(on, e, a, b, t) {
		return true
	}
	e.failed = min(e.failed+failure, 4*failure)
	return addDeepOn(on, e, a, b, t)
}

// failure is how many chunks must go well for one whose values are of too many sizes.
const failure = 16

// heavy says that it pays to take more slices at once.
func (e *Exact) heavy() bool { return e.failed > failure }

// addEach adds value by value.
func addEach[T Float](e *Exact, a, b []T, t terms) {
	switch t {
	case valuesOf:
		for _, v := range a {
			e.Add(float64(v))
		}
	case absOf:
		for _, v := range a {
			e.Add(math.Abs(float64(v)))
		}
	case productsOf:
		b = b[:len(a)]
		for i, v := range a {
			e.AddProduct(float64(v), float64(b[i]))
		}
	}
}

// scaleOf is the scale for values whose largest is that of the arguments; not ok if slices cannot hold them.
func scaleOf[T Float](a, b []T, t terms) (scale int, ok bool) {
	var most float64
	for i, v := range a {
		x := float64(v)
		if t == productsOf {
			x *= float64(b[i])
		}
		if x = math.Abs(x); !(x <= math.MaxFloat64) {
			return 0, false
		} else if x > most {
			most = x
		}
	}
	_, exp := math.Frexp(most)
	scale = max(exp+chunkBits+1, leastScale)
	return scale, scale <= mostScale
}

// firstScale guesses a scale from some values; the largest of the chunk may be a few times as large as theirs.
func firstScale[T Float](a, b []T, t terms) int {
	n := min(len(a), sample)
	if t == productsOf {
		b = b[:n]
	}
	scale, _ := scaleOf(a[:n], b, t)
	return min(max(scale+3, leastScale), mostScale)
}

const sample = 64

// Scales between which all constants of slices are normal numbers, also those of what products lose.
const (
	leastScale = -800
	mostScale  = 1000
)

// grid is the constants with which a chunk is added exactly: to a float64 near 1.5*2^scale, x is added rounded; what the
// sum has grown by is the upper slice of x; what is left of x is added to a second sum, for which it is small. If there is
// something left after that, or if x is so large that the sums may leave their power of two, the chunk is not added. What
// products lose in rounding has slices of its own, below.
type grid struct{ upper, lower, lostUpper, lostLower, limit float64 }

func gridOf(scale int) grid {
	return grid{
		upper: top(scale), lower: top(scale - sliceBits),
		lostUpper: top(scale - 53), lostLower: top(scale - 53 - sliceBits),
		limit: twoTo(scale - chunkBits - 1),
	}
}

// sliceBits is how far apart the scales of slices are: what is left of a whole chunk, each half a unit of the upper slice,
// is below half of the lower one.
const sliceBits = 52 - chunkBits

// top is the constant of a scale.
func top(scale int) float64 { return 1.5 * twoTo(scale) }

// twoTo is 2^n for n that give normal numbers.
func twoTo(n int) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

// cut adds x in two slices, to up and low, and returns what is left of it.
func cut(x, up, low float64) (newUp, newLow, rest float64) {
	newUp = up + x
	x -= newUp - up
	newLow = low + x
	return newUp, newLow, x - (newLow - low)
}

// addSlicesPlain adds a chunk if that is exact with the slices of the scale, and reports whether it did.
func addSlicesPlain[T Float](e *Exact, a, b []T, t terms) bool {
	k := gridOf(e.scale)
	if t == productsOf {
		return addProductSlices(e, a, b, &k)
	}
	up, low, limit, rest := k.upper, k.lower, k.limit, 0.0
	for _, v := range a {
		x := float64(v)
		abs := math.Abs(x)
		if t == absOf {
			x = abs
		}
		up, low, rest = cut(x, up, low)
		if rest != 0 || !(abs < limit) {
			return false
		}
	}
	e.Add(up - k.upper)
	e.Add(low - k.lower)
	return true
}

// tiny is the size below which the rounding error of a product may not be a float64.
const tiny = 0x1p-960

// twoProduct is a product, rounded, and what that lost; not ok if the loss may not be a float64.
func twoProduct(x, y float64) (p, lost float64, ok bool) {
	p = float64(x * y) // rounded, also where a machine would rather fuse it with what follows
	if math.Abs(p) < tiny && x != 0 && y != 0 {
		return 0, 0, false
	}
	return p, math.FMA(x, y, -p), true
}

// twoProducts fills p and lost, which have one length, with the products of the first values of a and b.
func twoProducts[T Float](p, lost []float64, a, b []T) (ok bool) {
	lost, a, b = lost[:len(p)], a[:len(p)], b[:len(p)]
	for i := range p {
		if p[i], lost[i], ok = twoProduct(float64(a[i]), float64(b[i])); !ok {
			return false
		}
	}
	return true
}

func addProductSlices[T Float](e *Exact, a, b []T, k *grid) bool {
	up, low, lostUp, lostLow := k.upper, k.lower, k.lostUpper, k.lostLower
	b = b[:len(a)]
	_, narrow := any(a).([]float32) // whose products are exact
	for i, v := range a {
		x, y := float64(v), float64(b[i])
		p, lost, ok := float64(x*y), 0.0, true
		var rest, lostRest float64
		if !narrow {
			p, lost, ok = twoProduct(x, y)
			lostUp, lostLow, lostRest = cut(lost, lostUp, lostLow)
		}
		up, low, rest = cut(p, up, low)
		if !ok || rest != 0 || lostRest != 0 || !(math.Abs(p) < k.limit) {
			return false
		}
	}
	e.Add(up - k.upper)
	e.Add(low - k.lower)
	e.Add(lostUp - k.lostUpper)
	e.Add(lostLow - k.lostLower)
	return true
}

// addSlices adds a chunk in the best way that there is, if that is exact, and reports whether it did.
func addSlices[T Float](on level, e *Exact, a, b []T, t terms) bool {
	n, ok := addSlicesOn(on, e, a, b, t)
	if !ok {
		return false
	}
	a = a[n:]
	if t == productsOf {
		b = b[n:]
	}
	if len(a) > 0 {
		if !addSlicesPlain(e, a, b, t) {
			addEach(e, a, b, t)
		}
	}
	return true
}

// addWords adds a number of 192 bits, in words whose last has the sign.
func (e *Exact) addWords(lo, mid uint64, hi int64) {
	e.add(lo, 0, 0)
	e.add(mid, 0, 64)
	e.add(magnitude(hi), hi>>63, 128)
}

func addInts[T int64 | int32](on level, e *Exact, v []T) {
	v = v[addIntsOn(on, e, v):]
	var lo, carry uint64
	var hi int64
	for _, x := range v {
		lo, carry = bits.Add64(lo, uint64(x), 0)
		hi += int64(x)>>63 + int64(carry)
	}
	e.addWords(lo, uint64(hi), hi>>63)
}

func addIntAbs[T int64 | int32](e *Exact, v []T) {
	var lo, hi, carry uint64
	for _, x := range v {
		lo, carry = bits.Add64(lo, magnitude(int64(x)), 0)
		hi += carry
	}
	e.addWords(lo, hi, 0)
}

func addIntProducts(e *Exact, a, b []int64) {
	b = b[:len(a)]
	var lo, mid, carry uint64
	var top int64
	for i, x := range a {
		y := b[i]
		h, l := bits.Mul64(uint64(x), uint64(y))
		h -= uint64(x>>63&y) + uint64(y>>63&x) // of signed numbers
		lo, carry = bits.Add64(lo, l, 0)
		mid, carry = bits.Add64(mid, h, carry)
		top += int64(h)>>63 + int64(carry)
	}
	e.addWords(lo, mid, top)
}

func addInt32Products(e *Exact, a, b []int32) {
	b = b[:len(a)]
	var lo, carry uint64
	var hi int64
	for i, x := range a {
		p := int64(x) * int64(b[i])
		lo, carry = bits.Add64(lo, uint64(p), 0)
		hi += p>>63 + int64(carry)
	}
	e.addWords(lo, uint64(hi), hi>>63)
}
