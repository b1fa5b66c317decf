package wasm

// A module is code that nobody here has read: it may loop for ever, and code of a processor is not interrupted by Go's
// scheduler, so that a collection of garbage in the whole process would wait for it. The engine's own remedy leaves the
// module in every turn of every loop, which costs more than the turn, and does nothing against functions that call each other.
// So the module itself is given a meter: a global of fuel, which every function and every turn of a loop lowers by what its
// code may cost. When it is used up, the module calls the host, which looks whether the call's time is over; if it is,
// the module ends, else it gets fuel again.
const (
	fuel     = 1 << 16
	perUnit  = 256       // bytes of a function's code for one unit of fuel
	bulkCost = fuel / 16 // of an instruction that may touch all of the memory
)

// charge appends the code that lowers the fuel.
func (r *rewriter) charge(out []byte, cost int32) []byte {
	out = appendU32(append(out, opGlobalGet), r.globals)
	out = appendS32(append(out, opI32Const), cost)
	out = appendU32(append(out, 0x6b, opGlobalSet), r.globals) // i32.sub
	out = appendU32(append(out, opGlobalGet), r.globals)
	out = append(out, opI32Const, 0, 0x48, 0x04, 0x40) // i32.lt_s, if
	out = appendU32(append(out, opCall), r.imported)
	out = append(out, 0x04, 0x40, 0x00, opEnd) // if, unreachable
	out = appendS32(append(out, opI32Const), fuel)
	out = appendU32(append(out, opGlobalSet), r.globals)
	return append(out, opEnd)
}

func (r *rewriter) codeSection() []byte {
	n := r.count(functionLimit, "functions with code")
	if n != r.funcs {
		r.fail("code of %d functions, want %d", n, r.funcs)
	}
	section := r.b
	out := make([]byte, 0, len(section)+len(section)/2)
	out = appendU32(out, n)
	var body []byte
	for range n {
		size := r.u32()
		if size > bodyLimit {
			r.fail("a function of %d bytes, want at most %d", size, bodyLimit)
		}
		code := r.bytes(size)
		if r.err != nil {
			return nil
		}
		after, base := r.at, r.base
		r.b, r.at, r.base = code, 0, base+after-len(code)
		body = r.body(body[:0])
		if r.err != nil {
			return nil
		}
		r.b, r.at, r.base = section, after, base
		out = appendU32(out, uint32(len(body)))
		out = append(out, body...)
	}
	return out
}

// body rewrites a function.
func (r *rewriter) body(out []byte) []byte {
	var locals uint64
	for range r.count(localLimit, "groups of variables") {
		locals += uint64(r.u32())
		r.valueType()
	}
	if locals > localLimit {
		r.fail("%d variables of a function, want at most %d", locals, localLimit)
	}
	if r.err != nil {
		return nil
	}
	own := r.shapes[r.typeOf[int(r.imported)+r.defined]]
	r.cost = newCost(own.params, own.results, int(locals))
	r.defined++
	out = append(out, r.since(0)...)
	fee := int32(1 + len(r.b)/perUnit)
	out = r.charge(out, fee)
	for more := true; r.err == nil && r.at < len(r.b); {
		if !more {
			r.fail("code after the end of a function")
			break
		}
		start := r.at
		op := r.byte()
		switch op {
		case 0x02, 0x03, 0x04: // block, loop, if
			r.block(op)
		case 0x05: // else
			r.cost.other()
		case opEnd:
			more = r.cost.leave()
		case opCall:
			n := r.index(r.imported+r.funcs, "functions")
			if r.err == nil {
				r.call(r.typeOf[n])
			}
			out = r.renumbered(append(out, op), n)
			continue
		case opRefFunc:
			r.cost.plain(op)
			out = r.function(append(out, op))
			continue
		default:
			if r.immediates(op) {
				out = r.charge(out, bulkCost)
			}
		}
		out = append(out, r.since(start)...)
		if op == 0x03 {
			out = r.charge(out, fee)
		}
	}
	if n := len(r.cost.frames); n > 0 {
		r.fail("%d blocks without an end", n)
	}
	if r.spent += r.cost.total(len(r.b)); r.spent > costLimit {
		r.fail("too much to compile: here %d loops, %d blocks, and %d values at once in one function", r.cost.loops, r.cost.blocks, r.cost.values)
	}
	return out
}

// call follows a call of a function of a type.
func (r *rewriter) call(t uint32) {
	if r.err == nil {
		r.cost.change(r.shapes[t].params, r.shapes[t].results)
	}
}

// block reads the type of a block, which is a number, a type of values, or nothing.
func (r *rewriter) block(op byte) {
	if op == 0x04 { // if
		r.cost.change(1, 0)
	}
	if op == 0x03 {
		if r.cost.loops++; r.cost.loops > loopLimit {
			r.fail("more than %d loops of a function", loopLimit)
		}
	}
	if len(r.cost.frames) > depthLimit {
		r.fail("more than %d blocks inside each other", depthLimit)
	}
	if r.err != nil || r.at >= len(r.b) {
		r.fail("the end, want the type of a block")
		return
	}
	switch r.b[r.at] {
	case 0x40:
		r.at++
		r.cost.enter(0, 0)
	case typeI32, typeI64, typeF32, typeF64, typeV128, typeFunc, typeExtern:
		r.at++
		r.cost.enter(0, 1)
	default:
		if t := r.index(r.types, "types"); r.err == nil {
			r.cost.enter(r.shapes[t].params, r.shapes[t].results)
		}
	}
}

// immediates reads what follows an instruction, and reports whether it may touch all of the memory or of a table.
func (r *rewriter) immediates(op byte) (bulk bool) {
	if op < 0xfc {
		r.cost.plain(op)
	}
	switch {
	case op == 0x0c || op == 0x0d || op >= 0x20 && op <= 0x26: // br, br_if, variables, table.get and set
		r.u32()
	case op == 0x0e: // br_table
		for range r.count(bodyLimit, "targets") {
			r.u32()
		}
		r.u32()
	case op == 0x11: // call_indirect
		t := r.index(r.types, "types")
		r.u32()
		r.cost.change(1, 0)
		r.call(t)
	case op == 0x1c: // select
		for range r.count(1, "types of a select") {
			r.valueType()
		}
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.u32()
		r.u32()
	case op == 0x3f: // memory.size
		r.byte()
	case op == 0x40: // memory.grow
		r.byte()
		return true
	case op == opI32Const || op == 0x42:
		r.leb()
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op == 0xd0: // ref.null
		r.byte()
	case op == 0xfc:
		return r.extended()
	case op == 0xfd:
		r.vector()
	case op <= 0x01 || op == 0x0f || op == 0x1a || op == 0x1b || op >= 0x45 && op <= 0xc4 || op == 0xd1:
	default:
		r.fail("instruction %#x, which is not of WebAssembly 2.0", op)
	}
	return false
}

// extended reads an instruction of the group 0xfc.
func (r *rewriter) extended() (bulk bool) {
	op := r.u32()
	r.cost.extended(op)
	switch {
	case op <= 7: // conversions
	case op == 8 || op == 10 || op == 12 || op == 14: // memory.init, memory.copy, table.init, table.copy
		r.u32()
		r.u32()
		return true
	case op == 11 || op == 15 || op == 17: // memory.fill, table.grow, table.fill
		r.u32()
		return true
	case op == 9 || op == 13 || op == 16: // data.drop, elem.drop, table.size
		r.u32()
	default:
		r.fail("instruction 0xfc %d, which is not of WebAssembly 2.0", op)
	}
	return false
}

// vector reads an instruction of the group 0xfd.
func (r *rewriter) vector() {
	op := r.u32()
	r.cost.vector(op)
	switch {
	case op <= 11 || op == 92 || op == 93: // loads and stores
		r.u32()
		r.u32()
	case op == 12 || op == 13: // v128.const, i8x16.shuffle
		r.bytes(16)
	case op >= 21 && op <= 34: // lanes
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of lanes
		r.u32()
		r.u32()
		r.byte()
	case op > 255:
		r.fail("instruction 0xfd %d, which is not of WebAssembly 2.0", op)
	}
}
