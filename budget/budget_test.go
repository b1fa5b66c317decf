package budget

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ledger is one of 100 bytes with a reserve of 10, where frames always have 20 and at most 50, and queues at most 30.
func ledger(t interface{ Fatal(...any) }) *Ledger {
	l := New(100)
	for _, err := range []error{l.Bound(Frames, Bounds{20, 50}), l.Bound(Queues, Bounds{0, 30}), l.Bound(Stage, Bounds{0, 100}),
		l.Bound(Saves, Bounds{0, 100}), l.Bound(Small, Bounds{0, 100}), l.Bound(Connections, Bounds{0, 100}), l.Reserve(10)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// take is TryTake where there is room.
func take(t interface{ Fatalf(string, ...any) }, l *Ledger, c Class, n int64) *Charge {
	charge, ok := l.TryTake(c, n)
	if !ok {
		t.Fatalf("no room for %d bytes of %v beside %v", n, c, l.Used())
	}
	return &charge
}

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		name  string
		used  Usage
		class Class
		room  int64 // of those who are not urgent
		most  int64 // of the urgent
	}{
		{"empty: to the ceiling", Usage{}, Frames, 50, 100},
		{"empty: without the reserve and the floor of frames", Usage{}, Stage, 70, 80},
		{"full but for the floor", Usage{0, 0, 70}, Frames, 20, 30},
		{"a part of the floor", Usage{5, 0, 70}, Frames, 15, 25},
		{"the floor is used up", Usage{20, 0, 70}, Frames, 0, 10},
		{"and the reserve", Usage{30, 0, 70}, Frames, 0, 0},
		{"beyond the ceiling", Usage{50, 0, 0}, Frames, 0, 50},
		{"a full class leaves the others theirs", Usage{50, 0, 0}, Queues, 30, 50},
		{"overdrawn by tables: the floor", Usage{0, 0, 0, 200}, Frames, 20, 20},
		{"overdrawn by tables", Usage{0, 0, 0, 200}, Queues, 0, 0},
		{"overdrawn by what is staged, which goes first", Usage{0, 0, 92}, Frames, 8, 8},
	} {
		l := ledger(t)
		l.used = c.used
		if room, most := l.room(c.class, false), l.room(c.class, true); room != c.room || most != c.most {
			t.Errorf("%s: %v beside %v has room for %d, urgent %d, want %d and %d", c.name, c.class, c.used, room, most, c.room, c.most)
		}
	}
}

func TestTryTake(t *testing.T) {
	l := ledger(t)
	stage := take(t, l, Stage, 70)
	if _, ok := l.TryTake(Stage, 1); ok {
		t.Error("the stage got a byte of the reserve or of the floor of frames")
	}
	frames := take(t, l, Frames, 20)
	if got, want := l.Used(), (Usage{20, 0, 70}); got != want || got.Total() != 90 {
		t.Errorf("used %v, want %v", got, want)
	}
	if frames.Move(Frames); frames.Bytes() != 20 {
		t.Error("moved to where it is, it is not there")
	}
	stage.Release()
	stage.Release()
	frames.Release()
	if used := l.Used(); used != (Usage{}) {
		t.Errorf("used %v after all was given back", used)
	}
}

func TestMove(t *testing.T) {
	l := ledger(t)
	full := take(t, l, Stage, 60)
	frames := take(t, l, Frames, 20)
	part := frames.Split(8)
	part.Move(Stage)
	if used := l.Used(); used != (Usage{12, 0, 68}) || frames.Bytes() != 12 || part.Bytes() != 8 {
		t.Errorf("used %v after the move, in charges of %d and %d", used, frames.Bytes(), part.Bytes())
	}
	starved := func() bool {
		select {
		case <-l.Starved():
			return true
		default:
			return false
		}
	}
	rest := frames.Split(99)
	forced := l.Force(Tables, 12)
	if starved(); l.room(Frames, false) != 8 {
		t.Errorf("room of %d within the floor of frames, want 8 with 12 of 20 used and nothing left beside", l.room(Frames, false))
	}
	rest.Move(Stage) // takes 12 from the floor of frames, for which there is no room any more
	if !starved() || l.room(Frames, false) != 8 || l.room(Frames, true) != 8 {
		t.Errorf("room of %d of frames with %v used, want the 8 that are left until what is staged is spilled", l.room(Frames, true), l.Used())
	}
	forced.Release()
	if starved(); l.room(Frames, false) != 20 {
		t.Errorf("room of %d of frames, want its floor of 20", l.room(Frames, false))
	}
	for _, c := range []*Charge{full, frames, &part, &rest} {
		c.Release()
	}
	if used := l.Used(); used != (Usage{}) {
		t.Errorf("used %v after all was given back", used)
	}
}

func TestBounds(t *testing.T) {
	l := ledger(t)
	for _, err := range []error{l.Bound(Queues, Bounds{-1, 5}), l.Bound(Queues, Bounds{5, 4}), l.Bound(Queues, Bounds{71, 100}),
		l.Reserve(-1), l.Reserve(81)} {
		if err == nil {
			t.Error("bounds that cannot be kept were accepted")
		}
	}
	if err := l.Bound(Queues, Bounds{70, 100}); err != nil {
		t.Error(err)
	}
	for c, want := range map[Class]int64{Frames: 20, Queues: 70, Stage: 0} {
		if got := l.Most(c); got != want {
			t.Errorf("at most %d bytes of %v, want %d", got, c, want)
		}
	}
	d := New(1 << 30)
	if most := d.Most(Frames); most != 1<<29 || d.Total() != 1<<30 {
		t.Errorf("%d bytes of frames at most, want %d", most, 1<<29)
	}
}

func TestTooLarge(t *testing.T) {
	l := ledger(t)
	_, err := l.Take(t.Context(), Frames, 51, nil)
	var large *TooLarge
	if !errors.As(err, &large) || !strings.HasPrefix(err.Error(), "51 bytes of frames, want at most 50: ") {
		t.Errorf("got %v, want both numbers", err)
	}
	if _, err := l.Claim(Frames, 51); !errors.As(err, &large) {
		t.Errorf("a claim of more than there is: %v", err)
	}
}

// A nil ledger has room for everything and counts nothing.
func TestNil(t *testing.T) {
	var l *Ledger
	c, ok := l.TryTake(Frames, math.MaxInt64)
	c.Move(Stage)
	if !ok || c.Bytes() != 0 || c.Grow(t.Context(), 5, nil) != nil || l.Used() != (Usage{}) ||
		l.Most(Saves) != math.MaxInt64 || l.Starved() != nil || l.Total() != 0 {
		t.Errorf("a nil ledger counts %v", l.Used())
	}
	c.Release()
	l.Wake()
	forced := l.Force(Frames, 7)
	forced.Release()
	if _, err := l.Take(t.Context(), Frames, math.MaxInt64, nil); err != nil {
		t.Error(err)
	}
	k, err := l.Claim(Frames, math.MaxInt64)
	if err != nil || k.Take(t.Context(), 1<<40, nil) != nil {
		t.Error("a claim of no ledger found no room")
	}
	done := k.Done()
	done.Release()
	credit := l.NewCredit(Frames, 10)
	charge, err := credit.Take(t.Context(), 1000, nil)
	if err != nil {
		t.Error(err)
	}
	charge.Release()
	credit.Trim()
	credit.Close()
}

// What is used is always the sum of the charges, nobody but the forced exceeds the bounds, and floors are always there.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := ledger(t)
		credit := l.NewCredit(Frames, 4)
		var charges []*Charge
		forced, moved := false, false
		n := rapid.Int64Range(0, 40)
		class := rapid.Custom(func(t *rapid.T) Class { return Class(rapid.IntRange(0, int(Classes)-1).Draw(t, "class")) })
		pick := func(t *rapid.T) *Charge {
			if len(charges) == 0 {
				t.Skip()
			}
			return rapid.SampledFrom(charges).Draw(t, "charge")
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				c, n := class.Draw(t, "class"), n.Draw(t, "n")
				fits := n <= l.room(c, false)
				if charge, ok := l.TryTake(c, n); ok != fits {
					t.Fatalf("%d of %v beside %v: %v, want %v", n, c, l.Used(), ok, fits)
				} else if ok {
					charges = append(charges, &charge)
				}
			},
			"force": func(t *rapid.T) {
				forced = true
				charge := l.Force(class.Draw(t, "class"), n.Draw(t, "n"))
				charges = append(charges, &charge)
			},
			"credit": func(t *rapid.T) {
				if charge, ok := credit.TryTake(n.Draw(t, "n")); ok {
					charges = append(charges, &charge)
				}
			},
			"split": func(t *rapid.T) {
				charge := pick(t).Split(n.Draw(t, "n"))
				charges = append(charges, &charge)
			},
			"stage": func(t *rapid.T) {
				moved = true
				pick(t).Move(Stage)
			},
			"release": func(t *rapid.T) { pick(t).Release() },
			"trim":    func(*rapid.T) { credit.Trim() },
			"": func(t *rapid.T) {
				want := Usage{Frames: credit.left.Load()}
				for _, c := range charges {
					want[c.class] += c.Bytes()
				}
				if got := l.Used(); got != want {
					t.Fatalf("used %v, want %v", got, want)
				}
				if forced {
					return
				}
				if moved {
					if l.used.Total() > 100 {
						t.Fatalf("used %v is beyond the total", l.used)
					}
					return
				}
				if l.used.Total() > 90 || l.used[Frames] > 50 || l.used[Queues] > 30 || l.room(Frames, false) < 20-l.used[Frames] {
					t.Fatalf("used %v is beyond the bounds", l.used)
				}
			},
		})
		for _, c := range charges {
			c.Release()
		}
		credit.Close()
		if used := l.Used(); used != (Usage{}) {
			t.Fatalf("used %v after all was given back", used)
		}
	})
}

func TestResize(t *testing.T) {
	l := ledger(t)
	c := take(t, l, Tables, 10)
	c.Resize(90) // more than there is room for
	if l.Used() != (Usage{Tables: 90}) || c.Bytes() != 90 {
		t.Errorf("used are %v, charged %d, want 90 of tables", l.Used(), c.Bytes())
	}
	if _, ok := l.TryTake(Stage, 1); ok {
		t.Error("there is room beside 90 of 100, of which 10 are the reserve and 20 the floor of frames")
	}
	w := &waiter{charge: &Charge{ledger: l, class: Stage}, n: 40, class: Stage, again: make(chan struct{}, 1)}
	l.waiting = append(l.waiting, w)
	c.Resize(30)
	if !w.done || l.Used() != (Usage{Tables: 30, Stage: 40}) {
		t.Errorf("used are %v, served %v, want 30 and 40", l.Used(), w.done)
	}
	c.Release()
	w.charge.Release()
	if l.Used().Total() != 0 {
		t.Errorf("used are %v in the end", l.Used())
	}
	none := Charge{}
	none.Resize(5)
	if none.Bytes() != 0 {
		t.Error("a charge of no ledger counts")
	}
}
