package export_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program/export"
)

// models are all networks, with columns as ids and with numbered ones of sparse matrices, and the matrices of each.
func models(t *testing.T, use func(name string, s *saved, open func() (format.Reader, error))) {
	for _, n := range networks() {
		for _, ids := range []export.IDs{export.IDsColumns, export.IDsNumbered} {
			s := &saved{}
			n.save(s)
			for i := range s.metas {
				if ids == export.IDsNumbered && s.metas[i].Cols == features {
					s.metas[i].Layout = matrix.RowSparse
				}
			}
			use(fmt.Sprintf("%s, ids %s", n.name, ids), s, func() (format.Reader, error) {
				m, err := export.New(context.Background(), parse(t, n.layers), s, export.Options{IDs: ids})
				if err != nil {
					return nil, err
				}
				return m.Reader("__model__")
			})
		}
	}
}

// cells reads a rectangle, all of whose cells must come, none twice.
func cells(r format.Reader, name string, want matrix.Rect) (map[[2]int64]float64, error) {
	all := map[[2]int64]float64{}
	for b, err := range r.Blocks(context.Background(), name, want) {
		if err != nil {
			return all, err
		}
		values := b.ToDense()
		values, _ = values.Cast(matrix.F64)
		for i, v := range values.Data.(*matrix.Dense[float64]).Val {
			at := [2]int64{b.At.Rows.Lo + int64(i)/b.At.Cols.Len(), b.At.Cols.Lo + int64(i)%b.At.Cols.Len()}
			if _, twice := all[at]; twice || !want.Contains(b.At) {
				return all, fmt.Errorf("cell %v comes twice or lies beyond %v", at, want)
			}
			all[at] = v
		}
	}
	if n, _ := matrix.Cells(want.Rows.Len(), want.Cols.Len()); int64(len(all)) != n {
		return all, fmt.Errorf("%d cells of %v, want %d", len(all), want, n)
	}
	return all, nil
}

// TestParts reads random parts of parameters: they are what lies there in the whole.
func TestParts(t *testing.T) {
	models(t, func(name string, _ *saved, open func() (format.Reader, error)) {
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Matrices() {
			whole, err := cells(r, m.Name, m.Rect())
			if err != nil {
				t.Fatalf("%s, %s: %v", name, m.Name, err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				lo, left := rapid.Int64Range(0, m.Rows).Draw(rt, "row"), rapid.Int64Range(0, m.Cols).Draw(rt, "column")
				want := matrix.At(lo, rapid.Int64Range(lo, m.Rows).Draw(rt, "last row"), left, rapid.Int64Range(left, m.Cols).Draw(rt, "last column"))
				part, err := cells(r, m.Name, want)
				if err != nil {
					rt.Fatalf("%s, %s: %v", name, m.Name, err)
				}
				for at, v := range part {
					if whole[at] != v {
						rt.Fatalf("%s, %s: cell %v of %v is %v, want %v", name, m.Name, at, want, v, whole[at])
					}
				}
			})
		}
		for _, err := range r.Blocks(context.Background(), "none", matrix.At(0, 1, 0, 1)) {
			if !errors.Is(err, format.ErrMatrix) {
				t.Errorf("%s: %v, want ErrMatrix", name, err)
			}
		}
	})
}

// TestFaults lets the n-th block of the saved matrices fail: whoever builds the program or reads its parameters learns it.
func TestFaults(t *testing.T) {
	models(t, func(name string, s *saved, open func() (format.Reader, error)) {
		read := func() error {
			r, err := open()
			if err != nil {
				return err
			}
			for _, m := range r.Matrices() {
				if _, err := cells(r, m.Name, m.Rect()); err != nil {
					return err
				}
			}
			return nil
		}
		s.given = 0
		if err := read(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n, all := 1, s.given; n <= all; n++ {
			s.given, s.fault = 0, n
			if err := read(); !errors.Is(err, errFault) {
				t.Errorf("%s: %v where block %d of %d fails", name, err, n, all)
			}
		}
	})
}

// TestMatrices checks weights of fully connected layers that were saved as matrices: their order is known.
func TestMatrices(t *testing.T) {
	layers := strings.Join([]string{`{"name":"input","type":"simpleinputlayer","outputdim":6,"transfunc":"relu"}`,
		fmt.Sprintf(fc, "input"), fmt.Sprintf(end, "fclayer", "l2loss")}, ",")
	rows, matrices := &saved{}, &saved{}
	for _, s := range []*saved{rows, matrices} {
		saveFC(6)(s)
		s.metas = s.metas[3:]
		s.add("input_weight", 6, features)
		s.add("input_bias", 1, 6)
	}
	for name, dims := range map[string][2]int64{"fclayer_0_weight": {6, 5}, "fclayer_1_weight": {5, 4}, "fclayer_weight": {4, 1}} {
		i := slices.IndexFunc(matrices.metas, func(m matrix.Meta) bool { return m.Name == name })
		matrices.metas[i].Rows, matrices.metas[i].Cols = dims[0], dims[1]
		matrices.val[name] = matrices.val[name][:dims[0]*dims[1]]
	}
	want := scores(t, rows, layers, export.Options{Order: export.OrderInOut})
	for _, o := range []export.Order{export.OrderAuto, export.OrderInOut, export.OrderOutIn} {
		if got := scores(t, matrices, layers, export.Options{Order: o}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", o, got, want)
		}
	}
	m, err := export.New(context.Background(), parse(t, layers), matrices, export.Options{})
	if err != nil || len(m.Notes) != 0 {
		t.Errorf("notes %v, %v, want none, since nothing is guessed", m.Notes, err)
	}
}
