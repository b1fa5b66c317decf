package server_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/state"
)

// TestNonFinite (T26): a gradient with a value that is not finite fails its push, is left out, or is applied, as its matrix
// says; it is counted, and nothing else is touched.
func TestNonFinite(t *testing.T) {
	for _, dtype := range []matrix.DType{matrix.F64, matrix.F32} {
		for _, choice := range []string{"", "refuse", "skip", "allow"} {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				for _, where := range []string{"cells", "columns"} {
					bubble(t, fmt.Sprint(dtype, choice, bad, where), func(t *testing.T) { nonFinite(t, dtype, choice, bad, where) })
				}
			}
		}
	}
}

func nonFinite(t *testing.T, dtype matrix.DType, choice string, bad float64, where string) {
	s := serve(t, nil)
	c := s.join(0, 1, ssp.BSP)
	w, k := one("w", 2, 100), with(spec("k", 3, 1<<40, matrix.RowSparse), "sgd")
	for _, sp := range []*rpc.Spec{&w, &k} {
		sp.NonFinite, sp.Meta.DType = choice, dtype
	}
	ms := c.create(w, k)
	m, of := ms[0], ms[1]
	val := slices.Repeat([]float64{-1}, 200) // sums that begin anew after 64 values, and end with a rest
	cells := m.dense(0, m.Rect(), val...)
	columns := of.columns(0, map[int64]float64{7: -1, 9: -1})
	at, place := &cells, "row 1, column 85"
	name := "w"
	if where == "columns" {
		at, place = &columns, fmt.Sprintf("row 2, column %d", columns.Keys[1])
		name = "k"
		of.setBytes(at, 5, bad)
	} else {
		m.setBytes(at, 185, bad)
	}
	_, err := c.outcome(c.push([]rpc.Part{cells, columns}, m.tick(0, 0, 0), of.tick(0, 1, 1)))
	clock, added, stepped := 1, -1.0, 1.0
	switch choice {
	case "", "refuse":
		fails(t, "the push", err, rpc.ErrRefused, fmt.Sprintf("matrix %q", name), place, "not finite")
		clock, added, stepped = 0, 0, 0
	case "skip", "allow":
		if err != nil {
			t.Error(err)
		}
		if choice == "skip" && where == "cells" {
			added = 0
		} else if choice == "skip" {
			stepped = 0
		}
	}
	got := c.pulled(m.at(clock, matrix.At(0, 1, 0, 1)), m.at(clock, matrix.At(1, 2, 85, 86)), of.keys(clock, columns.Keys[1]))
	want := []float64{added, added, stepped, stepped, stepped}
	if choice == "allow" && where == "cells" {
		want[1] = bad
	} else if choice == "allow" {
		want[4] = -bad
	}
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return a == b || a != a && b != b }) {
		t.Errorf("values are %v, want %v", got, want)
	}
	if n := c.nonFinite(); n != 1 {
		t.Errorf("counted are %d, want 1", n)
	}
	c.pushed([]rpc.Part{m.row(clock, 1)}, m.tick(clock, 0, 0))
}

// nonFinite is how many parts of pushes were, as the server says.
func (c *conn) nonFinite() int64 {
	return c.roster(c.start(rpc.Request{Op: rpc.OpMembers, Arg: []byte("{}")})).NonFinite
}

// setBytes changes one value of a part.
func (m *known) setBytes(p *rpc.Part, i int, v float64) {
	copy(p.Values[i*m.DType.Size():], m.bytes([]float64{v}))
}

// TestFiniteSums: large values whose sum is infinite, or zeros of both signs, are no reason to refuse anything.
func TestFiniteSums(t *testing.T) {
	s := serve(t, nil)
	c := s.join(0, 1, ssp.BSP)
	m := c.create(one("m", 1, 4))[0]
	val := []float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, math.Copysign(0, -1)}
	c.pushed([]rpc.Part{m.row(0, val...)}, m.tick(0, 0, 0))
	if got := c.pulled(m.whole(1)); !slices.Equal(got, val) {
		t.Errorf("values are %v, want %v", got, val)
	}
	n := one("n", 1, 1)
	n.Meta.DType = matrix.I64
	i := c.create(n)[0]
	p := i.row(0, 0)
	copy(p.Values, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}) // as a float it is no number
	c.pushed([]rpc.Part{p})
}

// TestSkipWaits: what is left out waits for its clock like the rest of its push, counts when that is due, once though the push
// comes again, and is neither in a checkpoint nor in the ledger; another clock is refused like that of any other push.
func TestSkipWaits(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		bucket := &blob.Mem{}
		s := serve(t, func(s *server.Server) { s.Bucket, s.Ledger = bucket, budget.New(1<<28) })
		a, b := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
		w, k := with(one("w", 1, 2), "sgd"), spec("k", 1, 1<<40, matrix.RowSparse)
		w.NonFinite, k.NonFinite = "skip", "skip"
		ms := a.create(w, k)
		b.create(w, k)
		m, of := ms[0], ms[1]
		bad := m.row(0, 1, math.NaN())
		for range 2 { // the second is a copy of the first
			a.seq = 0
			a.pushed([]rpc.Part{bad, of.columns(0, map[int64]float64{5: 2})}, own(0), m.tick(0, 3, 1), of.tick(0, 0, 0))
		}
		_, err := a.outcome(a.push([]rpc.Part{bad}))
		fails(t, "clock 0 at clock 1", err, rpc.ErrMalformed, "push of clock 0 by task 0, which is at clock 1")
		b.checkpointed("c", b.wait(b.checkpointing("c", 0, m, of)))
		if n := a.nonFinite(); n != 0 {
			t.Errorf("%d are left out before their clock is due", n)
		}
		in, err := state.NewInput(t.Context(), bucket, "c")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		core, err := in.Job(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var staged []string
		for _, m := range core.Matrices {
			for _, e := range m.Staged {
				staged = append(staged, fmt.Sprint(m.Name, e.Tick, e.Weight, e.Delta.Keys))
			}
		}
		if want := []string{"wtrue 3 []", "kfalse 0 [5]"}; !slices.Equal(staged, want) {
			t.Errorf("staged are %q, want %q", staged, want)
		}
		b.pushed([]rpc.Part{m.row(0, 8, 4)}, own(0), m.tick(0, 1, 1), of.tick(0, 0, 0))
		if got := a.pulled(m.whole(1), of.keys(1, 5)); !slices.Equal(got, []float64{-2, -1, 2}) { // (8, 4) / (3 + 1 examples)
			t.Errorf("values are %v, want -2, -1 and 2", got)
		}
		if n := a.nonFinite(); n != 1 {
			t.Errorf("%d are left out, want 1", n)
		}
		a.leave()
		b.leave()
		synctest.Wait()
		if u := s.server.Ledger.Used(); u.Total() != 0 {
			t.Errorf("in use when the job has ended: %v", u)
		}
	})
}
