package interp

import (
	"runtime"
	"sync"
	"sync/atomic"

	"thole.example/kernel"
)

// convolution computes a convolution as products of matrices: the filters of a group, a row each, times the points of the image that they
// meet (im2col), a column for each point of the output. It makes these columns for some outputs at a time, so that memory does not grow
// with the image. The order of each sum does not depend on the number of processors.
type convolution struct {
	x, f, out *Tensor
	w         *window
	groups    int
	each      int // filters of a group
	depth     int // points that a filter meets
	pixels    int // of an output
	block     int // outputs at a time
	direct    bool
}

// columnFloats is about how many numbers the columns of a block have.
const columnFloats = 1 << 20

func newConvolution(x, f, out *Tensor, w *window, groups int) *convolution {
	c := &convolution{x: x, f: f, out: out, w: w, groups: groups, each: f.Dims[0] / groups, depth: f.Dims[1] * w.size[0] * w.size[1],
		pixels: w.out[0] * w.out[1]}
	one := [2]int{1, 1}
	c.direct = w.size == one && w.step == one && w.before == [2]int{} && w.after == [2]int{} // the columns are the image
	if c.block = c.pixels; !c.direct {
		c.block = min(c.pixels, max(w.out[1], columnFloats/max(1, c.depth)/w.out[1]*w.out[1])) // whole rows
	}
	return c
}

// run computes all outputs, on all processors.
func (c *convolution) run() {
	if c.pixels == 0 {
		return
	}
	blocks := (c.pixels + c.block - 1) / c.block
	tasks := c.x.Dims[0] * c.groups * blocks
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), tasks) {
		wg.Go(func() {
			var columns, product []float32
			if !c.direct {
				columns, product = make([]float32, c.depth*c.block), make([]float32, c.each*c.block)
			}
			for k := int(next.Add(1)) - 1; k < tasks; k = int(next.Add(1)) - 1 {
				lo := k % blocks * c.block
				c.some(k/blocks/c.groups, k/blocks%c.groups, lo, min(c.pixels, lo+c.block), columns, product)
			}
		})
	}
	wg.Wait()
}

// some computes the outputs from lo to hi of a group of filters and an image.
func (c *convolution) some(image, group, lo, hi int, columns, product []float32) {
	plane := c.x.Dims[2] * c.x.Dims[3]
	from := c.x.F[(image*c.x.Dims[1]+group*c.f.Dims[1])*plane:][:c.f.Dims[1]*plane]
	filters := c.f.F[group*c.each*c.depth:][:c.each*c.depth]
	to := c.out.F[(image*c.f.Dims[0]+group*c.each)*c.pixels:][:c.each*c.pixels]
	if c.direct {
		clear(to)
		kernel.Gemm(c.each, c.pixels, c.depth, filters, from, to)
		return
	}
	n := hi - lo
	c.fill(from, lo, hi, columns[:c.depth*n])
	clear(product[:c.each*n])
	kernel.Gemm(c.each, n, c.depth, filters, columns[:c.depth*n], product[:c.each*n])
	for i := range c.each {
		copy(to[i*c.pixels+lo:], product[i*n:][:n])
	}
}

// fill writes the points that the filters meet for the outputs from lo to hi, which are whole rows: one row of columns for each point of
// the filter. Those outside of the image are 0.
func (c *convolution) fill(from []float32, lo, hi int, columns []float32) {
	rows, cols, wide := c.x.Dims[2], c.x.Dims[3], c.w.out[1]
	for ch := range c.f.Dims[1] {
		plane := from[ch*rows*cols:][:rows*cols]
		for i := range c.w.size[0] {
			for j := range c.w.size[1] {
				for r := lo / wide; r < hi/wide; r++ {
					to := columns[:wide]
					columns = columns[wide:]
					if y := c.w.place(0, r, i); y >= 0 && y < rows {
						c.line(plane[y*cols:][:cols], j, to)
						continue
					}
					clear(to)
				}
			}
		}
	}
}

// line writes the points of a row of the image that column j of the filter meets.
func (c *convolution) line(from []float32, j int, to []float32) {
	step, first := c.w.step[1], c.w.place(1, 0, j)
	lo := 0 // outputs before meet the padding
	if first < 0 {
		lo = min(len(to), (-first+step-1)/step)
	}
	hi := lo
	if last := len(from) - 1 - first; last >= 0 {
		hi = max(lo, min(len(to), last/step+1))
	}
	clear(to[:lo])
	clear(to[hi:])
	if lo == hi {
		return
	}
	if step == 1 {
		copy(to[lo:hi], from[first+lo:])
		return
	}
	for k := lo; k < hi; k++ {
		to[k] = from[first+k*step]
	}
}
