package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"thole.example/internal/seeds"
)

// written is a record that Append took.
type written struct {
	end  uint64
	kind uint32
	body []byte
}

// life is what a test knows of a log whose processes die.
type life struct {
	t       *testing.T
	m       *machine
	random  *rand.Rand
	options Options

	mu      sync.Mutex
	records []written // what Append took and no crash has taken away, in order
	durable uint64    // what somebody was told to be durable
	found   uint64    // what the last Open has found
	gone    uint64    // what Truncate may have removed
}

var faults = []string{"", "kill", "power", "power", "short", "full", "eio"}

// TestCrashes: whatever happens to processes, disks and power, the next process finds everything that was said to be durable, in order
// and once, after it a beginning of what else was appended, and nothing else. A seed that fails is run again alone with FAULT_SEED=n; it
// draws the same then, but goroutines take turns in another way.
func TestCrashes(t *testing.T) {
	set := seeds.Of(t, "FAULT", 500, 60)
	lives, cuts, met := 0, 0, map[string]int{}
	for seed := range set.All() {
		r := rand.New(rand.NewPCG(seed, 1))
		options := Options{Segment: 1 << r.IntN(14), Queue: 64 << r.IntN(8), NoSync: r.IntN(4) == 0, Identity: "crashes", Spares: r.IntN(3)}
		set.Try(t, seed, options, func(t *testing.T) {
			l := &life{t: t, m: newMachine(seed), random: r, options: options}
			for range 8 {
				fault := faults[r.IntN(len(faults))]
				if l.options.NoSync && fault == "eio" {
					fault = "power" // a sync that fails says nothing where nobody asks for one
				}
				at := 1 + r.IntN(40)
				lives++
				if l.once(fault, at) {
					cuts++
				}
				if l.m.happened() {
					met[fault]++
				}
				if t.Failed() {
					break
				}
			}
		})
	}
	t.Logf("%d seeds, %d processes, %d torn ends cut off; faults met: %v", set.Count, lives, cuts, met)
	if set.Count >= 60 && (cuts == 0 || len(met) < 5) {
		t.Error("no torn end or not every fault was met: the test tests nothing")
	}
}

// once is one process. It reports whether something was cut off when it began.
func (l *life) once(fault string, at int) (cut bool) {
	files := l.m.start(fault, at)
	o := l.options
	var told uint64
	o.Notify = func(durable uint64, err error) {
		if durable < told {
			l.t.Errorf("notified of %d after %d", durable, told)
		}
		told = durable
		l.tell(durable)
	}
	log, err := Open(files, o)
	if err != nil {
		if !l.m.happened() {
			l.t.Fatalf("open: %v", err)
		}
		l.die(fault)
		return false
	}
	cut = log.Cut() != nil
	l.check(log)
	ctx, stop := context.WithCancel(context.Background())
	var wg, following sync.WaitGroup
	follow := l.random.IntN(2) == 0
	if from := log.Durable(); follow {
		following.Go(func() { l.follow(ctx, log, from) })
	}
	for range []int{1, 1, 3}[l.random.IntN(3)] {
		r := rand.New(rand.NewPCG(l.random.Uint64(), 0))
		wg.Go(func() { l.appendSome(ctx, log, r) })
	}
	wg.Wait()
	l.end(log, fault, stop)
	following.Wait()
	stop()
	l.sort()
	return cut
}

// end ends a process: with a clean close, by a signal, or by the power.
func (l *life) end(log *Log, fault string, stop func()) {
	if l.random.IntN(3) == 0 {
		err := log.Close()
		if err != nil && !l.m.happened() {
			l.t.Errorf("close: %v", err)
		}
		if err == nil {
			l.tell(log.End())
		}
	} else if l.random.IntN(2) == 0 {
		l.m.kill()
	} else {
		stop()
	}
	l.m.kill()
	_ = log.Close() // of a dead process: only its goroutine is to end
	l.die(fault)
}

// die takes from the machine what the fault does not.
func (l *life) die(fault string) {
	l.m.kill()
	if fault != "power" && l.random.IntN(2) == 0 {
		return
	}
	l.m.power()
	if l.options.NoSync { // only what Open has found is certain
		l.durable = l.found
	}
}

func (l *life) tell(durable uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = max(l.durable, durable)
}

// sort puts what several goroutines have appended into the order of positions.
func (l *life) sort() {
	slices.SortFunc(l.records, func(a, b written) int { return int(a.end) - int(b.end) })
}

// check holds what a process finds to what is known.
func (l *life) check(log *Log) {
	end := log.Durable()
	if end < l.durable {
		l.t.Fatalf("the log ends at %d, but %d was durable", end, l.durable)
	}
	if first := log.First(); first > l.gone {
		l.t.Fatalf("the log begins at %d, but only what is before %d was to be removed", first, l.gone)
	}
	r, err := log.Read(log.First())
	if err != nil {
		l.t.Fatal(err)
	}
	defer r.Close()
	i := 0
	for i < len(l.records) && l.records[i].end <= log.First() {
		i++
	}
	for ; r.Position() < end; i++ {
		got, err := r.Next(context.Background())
		if err != nil {
			if !l.m.happened() {
				l.t.Fatalf("read: %v", err)
			}
			return
		}
		if i >= len(l.records) || !l.records[i].is(got) {
			l.t.Fatalf("record %d is %+v, want that of %d records", i, got, len(l.records))
		}
	}
	l.records, l.found = l.records[:i], end
	l.tell(end)
}

func (w written) is(r Record) bool {
	return w.end == r.End && w.kind == r.Kind && bytes.Equal(w.body, r.Body) && r.End == r.Position+uint64(padded(len(r.Body)))
}

// appendSome appends, waits, and removes what is old.
func (l *life) appendSome(ctx context.Context, log *Log, r *rand.Rand) {
	for range 1 + r.IntN(30) {
		vec, w := draw(r)
		end, err := log.Append(ctx, vec, w.kind)
		if err != nil {
			if !l.m.happened() {
				l.t.Errorf("append: %v", err)
			}
			return
		}
		w.end = end
		l.mu.Lock()
		l.records = append(l.records, w)
		l.mu.Unlock()
		if r.IntN(3) == 0 {
			if err := log.Wait(ctx, end); err == nil {
				l.tell(end)
				for _, b := range vec {
					clear(b) // they are ours again
				}
			} else if !l.m.happened() {
				l.t.Errorf("wait: %v", err)
			}
		}
		if r.IntN(10) == 0 {
			before := log.Durable()
			l.mu.Lock()
			l.gone = max(l.gone, before)
			l.mu.Unlock()
			if err := log.Truncate(before); err != nil && !l.m.happened() {
				l.t.Errorf("truncate: %v", err)
			}
		}
	}
}

// draw draws a record, in slices.
func draw(r *rand.Rand) (vec [][]byte, w written) {
	w.kind = r.Uint32()
	for range r.IntN(4) {
		n := []int{0, 1, r.IntN(40), r.IntN(1000), r.IntN(3 * copyLimit)}[r.IntN(5)]
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		vec, w.body = append(vec, b), append(w.body, b...)
	}
	return vec, w
}

// follow reads what becomes durable, until the log ends.
func (l *life) follow(ctx context.Context, log *Log, from uint64) {
	r, err := log.Read(from)
	if errors.Is(err, ErrGone) {
		return
	}
	if err != nil {
		l.t.Errorf("read: %v", err)
		return
	}
	defer r.Close()
	var last []byte
	for {
		got, err := r.Next(ctx)
		if err != nil {
			if errors.Is(err, ErrDamaged) {
				l.t.Errorf("following: %v", err)
			}
			return
		}
		if d := log.Durable(); got.End > d {
			l.t.Errorf("read up to %d, but %d is durable", got.End, d)
		}
		if got.Position != from {
			l.t.Errorf("read a record at %d, want %d", got.Position, from)
		}
		from, last = got.End, append(last[:0], fmt.Sprint(got.Kind)...)
	}
}
