package psf

import (
	"fmt"
	"math"

	"thole.example/kernel"
	"thole.example/matrix"
)

// The random functions give every cell a number that is a function of the seed, the name of the matrix, row and column: the
// same however the matrix is cut, and whenever it is asked for. xavier (Glorot and Bengio, Understanding the difficulty of
// training deep feedforward neural networks, 2010) and kaiming (He et al., Delving Deep into Rectifiers, 2015) choose the
// deviation by how many cells go in and out: gain*sqrt(2/(fanin+fanout)) and gain/sqrt(fanin).
var (
	random        = randomOf("random", "all cells uniform in [low, high)", between("low", "high"), number("low", ""), number("high", ""))
	randomUniform = randomOf("randomuniform", "cells uniform in [min, max)", between("min", "max"),
		number("min", ""), number("max", ""), rowsParam)
	randomNormal   = randomOf("randomnormal", "normal cells", normalOf, number("mean", "0"), number("std", "1"), rowsParam)
	xavierUniform  = randomOf("xavieruniform", "uniform cells for a layer", fanned(false, true), fanIn, fanOut, gain, rowsParam)
	xavierNormal   = randomOf("xaviernormal", "normal cells for a layer", fanned(true, true), fanIn, fanOut, gain, rowsParam)
	kaimingUniform = randomOf("kaiminguniform", "uniform cells for a layer", fanned(false, false), fanIn, gain, rowsParam)
	kaimingNormal  = randomOf("kaimingnormal", "normal cells for a layer", fanned(true, false), fanIn, gain, rowsParam)
)

func number(name, preset string) Param { return Param{Name: name, Kind: Number, Default: preset} }

var (
	fanIn  = Param{Name: "fanin", Kind: Number, Help: "how many go in"}
	fanOut = Param{Name: "fanout", Kind: Number, Help: "how many go out"}
	gain   = Param{Name: "gain", Kind: Number, Default: "1"}
)

// drawing is numbers at + scale*u for a uniform u in [0,1), or a normal one.
type drawing struct {
	normal    bool
	at, scale float64
	seed      uint64
	rows      []int64
}

func between(low, high string) func(a Args) (drawing, error) {
	return func(a Args) (drawing, error) {
		lo, hi := a.Number(low), a.Number(high)
		if !(lo <= hi) || math.IsInf(hi-lo, 0) {
			return drawing{}, fmt.Errorf("numbers from %v to %v, want a range of finite width", lo, hi)
		}
		return drawing{at: lo, scale: hi - lo}, nil
	}
}

func normalOf(a Args) (drawing, error) {
	std := a.Number("std")
	if std < 0 {
		return drawing{}, fmt.Errorf("std is %v, want a number from 0 on", std)
	}
	return drawing{normal: true, at: a.Number("mean"), scale: std}, nil
}

func fanned(normal, out bool) func(a Args) (drawing, error) {
	return func(a Args) (drawing, error) {
		in, more := a.Number("fanin"), a.Number("fanout")
		if !(in > 0) || out && !(more > 0) {
			return drawing{}, fmt.Errorf("fanin %v, fanout %v, want numbers above 0", in, more)
		}
		std := a.Number("gain") / math.Sqrt(in)
		if out {
			std = a.Number("gain") * math.Sqrt(2/(in+more))
		}
		if normal {
			return drawing{normal: true, scale: std}, nil
		}
		bound := math.Sqrt(3) * std
		return drawing{at: -bound, scale: 2 * bound}, nil
	}
}

func randomOf(name, help string, law func(a Args) (drawing, error), params ...Param) Func {
	seed := Param{Name: "seed", Kind: Count, Default: "0", Help: "another seed gives other numbers"}
	return Func{
		Name: name, Help: help, Params: append(params, seed, storedParam),
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			d, err := law(a)
			if err != nil {
				return nil, err
			}
			rows, err := a.Rows("rows", m)
			if err != nil {
				return nil, err
			}
			if m.Layout == matrix.RowSparse && !a.Flag("stored") && !m.Init.Random() {
				return nil, fmt.Errorf(`the cells of a sparse matrix that are not stored have one value: "stored": true leaves them alone ` +
					"(initial values of the matrix may be random)")
			}
			d.seed = uint64(a.Count("seed"))
			return &Call{Writes: rows, Part: func(v View) ([]byte, error) {
				own := d
				own.rows = rows.In(v.At().Rows)
				return draw(v, own)
			}}, nil
		},
	}
}

var draw = typed(drawAs[float64], drawAs[float32], drawAs[int64], drawAs[int32])

func drawAs[T kernel.Number](v View, cells Cells[T], d drawing) ([]byte, error) {
	numbers := matrix.NewDraw(d.seed, v.Meta().Name)
	return nil, cells.Apart(d.rows, true, func(c *Chunk[T]) error {
		for r, row := range c.Rows {
			for i := range row {
				var u float64
				if d.normal {
					u = numbers.Normal(c.IDs[r], c.Column(i))
				} else {
					u = numbers.Unit(c.IDs[r], c.Column(i))
				}
				row[i] = drawn[T](&d, u)
			}
		}
		return nil
	})
}

// drawn is the number of a cell. A uniform one stays below the upper end, also where rounding would reach it; integers are
// rounded down.
func drawn[T kernel.Number](d *drawing, u float64) T {
	x := T(d.at + d.scale*u)
	if half := 0.5; T(half) == 0 {
		return narrow[T](math.Floor(d.at + d.scale*u))
	}
	if top := d.at + d.scale; !d.normal && d.scale > 0 && float64(x) >= top {
		return lower(T(top))
	}
	return x
}
