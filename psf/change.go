package psf

import (
	"fmt"
	"math"
)

// change is an update function that turns every cell of a dense matrix, or every stored cell of a sparse one, into
// another with the help of one number, which must be given under the name.
func change(name, help, number string, cell func(x, by float64) float64) Update {
	return Update{
		Name: name,
		Help: help + fmt.Sprintf(`; argument {%q:0.5,"rows":[0]}`, number),
		Part: func(v View, arg []byte) error {
			var rows selection
			var by *float64
			if err := parse(arg, map[string]any{"rows": &rows, number: &by}); err != nil {
				return err
			}
			if by == nil {
				return fmt.Errorf("argument %.60q: no number, want one like {%q:0.5}", arg, number)
			}
			if err := rows.pick(v); err != nil {
				return err
			}
			v.Each(func(row, _ int64, val []float64) {
				if rows.has(row) {
					for i, x := range val {
						val[i] = cell(x, *by)
					}
				}
			})
			return nil
		},
	}
}

// fillUpdate makes every cell the value.
var fillUpdate = change("fill", "sets cells", "value", func(_, value float64) float64 { return value })

// scaleUpdate multiplies every cell.
var scaleUpdate = change("scale", "multiplies cells", "by", func(x, by float64) float64 { return x * by })

// thresholdUpdate sets cells whose magnitude is below a limit to zero.
var thresholdUpdate = change("threshold", "sets cells of small magnitude to zero", "below", func(x, below float64) float64 {
	if math.Abs(x) < below {
		return 0
	}
	return x
})
