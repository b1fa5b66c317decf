package server_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/ssp"
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
	name, other := "w", "k"
	if where == "columns" {
		at, place = &columns, fmt.Sprintf("row 2, column %d", columns.Keys[1])
		name, other = "k", "w"
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
	if n, beside := s.server.NonFinite("j", name), s.server.NonFinite("j", other); beside != 0 || (n == 1) == (choice == "allow") {
		t.Errorf("counted are %d, and %d in the other matrix", n, beside)
	}
	c.pushed([]rpc.Part{m.row(clock, 1)}, m.tick(clock, 0, 0))
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
