package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/coord"
	"thole.example/data"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/state"
)

// claimed is a registry of servers that hold their roles in a store of this process.
func claimed(t *testing.T, servers int) *registry {
	t.Helper()
	r := &registry{coordination: coordination{"memory:", "c"}, store: &coord.Memory{}, servers: servers}
	for i := range servers {
		take(t, r, i, fmt.Sprint("host:", i))
	}
	return r
}

// take claims the role of a server, which was given back if somebody had it.
func take(t *testing.T, r *registry, server int, addr string) *coord.Held {
	t.Helper()
	h, err := coord.Claim(t.Context(), r.store, r.cluster, coord.Server(server), addr, coord.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// written is a checkpoint after so many steps, by an attempt.
func written(steps int64, attempt int) state.Entry {
	name := state.StepName(steps)
	return state.Entry{Name: name, Path: "ck/" + name, Head: &state.Checkpoint{ID: fmt.Sprint(steps, " of ", attempt),
		Moment: state.Moment{Run: "r", Attempt: attempt, Epoch: 1, Step: int(steps)}}}
}

// A task whose attempt was replaced, or one of whose servers was, commits no checkpoint any more.
func TestFencedCommit(t *testing.T) {
	r := claimed(t, 1)
	one := take(t, r, 1, "host:1")
	r.servers = 2
	c := &cluster{from: r}
	p := func(attempt int) *plan {
		p := &plan{job: &job{name: "j"}, recovery: recovery{attempt: attempt}}
		p.train = &data.Examples{Set: &data.Set{}}
		return p
	}
	enter := func(attempt int) *catalogue {
		t.Helper()
		if err := c.locate(t.Context(), p(attempt), nil); err != nil {
			t.Fatal(err)
		}
		var said []string
		s := &taskCheckpoints{p: p(attempt), client: &ps.Client{}, say: func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) }}
		if err := s.enter(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return &s.catalogue
	}
	commit := func(k *catalogue, steps int64, want string) {
		t.Helper()
		e := written(steps, k.attempt)
		k.wrote(&e, int(steps))
		err := k.goOn(t.Context(), true)
		if (err == nil) != (want == "") || err != nil && (!again(err) || !errors.Is(err, rpc.ErrAborted) || !strings.Contains(err.Error(), want)) {
			t.Errorf("commit of step %d by attempt %d: %v, want %q", steps, k.attempt, err, want)
		}
		last, err := coord.Last(t.Context(), r.store, "c", "j")
		if done := last.Checkpoint != nil && last.Checkpoint.ID == e.Head.ID; err != nil || done != (want == "") {
			t.Errorf("after step %d of attempt %d: %+v, %v", steps, k.attempt, last.Checkpoint, err)
		}
	}
	first := enter(1)
	commit(first, 10, "")
	commit(first, 20, "")
	second := enter(2)
	if c := second.before.Checkpoint; c == nil || c.Step != 20 || second.before.Attempt != 1 {
		t.Errorf("attempt 2 goes on from %+v", second.before)
	}
	commit(first, 30, "is of attempt 1, and attempt 2 runs")
	commit(second, 30, "")
	if err := one.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	take(t, r, 1, "host:2")
	commit(second, 40, "server 1 has epoch 1, want 2 to 2")
	commit(enter(3), 40, "")
	if c.addrs[1] != "host:2" || c.roles[1] != 2 {
		t.Errorf("found %v under %v", c.addrs, c.roles)
	}
	_, err := c.begin(t.Context(), p(3), &ps.Client{}) // a process that knows nothing of the attempt
	if u, ok := errors.AsType[*unfit](err); !ok || u.attempt != 4 || !again(err) {
		t.Errorf("attempt 3 once more: %v", err)
	}
	for _, ended := range []int{3, 4} {
		if n, err := c.firstAttempt(t.Context(), p(0), nil); n != ended || err != nil {
			t.Errorf("a process that comes to the job begins with attempt %d, %v, want %d", n, err, ended)
		}
		c.complete(t.Context(), p(3))
	}
}

// What a training may go on from: what was committed, and later only what the last attempt wrote.
func TestCounted(t *testing.T) {
	all := []state.Entry{written(10, 1), written(20, 1), written(30, 1), written(40, 2), {Name: "50", Path: "ck/50", Err: errors.New("damaged")},
		written(60, 2)}
	for _, c := range []struct {
		name   string
		before coord.Job
		want   string
		said   int
	}{
		{"nothing is committed", coord.Job{Attempt: 2}, "10 20 30 40 50 60", 0},
		{"the last is", coord.Job{Attempt: 2, Checkpoint: &coord.Checkpoint{Path: all[5].Path, ID: "60 of 2"}}, "10 20 30 40 50 60", 0},
		{"the last attempt wrote more", coord.Job{Attempt: 2, Checkpoint: &coord.Checkpoint{Path: all[1].Path, ID: "20 of 1"}}, "10 20 40 60", 2},
		{"an attempt that was replaced did", coord.Job{Attempt: 3, Checkpoint: &coord.Checkpoint{Path: all[1].Path, ID: "20 of 1"}}, "10 20", 4},
		{"it is another by now", coord.Job{Attempt: 3, Checkpoint: &coord.Checkpoint{Path: all[1].Path, ID: "20 of 9"}}, "10 20 30 40 50 60", 0},
		{"it is elsewhere", coord.Job{Attempt: 3, Checkpoint: &coord.Checkpoint{Path: "other/20", ID: "20 of 1"}}, "10 20 30 40 50 60", 0},
	} {
		said := 0
		k := catalogue{before: c.before, say: func(string, ...any) { said++ }}
		var got []string
		for _, e := range k.counted(all) {
			got = append(got, strings.TrimLeft(e.Name, "0"))
		}
		if text := strings.Join(got, " "); text != c.want || said != c.said {
			t.Errorf("%s: %s, and %d are told of, want %s and %d", c.name, text, said, c.want, c.said)
		}
	}
}

// away is a store that does not answer, or answers nothing.
type away struct {
	coord.Memory
	err error
}

func (a *away) Get(ctx context.Context, key string) ([]byte, coord.Version, error) {
	if a.err != nil {
		return nil, "", a.err
	}
	return a.Memory.Get(ctx, key)
}

// A checkpoint that cannot be committed because the store is away is told of, once; the next one is committed when it is back.
func TestCommitAway(t *testing.T) {
	s := &away{}
	r := &registry{coordination: coordination{"memory:", "c"}, store: s}
	if _, err := coord.Begin(t.Context(), s, "c", "j", 1, nil); err != nil {
		t.Fatal(err)
	}
	var said []string
	k := catalogue{from: r, job: "j", attempt: 1, say: func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) }}
	for steps, err := range []error{nil, errors.New("no route"), errors.New("no route"), nil, errors.New("no power")} {
		s.err = err
		e := written(int64(steps), 1)
		k.wrote(&e, steps)
		if err := k.goOn(t.Context(), true); err != nil {
			t.Errorf("step %d: %v", steps, err)
		}
	}
	s.err = nil
	j, err := coord.Last(t.Context(), s, "c", "j")
	if err != nil || j.Checkpoint.Step != 3 {
		t.Errorf("committed %+v, %v, want step 3", j.Checkpoint, err)
	}
	if text := strings.Join(said, "\n"); len(said) != 2 || !strings.Contains(said[0], "no route") || !strings.Contains(said[1], "no power") {
		t.Errorf("said: %s", text)
	}
}

// Where workers reach a server, and whether nobody else can be there.
func TestAdvertise(t *testing.T) {
	for _, c := range []struct {
		at, advertise, addr string
		sole                bool
	}{
		{"10.0.0.1:7001", "", "10.0.0.1:7001", true},
		{"[fd00::1]:7001", "", "[fd00::1]:7001", true},
		{"127.0.0.1:7001", "", "127.0.0.1:7001", false},
		{"unix:/run/s", "", "unix:/run/s", false},
		{"[::]:7001", "host1", "host1:7001", false},
		{"[::]:7001", "10.0.0.1", "10.0.0.1:7001", false},
		{"[::]:7001", "fd00::1", "[fd00::1]:7001", false},
		{"[::]:7001", "[fd00::1]", "[fd00::1]:7001", false},
		{"[::]:7001", "host1:80", "host1:80", false},
		{"[::]:7001", "unix:/run/s", "unix:/run/s", false},
		{"unix:/run/s", "unix:/mnt/s", "unix:/mnt/s", false},
	} {
		if addr, sole := (&claiming{advertise: c.advertise}).addr(c.at); addr != c.addr || sole != c.sole {
			t.Errorf("at %s, advertised %q: %s, %v, want %s, %v", c.at, c.advertise, addr, sole, c.addr, c.sole)
		}
	}
}
