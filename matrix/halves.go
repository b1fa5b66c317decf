package matrix

import "math"

// ToFloat16s rounds the numbers to nearest, ties to even, once; dst is as long as src. It tells the place of the first finite number
// that is too large and becomes an infinity, -1 if there is none.
func ToFloat16s[T float32 | float64](dst []Float16, src []T) (tooLarge int) {
	tooLarge = -1
	dst = dst[:len(src)]
	wide, _ := any(src).([]float64)
	for i, v := range src {
		f := float32(v)
		if wide != nil {
			f = oddFloat32(wide[i])
		}
		h := ToFloat16(f)
		if dst[i] = h; h&0x7fff == 0x7c00 && tooLarge < 0 && !math.IsInf(float64(v), 0) {
			tooLarge = i
		}
	}
	return tooLarge
}

// ToBFloat16s is ToFloat16s for bfloat16.
func ToBFloat16s[T float32 | float64](dst []BFloat16, src []T) (tooLarge int) {
	tooLarge = -1
	dst = dst[:len(src)]
	wide, _ := any(src).([]float64)
	for i, v := range src {
		f := float32(v)
		if wide != nil {
			f = oddFloat32(wide[i])
		}
		h := ToBFloat16(f)
		if dst[i] = h; h&0x7fff == 0x7f80 && tooLarge < 0 && !math.IsInf(float64(v), 0) {
			tooLarge = i
		}
	}
	return tooLarge
}

// FromFloat16s widens the numbers exactly; dst is as long as src.
func FromFloat16s[T float32 | float64](dst []T, src []Float16) {
	dst = dst[:len(src)]
	for i, h := range src {
		dst[i] = T(h.Float32())
	}
}

// FromBFloat16s widens the numbers exactly; dst is as long as src.
func FromBFloat16s[T float32 | float64](dst []T, src []BFloat16) {
	dst = dst[:len(src)]
	for i, h := range src {
		dst[i] = T(h.Float32())
	}
}
