package kernel

import "slices"

// Input is one key of a batch: which it was in the order in which they came, and its position among the unique keys. The top
// bit of Position says that an earlier input has the same key.
type Input struct {
	Key      int64
	Input    uint32
	Position uint32
}

// Again marks the place of a key that came before.
const Again = 1 << 31

// ScatterInputs copies the row of each input's place to the input's row: rows have size bytes, and src begins with that of the
// place first. dst and src must not overlap. An input or place outside of them panics where it is met.
func ScatterInputs(dst, src []byte, size int, inputs []Input, first uint32) {
	scatterInputsOn(machine, dst, src, size, inputs, first)
}

func scatterInputs(dst, src []byte, size int, inputs []Input, first uint32) {
	dst, src = slices.Clip(dst), slices.Clip(src) // nothing beyond their ends
	for i := range inputs {
		e := &inputs[i]
		from := src[int(e.Position&^Again-first)*size:][:size]
		to := dst[int(e.Input)*size:][:size]
		switch size { // known sizes are moved without a call
		case 4:
			*(*[4]byte)(to) = *(*[4]byte)(from)
		case 8:
			*(*[8]byte)(to) = *(*[8]byte)(from)
		default:
			copy(to, from)
		}
	}
}

// SumInputs puts the row of each input to its place, where it is added to what inputs before it with the same key brought. Rows
// have n values, and dst begins with that of the place first.
func SumInputs(dst, src []float32, n int, inputs []Input, first uint32) {
	sumInputsOn(machine, dst, src, n, inputs, first)
}

// SumInputsAny is SumInputs for other element types.
func SumInputsAny[T number](dst, src []T, n int, inputs []Input, first uint32) {
	dst, src = slices.Clip(dst), slices.Clip(src)
	for i := range inputs {
		e := &inputs[i]
		to := dst[int(e.Position&^Again-first)*n:][:n]
		from := src[int(e.Input)*n:][:n]
		switch {
		case e.Position&Again != 0:
			for j, v := range from {
				to[j] += v
			}
		case n == 1:
			to[0] = from[0]
		default:
			copy(to, from)
		}
	}
}

// number is what can be added.
type number interface {
	~float64 | ~float32 | ~int64 | ~int32 | ~int16 | ~int8 | ~uint64 | ~uint32 | ~uint16 | ~uint8
}
