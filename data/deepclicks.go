package data

import (
	"cmp"
	"math"
	"slices"
)

// DeepClicks describes click-through examples whose truth has parts for one kind of model each, so that better models reach
// better scores. A row has 13 numbers, of which every third is missing in 20 % of the rows, and one column of each of 26
// fields of 4 to 300,000 columns, with frequencies rank^-1.3. The log odds of its label are -1.75 plus
//
//	linear: a weight for every column and number                                  deviation 0.7
//	pairs:  <v_i, v_j> for 16 pairs of the 11 smallest fields, v of length 2      deviation 1.0: what FM and FFM can learn
//	hidden: 10 units s*sin(a+b+c) of three fields or numbers each                 deviation 1.2: what networks can learn
//
// with normal weights. Weights, rows and labels are functions of the seed and of their number alone, as those of Clicks are.
type DeepClicks struct {
	Seed uint64
	// Buckets: a number is one of 32 columns of value 1, the last one where it is missing, so that every row has 39 columns.
	// Else it is a column with the value log(1+number)/4, to four digits, and left out where it is missing.
	Buckets bool
}

const (
	deepNumbers = 13
	deepBuckets = 32
	deepSmall   = 15 // pairs and hidden units are of the fields from this one on: their columns occur often enough to learn
	deepPairs   = 16
	deepSample  = 100_000 // rows of which the parts are scaled to their deviations
	deepBias    = -1.75
	deepSkew    = -1.3
)

// deepSizes are the columns of each field after the numbers.
func deepSizes() [26]int {
	return [...]int{300_000, 250_000, 180_000, 100_000, 60_000, 40_000, 25_000, 12_000, 10_000, 8000, 5000, 4000, 3000, 2000, 1500,
		1000, 600, 500, 300, 100, 50, 25, 18, 15, 10, 4}
}

// DeepClickModel makes the rows of DeepClicks and knows the truth about them. Its methods may be called by many goroutines.
type DeepClickModel struct {
	DeepClicks
	dim    int64
	counts []amount // of the first counts
	weight [deepNumbers]float64
	normal [deepNumbers]gauss
	absent [deepNumbers]stream
	fields [26]deepField
	pairs  [][2]int // fields
	units  [10]hiddenUnit
	label  stream
	bias   float64 // of the log-odds

	mean, scale [3]float64 // of the parts
}

// deepField is a field of columns.
type deepField struct {
	first   int64
	ranks   *ranks
	draw    stream
	weight  []float64
	factors [][2]float32 // of the small fields
}

// hiddenUnit is sign*sin of a sum of three terms.
type hiddenUnit struct {
	sign   float64
	of     [3]int // fields; those of numbers come after the others
	weight [3][]float64
}

// NewDeepClicks prepares the model, which takes a good part of a second.
func NewDeepClicks(c DeepClicks) *DeepClickModel {
	m := &DeepClickModel{DeepClicks: c, dim: deepNumbers, label: newStream(c.Seed, 6000), bias: deepBias, scale: [3]float64{1, 1, 1}}
	if c.Buckets {
		m.dim = deepNumbers * deepBuckets
	}
	for count := range 1 << 12 {
		m.counts = append(m.counts, amountOf(float64(count)))
	}
	wide := newGauss(c.Seed, 3)
	for f := range m.weight {
		tag := uint64(f)
		m.weight[f] = wide.at(tag) * 0.5
		m.normal[f], m.absent[f] = newGauss(c.Seed, 4000+tag), newStream(c.Seed, 5000+tag)
	}
	for f, n := range deepSizes() {
		tag := uint64(f)
		field := deepField{first: m.dim, ranks: newRanks(n), draw: newStream(c.Seed, 3000+tag), weight: newGauss(c.Seed, 1000+tag).first(n)}
		if f >= deepSmall {
			a, b := newGauss(c.Seed, 2000+2*tag).first(n), newGauss(c.Seed, 2001+2*tag).first(n)
			for i := range a {
				field.factors = append(field.factors, [2]float32{float32(a[i]), float32(b[i])})
			}
		}
		m.fields[f] = field
		m.dim += int64(n)
	}
	m.combine()
	m.normalise()
	return m
}

// combine chooses the pairs and the hidden units.
func (m *DeepClickModel) combine() {
	var all [][2]int
	for i := deepSmall; i < len(m.fields); i++ {
		for j := i + 1; j < len(m.fields); j++ {
			all = append(all, [2]int{i, j})
		}
	}
	for _, k := range newStream(m.Seed, 1).order(len(all))[:deepPairs] {
		m.pairs = append(m.pairs, all[k])
	}
	signs := newGauss(m.Seed, 2)
	for h := range m.units {
		u := &m.units[h]
		u.sign = signs.at(uint64(h))
		for i, k := range newStream(m.Seed, 100+uint64(h)).order(len(m.fields) + deepNumbers - deepSmall)[:3] {
			if u.of[i] = deepSmall + k; u.of[i] < len(m.fields) {
				u.weight[i] = newGauss(m.Seed, uint64(10000+100*h+u.of[i])).first(len(m.fields[u.of[i]].weight))
			}
		}
	}
}

// normalise finds how the parts get their deviations and the mean 0, from rows that nobody trains on.
func (m *DeepClickModel) normalise() {
	var row deepRow
	var sum, square [3]float64
	parts := make([][3]float64, deepSample)
	for i := range parts {
		m.draw(1<<39+uint64(i), &row)
		parts[i] = m.parts(&row)
		for k, v := range parts[i] {
			sum[k] += v
		}
	}
	for k := range sum {
		m.mean[k] = sum[k] / deepSample
	}
	for _, p := range parts {
		for k, v := range p {
			square[k] += (v - m.mean[k]) * (v - m.mean[k])
		}
	}
	for k, deviation := range [3]float64{0.7, 1.0, 1.2} {
		m.scale[k] = deviation / math.Sqrt(square[k]/deepSample)
	}
}

// stream is uniform numbers that are a function of their place.
type stream uint64

func newStream(seed, tag uint64) stream { return stream(mix(seed*golden + tag*0xd1342543de82ef95)) }

// at is uniform in (0,1).
func (s stream) at(i uint64) float64 {
	return (float64(mix(uint64(s)+i*golden)>>11) + 0.5) / (1 << 53)
}

// order is the first n places by their numbers.
func (s stream) order(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(i, j int) int { return cmp.Compare(s.at(uint64(i)), s.at(uint64(j))) })
	return all
}

// gauss is normal numbers that are a function of their place (Box and Muller 1958).
type gauss struct{ radius, angle stream }

func newGauss(seed, tag uint64) gauss {
	return gauss{newStream(seed, tag), newStream(seed, tag+500_000)}
}

func (g gauss) at(i uint64) float64 {
	return math.Sqrt(-2*math.Log(g.radius.at(i))) * math.Cos(2*math.Pi*g.angle.at(i))
}

// first are the numbers at the first n places.
func (g gauss) first(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = g.at(uint64(i))
	}
	return all
}
