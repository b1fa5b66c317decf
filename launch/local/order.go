package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"thole.example/blob"
	"thole.example/internal/filelock"
)

// Files by which the supervisor of a launch is given orders: the order, and the lock of who gives it. An order stands as long as both are
// there; what becomes of it is in the record.
const (
	orderFile = "order.json"
	orderLock = "order.lock"
)

// orderLimit is the largest order that is read.
const orderLimit = 64 << 10

// orderLook is how often a supervisor looks whether there is an order, and whether it stands.
const orderLook = 100 * time.Millisecond

// Order asks a launch for other numbers of processes.
type Order struct {
	ID     string `json:"id"` // that no other order has
	Counts        // 0: as many as there are
}

// Answer is what becomes of an order.
type Answer struct {
	Order
	Said  []string `json:"said,omitempty"`  // how far it is, for people
	Done  bool     `json:"done"`            // it is over
	Error string   `json:"error,omitempty"` // why not all of it was done
}

// Errors of orders.
var (
	ErrWithdrawn = errors.New("the order was withdrawn")
	errOver      = errors.New("the launch ends")
)

// withdrawTime is how long it may take until it is known what becomes of an order that was withdrawn.
const withdrawTime = 10 * time.Second

// Ask gives the launch of a folder an order, and waits until it is over. say gets what there is to be told meanwhile. If ctx ends the order
// is withdrawn, as far as that is possible; the error is that of ctx, then. One that nobody carries out is an error, too.
func Ask(ctx context.Context, dir string, want Counts, say func(text string)) error {
	if r, err := Open(dir); err != nil {
		return err
	} else if r.State != Going {
		return fmt.Errorf("%s: %s before, want a launch that runs", dir, r.State)
	}
	release, err := claim(dir, orderLock)
	if errors.Is(err, filelock.ErrHeld) {
		pid, _, _ := holder(dir, orderLock)
		return fmt.Errorf("%s: process %d gives it an order, want one at a time", dir, pid)
	}
	if err != nil {
		return err
	}
	defer release()
	o := Order{rand.Text(), want}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	folder := blob.NewDir(dir)
	if err := blob.WriteAll(context.WithoutCancel(ctx), folder, orderFile, text); err != nil {
		return err
	}
	withdraw := func() { _ = folder.Remove(context.WithoutCancel(ctx), orderFile) } // the lock says so, too
	defer withdraw()
	for said, end := 0, (<-chan time.Time)(nil); ; {
		r, err := Open(dir)
		if err != nil {
			return err
		}
		if a := r.Order; a != nil && a.ID == o.ID {
			for ; said < len(a.Said); said++ {
				say(a.Said[said])
			}
			switch {
			case a.Done && a.Error != "":
				return cmp.Or(ctx.Err(), errors.New(a.Error))
			case a.Done:
				return nil
			}
		}
		if r.State != Going {
			return cmp.Or(ctx.Err(), fmt.Errorf("%s: the launch has ended (%s)", dir, r.State))
		}
		stop := ctx.Done()
		if end != nil {
			stop = nil
		}
		select {
		case <-time.After(orderLook / 2):
		case <-stop:
			withdraw()
			end = time.After(withdrawTime)
		case <-end:
			return ctx.Err()
		}
	}
}

// standing is the order that stands in a folder; nil: none does.
func standing(dir string) *Order {
	text, err := blob.ReadAll(context.Background(), blob.NewDir(dir), orderFile, orderLimit)
	o := &Order{}
	if err != nil || json.Unmarshal(text, o) != nil || o.ID == "" {
		return nil
	}
	if _, alive, err := holder(dir, orderLock); err == nil && !alive {
		return nil
	}
	return o
}

// takeOrders carries out orders until end is called, which ends the one under way.
func (s *Supervisor) takeOrders(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		last := ""
		for s.Carry != nil && pause(ctx, orderLook) {
			if o := standing(s.Dir); o != nil && o.ID != last {
				last = o.ID
				s.carry(ctx, *o)
			}
		}
	}()
	return func() {
		close(s.over)
		cancel(errOver)
		<-done
	}
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// carry carries out an order as long as it stands.
func (s *Supervisor) carry(ctx context.Context, o Order) {
	stands, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for pause(stands, orderLook) {
			if now := standing(s.Dir); now == nil || now.ID != o.ID {
				cancel(ErrWithdrawn)
			}
		}
	}()
	a := Answer{Order: o}
	tell := func() {
		now := a
		now.Said = slices.Clone(a.Said)
		if s.do(func() error { s.Record.Order = &now; return nil }) != nil {
			s.Record.Order = &now // nobody else looks at it any more but who waits for this goroutine
		}
	}
	tell()
	err := s.Carry(ctx, stands, o, func(text string) {
		a.Said = append(a.Said, text)
		tell()
	})
	if a.Done = true; err != nil {
		a.Error = err.Error()
	}
	tell()
}

// wait is something that the goroutine of Run does, or looks at after each event until it is so.
type wait struct {
	is   func() (bool, error)
	told chan error
}

// until waits until something is so, which the goroutine of Run looks at.
func (s *Supervisor) until(ctx context.Context, is func() (bool, error)) error {
	w := wait{is, make(chan error, 1)}
	select {
	case s.asked <- w:
	case <-s.over:
		return errOver
	}
	select {
	case err := <-w.told:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.over:
		return errOver
	}
}

// do has the goroutine of Run do something.
func (s *Supervisor) do(f func() error) error {
	return s.until(context.Background(), func() (bool, error) { return true, f() })
}

// look looks what has become so.
func (s *Supervisor) look() {
	s.waits = slices.DeleteFunc(s.waits, func(w wait) bool {
		is, err := w.is()
		if is || err != nil {
			w.told <- err
		}
		return is || err != nil
	})
}

// Join starts processes, on trial or not; one of the name that is about to leave has to have left. It is for Carry, and so are the others.
func (s *Supervisor) Join(ctx context.Context, all []Process, trial bool) error {
	for _, p := range all {
		if err := s.Left(ctx, p.Name); err != nil {
			return err
		}
		if err := s.do(func() error { return s.join(p, trial) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *Supervisor) join(p Process, trial bool) error {
	if s.number(p.Name) < 0 {
		log, err := s.openLog(p.Name)
		if err != nil {
			return err
		}
		s.Processes, s.children, s.logs = append(s.Processes, p), append(s.children, nil), append(s.logs, log)
	}
	i, do := s.group.Join(time.Now(), p, trial)
	s.Processes[i] = p
	s.apply(do)
	return nil
}

// number is that of a process; -1: there is none of the name.
func (s *Supervisor) number(name string) int {
	return slices.IndexFunc(s.Processes, func(p Process) bool { return p.Name == name })
}

// Up waits until processes are up. One that has left is an error.
func (s *Supervisor) Up(ctx context.Context, names ...string) error {
	return s.until(ctx, func() (bool, error) {
		up := true
		for _, name := range names {
			m := &s.group.Members[s.number(name)]
			if m.over() && m.Last != nil {
				return false, fmt.Errorf("%s %v (its output: %s)", name, m.Last, filepath.Join(s.Dir, name+LogEnding))
			}
			up = up && m.Up
		}
		return up, nil
	})
}

// Keep says that the others need processes that were on trial, and what all are told from now on when they are started again.
func (s *Supervisor) Keep(all []Process) error {
	return s.do(func() error {
		for _, p := range all {
			if i := s.number(p.Name); i >= 0 {
				s.Processes[i], s.group.Members[i].Process = p, p
				s.apply(s.group.Keep(time.Now(), i))
			}
		}
		return nil
	})
}

// Leave asks processes to end, and does not wait for that.
func (s *Supervisor) Leave(names ...string) error {
	return s.do(func() error {
		for _, name := range names {
			if i := s.number(name); i >= 0 {
				s.apply(s.group.Leave(time.Now(), i))
			}
		}
		return nil
	})
}

// Left waits until processes have ended, as far as there are any of the names.
func (s *Supervisor) Left(ctx context.Context, names ...string) error {
	return s.until(ctx, func() (bool, error) {
		return !slices.ContainsFunc(names, func(name string) bool {
			i := s.number(name)
			return i >= 0 && s.group.Members[i].Phase == Leaving
		}), nil
	})
}
