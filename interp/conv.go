package interp

import (
	"fmt"
	"math"
)

// window is how a filter moves over an image: size, step, padding before, and distance between its points, by row and
// column, and the size of what it gives.
type window struct {
	size, step, before, after, spread, out [2]int
}

// place tells where point k of the filter lies for output o, along one direction.
func (w *window) place(dir, o, k int) int { return o*w.step[dir] - w.before[dir] + k*w.spread[dir] }

// pair is a setting of two positive numbers.
func (c *call) pair(name string) ([2]int, error) {
	v, err := c.ints(name)
	if err != nil {
		return [2]int{}, err
	}
	if len(v) != 2 || v[0] < 1 || v[1] < 1 || v[0] > math.MaxInt16 || v[1] > math.MaxInt16 {
		return [2]int{}, fmt.Errorf("%s %v, want two numbers from 1 on: %w", name, v, ErrOp)
	}
	return [2]int{int(v[0]), int(v[1])}, nil
}

// window reads the settings of a filter of the given size over an image of rows x cols.
func (c *call) window(size, spread, image [2]int, ceil bool) (w window, err error) {
	w.size, w.spread = size, spread
	if w.step, err = c.pair("strides"); err != nil {
		return w, err
	}
	pad, err := c.ints("paddings")
	if err != nil {
		return w, err
	}
	if len(pad) == 2 {
		pad = []int64{pad[0], pad[0], pad[1], pad[1]}
	}
	if len(pad) != 4 {
		return w, fmt.Errorf("paddings %v, want two or four: %w", pad, ErrOp)
	}
	how := c.str("padding_algorithm")
	for d := range 2 {
		for _, p := range pad {
			if p < 0 || p > math.MaxInt16 {
				return w, fmt.Errorf("paddings %v: %w", pad, ErrOp)
			}
		}
		reach := (size[d]-1)*spread[d] + 1
		switch how {
		case "EXPLICIT":
			w.before[d], w.after[d] = int(pad[2*d]), int(pad[2*d+1])
		case "VALID":
		case "SAME":
			all := max(0, ((image[d]+w.step[d]-1)/w.step[d]-1)*w.step[d]+reach-image[d])
			w.before[d], w.after[d] = all/2, all-all/2
		default:
			return w, fmt.Errorf("padding_algorithm %q: %w", how, ErrOp)
		}
		room := image[d] + w.before[d] + w.after[d] - reach
		if room < 0 {
			return w, fmt.Errorf("a filter of %v over an image of %v: %w", size, image, ErrShape)
		}
		if ceil {
			room += w.step[d] - 1
		}
		w.out[d] = room/w.step[d] + 1
	}
	return w, nil
}

// conv2d is a convolution of images [N,C,H,W] with filters [M,C/groups,h,w].
func conv2d(c *call) error {
	x, err := c.floats("Input")
	if err != nil {
		return err
	}
	f, err := c.floats("Filter")
	if err != nil {
		return err
	}
	groups, err := c.int("groups")
	if err != nil {
		return err
	}
	if layout := c.str("data_format"); layout != "NCHW" && layout != "AnyLayout" {
		return fmt.Errorf("data_format %q: %w", layout, ErrOp)
	}
	if len(x.Dims) != 4 || len(f.Dims) != 4 || groups < 1 || groups > int64(f.Dims[0]) || f.Dims[0]%int(groups) != 0 ||
		int64(x.Dims[1]) != int64(f.Dims[1])*groups || f.Dims[2] < 1 || f.Dims[3] < 1 {
		return fmt.Errorf("Input %v, Filter %v, %d groups: %w", x.Dims, f.Dims, groups, ErrShape)
	}
	spread, err := c.pair("dilations")
	if err != nil {
		return err
	}
	w, err := c.window([2]int(f.Dims[2:]), spread, [2]int(x.Dims[2:]), false)
	if err != nil {
		return err
	}
	out, err := newFloats([]int{x.Dims[0], f.Dims[0], w.out[0], w.out[1]})
	if err != nil {
		return err
	}
	if c.t("Bias") != nil {
		return fmt.Errorf("input Bias: %w", ErrOp)
	}
	newConvolution(x, f, out, &w, int(groups)).run()
	c.give(out)
	return nil
}

// pool2d is the largest value or the mean of each window.
func pool2d(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	if layout := c.str("data_format"); len(x.Dims) != 4 || layout != "NCHW" && layout != "AnyLayout" {
		return fmt.Errorf("X %v, data_format %q: %w", x.Dims, layout, ErrOp)
	}
	image := [2]int(x.Dims[2:])
	w := window{size: image, step: [2]int{1, 1}, spread: [2]int{1, 1}, out: [2]int{1, 1}}
	if !c.bool("global_pooling") {
		size, err := c.pair("ksize")
		if err != nil {
			return err
		}
		if c.bool("adaptive") { // ksize is the size of the result
			w.out = size
		} else if w, err = c.window(size, [2]int{1, 1}, image, c.bool("ceil_mode")); err != nil {
			return err
		}
	}
	kind := c.str("pooling_type")
	if kind != "avg" && (kind != "max" || c.bool("adaptive")) { // Paddle has another operator for adaptive largest values
		return fmt.Errorf("pooling_type %q, adaptive %v: %w", kind, c.bool("adaptive"), ErrOp)
	}
	out, err := newFloats([]int{x.Dims[0], x.Dims[1], w.out[0], w.out[1]})
	if err != nil {
		return err
	}
	plane := image[0] * image[1]
	walk(out.Dims, func(at int, idx []int) {
		from := x.F[(idx[0]*x.Dims[1]+idx[1])*plane:][:plane]
		if c.bool("adaptive") {
			part := w.part(image, idx[2], idx[3])
			out.F[at] = part.pool(from, image, 0, 0, false, true)
			return
		}
		out.F[at] = w.pool(from, image, idx[2], idx[3], kind == "max", c.bool("exclusive"))
	})
	c.give(out)
	return nil
}

// part is the window of one output where the image is cut into as many parts as there are outputs, which may overlap by
// a point.
func (w *window) part(image [2]int, r, col int) (one window) {
	for d, i := range [2]int{r, col} {
		lo := i * image[d] / w.out[d]
		hi := ((i+1)*image[d] + w.out[d] - 1) / w.out[d]
		one.size[d], one.before[d], one.spread[d] = hi-lo, -lo, 1
	}
	return one
}

// pool folds one window. A mean that is exclusive counts only points within the image, else those of the padding too.
func (w *window) pool(from []float32, image [2]int, r, col int, largest, exclusive bool) float32 {
	top, sum, n := float32(math.Inf(-1)), 0.0, 0
	for i := range w.size[0] {
		y := w.place(0, r, i)
		for j := range w.size[1] {
			x := w.place(1, col, j)
			if y < 0 || y >= image[0] || x < 0 || x >= image[1] {
				if !exclusive && y < image[0]+w.after[0] && x < image[1]+w.after[1] {
					n++
				}
				continue
			}
			v := from[y*image[1]+x]
			top, sum, n = max(top, v), sum+float64(v), n+1
		}
	}
	if largest {
		return top
	}
	return float32(sum / float64(max(n, 1)))
}
