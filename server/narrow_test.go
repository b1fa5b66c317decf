package server_test

import (
	"math"
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/ssp"
)

// TestNarrow: values of f64 are pushed as i8, and answered as f16 in a quarter of the bytes; wrong sizes and scales are refused, and
// nothing of such a push is applied.
func TestNarrow(t *testing.T) {
	s := serve(t, nil)
	c := s.join(0, 1, ssp.BSP)
	m := c.create(one("m", 1, 4))[0]
	at := m.row(0, 1, 1, 1, 1)
	at.DType, at.Values = matrix.I8, []byte{0, 0, 0, 0x3f, 1, 2, 0xff, 0} // scale 0.5
	for name, values := range map[string][]byte{
		"short": at.Values[:7], "long": append(slices.Clone(at.Values), 0), "NaN": {0, 0, 0xc0, 0x7f, 1, 2, 3, 4},
	} {
		bad := at
		bad.Values = values
		_, err := c.outcome(c.push([]rpc.Part{bad}))
		fails(t, name, err, rpc.ErrMalformed, `matrix "m"`)
	}
	c.pushed([]rpc.Part{at}, m.tick(0, 0, 0))
	if got := c.pulled(m.whole(1)); !slices.Equal(got, []float64{0.5, 1, -0.5, 0}) {
		t.Errorf("values are %v", got)
	}
	ask := m.whole(1)
	ask.DType = matrix.F16
	r := c.must(rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{ask}})
	if p := r.Parts[0]; p.DType != matrix.F16 || !slices.Equal(p.Values, []byte{0, 0x38, 0, 0x3c, 0, 0xb8, 0, 0}) {
		t.Errorf("as f16 values are % x of %v", p.Values, p.DType)
	}
	ask.DType = matrix.I8 // no type of answers
	r = c.must(rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{ask}})
	if p := r.Parts[0]; p.DType != matrix.F64 || len(p.Values) != 32 {
		t.Errorf("asked for as i8 values are %d bytes of %v, want those of f64", len(p.Values), p.DType)
	}
}

// TestNarrowPieces: many values, which are read in pieces, are all rounded, each in its place.
func TestNarrowPieces(t *testing.T) {
	s := serve(t, nil)
	c := s.join(0, 1, ssp.BSP)
	m := c.create(one("m", 3, 9000))[0]
	val := make([]float64, 27000)
	for i := range val {
		val[i] = float64(i)/128 + 1e-7
	}
	c.pushed([]rpc.Part{m.dense(0, m.Rect(), val...)}, m.tick(0, 0, 0))
	ask := m.whole(1)
	ask.DType = matrix.BF16
	p := c.must(rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{ask}}).Parts[0]
	got := make([]float64, len(val))
	p.Kind, p.DType = rpc.KindDense, matrix.BF16
	if err := rpc.Widen(&p, got); err != nil {
		t.Fatal(err)
	}
	for i, v := range val {
		if math.Abs(got[i]-v) > v/256 {
			t.Fatalf("value %d is %v, want about %v", i, got[i], v)
		}
	}
	if got[26999] == val[26999] {
		t.Errorf("nothing was rounded")
	}
}
