package wasm

// cost estimates what compiling a function takes. The engine's compiler is quadratic in the number of blocks, and in the values
// that are alive in them: some kilobytes of code can keep it busy for hours, and it cannot be stopped. So the height of the
// stack of values is followed through the code; it is never estimated too low for code that is valid, and other code is refused
// by the engine before it is compiled.
type cost struct {
	height int
	frames []frame
	values int // the greatest height, with the variables
	blocks int // loops too
	loops  int
	locals int
}

// frame is a block that is not at its end: the height below its parameters, and how many results it leaves.
type frame struct{ below, params, results int }

// Nanoseconds of compiling, measured on code that was made to take long: for pairs of loops, pairs of blocks, pairs of values in
// each loop, values in each block, pairs of values, bytes. And what all functions of a module may take.
const (
	costLoops  = 300
	costBlocks = 25
	costValues = 8
	costAlive  = 5000
	costPairs  = 50
	costByte   = 250
	costLimit  = 10e9
	loopLimit  = 2000 // of a function
)

func newCost(params, results, locals int) *cost {
	return &cost{frames: []frame{{0, 0, results}}, locals: params + locals, values: params + locals}
}

// total is the estimate for a function of so many bytes.
func (c *cost) total(bytes int) float64 {
	n, l, v := float64(c.blocks), float64(c.loops), float64(c.values)
	return costLoops*l*l + costBlocks*n*n + costValues*v*v*l + costAlive*v*n + costPairs*v*v + costByte*float64(bytes)
}

// change pops and pushes values. Code behind a jump may pop more than there is.
func (c *cost) change(pop, push int) {
	below := 0
	if n := len(c.frames); n > 0 {
		below = c.frames[n-1].below
	}
	c.height = max(c.height-pop, below) + push
	c.values = max(c.values, c.locals+c.height)
}

// enter begins a block.
func (c *cost) enter(params, results int) {
	c.blocks++
	c.change(params, 0)
	c.frames = append(c.frames, frame{c.height, params, results})
	c.change(0, params)
}

// other is else.
func (c *cost) other() {
	f := c.frames[len(c.frames)-1]
	c.height = f.below + f.params
}

// leave ends a block, and reports whether the function goes on.
func (c *cost) leave() bool {
	f := c.frames[len(c.frames)-1]
	c.frames = c.frames[:len(c.frames)-1]
	c.height = f.below
	c.change(0, f.results)
	return len(c.frames) > 0
}

// plain follows an instruction of one byte that neither calls nor begins a block.
func (c *cost) plain(op byte) {
	switch {
	case op == 0x20 || op == opGlobalGet || op == 0x3f || op >= 0x41 && op <= 0x44 || op == 0xd0 || op == opRefFunc:
		c.change(0, 1) // variables, sizes, constants, references
	case op == 0x21 || op == opGlobalSet || op == 0x1a || op == 0x0d || op == 0x0e:
		c.change(1, 0) // set, drop, br_if, br_table
	case op == 0x1b || op == 0x1c:
		c.change(3, 1) // select
	case op == 0x26 || op >= 0x36 && op <= 0x3e:
		c.change(2, 0) // table.set, stores
	case op == 0x45 || op == 0x50 || op >= 0x67 && op <= 0x69 || op >= 0x79 && op <= 0x7b || op >= 0x8b && op <= 0x91 ||
		op >= 0x99 && op <= 0x9f || op >= 0xa7: // of one operand
	case op >= 0x46 && op <= 0xa6:
		c.change(2, 1)
	}
}

// extended follows an instruction of the group 0xfc.
func (c *cost) extended(op uint32) {
	switch {
	case op == 8 || op == 10 || op == 11 || op == 12 || op == 14 || op == 17:
		c.change(3, 0)
	case op == 15: // table.grow
		c.change(2, 1)
	case op == 16: // table.size
		c.change(0, 1)
	}
}

// vectorUnary are the instructions of the group 0xfd from 94 on that have one operand, from and to.
var vectorUnary = [][2]uint32{{94, 100}, {103, 106}, {116, 117}, {122, 122}, {124, 129}, {131, 132}, {135, 138}, {148, 148},
	{160, 161}, {163, 164}, {167, 170}, {192, 193}, {195, 196}, {199, 202}, {224, 225}, {227, 227}, {236, 237}, {239, 239}, {248, 255}}

// vector follows an instruction of the group 0xfd.
func (c *cost) vector(op uint32) {
	switch {
	case op == 11 || op >= 88 && op <= 91: // stores
		c.change(2, 0)
	case op == 12: // v128.const
		c.change(0, 1)
	case op <= 10 || op >= 15 && op <= 20 || op == 77 || op == 83 || op == 92 || op == 93: // loads, splats
	case op >= 21 && op <= 34: // lanes: extract has one operand, replace two
		if op == 23 || op == 26 || op == 28 || op == 30 || op == 32 || op == 34 {
			c.change(2, 1)
		}
	case op == 82: // bitselect
		c.change(3, 1)
	default:
		for _, u := range vectorUnary {
			if op >= u[0] && op <= u[1] {
				return
			}
		}
		c.change(2, 1)
	}
}
