package expr

// Slots of a program's code: where its operands are. Registers follow, those of numbers first.
const (
	slotX = iota
	_     // y
	_     // z
	slotOut
	slotRegister
)

// instr is one loop over a block.
type instr[F floating] struct {
	op      op
	kind    kind // of the result
	d       int32
	a, b, c int32
	p, q    F
	ip, iq  int64
}

// code is a program without its memory: it does not change.
type code[F floating] struct {
	instrs []instr[F]
	floats []F     // numbers that stand in registers
	ints   []int64 // the same, whole
	nFloat int     // registers
	nInt   int
	rows   [3]bool // rows that are used
	kind   kind    // of the result
	out    int32   // its slot
}

// assign turns values into code: it leaves out what is not used, and gives each value a register that is free.
func assign[F floating](vals []val[F], root int32, out kind) *code[F] {
	c := &code[F]{kind: vals[root].kind}
	last := make([]int32, len(vals)) // the last value that uses each; 0: none
	used := make([]bool, len(vals))
	used[root] = true
	for at := root; at >= 0; at-- {
		v := &vals[at]
		for _, from := range [...]int32{v.a, v.b, v.c} {
			if used[at] && from != none {
				used[from] = true
				last[from] = max(last[from], at)
			}
		}
	}
	slot := make([]int32, len(vals))
	for at := range vals[:root+1] {
		if v := &vals[at]; used[at] && v.op == opNum {
			slot[at] = c.constant(v)
		}
	}
	var free [2][]int32
	c.nFloat, c.nInt = len(c.floats), len(c.ints)
	for at := range vals[:root+1] {
		v := &vals[at]
		switch {
		case !used[at] || v.op == opNum:
			continue
		case v.op == opRow:
			c.rows[v.row] = true
			slot[at] = slotX + int32(v.row)
			continue
		}
		in := instr[F]{op: v.op, kind: v.kind, a: slotOut, b: slotOut, c: slotOut, p: v.p, q: v.q, ip: v.ip, iq: v.iq}
		for i, from := range [...]int32{v.a, v.b, v.c} {
			if from == none {
				continue
			}
			*[...]*int32{&in.a, &in.b, &in.c}[i] = slot[from]
			if last[from] == int32(at) && vals[from].op != opNum && vals[from].op != opRow {
				k := vals[from].kind
				free[k] = append(free[k], slot[from])
				last[from] = none // once, if it is more than one of the operands
			}
		}
		if int32(at) == root && v.kind == out {
			in.d = slotOut
		} else {
			in.d = c.register(&free[v.kind], v.kind)
		}
		slot[at] = in.d
		c.instrs = append(c.instrs, in)
	}
	if c.out = slot[root]; c.kind == out && c.out != slotOut {
		c.instrs = append(c.instrs, instr[F]{op: opCopy, kind: out, d: slotOut, a: c.out, b: slotOut, c: slotOut})
		c.out = slotOut
	}
	return c
}

// constant gives a number a register of its own.
func (c *code[F]) constant(v *val[F]) int32 {
	if v.kind == integer {
		c.ints = append(c.ints, v.ip)
		return slotRegister + int32(len(c.ints)-1)
	}
	c.floats = append(c.floats, v.p)
	return slotRegister + int32(len(c.floats)-1)
}

// register takes a free register, or a new one.
func (c *code[F]) register(free *[]int32, k kind) int32 {
	if n := len(*free); n > 0 {
		s := (*free)[n-1]
		*free = (*free)[:n-1]
		return s
	}
	n := &c.nFloat
	if k == integer {
		n = &c.nInt
	}
	*n++
	return slotRegister + int32(*n-1)
}

// registers makes slots with their registers: the first ones filled with numbers.
func registers[N any](n int, numbers []N) [][]N {
	s := make([][]N, slotRegister+n)
	all := make([]N, n*block)
	for i := range n {
		s[slotRegister+i] = all[i*block : (i+1)*block : (i+1)*block]
		if i < len(numbers) {
			for k := range block {
				s[slotRegister+i][k] = numbers[i]
			}
		}
	}
	return s
}
