package psf

import (
	"fmt"
	"math"
)

// fillUpdate sets every cell of a dense matrix, or every stored cell of a sparse one. Argument: value, rows.
var fillUpdate = Update{
	Name: "fill",
	Help: `sets cells; argument {"value":1,"rows":[5]}`,
	Part: func(v View, arg []byte) error {
		a, err := parse[struct {
			Selection
			Value float64 `json:"value"`
		}](arg)
		if err == nil {
			change(v, a.Selection, func(float64) float64 { return a.Value })
		}
		return err
	},
}

// scaleUpdate multiplies stored values. Argument: by, rows.
var scaleUpdate = Update{
	Name: "scale",
	Help: `multiplies cells; argument {"by":0.5,"rows":[0]}`,
	Part: func(v View, arg []byte) error {
		a, err := parse[struct {
			Selection
			By *float64 `json:"by"`
		}](arg)
		if err != nil {
			return err
		}
		if a.By == nil {
			return fmt.Errorf(`scale: no factor, want an argument like {"by":0.5}`)
		}
		change(v, a.Selection, func(x float64) float64 { return x * *a.By })
		return nil
	},
}

// thresholdUpdate sets values whose magnitude is below a limit to zero. Argument: below, rows.
var thresholdUpdate = Update{
	Name: "threshold",
	Help: `sets cells of small magnitude to zero; argument {"below":1e-6,"rows":[0]}`,
	Part: func(v View, arg []byte) error {
		a, err := parse[struct {
			Selection
			Below float64 `json:"below"`
		}](arg)
		if err != nil {
			return err
		}
		if !(a.Below >= 0) {
			return fmt.Errorf("threshold: below %v, want 0 or more", a.Below)
		}
		change(v, a.Selection, func(x float64) float64 {
			if math.Abs(x) < a.Below {
				return 0
			}
			return x
		})
		return nil
	},
}

func change(v View, rows Selection, f func(float64) float64) {
	v.Each(func(row, _ int64, val []float64) {
		if rows.has(row) {
			for i, x := range val {
				val[i] = f(x)
			}
		}
	})
}
