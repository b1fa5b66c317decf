package layer

import (
	"fmt"
	"math"
	"strings"
)

// Transfer is a transfer function, applied to each output alone.
type Transfer struct {
	Name string
	Help string
	// Apply changes the sums v into outputs.
	Apply func(v []float32)
	// Slope multiplies the gradients g by the outputs out with the derivative, into to, which may be g.
	Slope func(out, g, to []float32)
}

// Transfers is the table of transfer functions, a new slice on every call.
func Transfers() []Transfer { return []Transfer{identity, sigmoid, tanh, relu} }

// FindTransfer is the transfer function of that name, in letters of any case; the empty name is the identity.
func FindTransfer(name string) (*Transfer, error) {
	if name == "" {
		return &identity, nil
	}
	all := Transfers()
	names := make([]string, len(all))
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i], nil
		}
		names[i] = all[i].Name
	}
	return nil, fmt.Errorf("transfer function %q, want one of %s", name, strings.Join(names, " "))
}

var identity = Transfer{
	Name: "identity", Help: "v",
	Apply: func([]float32) {},
	Slope: func(_, g, to []float32) { copy(to, g) },
}

var sigmoid = Transfer{
	Name: "sigmoid", Help: "1/(1+exp(-v))",
	Apply: func(v []float32) {
		for i, x := range v {
			v[i] = float32(logistic(float64(x)))
		}
	},
	Slope: func(out, g, to []float32) {
		for i, y := range out {
			to[i] = g[i] * y * (1 - y)
		}
	},
}

var tanh = Transfer{
	Name: "tanh", Help: "the hyperbolic tangent",
	Apply: func(v []float32) {
		for i, x := range v {
			v[i] = float32(math.Tanh(float64(x)))
		}
	},
	Slope: func(out, g, to []float32) {
		for i, y := range out {
			to[i] = g[i] * (1 - y) * (1 + y)
		}
	},
}

var relu = Transfer{
	Name: "relu", Help: "max(v, 0), slope 0 at 0",
	Apply: func(v []float32) {
		for i, x := range v {
			if x < 0 { // not a number stays what it is
				v[i] = 0
			}
		}
	},
	Slope: func(out, g, to []float32) {
		for i, y := range out {
			if y > 0 {
				to[i] = g[i]
			} else {
				to[i] = 0
			}
		}
	},
}

// logistic is 1/(1+exp(-v)), without overflow for any v.
func logistic(v float64) float64 {
	if v >= 0 {
		return 1 / (1 + math.Exp(-v))
	}
	e := math.Exp(v)
	return e / (1 + e)
}
