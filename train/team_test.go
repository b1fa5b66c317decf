package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ssp"
)

var errDies = errors.New("dies")

// mortal is a session of a task that dies when it has come to a clock: what it pushed since then was not sent.
type mortal struct {
	Session
	at int
}

func (m mortal) dies() error {
	if m.Now() >= m.at {
		return errDies
	}
	return nil
}

func (m mortal) Clock(ctx context.Context, weight, rate float64) error {
	return errors.Join(m.dies(), m.Session.Clock(ctx, weight, rate))
}

func (m mortal) Next(ctx context.Context, weight, rate float64, l []matrix.Lookup,
	meanwhile func()) ([]matrix.Block, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.Session.Next(ctx, weight, rate, l, meanwhile)
}

// A training by optional tasks has the bits of one by others, whatever is watched or written, as long as nobody goes away.
func TestOptionalSame(t *testing.T) {
	held := set(examples(60, 9))
	for name, o := range map[string]Options{
		"plain": {},
		"early": {Valid: held, Early: &Early{Patience: 3}},
		"watch": {Valid: held, Watch: true},
		"held":  {Valid: held, Window: 40},
	} {
		t.Run(name, func(t *testing.T) {
			o.Data, o.Batch, o.Seed, o.Rate, o.Epochs = set(examples(150, 1)), 16, 3, rate(0.2), 4
			w := world{tasks: 3, servers: 2}
			reports, want := w.trained(t, o)
			w.optional = true
			again, got := w.trained(t, o)
			if !slices.Equal(got, want) || !reflect.DeepEqual(again, reports) {
				t.Errorf("it is another training: %+v, want %+v", again[0], reports[0])
			}
		})
	}
}

// Whoever dies, wherever it is, the others end the training with the metrics of all held-out examples, and tell what was left out. From the
// next epoch on they have its examples.
func TestGone(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 1, ssp.ASP} {
		for _, watch := range []bool{false, true} {
			for at := range 40 {
				t.Run(fmt.Sprint(bound, watch, at), func(t *testing.T) {
					var told []Gone
					seen := map[int]int64{}
					o := Options{Data: set(examples(150, 1)), Valid: set(examples(60, 9)), Watch: watch, Batch: 30, Seed: 3, Rate: rate(0.2), Epochs: 4}
					o.Events = func(e Event) {
						told = append(told, e.Gone...)
						seen[e.Epoch] = e.Rows
					}
					w := world{tasks: 3, servers: 2, bound: bound, optional: true, dies: map[int]int{1: at}}
					reports, weights, errs := w.job(t, o)
					if !errors.Is(errs[1], errDies) {
						if at < 20 {
							t.Fatalf("task 1: %v", errs[1])
						}
						return // it had ended
					}
					if errs[0] != nil || errs[2] != nil {
						t.Fatal(errs)
					}
					r := reports[0]
					if bound == ssp.BSP && !reflect.DeepEqual(r, reports[2]) {
						t.Errorf("the others tell %+v and %+v", r, reports[2])
					}
					if len(told) > 1 || len(told) == 1 && (told[0].Task != 1 || told[0].Examples != 50 || told[0].Left != 50-10*told[0].Step) {
						t.Errorf("told %+v", told)
					}
					if len(r.Gone) > 0 && len(told) > 0 && r.Gone[0].Step > 0 && r.Gone[0] != told[0] {
						t.Errorf("the report says %+v, want %+v", r.Gone[0], told[0])
					}
					if r.Epochs != 4 || r.Valid == nil {
						t.Errorf("report %+v", r)
					}
					if watch {
						return
					}
					if want := measured(t, weights); math.Abs(want-r.Valid[0].Value) > 1e-6 {
						t.Errorf("held-out examples: %v, want loss %v", r.Valid, want)
					}
				})
			}
		}
	}
}

// measured is the loss of the held-out examples by weights of lr, computed by its definition.
func measured(t *testing.T, weights []float32) float64 {
	t.Helper()
	if len(weights) != 31 {
		t.Fatalf("%d weights, want one for each of 30 features and a bias", len(weights))
	}
	b, total := examples(60, 9), 0.0
	x := b.X.Data.(*matrix.CSR[float32])
	for i, y := range b.Label {
		sum := float64(weights[30])
		for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
			sum += float64(x.Val[k]) * float64(weights[x.Idx[k]])
		}
		total += math.Log1p(math.Exp(-float64(y) * sum))
	}
	return total / float64(len(b.Label))
}

// A task that is told to go has the others share its examples from the next epoch on, and nothing is left out. All examples are then
// trained on once per epoch.
func TestLeaves(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
		var told []Gone
		o := Options{Data: set(examples(150, 1)), Batch: 30, Seed: 3, Rate: rate(0.2), Epochs: 4}
		o.Events = func(e Event) { told = append(told, e.Gone...) }
		o.Leaves = func() bool { return true }
		w := world{tasks: 3, servers: 2, bound: bound, optional: true, goes: 2}
		reports, _, errs := w.job(t, o)
		if !errors.Is(errs[2], ErrLeft) || errs[0] != nil || errs[1] != nil {
			t.Fatal(errs)
		}
		want := Gone{Task: 2, Epoch: 1, Step: 5, Steps: 5, Examples: 50, OnRequest: true}
		if !slices.Equal(told, []Gone{want}) || !slices.Equal(reports[0].Gone, told) {
			t.Errorf("told %+v, report %+v, want %+v", told, reports[0].Gone, want)
		}
	}
}

// When others wait the training ends between two epochs, with a checkpoint that more tasks go on from, or fewer; what comes out has the bits of
// any other training that changed its tasks there.
func TestOthers(t *testing.T) {
	o := Options{Data: set(examples(150, 1)), Batch: 30, Seed: 3, Rate: rate(0.2), Epochs: 4}
	bucket := &blob.Mem{}
	w := world{tasks: 2, servers: 2, optional: true, bucket: bucket, steps: 1}
	asked := 0
	ending := o
	ending.Others = func(context.Context) (bool, error) { asked++; return asked == 2, nil }
	_, _, errs := w.job(t, ending)
	if !errors.Is(errs[0], ErrOthers) || errs[1] == nil {
		t.Fatal(errs)
	}
	var want []float32
	for _, servers := range []int{1, 3} {
		on := world{tasks: 3, servers: servers, optional: true, bucket: bucket, resume: "step10", same: true, attempt: 2}
		reports, got := on.trained(t, o)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || reports[2].Epochs != 4 || len(reports[2].Gone) > 0 {
			t.Errorf("on %d servers: other weights, %+v", servers, reports[2])
		}
	}
	plain := world{tasks: 3, servers: 1, bucket: bucket, resume: "step10", same: true}
	if _, got := plain.trained(t, o); !slices.Equal(got, want) {
		t.Error("tasks that are not optional have other weights")
	}
}

// A training goes on in the midst of an epoch with the shares that it had: who is missing leaves its share out, and who is new has none, until
// the next epoch.
func TestOthersAmid(t *testing.T) {
	o := Options{Data: set(examples(150, 1)), Batch: 30, Seed: 3, Rate: rate(0.2), Epochs: 3}
	w := world{tasks: 3, servers: 2, optional: true, bucket: &blob.Mem{}, steps: 7}
	reports, want := w.trained(t, o)
	w.steps, w.resume, w.same, w.attempt = 0, "step7", true, 2
	if again, got := w.trained(t, o); !slices.Equal(got, want) || !reflect.DeepEqual(again[0], reports[0]) {
		t.Errorf("all are there, and it is another training")
	}
	for _, tasks := range []int{2, 5} {
		var told []Event
		var mu sync.Mutex
		on := w
		on.tasks = tasks
		o.Events = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			if len(e.Gone)+len(e.Back) > 0 {
				told = append(told, e)
			}
		}
		again, _ := on.trained(t, o)
		if again[0].Epochs != 3 || len(told) != 1 || told[0].Epoch != 2 {
			t.Fatalf("%d tasks: %+v, told %+v", tasks, again[0], told)
		}
		if tasks == 5 && (!slices.Equal(told[0].Back, []int{3, 4}) || told[0].Gone != nil) {
			t.Errorf("told %+v", told)
		}
	}
	o.Events = nil
	small := w
	small.tasks, o.Batch = 2, 60
	if _, _, errs := small.job(t, o); errors.Join(errs...) == nil || !strings.Contains(errors.Join(errs...).Error(), "want the examples, tasks and batch as they were") {
		t.Error(errs)
	}
}
