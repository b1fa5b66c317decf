package algo

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
)

// world keeps the matrices of a model in slices and applies their rules at each clock: what the parameter servers do,
// for one task and without servers. It runs every matrix as dense.
type world struct {
	mats map[string]*mat
}

type mat struct {
	meta  matrix.Meta
	step  psf.Step
	w     []float32
	sum   []float32
	slots [][]float32
	t     int64
	rate  float64
	fixed bool
}

func newWorld(m *graph.Model) (*world, error) {
	p := &world{map[string]*mat{}}
	for _, meta := range m.Params() {
		rule, err := optim.Find(nil, meta.Rule)
		if err != nil {
			return nil, err
		}
		step, err := rule.Bind(meta.Hyper)
		if err != nil {
			return nil, err
		}
		n := meta.Rows * meta.Cols
		x := &mat{meta: meta.Meta, step: step, w: make([]float32, n), sum: make([]float32, n), rate: meta.Rate, fixed: meta.Fixed}
		draw := matrix.NewDraw(meta.Init.Seed, meta.Name)
		for i := range x.w {
			x.w[i] = float32(meta.Init.Cell(draw, int64(i)/meta.Cols, meta.ColLo+int64(i)%meta.Cols))
		}
		for range rule.Slots {
			x.slots = append(x.slots, make([]float32, n))
		}
		p.mats[meta.Name] = x
	}
	return p, nil
}

func (p *world) Pull(_ context.Context, lookups []graph.Lookup) ([]matrix.Block, error) {
	var blocks []matrix.Block
	for _, lookup := range lookups {
		x := p.mats[lookup.Matrix]
		if lookup.Plan != nil {
			lookup.Cols = lookup.Plan.Unique()
		}
		if lookup.Cols == nil {
			blocks = append(blocks, matrix.Block{At: x.meta.Rect(), Data: &matrix.Dense[float32]{Val: slices.Clone(x.w)}})
			continue
		}
		c := &matrix.Cols[float32]{Idx: lookup.Cols}
		for _, col := range lookup.Cols {
			for r := range x.meta.Rows {
				c.Val = append(c.Val, x.w[r*x.meta.Cols+col-x.meta.ColLo])
			}
		}
		blocks = append(blocks, matrix.Block{At: x.meta.Rect(), Data: c})
	}
	return blocks, nil
}

func (p *world) Plan(keys []int64, matrices []string) ([]matrix.Plan, error) {
	x := &graph.Index{}
	x.Build(keys)
	return slices.Repeat([]matrix.Plan{x}, len(matrices)), nil
}

func (p *world) PushPlanned(name string, plan matrix.Plan, grad []float32) error {
	return p.Push(name, matrix.Block{At: p.mats[name].meta.Rect(), Data: &matrix.Cols[float32]{Idx: plan.Unique(), Val: grad}})
}

func (p *world) Push(name string, grad matrix.Block) error {
	x := p.mats[name]
	return matrix.Add(matrix.Block{At: x.meta.Rect(), Data: &matrix.Dense[float32]{Val: x.sum}}, grad)
}

func (p *world) Clock(_ context.Context, weight, rate float64) error {
	for _, x := range p.mats {
		for i := range x.sum {
			x.sum[i] = float32(float64(x.sum[i]) / weight)
		}
		x.t++
		own := rate
		switch {
		case x.fixed:
			own = x.rate
		case x.rate != 0:
			own *= x.rate
		}
		x.step.F32(x.w, x.sum, x.slots, own, x.t)
		clear(x.sum)
	}
	return nil
}

// examples reads a file of ../shared/data, or skips the test: libsvm with columns from 1 on, or dummy from 0 on.
func examples(t testing.TB, name string) *data.Batch {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "data", name))
	if err != nil {
		t.Skipf("no data: %v", err)
	}
	defer f.Close()
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		tokens := strings.Fields(lines.Text())
		label, err := strconv.ParseFloat(tokens[0], 32)
		if err != nil {
			t.Fatal(err)
		}
		b.Label = append(b.Label, float32(label))
		for _, tok := range tokens[1:] {
			id, val, both := strings.Cut(tok, ":")
			c, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			v := 1.0
			if both {
				c--
				if v, err = strconv.ParseFloat(val, 32); err != nil {
					t.Fatal(err)
				}
			}
			x.Idx, x.Val = append(x.Idx, c), append(x.Val, float32(v))
		}
		x.Ptr = append(x.Ptr, len(x.Idx))
	}
	b.X = matrix.Block{At: matrix.At(0, int64(len(b.Label)), 0, 1<<40), Data: x}
	return b
}

// rows is the batch of the examples numbered.
func rows(b *data.Batch, which []int) *data.Batch {
	from, to := b.Rows(), &matrix.CSR[float32]{Ptr: []int{0}}
	out := &data.Batch{}
	for _, i := range which {
		out.Label = append(out.Label, b.Label[i])
		to.Idx = append(to.Idx, from.Idx[from.Ptr[i]:from.Ptr[i+1]]...)
		to.Val = append(to.Val, from.Val[from.Ptr[i]:from.Ptr[i+1]]...)
		to.Ptr = append(to.Ptr, len(to.Idx))
	}
	out.X = matrix.Block{At: matrix.At(0, int64(len(which)), 0, 1<<40), Data: to}
	return out
}

// cut divides the examples into batches of size rows, in order. With wrap the last one is filled up from the start.
func cut(b *data.Batch, size int, wrap bool) []*data.Batch {
	var out []*data.Batch
	for lo := 0; lo < b.Len(); lo += size {
		var which []int
		for i := lo; i < lo+size && (wrap || i < b.Len()); i++ {
			which = append(which, i%b.Len())
		}
		out = append(out, rows(b, which))
	}
	return out
}

// folds are every k-th row from the first on, and the others.
func folds(b *data.Batch, k int) (held, rest *data.Batch) {
	var one, two []int
	for i := range b.Len() {
		if i%k == 0 {
			one = append(one, i)
		} else {
			two = append(two, i)
		}
	}
	return rows(b, one), rows(b, two)
}

// job is a training in a world.
type job struct {
	t     testing.TB
	run   *graph.Run
	world *world
}

func begin(t testing.TB, m *graph.Model) *job {
	t.Helper()
	run, err := graph.NewRun(m)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(m)
	if err != nil {
		t.Fatal(err)
	}
	return &job{t, run, w}
}

// epoch trains on the batches and answers the mean loss of the last one.
func (j *job) epoch(batches []*data.Batch, rate float64) (last float64) {
	j.t.Helper()
	for _, b := range batches {
		sum, err := j.run.Train(context.Background(), j.world, b, rate)
		if err != nil {
			j.t.Fatal(err)
		}
		last = sum / float64(b.Len())
	}
	return last
}

// fit trains on the examples in file order as the settings say, all of which must be given.
func (j *job) fit(b *data.Batch, d Defaults) {
	j.t.Helper()
	s, err := optim.FindSchedule(d.Schedule)
	if err != nil {
		j.t.Fatal(err)
	}
	batches := cut(b, d.Batch, false)
	calls := d.Epochs
	if d.PerBatch {
		calls *= len(batches)
	}
	rate, err := s.Bind(d.Rate, calls, map[string]float64{"warmup": float64(d.Warmup)})
	if err != nil {
		j.t.Fatal(err)
	}
	for c := range calls {
		if d.PerBatch {
			j.epoch(batches[c%len(batches):][:1], rate(c+1))
		} else {
			j.epoch(batches, rate(c+1))
		}
	}
}

// shuffle trains as package train does: on the examples in another order in each epoch, in steps as large as each other.
func (j *job) shuffle(b *data.Batch, d Defaults) {
	j.t.Helper()
	s, err := optim.FindSchedule(d.Schedule)
	if err != nil {
		j.t.Fatal(err)
	}
	steps := (b.Len() + d.Batch - 1) / d.Batch
	rate, err := s.Bind(d.Rate, d.Epochs*steps, map[string]float64{"warmup": float64(min(d.Warmup, steps/10))})
	if err != nil {
		j.t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 5))
	for e := range d.Epochs {
		order := rng.Perm(b.Len())
		for s := range steps {
			lo, hi := s*len(order)/steps, (s+1)*len(order)/steps
			j.epoch([]*data.Batch{rows(b, order[lo:hi])}, rate(e*steps+s+1))
		}
	}
}

func (j *job) weights(name string) []float32 { return j.world.mats[name].w }

// score is what a model does on examples.
type score struct{ loss, auc, acc, mse, r2 float64 }

func (s score) String() string {
	return fmt.Sprintf("loss %.6f auc %.6f acc %.6f mse %.6f r2 %.6f", s.loss, s.auc, s.acc, s.mse, s.r2)
}

func (j *job) score(b *data.Batch) (s score) {
	j.t.Helper()
	lookups, err := j.run.Lookups(j.world, b)
	if err != nil {
		j.t.Fatal(err)
	}
	params, err := j.world.Pull(context.Background(), lookups)
	if err != nil {
		j.t.Fatal(err)
	}
	n := float64(b.Len())
	sum, err := j.run.Loss(b, params)
	if err != nil {
		j.t.Fatal(err)
	}
	out, err := j.run.Scores(b, params)
	if err != nil {
		j.t.Fatal(err)
	}
	mean, total := 0.0, 0.0
	for _, y := range b.Label {
		mean += float64(y) / n
	}
	loss := j.run.Model().Loss
	for i, y := range b.Label {
		said := loss.Predict(nil, out.Row(i))[0]
		if v := out.Row(i)[0]; loss.Task() == Multiclass && said == float64(y) || loss.Task() != Multiclass && v*y >= 0 {
			s.acc += 1 / n
		}
		d := said - float64(y)
		s.mse += d * d / n
		total += (float64(y) - mean) * (float64(y) - mean) / n
	}
	if s.loss, s.r2 = sum/n, 1-s.mse/total; out.Cols == 1 {
		s.auc = auc(out.Val, b.Label)
	}
	return s
}

// auc is the exact area under the curve, ties counted half.
func auc(out, label []float32) float64 {
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(out[a], out[b]) })
	pos, neg, sum := 0.0, 0.0, 0.0
	for lo := 0; lo < len(order); {
		hi, p := lo, 0.0
		for ; hi < len(order) && out[order[hi]] == out[order[lo]]; hi++ {
			if label[order[hi]] > 0 {
				p++
			}
		}
		n := float64(hi-lo) - p
		sum += p*neg + p*n/2
		pos, neg, lo = pos+p, neg+n, hi
	}
	return sum / (pos * neg)
}

// norm2 is the squared length of the weights.
func (j *job) norm2(name string) (sum float64) {
	for _, w := range j.weights(name) {
		sum += float64(w) * float64(w)
	}
	return sum
}

func near(t testing.TB, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %.9f, want %.9f within %g", what, got, want, within)
	}
}
