package budget

import (
	"errors"
	"testing"
)

// What lasts has room beside what lasts, whatever messages have; a class with a floor keeps that.
func TestHold(t *testing.T) {
	l := NewWithProgram(2000, 1000) // 125 are the reserve; four classes have a floor of 31
	if used := l.Used(); used != (Usage{Program: 1000}) {
		t.Fatalf("used %v at first", used)
	}
	if most := l.Most(Frames); most != 500 {
		t.Errorf("at most %d bytes of frames, want half of what the program leaves", most)
	}
	frames := l.Force(Frames, 900)
	tables, err := l.Hold(Tables, 700)
	if err != nil || l.Left() != 1000-125-4*31-700 {
		t.Fatalf("no room for tables beside frames: %v, %d left", err, l.Left())
	}
	if err := tables.Raise(l.Left()); err != nil {
		t.Errorf("the rest: %v", err)
	}
	_, err = l.Hold(Metadata, 1)
	var large *TooLarge
	if !errors.As(err, &large) || *large != (TooLarge{Class: Metadata, Wanted: 1, Most: 0, Beside: 751}) {
		t.Errorf("one byte too many: %v", err)
	}
	place, err := l.Hold(Connections, 31)
	if err != nil {
		t.Errorf("no room for connections within their floor: %v", err)
	}
	if err := place.Raise(1); err == nil {
		t.Error("room for connections beyond their floor")
	}
	for _, c := range []*Charge{&frames, &tables, &place} {
		c.Release()
	}
	if used := l.Used(); used != (Usage{Program: 1000}) {
		t.Errorf("used %v in the end", used)
	}
	forced := l.Force(Tables, 1000)
	if left := l.Left(); left != 1000-125-4*31-1000 {
		t.Errorf("%d bytes left for tables that have more than there is room for", left)
	}
	if _, err := l.Hold(Tables, 0); err != nil {
		t.Errorf("no room for nothing: %v", err)
	}
	forced.Release()
	var none *Ledger
	if c, err := none.Hold(Tables, 1<<60); err != nil || c.Raise(5) != nil || none.Left() < 1<<60 || none.Lasting() != 0 {
		t.Error("a nil ledger counts")
	}
}
