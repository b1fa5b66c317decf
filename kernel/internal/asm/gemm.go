package main

import "fmt"

// gemm writes the loops of products of matrices, and the transposition of what they read along rows.
func gemm(t *text) {
	t.ones(masks, 2*avx512.lanes)
	for _, m := range []multiplier{{avx512, 14, false}, {avx2, 6, true}} {
		m.function(t)
		m.transpose(t)
		m.column(t)
	}
}

// multiplier says how tiles of c are kept in registers: rows of two vectors each. Two more registers hold the row of b, and
// two hold factors from a by turns.
type multiplier struct {
	vectors
	rows  int
	plain bool // whether tiles as wide as two vectors have loops of their own, without masks
}

// Registers of the loops. What moves only from tile to tile stays in the arguments.
const (
	aPtr, aCol reg = "SI", "AX"
	bPtr, bRow reg = "DX", "BX"
	cPtr       reg = "DI"
	left       reg = "CX"
	maskPtr    reg = "R14"
)

// masks is a row of ones and as many zeros: what begins as many words before its middle as a row has left is its mask.
const masks = "masks"

var aRows = pitch{"R8", "R9", "R10", "R11", "R12", "R13", "R15"}

// shape is one form of tile.
type shape struct {
	rows, wide int // rows, and vectors in each
	masked     bool
}

func (m multiplier) function(t *text) {
	name := "gemm" + m.suffix
	comment := fmt.Sprintf("adds a product to at most %d rows of c, tile by tile of %d columns.", m.rows, 2*m.lanes)
	params := []param{
		{"rows", 1}, {"n", 1}, {"k", 1}, {"a", 3}, {"aRow", 1}, {"aCol", 1}, {"b", 3}, {"bRow", 1}, {"bTile", 1},
		{"c", 3}, {"cRow", 1},
	}
	t.function(name, comment, params, func() {
		t.op("MOVQ", t.arg("aRow"), aRows[0])
		t.op("SHLQ", imm(2), aRows[0])
		t.set(aRows[:(m.rows+1)/2])
		t.op("MOVQ", t.arg("aCol"), aCol)
		t.op("SHLQ", imm(2), aCol)
		t.op("MOVQ", t.arg("bRow"), bRow)
		t.op("SHLQ", imm(2), bRow)
		for _, arg := range []string{"cRow", "bTile"} {
			t.op("SHLQ", imm(2), t.arg(arg))
		}
		m.tiles(t)
	})
}

// tiles goes over the tiles of the rows, and jumps to the loop of each one's shape.
func (m multiplier) tiles(t *text) {
	next, narrow, masked, done := t.label("next"), t.label("narrow"), t.label("masked"), t.label("done")
	t.at(next)
	var shapes []shape
	choose := func(wide int, masked bool) {
		for rows := m.rows; rows > 0; rows-- {
			s := shape{rows, wide, masked}
			shapes = append(shapes, s)
			if rows > 1 {
				t.op("CMPQ", t.arg("rows"), imm(rows))
				t.op("JEQ", s.label())
			} else {
				t.op("JMP", s.label())
			}
		}
	}
	t.op("CMPQ", t.arg("n"), imm(2*m.lanes))
	t.op("JLT", masked)
	if m.plain {
		choose(2, false)
	} else {
		t.op("KXNORW", "K1", "K1", "K1")
		t.op("KXNORW", "K2", "K2", "K2")
		choose(2, true)
	}
	t.at(masked)
	t.op("MOVQ", t.arg("n"), left)
	t.op("NEGQ", left)
	t.op("LEAQ", fmt.Sprintf("%s<>+%d(SB)", masks, 8*avx512.lanes), maskPtr)
	t.op("LEAQ", mem{base: maskPtr, index: left, scale: 4}, maskPtr)
	if m.lanes == avx512.lanes {
		for v := range 2 {
			t.op("VMOVDQU32", mem{base: maskPtr, offset: v * m.bytes()}, m.reg(v))
			t.op("VPTESTMD", m.reg(v), m.reg(v), fmt.Sprint("K", v+1))
		}
	}
	t.op("CMPQ", t.arg("n"), imm(m.lanes))
	t.op("JLE", narrow)
	choose(2, true)
	t.at(narrow)
	choose(1, true)
	written := map[shape]bool{}
	for _, s := range shapes {
		if !written[s] {
			written[s] = true
			m.tile(t, s)
			t.op("JMP", done)
		}
	}
	t.at(done)
	t.op("MOVQ", t.arg("bTile"), left)
	t.op("ADDQ", left, t.arg("b"))
	t.op("ADDQ", imm(2*m.bytes()), t.arg("c"))
	t.op("SUBQ", imm(2*m.lanes), t.arg("n"))
	t.op("JGT", next)
}

func (s shape) label() string {
	if s.masked {
		return fmt.Sprintf("masked%dx%d", s.rows, s.wide)
	}
	return fmt.Sprintf("full%dx%d", s.rows, s.wide)
}

// tile is one tile of c, loaded, worked on for all of k, and stored.
func (m multiplier) tile(t *text, s shape) {
	acc := func(row, v int) int { return row*s.wide + v }
	b, factor := m.count-4, m.count-2
	t.at(s.label())
	m.eachRow(t, s, func(row, v int) { m.load(t, s, cPtr, v, acc(row, v)) })
	t.op("MOVQ", t.arg("a"), aPtr)
	t.op("MOVQ", t.arg("b"), bPtr)
	t.op("MOVQ", t.arg("k"), left)
	t.loop(left, func() {
		for v := range s.wide {
			m.load(t, s, bPtr, v, b+v)
		}
		for row := range s.rows {
			f := m.reg(factor + row%2)
			t.op("VBROADCASTSS", aRows.row(aPtr, row, 0), f)
			for v := range s.wide {
				t.op("VFMADD231PS", m.reg(b+v), f, m.reg(acc(row, v)))
			}
		}
		t.op("ADDQ", aCol, aPtr)
		t.op("ADDQ", bRow, bPtr)
	})
	m.eachRow(t, s, func(row, v int) { m.store(t, s, acc(row, v), cPtr, v) })
}

// eachRow goes over the vectors of c's tile, with the row's address in cPtr.
func (m multiplier) eachRow(t *text, s shape, visit func(row, v int)) {
	t.op("MOVQ", t.arg("c"), cPtr)
	for row := range s.rows {
		if row > 0 {
			t.op("ADDQ", t.arg("cRow"), cPtr)
		}
		for v := range s.wide {
			visit(row, v)
		}
	}
}

// load reads vector v of a row, without touching what the mask leaves out.
func (m multiplier) load(t *text, s shape, base reg, v, dst int) {
	at := mem{base: base, offset: v * m.bytes()}
	switch {
	case !s.masked:
		t.op("VMOVUPS", at, m.reg(dst))
	case m.lanes == avx512.lanes:
		t.op("VMOVUPS.Z", at, fmt.Sprint("K", v+1), m.reg(dst))
	default:
		t.op("VMOVUPS", mem{base: maskPtr, offset: v * m.bytes()}, m.reg(dst)) // no register is free for it
		t.op("VMASKMOVPS", at, m.reg(dst), m.reg(dst))
	}
}

func (m multiplier) store(t *text, s shape, src int, base reg, v int) {
	at := mem{base: base, offset: v * m.bytes()}
	switch {
	case !s.masked:
		t.op("VMOVUPS", m.reg(src), at)
	case m.lanes == avx512.lanes:
		t.op("VMOVUPS", m.reg(src), fmt.Sprint("K", v+1), at)
	default:
		t.op("VMOVUPS", mem{base: maskPtr, offset: v * m.bytes()}, m.reg(m.count-1))
		t.op("VMASKMOVPS", m.reg(src), m.reg(m.count-1), at)
	}
}

// transpose writes a matrix of as many rows as a vector has lanes as rows of that many, four columns at a time.
func (m multiplier) transpose(t *text) {
	rows, out := m.lanePitch(), pitch{bRow, "AX"}
	comment := fmt.Sprintf("writes src's elements at srcRow*i + p to dst's at dstRow*p + i, i < %d, p < 4*fours.", m.lanes)
	params := []param{{"dst", 3}, {"dstRow", 1}, {"src", 3}, {"srcRow", 1}, {"fours", 1}}
	t.function("transpose"+m.suffix, comment, params, func() {
		t.op("MOVQ", t.arg("dst"), bPtr)
		t.op("MOVQ", t.arg("dstRow"), out[0])
		t.op("SHLQ", imm(2), out[0])
		t.set(out)
		t.op("MOVQ", t.arg("src"), aPtr)
		t.op("MOVQ", t.arg("srcRow"), rows[0])
		t.op("SHLQ", imm(2), rows[0])
		t.set(rows)
		t.op("MOVQ", t.arg("fours"), left)
		t.loop(left, func() {
			m.four(t, rows, aPtr)
			for i := range 4 {
				t.op("VMOVUPS", m.reg(i), out.row(bPtr, i, 0))
			}
			t.op("ADDQ", imm(16), aPtr)
			t.op("LEAQ", out.row(bPtr, 4, 0), bPtr)
		})
	})
}

// column adds the products of rows with one vector to a column of sums: twice as many rows at a time as a vector has lanes,
// so that two sums do not wait for each other.
func (m multiplier) column(t *text) {
	rows, second := m.lanePitch(), bPtr
	const sums, factors = 8, 10 // registers behind those of four
	comment := fmt.Sprintf("adds the products of %d*pairs rows of a, aRow apart, with 4*fours elements of b to c.", 2*m.lanes)
	params := []param{{"pairs", 1}, {"fours", 1}, {"a", 3}, {"aRow", 1}, {"b", 3}, {"c", 3}}
	t.function("column"+m.suffix, comment, params, func() {
		t.op("MOVQ", t.arg("aRow"), rows[0])
		t.op("SHLQ", imm(2), rows[0])
		t.set(rows)
		t.op("MOVQ", t.arg("c"), cPtr)
		t.op("MOVQ", t.arg("pairs"), bRow)
		t.loop(bRow, func() {
			t.op("MOVQ", t.arg("a"), aPtr)
			m.below(t, rows, aPtr, second)
			m.below(t, rows, second, "AX")
			t.op("MOVQ", "AX", t.arg("a"))
			for i := range 2 {
				t.op("VMOVUPS", mem{base: cPtr, offset: i * m.bytes()}, m.reg(sums+i))
			}
			t.op("MOVQ", t.arg("b"), "AX")
			t.op("MOVQ", t.arg("fours"), left)
			t.loop(left, func() {
				for p := range 4 {
					t.op("VBROADCASTSS", mem{base: "AX", offset: 4 * p}, m.reg(factors+p))
				}
				for i, base := range []reg{aPtr, second} {
					m.four(t, rows, base)
					for p := range 4 {
						t.op("VFMADD231PS", m.reg(p), m.reg(factors+p), m.reg(sums+i))
					}
					t.op("ADDQ", imm(16), base)
				}
				t.op("ADDQ", imm(16), "AX")
			})
			for i := range 2 {
				t.op("VMOVUPS", m.reg(sums+i), mem{base: cPtr, offset: i * m.bytes()})
			}
			t.op("ADDQ", imm(2*m.bytes()), cPtr)
		})
	})
}

// lanePitch has registers for as many rows as a vector has lanes.
func (m multiplier) lanePitch() pitch {
	return append(aRows[:len(aRows):len(aRows)], "R14")[:m.lanes/2]
}

// below makes the base of as many rows behind those at another.
func (m multiplier) below(t *text, rows pitch, base, dst reg) {
	for range m.lanes / 8 {
		t.op("LEAQ", rows.row(base, 8, 0), dst)
		base = dst
	}
}

// four loads four columns of as many rows as a vector has lanes to registers 0 to 3, and uses the next four: of every fourth
// row four elements go to one register, which are four lanes of each column once lanes of four are transposed.
func (m multiplier) four(t *text, rows pitch, base reg) {
	insert := map[string]string{"Y": "VINSERTF128", "Z": "VINSERTF32X4"}[m.letter]
	for i := range 4 {
		t.op("VMOVUPS", rows.row(base, i, 0), m.xmm(i))
		for lane := 1; lane < m.lanes/4; lane++ {
			t.op(insert, imm(lane), rows.row(base, 4*lane+i, 0), m.reg(i), m.reg(i))
		}
	}
	for i := 0; i < 4; i += 2 {
		t.op("VUNPCKLPS", m.reg(i+1), m.reg(i), m.reg(4+i))
		t.op("VUNPCKHPS", m.reg(i+1), m.reg(i), m.reg(5+i))
	}
	for i := range 2 {
		t.op("VUNPCKLPD", m.reg(6+i), m.reg(4+i), m.reg(2*i))
		t.op("VUNPCKHPD", m.reg(6+i), m.reg(4+i), m.reg(2*i+1))
	}
}
