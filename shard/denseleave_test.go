package shard

import (
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/wire"
)

// TestLeaves: the first step over all cells leaves to a mark the cells where they are, unless it has copies, another mark has to have them
// too, or few are read; with the same values whichever way, of the mark and of the partition, and for later marks.
func TestLeaves(t *testing.T) {
	for rule, as := range map[string]matrix.DType{"": 0, "adagrad": 0, "amsgrad": 0, "adam": matrix.BF16} {
		for _, c := range []struct {
			name   string
			leaves bool
			since  bool                                    // the mark has what has changed since an earlier one
			change func(x *leaving, m *denseMark[float32]) // between the mark and the step
		}{
			{"plain", true, false, nil},
			{"some were read", true, false, func(x *leaving, m *denseMark[float32]) { x.read(m, 0, 40_000) }},
			{"changed before", false, false, func(x *leaving, m *denseMark[float32]) { x.set(50_000) }},
			{"read and changed before", true, false, func(x *leaving, m *denseMark[float32]) {
				x.read(m, 0, 60_000)
				x.set(20_000)
			}},
			{"another mark", false, false, func(x *leaving, m *denseMark[float32]) { x.marks = append(x.marks, x.s.Mark()) }},
			{"few have changed", false, true, func(*leaving, *denseMark[float32]) {}},
			{"all have changed", true, true, nil},
		} {
			t.Run(rule+" "+c.name, func(t *testing.T) {
				x := newLeaving(t, rule, as)
				x.step()
				x.s.MarkAll("", "0").Close()
				if c.change == nil {
					x.step()
				} else {
					x.set(1000)
				}
				was := x.cells()
				m := x.s.Mark()
				if c.since {
					m.Close()
					var err error
					if m, err = x.s.MarkSince("0", "1"); err != nil {
						t.Fatal(err)
					}
				}
				k := m.mark.(*denseMark[float32])
				if c.change != nil {
					c.change(x, k)
				}
				x.step()
				if left := k.left.mem != nil; left != c.leaves {
					t.Errorf("all cells are left to the mark: %v, want %v", left, c.leaves)
				}
				x.set(3)
				x.step()
				for slot, want := range was {
					lo := 0
					if slot == 0 {
						lo = k.passed[0]
					}
					for b := lo / blockCells * blockCells; b < len(want); b += blockCells {
						from, to := max(b, lo), min(b+blockCells, len(want))
						if c.since && !k.since.changed.has(uint32(b/blockCells)) {
							continue
						}
						got := make([]float32, to-from)
						if err := m.ReadRect(wire.View(got), matrix.At(0, 1, int64(from), int64(to)), slot); err != nil {
							t.Fatal(err)
						}
						if !slices.Equal(got, want[from:to]) {
							t.Fatalf("slot %d from %d on is not as it was", slot, from)
						}
					}
				}
				m.Close()
				for _, m := range x.marks {
					m.Close()
				}
				x.same()
			})
		}
	}
}

// leaving is a large dense partition, and the same cells in one that no mark is made of.
type leaving struct {
	t     *testing.T
	s, to *Shard
	n     int
	marks []*Mark
}

func newLeaving(t *testing.T, name string, as matrix.DType) *leaving {
	rule, err := optim.Find(nil, name)
	if name == "" {
		rule, err = nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 40*chunk + 77, DType: matrix.F32, Rule: name, Storage: as}
	x := &leaving{t: t}
	for _, s := range []**Shard{&x.s, &x.to} {
		if *s, err = New(&m, m.Rect(), 0, rule); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*s).Close)
	}
	return x
}

func (x *leaving) both(f func(s *Shard) error) {
	for _, s := range []*Shard{x.s, x.to} {
		if err := f(s); err != nil {
			x.t.Fatal(err)
		}
	}
}

// step changes all cells.
func (x *leaving) step() {
	x.n++
	at := x.s.At()
	val := make([]float32, at.Cols.Len())
	for i := range val {
		val[i] = float32((i*7+x.n)%31) / 8
	}
	x.both(func(s *Shard) error {
		return s.Apply([]Delta{{Rows: at.Rows, Cols: at.Cols, Values: wire.View(val)}}, 1, 0.1)
	})
}

// set changes a cell, without a step.
func (x *leaving) set(cell int64) {
	x.n++
	val := []float32{float32(x.n)}
	at := x.s.At()
	at.Cols = matrix.Range{Lo: cell, Hi: cell + 1}
	x.both(func(s *Shard) error { return s.Set(Delta{Rows: at.Rows, Cols: at.Cols, Values: wire.View(val)}) })
}

// read has a mark give its cells up to some, in order.
func (x *leaving) read(m *denseMark[float32], slot int, to int64) {
	if err := m.readRect(make([]byte, 4*to), matrix.At(0, 1, 0, to), slot); err != nil {
		x.t.Fatal(err)
	}
}

// cells is all values, and those of slots.
func (x *leaving) cells() (all [][]float32) {
	m := x.s.Mark()
	defer m.Close()
	for slot := range 1 + x.s.Slots() {
		val := make([]float32, x.s.At().Cols.Len())
		if err := m.ReadRect(wire.View(val), x.s.At(), slot); err != nil {
			x.t.Fatal(err)
		}
		all = append(all, val)
	}
	return all
}

// same wants the cells of both.
func (x *leaving) same() {
	got := x.cells()
	x.s = x.to
	for slot, want := range x.cells() {
		if !slices.Equal(got[slot], want) {
			x.t.Errorf("slot %d is not as without a mark", slot)
		}
	}
}
