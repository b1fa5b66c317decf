package interp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"thole.example/matrix"
)

// compute runs a trial.
func (c *trial) compute(t *testing.T) (string, error) {
	t.Helper()
	m, feeds, err := single(t, c.op, c.in, c.set)
	if err != nil {
		return "", err
	}
	got, err := m.Run(context.Background(), feeds)
	if err != nil {
		return "", err
	}
	return text(got[0].Tensor), nil
}

// with is the trial with another input.
func (c trial) with(slot string, x *Tensor) trial {
	c.in = maps.Clone(c.in)
	if c.in == nil {
		c.in = map[string]*Tensor{}
	}
	c.in[slot] = x
	return c
}

// refused checks that an operator that gives nothing says so itself.
func (c *trial) refused(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ErrOp) && !errors.Is(err, ErrShape) || !strings.Contains(err.Error(), "("+c.op+")") {
		t.Errorf("%s %v with %s: %v, want an error that names the operator", c.op, c.set, what, err)
	}
}

// TestSpoiledInputs gives the examples inputs of other types and shapes, one at a time.
func TestSpoiledInputs(t *testing.T) {
	for _, c := range trials() {
		for slot, x := range c.in {
			floats, whole := make([]float32, x.Len()), make([]int64, x.Len())
			for _, other := range []*Tensor{Floats(floats, x.Dims...), Ints(whole, x.Dims...), {Dims: x.Dims, Type: matrix.Bool, I: whole},
				Floats([]float32{1}), Ints([]int64{1}), Floats(nil, 0), Ints(nil, 0), seq(5, 1), ints(3, 1, 2), seq(1, 2, 1, 2, 1), seq(2, 0, 3)} {
				spoiled := c.with(slot, other)
				if _, err := spoiled.compute(t); err != nil {
					c.refused(t, fmt.Sprintf("%s %s", slot, text(other)), err)
				}
			}
		}
	}
}

// TestSpoiledSettings gives the examples settings out of range, one at a time.
func TestSpoiledSettings(t *testing.T) {
	for _, c := range trials() {
		for _, s := range table().ops[c.op].set {
			values := []any{"none", []string{"none"}}
			for _, v := range []int64{-1 << 40, -99, -2, 2, 99, 1 << 40} {
				switch s.value.(type) {
				case int64:
					values = append(values, v)
				case []int64:
					values = append(values, []int64{v}, []int64{0, v})
				}
			}
			for _, v := range values {
				spoiled := c
				if spoiled.set = maps.Clone(c.set); spoiled.set == nil {
					spoiled.set = attrs{}
				}
				spoiled.set[s.name] = v
				if _, err := spoiled.compute(t); err != nil && !strings.Contains(err.Error(), "("+c.op+")") {
					t.Errorf("%s %v: %v, want an error that names the operator", c.op, spoiled.set, err)
				}
			}
		}
	}
}

// TestTensorSettings gives settings as tensors: those that are read are read so too, and refused if they are not what the
// attribute would be.
func TestTensorSettings(t *testing.T) {
	refused := map[string]bool{} // operators and settings
	for _, c := range trials() {
		for _, s := range table().ops[c.op].set {
			value := s.value
			if v, ok := c.set[s.name]; ok {
				value = v
			}
			var same, spoiled []*Tensor
			switch v := value.(type) {
			case int64:
				same, spoiled = []*Tensor{ints(v)}, []*Tensor{ints(), ints(v, v), Floats([]float32{float32(v)}, 1)}
			case float64:
				f := float32(v)
				same, spoiled = []*Tensor{Floats([]float32{f}, 1)}, []*Tensor{Floats(nil, 0), Floats([]float32{f, f}, 2), ints(1, 1)}
				if v == float64(int64(v)) {
					same = append(same, ints(int64(v)))
				}
			case []int64:
				same, spoiled = []*Tensor{ints(v...)}, []*Tensor{Floats(make([]float32, len(v)), len(v))}
			}
			for _, x := range same {
				other := c.with("@"+s.name, x)
				if got, err := other.compute(t); got != c.want && c.set["str_value"] == nil { // the tensor goes before that
					t.Errorf("%s %v with %s %s gives %s, %v, want %s", c.op, c.set, s.name, text(x), got, err, c.want)
				}
			}
			for _, x := range spoiled {
				other := c.with("@"+s.name, x)
				if got, err := other.compute(t); err != nil {
					c.refused(t, s.name+" "+text(x), err)
					refused[c.op+" @"+s.name] = true
				} else if got != c.want {
					t.Errorf("%s %v with %s %s gives %s, want %s or an error", c.op, c.set, s.name, text(x), got, c.want)
				}
			}
		}
	}
	for _, o := range pirOps() {
		for _, slot := range o.in {
			if strings.HasPrefix(slot, "@") && !refused[o.as+" "+slot] {
				t.Errorf("%s of %s is not read from a tensor", slot, o.as)
			}
		}
	}
}
