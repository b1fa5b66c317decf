package interp

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"thole.example/matrix"
)

// dims is a setting as dimensions.
func (c *call) dims(name string) ([]int, error) {
	shape, err := c.ints(name)
	if err != nil {
		return nil, err
	}
	dims := make([]int, len(shape))
	for i, d := range shape {
		if d < 0 || d > maxElems {
			return nil, fmt.Errorf("%s %v, want none below 0: %w", name, shape, ErrShape)
		}
		dims[i] = int(d)
	}
	return dims, nil
}

// assignValue makes a tensor of the values that one of its lists has.
func assignValue(c *call) error {
	dims, err := c.dims("shape")
	if err != nil {
		return err
	}
	out, err := (&Tensor{Type: matrix.DType(c.set["dtype"].(elem))}).like(dims)
	if err != nil {
		return err
	}
	for _, list := range []string{"values", "fp32_values", "int32_values", "int64_values", "bool_values"} {
		n := c.set[list].(numbers)
		switch {
		case len(n.floats)+len(n.ints) == 0:
			continue
		case len(n.floats)+len(n.ints) != out.Len():
			return fmt.Errorf("%d values in %s for shape %v: %w", len(n.floats)+len(n.ints), list, dims, ErrShape)
		}
		for i, v := range n.floats {
			if err := out.set(i, v); err != nil {
				return err
			}
		}
		for i, v := range n.ints {
			if out.I != nil {
				out.I[i] = v
			} else {
				out.F[i] = float32(v)
			}
		}
	}
	c.give(out)
	return nil
}

// set gives an element a value, of which integers take the whole part.
func (t *Tensor) set(i int, v float64) (err error) {
	if t.Type == matrix.F32 {
		t.F[i] = float32(v)
	} else {
		t.I[i], err = integer(v)
	}
	return err
}

// fillConstant makes a tensor of one value; str_value counts before value, because it has all digits.
func fillConstant(c *call) error {
	dims, err := c.dims("shape")
	if err != nil {
		return err
	}
	value := c.set["value"].(float64)
	if from := c.from("value"); from != nil {
		v, err := c.float("value")
		if err != nil {
			return err
		}
		value = float64(v)
	} else if text := c.str("str_value"); text != "" {
		if value, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("str_value %q: %w", text, ErrOp)
		}
	}
	out, err := (&Tensor{Type: matrix.DType(c.set["dtype"].(elem))}).like(dims)
	if err != nil {
		return err
	}
	for i := range out.Len() {
		if err := out.set(i, value); err != nil {
			return err
		}
	}
	c.give(out)
	return nil
}

// integer is the whole part of a number that fits 63 bits.
func integer(v float64) (int64, error) {
	if !(math.Abs(v) < 1<<63) {
		return 0, fmt.Errorf("%v as an integer: %w", v, ErrOp)
	}
	return int64(v), nil
}

// fillInts makes a vector of its values.
func fillInts(c *call) error {
	list, err := c.ints("value")
	if err != nil {
		return err
	}
	to := matrix.DType(c.set["dtype"].(elem))
	if to == matrix.F32 {
		return fmt.Errorf("integers as %v: %w", to, ErrOp)
	}
	c.give(&Tensor{Dims: []int{len(list)}, Type: to, I: slices.Clone(list)})
	return nil
}
