package kernel

import (
	"slices"

	"thole.example/matrix"
)

// Half is a type of numbers in 16 bits.
type Half interface {
	matrix.Float16 | matrix.BFloat16
}

// Narrow rounds src to nearest, ties to even, into dst, which is as long and may begin where src does. It tells the place of the
// first finite number that is too large and becomes an infinity, -1 if there is none.
func Narrow[H Half, T Float](dst []H, src []T) (tooLarge int) { return narrow(machine, dst, src) }

func narrow[H Half, T Float](on level, dst []H, src []T) (tooLarge int) {
	checkLen(len(dst), len(src), "dst")
	for done := 0; done < len(src); {
		some := len(src) // that vectors have not done
		if n := narrowOn(on, dst[done:], src[done:]); n > 0 {
			done, some = done+n, min(len(src), done+n+eight)
		}
		if bad := narrowAny(dst[done:some], src[done:some]); bad >= 0 && tooLarge == 0 {
			tooLarge = 1 + done + bad
		}
		done = some
	}
	return tooLarge - 1
}

func narrowAny[H Half, T Float](dst []H, src []T) (tooLarge int) {
	if f16, ok := any(dst).([]matrix.Float16); ok {
		return matrix.ToFloat16s(f16, src)
	}
	return matrix.ToBFloat16s(any(dst).([]matrix.BFloat16), src)
}

// Widen makes dst, which is as long as src, the same numbers; a signaling NaN may become a quiet one.
func Widen[H Half, T Float](dst []T, src []H) { widen(machine, dst, src) }

func widen[H Half, T Float](on level, dst []T, src []H) {
	checkLen(len(dst), len(src), "dst")
	n := widenOn(on, dst, src)
	dst, src = dst[n:], src[n:]
	if f16, ok := any(src).([]matrix.Float16); ok {
		matrix.FromFloat16s(dst, f16)
	} else {
		matrix.FromBFloat16s(dst, any(src).([]matrix.BFloat16))
	}
}

// WidenInputs is ScatterInputs from rows of n halves to rows of n numbers.
func WidenInputs[H Half, T Float](dst []T, src []H, n int, inputs []Input, first uint32) {
	widenInputs(machine, dst, src, n, inputs, first)
}

func widenInputs[H Half, T Float](on level, dst []T, src []H, n int, inputs []Input, first uint32) {
	dst, src = slices.Clip(dst), slices.Clip(src) // nothing beyond their ends
	inputs = inputs[widenInputsOn(on, dst, src, n, inputs, first):]
	if n >= eight { // from an index on that does not fit, or of a size without vectors
		for i := range inputs {
			e := &inputs[i]
			widen(on, dst[int(e.Input)*n:][:n], src[int(e.Position&^Again-first)*n:][:n])
		}
		return
	}
	var half [few]H
	var wide [few]T
	for n > 0 && len(inputs) > 0 {
		some := inputs[:min(len(inputs), few/n)]
		for i := range some {
			copy(half[i*n:(i+1)*n], src[int(some[i].Position&^Again-first)*n:][:n])
		}
		widen(on, wide[:n*len(some)], half[:n*len(some)])
		for i := range some {
			copy(dst[int(some[i].Input)*n:][:n], wide[i*n:])
		}
		inputs = inputs[len(some):]
	}
}
