package local

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"thole.example/blob"
)

// orders is a launch of a server and a worker without end, which gets orders.
type orders struct {
	*testing.T
	dir string
	s   *Supervisor
	end func() error // of the launch
}

func takesOrders(t *testing.T, carry func(s *Supervisor, ctx, stands context.Context, o Order, say func(string)) error) *orders {
	t.Helper()
	needSignals(t)
	dir := t.TempDir()
	release, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := supervisor(dir, io.Discard, process("server.0", Server, "serve"), process("worker", Worker, "serve"))
	s.Processes[1].Ready = ""
	s.Record.Given = Counts{1, 1}
	s.Carry = func(ctx, stands context.Context, o Order, say func(string)) error {
		return carry(s, ctx, stands, o, say)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, nil) }()
	o := &orders{t, dir, s, nil}
	o.end = func() error {
		cancel()
		defer release()
		return <-done
	}
	o.until(func(r *Record) bool { return r.State == Going && len(r.Processes) == 2 && r.Processes[1].Pid > 0 })
	return o
}

// until waits until the record is as wanted.
func (o *orders) until(as func(*Record) bool) *Record {
	o.Helper()
	var r *Record
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r, err = Open(o.dir); err == nil && as(r) {
			return r
		}
	}
	o.Fatalf("the launch never is as wanted, but %+v, %v", r, err)
	return nil
}

// names are the processes of a phase.
func names(r *Record, of Phase) string {
	var all []string
	for _, p := range r.Processes {
		if p.Phase == of {
			all = append(all, p.Name)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// grow has one more server than before join, and the first one leave.
func grow(s *Supervisor, ctx, stands context.Context, o Order, say func(string)) error {
	act := "serve"
	if o.Servers == 9 {
		act = "fail"
	}
	one := process("server.1", Server, act)
	if o.Workers > 0 {
		one = process("server.0", Server, act)
	}
	say("one comes")
	if err := errors.Join(s.Join(ctx, []Process{one}, true), s.Up(stands, one.Name)); err != nil {
		return err
	}
	leaves := "server.0"
	if o.Workers > 0 {
		leaves = "server.1"
	}
	say("one goes")
	return errors.Join(s.Keep([]Process{one}), s.Leave(leaves), s.Left(ctx, leaves))
}

// An order is carried out by the supervisor, which tells the one who gave it; processes that have left come back by another. One on trial that
// fails leaves, and the launch goes on.
func TestOrders(t *testing.T) {
	o := takesOrders(t, grow)
	for _, c := range []struct {
		want          Counts
		running, left string
		fails         string
	}{
		{Counts{2, 0}, "server.1 worker", "server.0", ""},
		{Counts{1, 1}, "server.0 worker", "server.1", ""},
		{Counts{9, 0}, "server.0 worker", "server.1", "server.1 ended with status 3"},
		{Counts{2, 0}, "server.1 worker", "server.0", ""},
	} {
		var said []string
		err := Ask(t.Context(), o.dir, c.want, func(text string) { said = append(said, text) })
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Fatalf("%+v: %v, want %q", c.want, err, c.fails)
		}
		if want := []string{"one comes", "one goes"}; c.fails == "" && !slices.Equal(said, want) {
			t.Errorf("%+v: it says %q, want %q", c.want, said, want)
		}
		r := o.until(func(r *Record) bool { return names(r, Running) == c.running && names(r, Left) == c.left })
		if r.Now != (Counts{1, 1}) || r.Order.Counts != c.want || !r.Order.Done {
			t.Errorf("%+v: there are %+v, after %+v", c.want, r.Now, r.Order)
		}
	}
	if err := o.end(); !errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
	if err := Ask(t.Context(), o.dir, Counts{2, 0}, nil); err == nil || !strings.Contains(err.Error(), "interrupted before") {
		t.Errorf("when it has ended: %v", err)
	}
}

// An order that is withdrawn, by Ctrl-C or by the death of who gave it, or whose launch ends, ends with the reason; meanwhile nobody gives
// another.
func TestOrderWithdrawn(t *testing.T) {
	why := make(chan error, 1)
	o := takesOrders(t, func(s *Supervisor, ctx, stands context.Context, _ Order, say func(string)) error {
		say("waits")
		<-stands.Done()
		why <- context.Cause(stands)
		return context.Cause(stands)
	})
	ask := func() (end func(), done chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		heard := make(chan string, 1)
		done = make(chan error, 1)
		go func() { done <- Ask(ctx, o.dir, Counts{2, 0}, func(text string) { heard <- text }) }()
		if text := <-heard; text != "waits" {
			t.Fatal(text)
		}
		return cancel, done
	}
	end, done := ask()
	if err := Ask(t.Context(), o.dir, Counts{3, 0}, nil); err == nil || !strings.Contains(err.Error(), "want one at a time") {
		t.Errorf("two at once: %v", err)
	}
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if err := <-why; !errors.Is(err, ErrWithdrawn) {
		t.Errorf("it ended by %v", err)
	}

	release, err := claim(o.dir, orderLock) // as somebody who dies then
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Order{ID: "x"})
	if err == nil {
		err = blob.WriteAll(t.Context(), blob.NewDir(o.dir), orderFile, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.until(func(r *Record) bool { return r.Order.ID == "x" && !r.Order.Done })
	release()
	if err := <-why; !errors.Is(err, ErrWithdrawn) {
		t.Errorf("it ended by %v", err)
	}
	o.until(func(r *Record) bool { return r.Order.ID == "x" && r.Order.Done })

	_, done = ask()
	if err := o.end(); !errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) && !strings.Contains(err.Error(), "has ended") {
		t.Errorf("the launch ended: %v", err)
	}
	if r, err := Open(o.dir); err != nil || !r.Order.Done || r.Order.Error == "" {
		t.Errorf("%+v, %v: want an order that is over", r.Order, err)
	}
}
