package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/loss"
	"thole.example/matrix"
)

// Calibration compares what parameters predict of the training examples with their labels: the mean prediction of a sample of them, and
// the mean label of all. Both are means by the weights of the examples.
type Calibration struct {
	// Ratio is the mean prediction over the mean label, of the class where they differ most if there are several; 0: not measured, or the loss
	// predicts no mean.
	Ratio float64
	Was   float64   // the same before the bias was moved
	Moved []float64 // by how much the biases were moved so that the means agree; nil: they were not
}

// The sample has a sixteenth of the examples, but at least sampleLeast and at most sampleMost of them, in runs of consecutive ones: its
// mean prediction is within 2 % of that of all, and it costs less than 2 % of an epoch. Where there are few scores (finalScores) it has up
// to sampleKept: they cost nothing, because the final loss needs them, too. Where examples have many scores it is smaller.
const (
	sampleShare  = 16
	sampleLeast  = 1 << 14
	sampleMost   = 1 << 16
	sampleKept   = 1 << 18
	sampleRun    = 32
	sampleScores = 1 << 22
)

// Biases are moved until the means agree to calibrationEnd, in calibrationRounds at most, and only if they differ by more than
// calibrationLeast and by more than calibrationErrors standard errors of the sample's mean.
const (
	calibrationEnd    = 1e-4
	calibrationRounds = 16
	calibrationLeast  = 0.01
	calibrationErrors = 3
)

// calibrationBoard, and startBoard for the first parameters, have, for each round, the sums over the sample of weight times prediction of
// each class, of weight times its square, of the weights and of their squares.
const (
	calibrationBoard = "train.calibration"
	startBoard       = "train.start"
)

// expectation is what scores predict of the labels. Where a loss has one, the mean prediction is the mean label at the least loss that
// biases reach.
type expectation struct {
	// of gives predictions by the scores, as many as there are scores. nil: no prediction is a mean of labels, and where the least loss is
	// the mean gradient is 0.
	of func(to, score []float64)
	// step is what to add to a bias where the mean prediction should be the mean label; slope is the derivative of that by the bias.
	step func(mean, label, slope float64) float64
}

// expects is the expectation of a loss; nil: it has none.
func expects(name string) *expectation {
	switch name {
	case "logloss":
		return &expectation{func(to, score []float64) { to[0] = loss.Sigmoid(score[0]) }, func(mean, label, slope float64) float64 {
			return within1((math.Log(label/mean) - math.Log((1-label)/(1-mean))) * mean * (1 - mean) / slope)
		}}
	case "softmaxloss":
		return &expectation{softmax, logRatio}
	case "poissonloss":
		return &expectation{func(to, score []float64) { to[0] = math.Exp(score[0]) }, logRatio}
	case "l2loss":
		return &expectation{func(to, score []float64) { to[0] = score[0] }, difference}
	case "huberloss":
		return &expectation{nil, difference}
	}
	return nil
}

// Calibrates reports whether a training by a loss of that name can move the bias to where the loss is least (Options.Calibrate).
func Calibrates(loss string) bool { return expects(loss) != nil }

func difference(mean, label, _ float64) float64 { return label - mean }

func logRatio(mean, label, _ float64) float64 { return within1(math.Log(label / mean)) }

func within1(step float64) float64 { return max(-1, min(1, step)) }

func softmax(to, score []float64) {
	top, sum := score[0], 0.0
	for _, s := range score {
		top = max(top, s)
	}
	for k, s := range score {
		to[k] = math.Exp(s - top)
		sum += to[k]
	}
	for k := range to {
		to[k] /= sum
	}
}

// labelMean is the mean of the labels of all training examples, by their weights, of classes of one class: 1 where it is it, else 0.
type labelMean struct {
	Mean float64
	Size float64 // by which differences are measured: that of the mean, but of numbers at least a hundredth of their root mean square
}

// labelMeans are those of the training examples; nil: no finite score has them.
func (o *Options) labelMeans() (all []labelMean) {
	if o.Own != nil {
		return o.Own.Means
	}
	return labelMeans(o.Model.Loss.Name(), o.Data.Label, o.Data.Weight, o.Model.Width)
}

func labelMeans(loss string, label, weight []float32, width int) (all []labelMean) {
	switch loss {
	case "l2loss", "poissonloss", "huberloss":
		weights, sum, squares := 0.0, 0.0, 0.0
		for i, y := range label {
			w, v := weightOf(weight, i), float64(y)
			weights += w
			sum += float64(w * v)
			squares += float64(w * v * v)
		}
		m := labelMean{sum / weights, max(math.Abs(sum/weights), math.Sqrt(squares/weights)/100)}
		switch loss {
		case "poissonloss":
			m.Size = m.Mean
		case "huberloss": // of gradients
			m.Mean = 0
		}
		if m.Size > 0 {
			all = append(all, m)
		}
		return all
	}
	for _, v := range sharesOf(label, weight, width) {
		if !(v > 0 && v < 1) {
			return nil
		}
		all = append(all, labelMean{v, v})
	}
	return all
}

func weightOf(weight []float32, i int) float64 {
	if len(weight) == 0 {
		return 1
	}
	return float64(weight[i])
}

func sharesOf(label, weight []float32, width int) []float64 {
	by, all := make([]float64, width), 0.0
	for i, y := range label {
		w := weightOf(weight, i)
		switch all += w; {
		case width > 1:
			by[int(y)] += w
		case y > 0:
			by[0] += w
		}
	}
	for k := range by {
		by[k] /= all
	}
	return by
}

// Ratio is the mean prediction over the share of the positive class, by the weights; 0 where the loss has no probability of two classes,
// or there is one class.
func (s *Scored) Ratio() float64 {
	if s.Loss.Name() != "logloss" || len(s.Score) != len(s.Label) {
		return 0
	}
	of := expects("logloss").of
	sum, all, p := 0.0, 0.0, []float64{0}
	for i := range s.Score {
		of(p, s.Score[i:i+1])
		w := weightOf(s.Weight, i)
		sum += float64(w * p[0])
		all += w
	}
	if share := sharesOf(s.Label, s.Weight, 1)[0]; share > 0 && share < 1 {
		return sum / all / share
	}
	return 0
}

// sampled is some of this task's examples: their scores, labels and weights.
type sampled struct {
	score, weight []float64
	label         []float32
}

// sample scores a sample of this task's examples; of the final parameters all scores are kept, if they are not too many.
func (l *loop) sample(ctx context.Context, final bool) (*sampled, error) {
	all, width := l.rows(), l.Model.Width
	if final {
		if err := l.keepScores(ctx); err != nil {
			return nil, err
		}
	}
	want := min(max(all/sampleShare, sampleLeast), sampleMost, max(sampleRun, sampleScores/width))
	if l.final != nil {
		want = max(sampleRun, sampleKept/width)
	}
	every := max(1, all/want)
	var runs []matrix.Range
	for lo, n := 0, int64(0); lo < l.order.count; lo, n = lo+sampleRun*every, n+1 {
		at := lo + sampleRun*int(data.Uniform(l.Seed^uint64(l.rank)<<32, n)*float64(every))
		if at < l.order.count {
			runs = append(runs, span(at, min(at+sampleRun, l.order.count)))
		}
	}
	s := &sampled{}
	return s, l.order.among(runs, func(set *data.Set, rows []int) error {
		score, err := l.scores(ctx, set, rows)
		if err != nil {
			return err
		}
		s.score = append(s.score, score...)
		for _, row := range rows {
			s.weight = append(s.weight, weightOf(set.Weight, row))
			s.label = append(s.label, set.Label[row])
		}
		return nil
	})
}

// sums are what the sample adds to a column of the board, where scores are higher by so much.
func (s *sampled) sums(e *expectation, l graph.Loss, by []float64, offset float64) []float64 {
	width := len(by)
	sums, score, p := make([]float64, 2*width+2), make([]float64, width), make([]float64, width)
	for i, w := range s.weight {
		for k := range score {
			score[k] = s.score[i*width+k] + by[k] + offset
		}
		if e.of == nil {
			p[0] = gradient(l, score[0], s.label[i:i+1])
		} else {
			e.of(p, score)
		}
		if slices.ContainsFunc(p, math.IsNaN) { // evaluate reports it
			continue
		}
		for k, p := range p {
			sums[k] += float64(w * p)
			sums[width+k] += float64(w * p * p)
		}
		sums[2*width] += w
		sums[2*width+1] += float64(w * w)
	}
	return sums
}

// gradient is that of one label by its score.
func gradient(l graph.Loss, score float64, label []float32) float64 {
	at, grad := [1]float32{float32(score)}, [1]float32{}
	l.Loss(&graph.Tensor{Rows: 1, Cols: 1, Val: at[:]}, label, &graph.Tensor{Rows: 1, Cols: 1, Val: grad[:]})
	return float64(grad[0])
}

// calibrate measures how far the mean prediction is from the mean label, and has the bias of the scores make up for the difference, if
// that is asked for: steps end a training where the last batches left the bias.
func (l *loop) calibrate(ctx context.Context, r *Report) (err error) {
	if !l.Measured {
		return nil
	}
	r.Calibration, err = l.balance(ctx, calibrationBoard, r.Epochs, l.Calibrate)
	for i := range l.final {
		if by := r.Moved; len(by) > 0 {
			l.final[i] += by[i%len(by)]
		}
	}
	return err
}

// start has the bias of parameters that come from another training make up for the difference of the labels, before the first step.
// Steps that do that move the other weights, too, away from what they knew.
func (l *loop) start(ctx context.Context, r *Report) (err error) {
	if l.Balance && l.before+r.Epochs == 0 {
		r.Start, err = l.balance(ctx, startBoard, 0, true)
	}
	return err
}

// balance measures the difference, in the columns of a board, and moves the bias.
func (l *loop) balance(ctx context.Context, board string, epochs int, move bool) (c Calibration, err error) {
	e, label := expects(l.Model.Loss.Name()), []labelMean(nil)
	if e != nil {
		label = l.labelMeans()
	}
	if label == nil { // no score leads there
		return c, nil
	}
	final := board == calibrationBoard
	s, err := l.sample(ctx, final)
	if err != nil {
		return c, err
	}
	by, measured := make([]float64, len(label)), false
	for round := range l.rounds() {
		if err := l.showSums(board, round, s.sums(e, l.Model.Loss, by, l.Offset)); err != nil {
			return c, err
		}
		changed, err := l.assemble(ctx, l.before+epochs)
		if err != nil {
			return c, err
		}
		got, err := l.s.Pull(ctx, []matrix.Lookup{{Matrix: board, Cols: []int64{int64(round)}}})
		if err != nil {
			return c, err
		}
		if changed { // what the lost task had is in other samples now
			if s, err = l.sample(ctx, final); err != nil {
				return c, err
			}
			continue
		}
		m := means{label, got[0].Data.Values().([]float64)}
		ratio, apart := m.ratio(float64(len(s.weight)*len(l.present)) / float64(l.rows()))
		if math.IsNaN(ratio) || math.IsInf(ratio, 0) { // evaluate says it
			return c, nil
		}
		if c.Ratio = ratio; !measured {
			if c.Was, measured = ratio, true; !apart || !move || l.Model.Bias == "" {
				return c, nil
			}
		}
		if !m.next(by, e.step) {
			break
		}
	}
	c.Moved = by
	return c, l.moveBias(ctx, by)
}

// rounds is how many columns the board has.
func (l *loop) rounds() int {
	if l.Optional { // each may be without one more task
		return calibrationRounds + l.Tasks
	}
	return calibrationRounds
}

func (l *loop) showSums(board string, round int, sums []float64) error {
	if sums[len(sums)-1] == 0 {
		return nil
	}
	at := matrix.At(0, int64(len(sums)), int64(round), int64(round)+1)
	return l.s.Push(board, matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: sums}})
}

// moveBias has the first task add to the biases of the scores.
func (l *loop) moveBias(ctx context.Context, by []float64) error {
	if l.Task == 0 {
		got, err := l.s.Pull(ctx, []matrix.Lookup{{Matrix: l.Model.Bias}})
		if err != nil {
			return err
		}
		val, ok := got[0].Data.Values().([]float32)
		if !ok || len(val) != len(by) {
			return fmt.Errorf("train: bias %s has %d values, want %d of f32", l.Model.Bias, len(val), len(by))
		}
		moved := &matrix.Dense[float32]{Val: make([]float32, len(by))}
		for k, v := range val {
			moved.Val[k] = float32(float64(v) + by[k])
		}
		if err := l.s.Assign(l.Model.Bias, matrix.Block{At: matrix.At(0, 1, 0, int64(len(by))), Data: moved}); err != nil {
			return err
		}
	}
	return l.meet(ctx)
}

// means are those of the labels, and the sums of a column of the board.
type means struct {
	label []labelMean
	sums  []float64
}

// of is the mean prediction of a class, and the mean of its square.
func (m means) of(k int) (mean, square float64) {
	weight := m.sums[2*len(m.label)]
	return m.sums[k] / weight, m.sums[len(m.label)+k] / weight
}

// ratio is the mean prediction over the mean label, of the class where they differ most, and whether that is more than the sample, which
// is that part of all examples, may show by chance. It is 0 where the mean label is too small to divide by.
func (m means) ratio(part float64) (ratio float64, apart bool) {
	width, far := len(m.label), 0.0
	weight, squares := m.sums[2*width], m.sums[2*width+1]
	ratio = 1
	for k, label := range m.label {
		mean, square := m.of(k)
		variance := max(0, square-mean*mean)
		off := math.Abs(mean-label.Mean) / label.Size
		chance := calibrationErrors * math.Sqrt(variance*squares*max(0, 1-part)) / (weight * label.Size)
		if apart = apart || off > max(calibrationLeast, chance); off < far {
			continue
		}
		if far, ratio = off, mean/label.Mean; math.Abs(label.Mean) < label.Size {
			ratio = 0
		}
	}
	return ratio, apart
}

// next moves the biases by a step of Newton's method, with one score, or of iterative proportional fitting, and reports whether there was
// something to move.
func (m means) next(by []float64, step func(mean, label, slope float64) float64) bool {
	far, middle := 0.0, 0.0
	for k, label := range m.label {
		mean, square := m.of(k)
		far = max(far, math.Abs(mean-label.Mean)/label.Size)
		by[k] += step(mean, label.Mean, mean-square)
		middle += by[k] / float64(len(by))
	}
	if len(by) > 1 { // only differences count
		for k := range by {
			by[k] -= middle
		}
	}
	return far > calibrationEnd
}
