package interp

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// seriesTrials are examples of operators that make series, and take and put values at places; what numpy gives for them.
func seriesTrials() []trial {
	x23, two := seq(2, 3), func(a, b float32) *Tensor { return Floats([]float32{a, b}, 2) }
	inf := float32(math.Inf(1))
	one := func(v float32) *Tensor { return Floats([]float32{v}, 1) }
	slicing := func(axes, starts, ends, strides []int64) attrs {
		return attrs{"axes": axes, "starts": starts, "ends": ends, "strides": strides}
	}
	in := map[string]*Tensor{"Input": x23}
	return []trial{
		{"arange", map[string]*Tensor{"Start": ints(1), "End": ints(8), "Step": ints(3)}, nil, "[3] [1 4 7]"},
		{"linspace", map[string]*Tensor{"Start": one(0), "Stop": one(1), "Num": ints(5)}, nil, "[5] [0 0.25 0.5 0.75 1]"},
		{"linspace", map[string]*Tensor{"Start": one(3), "Stop": one(-1), "Num": ints(2)}, nil, "[2] [3 -1]"},
		{"linspace", map[string]*Tensor{"Start": one(3), "Stop": one(9), "Num": ints(1)}, nil, "[1] [3]"},
		{"eye", nil, attrs{"num_rows": int64(2)}, "[2 2] [1 0 0 1]"},
		{"eye", nil, attrs{"num_rows": int64(2), "num_columns": int64(3), "dtype": int64(3)}, "[2 3] [1 0 0 0 1 0]"},
		{"eye", nil, attrs{"num_rows": int64(3), "num_columns": int64(1)}, "[3 1] [1 0 0]"},
		{"unbind", oneIn(seq(1, 2)), attrs{"axis": int64(0)}, "[2] [0 1]"},
		{"logsumexp", oneIn(x23), attrs{"axis": []int64{1}}, "[2] [2.407606 5.407606]"},
		{"logsumexp", oneIn(x23), attrs{"axis": []int64{0}, "keepdim": true}, "[1 3] [3.0485873 4.0485873 5.0485873]"},
		{"logsumexp", oneIn(x23), attrs{"reduce_all": true}, "[] [5.4561934]"},
		{"logsumexp", oneIn(two(500, 500)), nil, "[] [500.69315]"},
		{"logsumexp", oneIn(two(-inf, -inf)), nil, "[] [-Inf]"},
		{"logsumexp", oneIn(two(-inf, 2)), nil, "[] [2]"},
		{"strided_slice", in, slicing([]int64{1}, []int64{2}, []int64{0}, []int64{-1}), "[2 2] [2 1 5 4]"},
		{"strided_slice", in, slicing([]int64{0, 1}, []int64{-1, 0}, []int64{-3, 9}, []int64{-1, 2}), "[2 2] [3 5 0 2]"},
		{"strided_slice", in, slicing([]int64{0, -1}, []int64{1, -1}, []int64{2, -5}, []int64{1, -2}), "[1 2] [5 3]"},
		{"strided_slice", in, slicing([]int64{1}, []int64{2}, []int64{1}, []int64{1}), "[2 0] []"},
		{"strided_slice", in, attrs{"axes": []int64{0}, "starts": []int64{1}, "ends": []int64{2}, "strides": []int64{1}, "decrease_axis": []int64{0}}, "[3] [3 4 5]"},
		{"roll", oneIn(x23), attrs{"shifts": []int64{1}}, "[2 3] [5 0 1 2 3 4]"},
		{"roll", oneIn(x23), attrs{"shifts": []int64{1, -1}, "axis": []int64{0, 1}}, "[2 3] [4 5 3 1 2 0]"},
		{"roll", oneIn(x23), attrs{"shifts": []int64{4}, "axis": []int64{-1}}, "[2 3] [2 0 1 5 3 4]"},
		{"where_index", map[string]*Tensor{"Condition": yes(0, 1, 1)}, nil, "[2 1] [1 2]"},
		{"where_index", map[string]*Tensor{"Condition": Ints([]int64{0, 5, 0, 7}, 2, 2)}, nil, "[2 2] [0 1 1 1]"},
		{"where_index", map[string]*Tensor{"Condition": yes(0)}, nil, "[0 1] []"},
		{"masked_select", map[string]*Tensor{"X": x23, "Mask": yes(1, 0, 1)}, nil, "[4] [0 2 3 5]"},
		{"scatter", map[string]*Tensor{"X": seq(3, 2), "Ids": ints(2, 0), "Updates": seq(2, 2)}, nil, "[3 2] [2 3 2 3 0 1]"},
		{"scatter", map[string]*Tensor{"X": seq(3, 2), "Ids": ints(1, 1), "Updates": seq(2, 2)}, nil, "[3 2] [0 1 2 3 4 5]"},
		{"scatter", map[string]*Tensor{"X": seq(3, 2), "Ids": ints(1, 1), "Updates": seq(2, 2)}, attrs{"overwrite": false}, "[3 2] [0 1 2 4 4 5]"},
		{"scatter_nd_add", map[string]*Tensor{"X": seq(2, 3), "Index": Ints([]int64{0, 1, 1, 2, 0, 1}, 3, 2), "Updates": seq(3)}, nil, "[2 3] [0 3 2 3 4 6]"},
		{"scatter_nd_add", map[string]*Tensor{"X": seq(2, 3), "Index": Ints([]int64{1}, 1, 1), "Updates": seq(1, 3)}, nil, "[2 3] [0 1 2 3 5 7]"},
	}
}

// TestSeriesRefusals gives these operators what they cannot use.
func TestSeriesRefusals(t *testing.T) {
	x23 := seq(2, 3)
	single := Floats([]float32{1}, 1)
	for _, c := range []struct {
		op   string
		in   map[string]*Tensor
		set  attrs
		want error
	}{
		{"linspace", map[string]*Tensor{"Start": single, "Stop": single, "Num": ints(0)}, nil, ErrShape},
		{"linspace", map[string]*Tensor{"Start": single, "Stop": single, "Num": ints(maxElems + 1)}, nil, ErrShape},
		{"linspace", map[string]*Tensor{"Start": single, "Stop": ints(1), "Num": ints(2)}, nil, ErrShape},
		{"eye", nil, attrs{"num_rows": int64(maxElems), "num_columns": int64(2)}, ErrShape},
		{"eye", nil, attrs{"num_rows": int64(-1)}, ErrShape},
		{"logsumexp", oneIn(ints(1)), nil, ErrOp},
		{"strided_slice", map[string]*Tensor{"Input": x23}, attrs{"axes": []int64{0}, "starts": []int64{0}, "ends": []int64{1}, "strides": []int64{0}}, ErrShape},
		{"strided_slice", map[string]*Tensor{"Input": x23}, attrs{"axes": []int64{0}, "starts": []int64{0}, "ends": []int64{1}}, ErrShape},
		{"strided_slice", map[string]*Tensor{"Input": x23}, attrs{"axes": []int64{2}, "starts": []int64{0}, "ends": []int64{1}, "strides": []int64{1}}, ErrShape},
		{"roll", oneIn(x23), attrs{"shifts": []int64{1, 2}, "axis": []int64{0}}, ErrShape},
		{"roll", oneIn(x23), attrs{"shifts": []int64{1}, "axis": []int64{5}}, ErrShape},
		{"masked_select", map[string]*Tensor{"X": x23, "Mask": ints(1, 0, 1)}, nil, ErrOp},
		{"masked_select", map[string]*Tensor{"X": x23, "Mask": yes(1, 0)}, nil, ErrShape},
		{"scatter", map[string]*Tensor{"X": x23, "Ids": ints(2), "Updates": seq(1, 3)}, nil, ErrShape},
		{"scatter", map[string]*Tensor{"X": x23, "Ids": ints(0), "Updates": seq(2, 3)}, nil, ErrShape},
		{"scatter", map[string]*Tensor{"X": x23, "Ids": single, "Updates": seq(1, 3)}, nil, ErrOp},
		{"scatter_nd_add", map[string]*Tensor{"X": x23, "Index": Ints([]int64{0, 3}, 1, 2), "Updates": single}, nil, ErrShape},
		{"scatter_nd_add", map[string]*Tensor{"X": x23, "Index": Ints([]int64{0, 0, 0}, 1, 3), "Updates": single}, nil, ErrShape},
	} {
		one := trial{c.op, c.in, c.set, ""}
		if _, err := one.compute(t); !errors.Is(err, c.want) {
			t.Errorf("%s %v: %v, want %v", c.op, c.set, err, c.want)
		}
	}
}

// TestConvolutions compares convolutions of many shapes to the definition.
func TestConvolutions(t *testing.T) {
	for _, c := range []struct{ images, channels, filters, groups, rows, cols, high, wide, step, pad, spread int }{
		{1, 3, 4, 1, 7, 9, 3, 3, 1, 1, 1}, {2, 4, 6, 2, 8, 5, 3, 2, 2, 0, 1}, {1, 6, 6, 6, 10, 10, 3, 3, 1, 1, 1}, {1, 2, 3, 1, 12, 12, 3, 3, 1, 2, 3},
		{2, 8, 5, 1, 6, 6, 1, 1, 1, 0, 1}, {1, 8, 5, 1, 6, 6, 1, 1, 2, 0, 1}, {1, 2, 2, 1, 3, 3, 3, 3, 1, 4, 1}, {1, 1, 1, 1, 5, 40, 5, 7, 3, 3, 1},
		{1, 300, 2, 1, 40, 40, 5, 5, 1, 2, 1}, {1, 1, 2, 1, 2, 2, 1, 1, 1, 3, 1},
	} {
		size := func(n, k int) int { return (n+2*c.pad-(k-1)*c.spread-1)/c.step + 1 }
		x, f := wave(c.images, c.channels, c.rows, c.cols), wave(c.filters, c.channels/c.groups, c.high, c.wide)
		m, feeds, err := single(t, "conv2d", map[string]*Tensor{"Input": x, "Filter": f}, attrs{"groups": int64(c.groups), "strides": []int64{int64(c.step), int64(c.step)},
			"paddings": []int64{int64(c.pad), int64(c.pad)}, "dilations": []int64{int64(c.spread), int64(c.spread)}})
		if err != nil {
			t.Fatal(err)
		}
		results, err := m.Run(t.Context(), feeds)
		if err != nil {
			t.Fatal(err)
		}
		got := results[0].Tensor
		want := []int{c.images, c.filters, size(c.rows, c.high), size(c.cols, c.wide)}
		if !slices.Equal(got.Dims, want) {
			t.Fatalf("%+v: shape %v, want %v", c, got.Dims, want)
		}
		at, each := 0, c.filters/c.groups
		for n := range c.images {
			for m := range c.filters {
				for r := range want[2] {
					for col := range want[3] {
						sum := 0.0
						for ch := range f.Dims[1] {
							for i := range c.high {
								for j := range c.wide {
									y, z := r*c.step-c.pad+i*c.spread, col*c.step-c.pad+j*c.spread
									if y >= 0 && y < c.rows && z >= 0 && z < c.cols {
										sum += float64(x.F[((n*c.channels+m/each*f.Dims[1]+ch)*c.rows+y)*c.cols+z]) *
											float64(f.F[((m*f.Dims[1]+ch)*c.high+i)*c.wide+j])
									}
								}
							}
						}
						if math.Abs(float64(got.F[at])-sum) > 1e-4 {
							t.Fatalf("%+v: output %d is %v, want %v", c, at, got.F[at], sum)
						}
						at++
					}
				}
			}
		}
	}
}

// wave is a tensor of values between -1 and 1.
func wave(dims ...int) *Tensor {
	x := seq(dims...)
	for i := range x.F {
		x.F[i] = float32(math.Sin(float64(7*i + len(x.F))))
	}
	return x
}
