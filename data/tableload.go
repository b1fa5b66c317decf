package data

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"thole.example/feature"
)

// fit finds out what the rows say of the columns, and adds them to the set as the examples that they then are.
func (l *loader) fit() (*feature.Transform, error) {
	o, plan := &l.open, l.plan
	var held func(int) bool
	if t := l.opt.Table; t != nil && t.Held != nil {
		held = t.Held(o.label, o.group)
	}
	fit := plan.Fit(o.parts, o.label, held)
	if t := l.opt.Table; t != nil && t.Found != nil {
		t.Found(fit)
	}
	t, ids, err := fit.Transform()
	if err != nil {
		return nil, err
	}
	if err := l.nameLabels(fit, t); err != nil {
		return nil, err
	}
	return t, l.finish(t, ids)
}

// nameLabels makes codes of labels that are texts the numbers of these, and maps them as others are.
func (l *loader) nameLabels(fit *feature.Fit, t *feature.Transform) error {
	numbers := fit.Labels(t)
	if numbers == nil {
		return nil
	}
	if n := len(t.LabelTexts()); l.opt.Labels == AutoTrans && n == 1 {
		return fmt.Errorf("column %q: label %q in all examples, want two: %w", t.Label(), t.LabelTexts()[0], ErrLabel)
	} else if l.opt.Labels == AutoTrans && n > 2 {
		return fmt.Errorf("column %q: label has more than two values (%q, %q, %q, ...); for classes use --loss multiclass (trees) "+
			"or --algo softmax: %w",
			t.Label(), t.LabelTexts()[0], t.LabelTexts()[1], t.LabelTexts()[2], ErrLabel)
	}
	for n := range t.LabelTexts() {
		l.join.kinds.add(float32(n), 0, l.opt.Labels)
	}
	c := chunk{}
	s := &settings{Options: l.opt}
	for i, code := range l.open.label {
		y, err := c.mapLabel(s, numbers[int(code)])
		if err == nil && l.opt.Takes != nil && l.opt.Labels < AutoTrans {
			err = l.opt.Takes(y)
		}
		if err != nil {
			return fmt.Errorf("example %d: %w", i+1, err)
		}
		l.open.label[i] = y
	}
	return nil
}

// finish adds the rows to the set, a part after the other, with the ids that levels have now. Parts are made ready on all processors.
func (l *loader) finish(t *feature.Transform, ids [][]int32) error {
	parts, first := l.open.parts, 0
	n := max(1, runtime.GOMAXPROCS(0))
	free, ready := make(chan *rows, 2*n), make([]chan *rows, len(parts))
	for range 2 * n {
		r := newRows(0, 0, true)
		free <- &r
	}
	for i := range ready {
		ready[i] = make(chan *rows, 1)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := make(chan struct{})
	defer close(stop)
	for range n {
		wg.Go(func() {
			out := make([]feature.Values, t.Fields())
			for { // a place first, then a part: so the part that is waited for has one
				select {
				case r := <-free:
					i := int(next.Add(1)) - 1
					if i >= len(parts) {
						return
					}
					r.of(t, ids, parts[i], l.opt.Exact, out)
					ready[i] <- r
				case <-stop:
					return
				}
			}
		})
	}
	for i, p := range parts {
		r := <-ready[i]
		r.label = l.open.label[first : first+p.Rows]
		if len(l.open.weight) > 0 {
			r.weight = l.open.weight[first : first+p.Rows]
		}
		if len(l.open.group) > 0 {
			r.group = l.open.group[first : first+p.Rows]
		}
		r.start = startsOf(l.open.start, len(l.open.label), first, first+p.Rows)
		if err := l.set.add(r); err != nil {
			return err
		}
		first += p.Rows
		p.Done()
		parts[i] = nil
		r.label, r.weight, r.group, r.start = nil, nil, nil, nil // which are not its own
		free <- r
	}
	return nil
}

// of makes the rows those of a part.
func (r *rows) of(t *feature.Transform, ids [][]int32, p *feature.Part, exact bool, out []feature.Values) {
	r.reset()
	var good [feature.BlockRows]error
	for lo := 0; lo < p.Rows; lo += feature.BlockRows {
		hi := min(lo+feature.BlockRows, p.Rows)
		t.Values(p, lo, hi, ids, exact, out)
		r.features(out, good[:hi-lo], nil, nil)
	}
}
