package layer

import "slices"

// Bound is what is known of the outputs of a layer whatever its weights are.
type Bound uint8

// The bounds; each is also what those before it are.
const (
	Unbounded Bound = iota
	Unit            // each output lies from 0 to 1
	Shares          // and those of an example add up to 1 at most
)

// product is the bound of products of outputs, column by column.
func product(in []Bound) Bound {
	if slices.Contains(in, Unbounded) {
		return Unbounded
	}
	return slices.Max(in)
}

// dot is the bound of sums of such products.
func dot(in []Bound) Bound {
	if product(in) == Shares {
		return Unit
	}
	return Unbounded
}
