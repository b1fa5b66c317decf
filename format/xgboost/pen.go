package xgboost

import (
	"bufio"
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"

	"thole.example/wire"
)

// pen writes values. Lists of numbers have the types that XGBoost gives them in UBJSON: kind is the mark of one, or 0 where each
// number has its own.
type pen interface {
	object()
	endObject()
	key(string)
	list(n int)
	endList()
	text(string)
	whole(int64)
	floats([]float32)
	wholes(list []int64, kind byte)
}

// textPen writes JSON without spaces.
type textPen struct {
	w    *bufio.Writer
	bare bool // nothing stands before the next value that asks for a comma
	num  []byte
}

func (p *textPen) comma() {
	if !p.bare {
		p.w.WriteByte(',')
	}
	p.bare = false
}

func (p *textPen) begin(c byte) {
	p.comma()
	p.w.WriteByte(c)
	p.bare = true
}

func (p *textPen) close(c byte) {
	p.w.WriteByte(c)
	p.bare = false
}

func (p *textPen) object()    { p.begin('{') }
func (p *textPen) endObject() { p.close('}') }
func (p *textPen) list(int)   { p.begin('[') }
func (p *textPen) endList()   { p.close(']') }

func (p *textPen) key(s string) {
	p.text(s)
	p.w.WriteByte(':')
	p.bare = true
}

func (p *textPen) text(s string) {
	p.comma()
	p.w.WriteString(compact(s))
}

func (p *textPen) whole(v int64) {
	p.comma()
	p.num = strconv.AppendInt(p.num[:0], v, 10)
	p.w.Write(p.num)
}

func (p *textPen) floats(list []float32) {
	p.list(len(list))
	for _, v := range list {
		p.comma()
		switch f := float64(v); {
		case f != f:
			p.num = append(p.num[:0], "NaN"...)
		case math.IsInf(f, 1):
			p.num = append(p.num[:0], "Infinity"...)
		case math.IsInf(f, -1):
			p.num = append(p.num[:0], "-Infinity"...)
		default:
			p.num = appendSingle(p.num[:0], v)
		}
		p.w.Write(p.num)
	}
	p.endList()
}

// appendSingle appends a number as XGBoost writes it: 5E-1, 0E0. Without an exponent it would take it for a whole number.
func appendSingle(to []byte, v float32) []byte {
	to = strconv.AppendFloat(to, float64(v), 'E', -1, 32)
	e := bytes.LastIndexByte(to, 'E') + 1
	keep := e
	if e == 0 { // no finite number
		return to
	}
	if to[e] == '-' {
		keep++
	}
	first := e + 1
	for first < len(to)-1 && to[first] == '0' {
		first++
	}
	return append(to[:keep], to[first:]...)
}

func (p *textPen) wholes(list []int64, _ byte) {
	p.list(len(list))
	for _, v := range list {
		p.whole(v)
	}
	p.endList()
}

// binaryPen writes UBJSON as XGBoost does: keys and texts with lengths of 8 bytes, lists with their number of values.
type binaryPen struct {
	w   *bufio.Writer
	num []byte
}

func (p *binaryPen) put(mark byte, n int64) {
	p.num = append(p.num[:0], mark)
	switch mark {
	case 'i', 'U':
		p.num = append(p.num, byte(n))
	case 'I':
		p.num = wire.AppendU16(p.num, wire.Big, uint16(n))
	case 'l':
		p.num = wire.AppendU32(p.num, wire.Big, uint32(n))
	default:
		p.num = wire.AppendU64(p.num, wire.Big, uint64(n))
	}
	p.w.Write(p.num)
}

func (p *binaryPen) object()    { p.w.WriteByte('{') }
func (p *binaryPen) endObject() { p.w.WriteByte('}') }
func (p *binaryPen) endList()   {}

func (p *binaryPen) list(n int) {
	p.w.WriteString("[#")
	p.put('L', int64(n))
}

func (p *binaryPen) key(s string) {
	p.put('L', int64(len(s)))
	p.w.WriteString(s)
}

func (p *binaryPen) text(s string) {
	p.w.WriteByte('S')
	p.key(s)
}

func (p *binaryPen) whole(v int64) {
	switch {
	case v == int64(int8(v)):
		p.put('i', v)
	case v == int64(int16(v)):
		p.put('I', v)
	case v == int64(int32(v)):
		p.put('l', v)
	default:
		p.put('L', v)
	}
}

func (p *binaryPen) typed(kind byte, n int) {
	p.w.WriteString("[$")
	p.w.WriteByte(kind)
	p.w.WriteByte('#')
	p.put('L', int64(n))
}

func (p *binaryPen) floats(list []float32) {
	p.typed('d', len(list))
	for _, v := range list {
		p.num = wire.AppendU32(p.num[:0], wire.Big, math.Float32bits(v))
		p.w.Write(p.num)
	}
}

func (p *binaryPen) wholes(list []int64, kind byte) {
	if kind == 0 {
		p.list(len(list))
		for _, v := range list {
			p.whole(v)
		}
		return
	}
	p.typed(kind, len(list))
	for _, v := range list {
		p.num = p.num[:0]
		switch kind {
		case 'i', 'U':
			p.num = append(p.num, byte(v))
		case 'l':
			p.num = wire.AppendU32(p.num, wire.Big, uint32(v))
		default:
			p.num = wire.AppendU64(p.num, wire.Big, uint64(v))
		}
		p.w.Write(p.num)
	}
}

// value writes what anything reads, objects with their keys in order.
func value(p pen, v any) {
	switch v := v.(type) {
	case map[string]any:
		p.object()
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p.key(key)
			value(p, v[key])
		}
		p.endObject()
	case []any:
		p.list(len(v))
		for _, one := range v {
			value(p, one)
		}
		p.endList()
	case string:
		p.text(v)
	default:
		p.text(compact(v)) // XGBoost writes settings as texts
	}
}
