package server_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// besideServers runs one task on new servers, with a matrix.
func besideServers(t *testing.T, servers int, cut string, m matrix.Meta, f func(ctx context.Context, w *ps.Matrix) error) {
	t.Helper()
	newCluster(t, &mem.Network{}, servers).run(1, ssp.ASP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := p.Create(ctx, cut, m); err != nil {
			return err
		}
		w, err := p.Matrix(m.Name)
		if err != nil {
			return err
		}
		return f(ctx, w)
	})
}

// updates runs update functions, given as pairs of name and argument.
func updates(ctx context.Context, w *ps.Matrix, pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := w.Update(ctx, pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// answers compares what get functions answer with triples of name, argument and answer.
func answers(ctx context.Context, w *ps.Matrix, triples ...string) error {
	for i := 0; i < len(triples); i += 3 {
		got, err := w.Get(ctx, triples[i], triples[i+1])
		if err != nil || got.String() != triples[i+2] {
			return fmt.Errorf("%s %s: %s, %w, want %s", triples[i], triples[i+1], got, err, triples[i+2])
		}
	}
	return nil
}

// TestMaxOfSparseRow (T6, P8, P9): cells that are not stored count as what they are, for max and min as for amin.
func TestMaxOfSparseRow(t *testing.T) {
	for _, servers := range []int{1, 4} {
		m := meta("m", 1, 1<<62, matrix.RowSparse)
		besideServers(t, servers, "", m, func(ctx context.Context, w *ps.Matrix) error {
			err := updates(ctx, w, "put", `{"row":0,"values":[-3,-1],"cols":[5,4611686018427387903]}`)
			return errors.Join(err, answers(ctx, w, "max", "", "0", "min", "", "-3", "amin", "", "0", "amax", "", "3", "nnz", "", "2"),
				updates(ctx, w, "subs", `{"from":0,"s":4}`), answers(ctx, w, "max", "", "-4", "min", "", "-7", "amin", "", "4"))
		})
	}
}

// TestEqualSparseRows (T7): differences that cancel each other do not make rows equal.
func TestEqualSparseRows(t *testing.T) {
	for _, servers := range []int{1, 4} {
		for _, dtype := range []matrix.DType{matrix.F32, matrix.F64, matrix.I32, matrix.I64} {
			m := meta("m", 3, 1<<62, matrix.RowSparse)
			m.DType = dtype
			besideServers(t, servers, "", m, func(ctx context.Context, w *ps.Matrix) error {
				err := updates(ctx, w, "put", `{"row":0,"values":[1,-1],"cols":[1,2]}`)
				return errors.Join(err, answers(ctx, w, "equal", `{"row1":0,"row2":1}`, "0", "equal", `{"row1":1,"row2":2}`, "1",
					"equal", `{"row1":0,"row2":1,"tolerance":1}`, "1"))
			})
		}
	}
}

// TestExpm1AndCompress (T9): expm1 is expm1 in every type, and compress drops what is small and nothing else.
func TestExpm1AndCompress(t *testing.T) {
	for dtype, want := range map[matrix.DType]string{
		matrix.F64: fmt.Sprint(math.Expm1(0.5)), matrix.F32: fmt.Sprint(float32(math.Expm1(0.5))), matrix.I64: "2", matrix.I32: "2",
	} {
		value := `0.5`
		if !dtype.Float() {
			value = `1` // e - 1, rounded
		}
		m := meta("m", 2, 100, matrix.RowDense)
		m.DType = dtype
		besideServers(t, 4, "", m, func(ctx context.Context, w *ps.Matrix) error {
			return errors.Join(updates(ctx, w, "fill", `{"value":`+value+`,"rows":0}`, "expm1", `{"from":0,"to":1}`),
				answers(ctx, w, "max", `{"rows":1}`, want, "min", `{"rows":1}`, want))
		})
	}
	besideServers(t, 4, "", meta("m", 1, 1<<62, matrix.RowSparse), func(ctx context.Context, w *ps.Matrix) error {
		return errors.Join(updates(ctx, w, "put", `{"row":0,"values":[1e-12,-1e-12,0.25],"cols":[1,2,3]}`, "compress", ""),
			answers(ctx, w, "size", "", "1", "sum", "", "0.25"))
	})
}

// TestRandomNumbers (T10, P5, P6): the same numbers on one and on four servers, cut in any way, within their range, which is
// half-open also where a float32 would be rounded to its end.
func TestRandomNumbers(t *testing.T) {
	for _, dtype := range []matrix.DType{matrix.F64, matrix.F32, matrix.I32} {
		for _, f := range []struct {
			name, arg string
			low, high float64
		}{
			{"random", `{"low":-2,"high":5,"seed":7}`, -2, 5},
			{"random", `{"low":0.7,"high":1.0000001,"seed":7}`, 0.7, 1.0000001},
			{"randomuniform", `{"min":16777215.3,"max":16777219.2,"seed":3}`, 16777215.3, 16777219.2},
			{"randomnormal", `{"mean":1,"std":2,"seed":3}`, math.Inf(-1), math.Inf(1)},
			{"xavieruniform", `{"fanin":1,"fanout":2}`, -math.Sqrt2, math.Sqrt2},
			{"kaimingnormal", `{"fanin":1}`, math.Inf(-1), math.Inf(1)},
		} {
			var want []byte
			for _, servers := range []int{1, 4} {
				for _, cut := range []string{"column", "range"} {
					m := meta("m", 40, 60, matrix.RowDense)
					m.DType, m.BlockRows = dtype, int64(servers*3)
					besideServers(t, servers, cut, m, func(ctx context.Context, w *ps.Matrix) error {
						if err := w.Update(ctx, f.name, f.arg); err != nil {
							return err
						}
						got, err := w.Get(ctx, "topk", `{"k":2400}`)
						if want == nil {
							want = got
						}
						lo, err2 := call(ctx, w, "min", "")
						hi, err3 := call(ctx, w, "max", "")
						if !slices.Equal(got, want) || !(lo >= f.low && hi < f.high) {
							t.Errorf("%s %s in %v on %d servers by %s: other numbers, or from %v to %v", f.name, f.arg, dtype, servers, cut, lo, hi)
						}
						return errors.Join(err, err2, err3)
					})
				}
			}
		}
	}
}

// TestSparseLongKeyRow (T19): adds and exp change all 2^62 cells of a row of which three are stored, on any number of servers; where
// that has no meaning, the function is refused, or leaves alone what is not stored.
func TestSparseLongKeyRow(t *testing.T) {
	for _, servers := range []int{1, 4} {
		besideServers(t, servers, "", meta("m", 2, 1<<62, matrix.RowSparse), func(ctx context.Context, w *ps.Matrix) error {
			err := errors.Join(updates(ctx, w, "put", `{"row":0,"values":[1,2,3],"cols":[7,4611686018427387903,123456789012345]}`,
				"adds", `{"from":0,"to":1,"s":2}`),
				answers(ctx, w, "size", "", "6", "sum", `{"rows":1}`, fmt.Sprint(float64(2*(1<<62)+6)), "min", `{"rows":1}`, "2", "max", `{"rows":1}`, "5"),
				updates(ctx, w, "exp", `{"from":0}`),
				answers(ctx, w, "min", `{"rows":0}`, "1", "max", `{"rows":0}`, fmt.Sprint(math.Exp(3))))
			k, err2 := w.Plan(nil, []int64{7, 8, 4611686018427387903})
			if err = errors.Join(err, err2); err != nil {
				return err
			}
			got := make([]float64, 6)
			err = ps.PullKeys(ctx, w, k, got)
			if want := []float64{math.E, 3, 1, 2, math.Exp(2), 4}; !slices.Equal(got, want) {
				t.Errorf("pulled %v, want %v", got, want)
			}
			fails(t, "log of absent cells below zero", w.Update(ctx, "map", `{"from":1,"f":"log(1-x)"}`), rpc.ErrMalformed, "not stored")
			err = errors.Join(err, answers(ctx, w, "max", `{"rows":1}`, "5"))
			fails(t, "numbers of columns", w.Update(ctx, "map", `{"from":1,"f":"x+i"}`), rpc.ErrMalformed, "column")
			return errors.Join(err, updates(ctx, w, "fill", `{"value":0,"rows":1}`, "fill", `{"value":4,"rows":1,"stored":true}`),
				answers(ctx, w, "sum", `{"rows":1}`, "12"))
		})
	}
}

// TestAbsentInCheckpoint: the values of cells that are not stored come back on other numbers of servers, however the matrix is cut
// there, also for columns that were stored for some of the rows alone.
func TestAbsentInCheckpoint(t *testing.T) {
	shape := func(cut string) matrix.Meta {
		m := meta("m", 4, 1000, matrix.RowSparse)
		if cut == "range" {
			m.BlockRows = 2
		}
		return m
	}
	state := func(ctx context.Context, w *ps.Matrix) (string, error) {
		all := ""
		for _, f := range []string{"sum", "asum", "max", "min", "nnz", "quantiles"} {
			for _, rows := range []string{"0", "1", "2", "3"} {
				a, err := w.Get(ctx, f, `{"rows":`+rows+`}`)
				if err != nil {
					return "", err
				}
				all += f + " " + a.String() + "\n"
			}
		}
		return all, nil
	}
	for _, from := range part.Partitioners() {
		c := newCluster(t, &mem.Network{}, 3)
		var want string
		c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			if err := p.Create(ctx, from.Name, shape(from.Name)); err != nil {
				return err
			}
			w, err := p.Matrix("m")
			if err != nil {
				return err
			}
			err = updates(ctx, w, "put", `{"row":0,"values":[1,2,3],"cols":[0,500,999]}`, "adds", `{"from":0,"s":5}`,
				"fill", `{"value":-7,"rows":[3]}`, "put", `{"row":3,"values":[8],"cols":[77]}`, "fill", `{"value":0.5,"rows":2}`,
				"put", `{"row":1,"values":[1],"cols":[78]}`)
			if err != nil {
				return err
			}
			if want, err = state(ctx, w); err != nil {
				return err
			}
			return p.Checkpoint(ctx, "c")
		})
		for _, to := range part.Partitioners() {
			for _, servers := range []int{1, 5} {
				again := &cluster{t: t, net: &mem.Network{}, bucket: c.bucket}
				again.start(servers)
				again.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
					if err := p.Create(ctx, to.Name, shape(from.Name)); err != nil {
						return err
					}
					if _, err := p.Restore(ctx, "c"); err != nil {
						return err
					}
					w, err := p.Matrix("m")
					if err != nil {
						return err
					}
					got, err := state(ctx, w)
					if got != want {
						t.Errorf("from %s to %s on %d servers:\n%swant\n%s", from.Name, to.Name, servers, got, want)
					}
					return err
				})
			}
		}
	}
}
