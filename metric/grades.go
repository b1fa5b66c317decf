package metric

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The metrics of rankings. Labels are grades, how much an example matters to its group: the gain of one is 2^grade - 1, and it is
// relevant if its grade is above 0. They are of regressions, too, whose labels may be grades as well. NDCG@k and MAP@k have any number of
// places behind the @, of which the table has a few.
var (
	ndcg   = cutAt(normalizedGain, 0)
	ndcg5  = cutAt(normalizedGain, 5)
	ndcg10 = cutAt(normalizedGain, 10)
	meanAP = cutAt(averagePrecisions, 0)
	map10  = cutAt(averagePrecisions, 10)
)

// placed is a kind of metric of the first places of a ranking.
type placed struct {
	name, help string
	usual      []int // numbers of places of those that are told where nobody asked
	of         func(r *ranking, group []entry) float64
}

var normalizedGain = &placed{"ndcg",
	"gains 2^grade - 1, each over log2(place + 1), by those of the best order of the group; mean of the groups",
	[]int{0, 10}, (*ranking).ndcg}

var averagePrecisions = &placed{"map", "average precision within each group, of relevant examples (grade above 0); mean of the groups",
	[]int{0}, (*ranking).averagePrecision}

// cutAt is the metric of the first k places; 0: of all.
func cutAt(p *placed, k int) Metric {
	m := Metric{Name: p.name, Help: p.help, Tasks: []Task{Ranking, Regression}, Better: Larger, Groups: true}
	m.Usual = slices.Contains(p.usual, k)
	if k > 0 {
		m.Name, m.Help = m.Name+"@"+strconv.Itoa(k), p.name+" of the first "+strconv.Itoa(k)+" places of each group"
	}
	m.Of = func(in *Input) float64 {
		total := in.groupTotal(p.of, k)
		return total.mean()
	}
	return m
}

// atPlaces is the metric that a name such as ndcg@20 is of; nil: none.
func atPlaces(name string) *Metric {
	kind, places, _ := strings.Cut(name, "@")
	k, err := strconv.Atoi(places)
	if err != nil || k < 1 || strconv.Itoa(k) != places { // 07 and +7 would be two names of one metric
		return nil
	}
	for _, p := range []*placed{normalizedGain, averagePrecisions} {
		if p.name == kind {
			m := cutAt(p, k)
			return &m
		}
	}
	return nil
}

// NDCG is the metric ndcg of examples that Check accepts, and the weight of their groups by which it is a mean; NaN without groups.
func NDCG(in *Input) (mean, weight float64) {
	total := in.groupTotal((*ranking).ndcg, 0)
	return total.mean(), total.weight
}

// ranking measures the order in groups, one after the other.
type ranking struct {
	in     *Input
	k      int
	sums   []float64 // sums[i] is that of the discounts of the first i places
	grades []float64
}

// GradeLimit is the largest grade: gains are powers of 2.
const GradeLimit = 30

// groupTotal is the sum over the groups, each with the mean weight of its examples. It is NaN without groups, and where labels are no
// grades.
func (in *Input) groupTotal(of func(r *ranking, group []entry) float64, k int) weighted {
	if in.Group == nil {
		return weighted{sum: math.NaN()}
	}
	r := &ranking{in: in, k: k, sums: []float64{0}}
	if k == 0 {
		r.k = math.MaxInt
	}
	var total weighted
	for group := range in.grouped() {
		w := 0.0
		for _, e := range group {
			if y := in.Label[e.example()]; y < 0 || y > GradeLimit {
				return weighted{sum: math.NaN()}
			}
			w += in.weight(e.example())
		}
		if w /= float64(len(group)); w > 0 {
			total.sum += w * of(r, group)
			total.weight += w
		}
	}
	return total
}

// discounts is the sum of those of the places lo to hi, which are 1/log2(place + 1), counted from 1 on, up to the last that counts.
func (r *ranking) discounts(lo, hi int) float64 {
	lo, hi = min(lo, r.k), min(hi, r.k)
	for i := len(r.sums); i <= hi; i++ {
		r.sums = append(r.sums, r.sums[i-1]+1/math.Log2(float64(i)+1))
	}
	return r.sums[hi] - r.sums[lo]
}

// ties are the examples of one score after the other, the highest one first, and how many stand before.
func (r *ranking) ties(group []entry, each func(before int, same []entry)) {
	for lo := 0; lo < min(len(group), r.k); {
		hi := lo + 1
		for hi < len(group) && r.in.Score[group[hi].example()] == r.in.Score[group[lo].example()] {
			hi++
		}
		each(lo, group[lo:hi])
		lo = hi
	}
}

// ndcg is the discounted gain of a group over the largest that there is (K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation
// of IR techniques, 2002; gains by C. Burges et al., Learning to rank using gradient descent, 2005). Examples of equal scores have the
// mean of what they would have in each order (F. McSherry and M. Najork, Computing information retrieval performance measures efficiently
// in the presence of tied scores, 2008), as in scikit-learn. A group of which nothing is relevant has 1, as in LightGBM and XGBoost.
func (r *ranking) ndcg(group []entry) float64 {
	r.grades = r.grades[:0]
	for _, e := range group {
		r.grades = append(r.grades, r.in.Label[e.example()])
	}
	slices.SortFunc(r.grades, func(a, b float64) int { return cmp.Compare(b, a) })
	best, got := 0.0, 0.0
	for i, y := range r.grades[:min(len(r.grades), r.k)] {
		best += gain(y) * r.discounts(i, i+1)
	}
	if best == 0 {
		return 1
	}
	r.ties(group, func(before int, same []entry) {
		sum := 0.0
		for _, e := range same {
			sum += gain(r.in.Label[e.example()])
		}
		got += sum / float64(len(same)) * r.discounts(before, before+len(same))
	})
	return got / best
}

func gain(grade float64) float64 { return math.Exp2(grade) - 1 }

// averagePrecision is the sum of the precisions at the places of relevant examples, over how many of these the places have room for; of
// equal scores the mean over all orders (McSherry and Najork). A group without relevant examples has 1, as in LightGBM.
func (r *ranking) averagePrecision(group []entry) float64 {
	var all, sum, above float64
	for _, e := range group {
		all += truth(e.positive())
	}
	if all == 0 {
		return 1
	}
	r.ties(group, func(before int, same []entry) {
		n, hits := float64(len(same)), 0.0
		for _, e := range same {
			hits += truth(e.positive())
		}
		if hits == 0 {
			return
		}
		share, others := hits/n, 0.0 // of each place that is relevant, and of the others if one is
		if hits > 1 {
			others = (hits - 1) / (n - 1)
		}
		for j := range min(len(same), r.k-before) {
			sum += share * (above + float64(j)*others + 1) / float64(before+j+1)
		}
		above += hits
	})
	return sum / min(all, float64(r.k))
}
