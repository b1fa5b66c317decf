package psf_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
)

// The functions in the plainest way, over all cells of the naive matrix.

// precise is enough for every sum of products of float64.
const precise = 4600

// total is an exact sum.
type total struct {
	sum                  big.Float
	plus, minus, nothing bool
}

func (s *total) add(v, w float64, times int64) {
	p := v * w
	switch {
	case math.IsInf(v, 0) || math.IsInf(w, 0) || p != p:
		s.nothing, s.plus, s.minus = s.nothing || p != p, s.plus || p > 0, s.minus || p < 0
		return
	}
	x := new(big.Float).SetPrec(precise).SetFloat64(v)
	x.Mul(x, new(big.Float).SetPrec(precise).SetFloat64(w))
	s.addBig(x, times)
}

func (s *total) addBig(x *big.Float, times int64) {
	x.Mul(x, new(big.Float).SetPrec(precise).SetInt64(times))
	s.sum.SetPrec(precise).Add(&s.sum, x)
}

// special is the sum if it is not finite.
func (s *total) special() (float64, bool) {
	switch {
	case s.nothing || s.plus && s.minus:
		return math.NaN(), true
	case s.plus:
		return math.Inf(1), true
	case s.minus:
		return math.Inf(-1), true
	}
	return 0, false
}

func (s *total) value() float64 {
	if v, ok := s.special(); ok {
		return v
	}
	v, _ := s.sum.Float64()
	return v + 0
}

func (s *total) root() float64 {
	if v, ok := s.special(); ok {
		return math.Sqrt(v)
	}
	v, _ := new(big.Float).SetPrec(precise).Sqrt(&s.sum).Float64()
	return v
}

// number is a float64 as answers have it.
func number(v float64) string {
	switch {
	case v != v:
		return `"NaN"`
	case math.IsInf(v, 0):
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// text is the sum as answers have it, of integers whole.
func (s *total) text(d matrix.DType) string {
	if n, acc := s.sum.Int(nil); !d.Float() && acc == big.Exact && n.IsInt64() {
		return n.String()
	}
	return number(s.value())
}

// cellText is a cell as answers have it.
func cellText[T kernel.Number](v T) string {
	f := float64(v)
	switch v := any(v).(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case int32:
		return strconv.Itoa(int(v))
	case float32:
		if f == f && !math.IsInf(f, 0) {
			return strconv.FormatFloat(f, 'g', -1, 32)
		}
	}
	return number(f)
}

// bigOf is a number as a big one.
func bigOf[T kernel.Number](v T) *big.Float {
	x := new(big.Float).SetPrec(precise)
	if n, ok := any(v).(int64); ok {
		return x.SetInt64(n)
	}
	return x.SetFloat64(float64(v))
}

func (n *naive[T]) sum(rows []int64, power int, abs bool) *total {
	s := &total{}
	n.all(rows, func(v T, times int64) {
		f := float64(v)
		if f != f || math.IsInf(f, 0) {
			if abs || power == 2 {
				f = math.Abs(f)
			}
			s.add(f, 1, 1)
			return
		}
		x := bigOf(v)
		if power == 2 {
			x.Mul(x, x)
		}
		if abs {
			x.Abs(x)
		}
		s.addBig(x, times)
	})
	return s
}

// dot is the inner product of two rows.
func (n *naive[T]) dot(a, b int64) *total {
	s := &total{}
	add := func(x, y T, times int64) {
		if p := float64(x) * float64(y); math.IsInf(float64(x), 0) || math.IsInf(float64(y), 0) || p != p {
			s.add(p, 1, 1)
			return
		}
		s.addBig(bigOf(x).Mul(bigOf(x), bigOf(y)), times)
	}
	n.storedCells([]int64{a}, func(_, col int64, x T) { add(x, n.get(b, col), 1) })
	if k := n.others(a); k > 0 {
		add(n.absent[a], n.absent[b], k)
	}
	return s
}

// size is the number of stored cells.
func (n *naive[T]) size(rows []int64) string {
	k := 0
	n.storedCells(rows, func(int64, int64, T) { k++ })
	return strconv.Itoa(k)
}

func (n *naive[T]) nnz(rows []int64) string {
	s := &total{}
	n.all(rows, func(v T, times int64) {
		if v != 0 {
			s.addBig(bigOf(int64(1)), times)
		}
	})
	return s.text(matrix.I64)
}

// extreme is the largest or least cell, or magnitude; that of the smallest integer is taken for the largest one.
func (n *naive[T]) extreme(rows []int64, least, magnitude bool) string {
	var best T
	found, none := false, false
	n.all(rows, func(v T, _ int64) {
		if magnitude && v < 0 {
			if v = -v; v < 0 {
				v = -(v + 1)
			}
		}
		none = none || v != v
		if !found || least && v < best || !least && v > best {
			best = v
		}
		found = true
	})
	switch {
	case !found:
		return "null"
	case none:
		return `"NaN"`
	}
	return cellText(best + 0)
}

func (n *naive[T]) equal(a, b int64, tolerance float64) string {
	same := true
	compare := func(x, y T) {
		var far bool
		var most T
		switch any(most).(type) {
		case float64, float32:
			d := math.Abs(float64(x - y))
			far = !(d <= float64(T(tolerance)))
		default:
			d := new(big.Float).SetPrec(precise).Sub(bigOf(x), bigOf(y))
			far = d.Abs(d).Cmp(bigOf(tolerance)) > 0
		}
		same = same && (x == y || !far)
	}
	n.storedCells([]int64{a}, func(_, col int64, x T) { compare(x, n.get(b, col)) })
	if n.others(a) > 0 {
		compare(n.absent[a], n.absent[b])
	}
	if same {
		return "1"
	}
	return "0"
}

func (n *naive[T]) topk(rows []int64, k int, abs bool) string {
	type place struct {
		row, col int64
		v        T
	}
	var all []place
	n.storedCells(rows, func(row, col int64, v T) {
		if v == v {
			all = append(all, place{row, col, v})
		}
	})
	type key struct { // orders floats, or integers
		f float64
		u uint64
	}
	order := func(v T) (k key) {
		switch n, whole := any(v).(int64); {
		case !whole && abs:
			k.f = math.Abs(float64(v))
		case !whole:
			k.f = float64(v)
		case abs:
			k.u = uint64(magnitude(n))
		default:
			k.u = uint64(n) ^ 1<<63
		}
		return k
	}
	slices.SortFunc(all, func(a, b place) int {
		x, y := order(a.v), order(b.v)
		return cmp.Or(cmp.Compare(y.f, x.f), cmp.Compare(y.u, x.u), cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col))
	})
	var out []string
	for _, p := range all[:min(k, len(all))] {
		out = append(out, fmt.Sprintf(`{"row":%d,"col":%d,"value":%s}`, p.row, p.col, cellText(p.v)))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// histogram counts in big numbers; those that are beyond int64 are answered as the largest one.
func (n *naive[T]) histogram(rows []int64, lo, hi float64, bins int) string {
	counts := make([]big.Int, bins+3)
	n.all(rows, func(v T, times int64) {
		at, x := bins+2, float64(v)
		switch {
		case x < lo:
			at = bins
		case x > hi:
			at = bins + 1
		case x == x:
			at = min(int((x-lo)*(float64(bins)/(hi-lo))), bins-1)
		}
		counts[at].Add(&counts[at], big.NewInt(times))
	})
	whole := make([]int64, len(counts))
	for i := range counts {
		if whole[i] = math.MaxInt64; counts[i].IsInt64() {
			whole[i] = counts[i].Int64()
		}
	}
	text, err := json.Marshal(psf.Histogram{Min: lo, Width: (hi - lo) / float64(bins), Bins: whole[:bins], Below: whole[bins],
		Above: whole[bins+1], NaN: whole[bins+2]})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// quantiles are the middles of the bins of the cells that have the ranks.
func (n *naive[T]) quantiles(rows []int64, ranks []float64, bits uint) string {
	type some struct {
		v     float64
		times int64
	}
	var all []some
	sum := new(big.Int)
	n.all(rows, func(v T, times int64) {
		if v == v {
			all = append(all, some{float64(v), times})
			sum.Add(sum, big.NewInt(times))
		}
	})
	if len(all) == 0 {
		return "null"
	}
	slices.SortFunc(all, func(a, b some) int { return cmp.Compare(a.v, b.v) })
	out := make([]string, len(ranks))
	for i, q := range ranks {
		// The least number of cells that is at least q of all.
		at := new(big.Rat).Mul(new(big.Rat).SetFloat64(q), new(big.Rat).SetInt(sum))
		var found float64
		seen := new(big.Int)
		for _, s := range all {
			found = s.v
			if seen.Add(seen, big.NewInt(s.times)); new(big.Rat).SetInt(seen).Cmp(at) >= 0 {
				break
			}
		}
		if found != 0 && !math.IsInf(found, 0) {
			found = math.Float64frombits(math.Float64bits(found)>>(52-bits)<<(52-bits) | 1<<(51-bits))
		}
		out[i] = number(found + 0)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// rounded is a number as one of the type.
func rounded[T kernel.Number](v float64) T {
	var zero T
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	switch any(zero).(type) {
	case float64, float32:
		return T(v)
	case int32:
		lo, hi = math.MinInt32, math.MaxInt32
	}
	if v != v {
		return 0
	}
	n, _ := bigOf(math.RoundToEven(min(max(v, -1e30), 1e30))).Int(nil)
	return clamped[T](n, lo, hi)
}

func clamped[T kernel.Number](n *big.Int, lo, hi int64) T {
	switch {
	case n.Cmp(big.NewInt(lo)) < 0:
		return T(lo)
	case n.Cmp(big.NewInt(hi)) > 0:
		return T(hi)
	}
	return T(n.Int64())
}

// law is what a formula does: f to floats, each operation rounded by r, and whole to whole numbers; nil: the same as f.
type law struct {
	shape   string // of the arguments: one, two, x/y, in place
	scalar  string // name of the argument that is s
	f       func(r func(float64) float64, x, y, s float64) float64
	integer func(x, y, s int64) int64
}

func plain(f func(x float64) float64) law {
	return law{shape: "one", f: func(_ func(float64) float64, x, _, _ float64) float64 { return f(x) }}
}

// rounding is of integers nothing.
func rounding(f func(x float64) float64) law {
	l := plain(f)
	l.integer = func(x, _, _ int64) int64 { return x }
	return l
}

func operation(f func(x, y float64) float64, integer func(x, y, s int64) int64) law {
	return law{shape: "two", f: func(_ func(float64) float64, x, y, _ float64) float64 { return f(x, y) }, integer: integer}
}

func withScalar(name string, f func(x, s float64) float64, integer func(x, s int64) int64) law {
	l := law{shape: "one", scalar: name, f: func(_ func(float64) float64, x, _, s float64) float64 { return f(x, s) }}
	if integer != nil {
		l.integer = func(x, _, s int64) int64 { return integer(x, s) }
	}
	return l
}

func inPlace(l law) law { l.shape = "in place"; return l }

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func magnitude(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// laws are those of the functions that are formulas.
var laws = map[string]law{
	"abs":    {shape: "one", f: plain(math.Abs).f, integer: func(x, _, _ int64) int64 { return magnitude(x) }},
	"add":    operation(func(x, y float64) float64 { return x + y }, func(x, y, _ int64) int64 { return x + y }),
	"adds":   withScalar("s", func(x, s float64) float64 { return x + s }, func(x, s int64) int64 { return x + s }),
	"ceil":   rounding(math.Ceil),
	"copy":   rounding(func(x float64) float64 { return x }),
	"div":    operation(func(x, y float64) float64 { return x / y }, nil),
	"divs":   withScalar("s", func(x, s float64) float64 { return x / s }, nil),
	"exp":    plain(math.Exp),
	"expm1":  plain(math.Expm1),
	"fill":   inPlace(withScalar("value", func(_, s float64) float64 { return s }, func(_, s int64) int64 { return s })),
	"floor":  rounding(math.Floor),
	"log":    plain(math.Log),
	"log10":  plain(math.Log10),
	"log1p":  plain(math.Log1p),
	"maxv":   operation(func(x, y float64) float64 { return max(x, y) }, func(x, y, _ int64) int64 { return max(x, y) }),
	"minv":   operation(func(x, y float64) float64 { return min(x, y) }, func(x, y, _ int64) int64 { return min(x, y) }),
	"mul":    operation(func(x, y float64) float64 { return x * y }, func(x, y, _ int64) int64 { return x * y }),
	"muls":   withScalar("s", func(x, s float64) float64 { return x * s }, func(x, s int64) int64 { return x * s }),
	"pow":    withScalar("p", power, nil),
	"round":  rounding(math.Round),
	"scale":  inPlace(withScalar("by", func(x, s float64) float64 { return x * s }, func(x, s int64) int64 { return x * s })),
	"signum": {shape: "one", f: plain(signOf).f, integer: func(x, _, _ int64) int64 { return int64(signOf(float64(x))) }},
	"softthreshold": {shape: "in place", scalar: "t",
		f: func(r func(float64) float64, x, _, t float64) float64 {
			return r(signOf(x) * max(r(math.Abs(x)-t), 0))
		},
		integer: func(x, _, t int64) int64 { return int64(signOf(float64(x))) * max(magnitude(x)-t, 0) }},
	"sqrt": plain(math.Sqrt),
	"sub":  operation(func(x, y float64) float64 { return x - y }, func(x, y, _ int64) int64 { return x - y }),
	"subs": withScalar("s", func(x, s float64) float64 { return x - s }, func(x, s int64) int64 { return x - s }),
	"axpy": {shape: "x, y", scalar: "a", f: func(r func(float64) float64, x, y, a float64) float64 { return r(a*x) + y },
		integer: func(x, y, a int64) int64 { return a*x + y }},
	"threshold": {shape: "in place", scalar: "below",
		f: func(_ func(float64) float64, x, _, b float64) float64 {
			if math.Abs(x) < b {
				return 0
			}
			return x
		},
		integer: func(x, _, b int64) int64 {
			if magnitude(x) < b {
				return 0
			}
			return x
		}},
}

func power(x, p float64) float64 {
	if p == 2 {
		return x * x
	}
	return math.Pow(x, p)
}

// apply is the law for cells of type T.
func apply[T kernel.Number](name string, x, y T, s float64) T {
	l := laws[name]
	var zero T
	switch any(zero).(type) {
	case float64, float32:
		r := func(v float64) float64 { return float64(T(v)) }
		return T(l.f(r, float64(x), float64(y), r(s)))
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if _, small := any(zero).(int32); small {
		lo, hi = math.MinInt32, math.MaxInt32
	}
	switch {
	case name == "pow" && s == math.Trunc(s) && s >= 0 && s <= 64:
		p := int64(1)
		for range int(s) {
			p *= int64(x)
		}
		return clamped[T](big.NewInt(p), lo, hi)
	case name == "threshold" && s != math.Trunc(s):
		if float64(magnitude(int64(x))) < s {
			return 0
		}
		return x
	case name == "softthreshold" && s != math.Trunc(s): // abs wraps around
		return rounded[T](signOf(float64(x)) * max(float64(magnitude(int64(x)))-s, 0))
	case l.integer != nil && s == math.Trunc(s):
		return clamped[T](big.NewInt(l.integer(int64(x), int64(y), int64(s))), lo, hi)
	}
	return rounded[T](l.f(func(v float64) float64 { return v }, float64(x), float64(y), s))
}
