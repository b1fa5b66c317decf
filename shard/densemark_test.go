package shard_test

import (
	"slices"
	"sync"
	"testing"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/shard"
	"thole.example/wire"
)

// TestRectBeside: marks of cells that are read beside the owner, while steps change all of them and functions some, have the values and
// slots of their moments, with copies that whoever reads makes ahead and without; large partitions use the memory of one for the next.
func TestRectBeside(t *testing.T) {
	for _, m := range []matrix.Meta{
		{Name: "small", Rows: 3, Cols: 1000, Rule: "adagrad"}, {Name: "large", Rows: 7, Cols: 100_003, Rule: "adam"},
		{Name: "adds", Rows: 7, Cols: 100_003}, {Name: "narrow", Rows: 7, Cols: 100_003, Rule: "adagrad", Storage: matrix.BF16},
	} {
		t.Run(m.Name, func(t *testing.T) {
			m.DType = matrix.F32
			rule, err := optim.Find(nil, m.Rule)
			if m.Rule == "" {
				rule, err = nil, nil
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := shard.New(&m, m.Rect(), 0, rule)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			x := &besideCells{t: t, s: s}
			x.step()
			before := s.Bytes()
			s.ReadyMark(1000)
			s.ReadyMark(1 << 30)
			if large := m.Name == "large" || m.Name == "narrow"; s.Bytes() < before+before/2 && large || s.Bytes() != before && !large {
				t.Errorf("%d bytes when memory for marks was found, %d before", s.Bytes(), before)
			}
			for i := range 3 {
				x.track(i)
				x.read()
			}
		})
	}
}

// besideCells is a dense shard whose owner has its lock.
type besideCells struct {
	t    *testing.T
	mu   sync.Mutex
	s    *shard.Shard
	n    int
	mark *shard.Mark
	want [][]float32 // values, and each slot
}

func (x *besideCells) step() {
	at := x.s.At()
	x.n++
	if x.s.Slots() == 0 { // nothing but a row changes
		at.Rows.Lo = at.Rows.Hi - 1 - int64(x.n)%2
		at.Rows.Hi = at.Rows.Lo + 1
	}
	val := make([]float32, at.Rows.Len()*at.Cols.Len())
	for i := range val {
		val[i] = float32((i+x.n)%17) / 16
	}
	if err := x.s.Apply([]shard.Delta{{Rows: at.Rows, Cols: at.Cols, Values: wire.View(val)}}, 1, 0.1); err != nil {
		x.t.Error(err)
	}
}

// track makes the mark, and one of the same moment that is read at once.
func (x *besideCells) track(i int) {
	now := x.s.Mark()
	cells, _ := x.s.At().Cells()
	x.want = nil
	for slot := range 1 + x.s.Slots() {
		val := make([]float32, cells)
		if err := now.ReadRect(wire.View(val), x.s.At(), slot); err != nil {
			x.t.Fatal(err)
		}
		x.want = append(x.want, val)
	}
	now.Close()
	x.mark = x.s.Mark()
	for range i % 2 {
		x.step()
	}
}

func (x *besideCells) read() {
	done := make(chan struct{})
	var owner sync.WaitGroup
	owner.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				x.mu.Lock()
				x.step()
				x.mu.Unlock()
			}
		}
	})
	at := x.s.At()
	for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
		for c := at.Cols.Lo; c < at.Cols.Hi; c += 9000 {
			place := matrix.At(r, r+1, c, min(c+9000, at.Cols.Hi))
			for slot, want := range x.want {
				got := make([]float32, place.Cols.Len())
				if err := x.mark.ReadRect(wire.View(got), place, slot); err != nil {
					x.t.Fatal(err)
				}
				from := (r-at.Rows.Lo)*at.Cols.Len() + c - at.Cols.Lo
				if !slices.Equal(got, want[from:][:len(got)]) {
					x.t.Fatalf("slot %d at %v is not as it was", slot, place)
				}
			}
		}
	}
	close(done)
	owner.Wait()
	x.mark.Close()
	if err := x.s.ReadRect(make([]byte, 4*len(x.want[0])), at); err != nil {
		x.t.Error(err)
	}
}
