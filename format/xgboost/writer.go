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

// writer writes values. Lists of numbers have the types that XGBoost gives them in UBJSON: kind is the mark of one, or 0 where each
// number has its own.
type writer interface {
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

// textWriter writes JSON without spaces.
type textWriter struct {
	out  *bufio.Writer
	bare bool // nothing stands before the next value that asks for a comma
	num  []byte
}

func (w *textWriter) comma() {
	if !w.bare {
		w.out.WriteByte(',')
	}
	w.bare = false
}

func (w *textWriter) begin(c byte) {
	w.comma()
	w.out.WriteByte(c)
	w.bare = true
}

func (w *textWriter) close(c byte) {
	w.out.WriteByte(c)
	w.bare = false
}

func (w *textWriter) object()    { w.begin('{') }
func (w *textWriter) endObject() { w.close('}') }
func (w *textWriter) list(int)   { w.begin('[') }
func (w *textWriter) endList()   { w.close(']') }

func (w *textWriter) key(s string) {
	w.text(s)
	w.out.WriteByte(':')
	w.bare = true
}

func (w *textWriter) text(s string) {
	w.comma()
	w.out.WriteString(compact(s))
}

func (w *textWriter) whole(v int64) {
	w.comma()
	w.num = strconv.AppendInt(w.num[:0], v, 10)
	w.out.Write(w.num)
}

func (w *textWriter) floats(list []float32) {
	w.list(len(list))
	for _, v := range list {
		w.comma()
		switch f := float64(v); {
		case f != f:
			w.num = append(w.num[:0], "NaN"...)
		case math.IsInf(f, 1):
			w.num = append(w.num[:0], "Infinity"...)
		case math.IsInf(f, -1):
			w.num = append(w.num[:0], "-Infinity"...)
		default:
			w.num = appendSingle(w.num[:0], v)
		}
		w.out.Write(w.num)
	}
	w.endList()
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

func (w *textWriter) wholes(list []int64, _ byte) {
	w.list(len(list))
	for _, v := range list {
		w.whole(v)
	}
	w.endList()
}

// binaryWriter writes UBJSON as XGBoost does: keys and texts with lengths of 8 bytes, lists with their number of values.
type binaryWriter struct {
	out *bufio.Writer
	num []byte
}

func (w *binaryWriter) put(mark byte, n int64) {
	w.num = append(w.num[:0], mark)
	switch mark {
	case 'i', 'U':
		w.num = append(w.num, byte(n))
	case 'I':
		w.num = wire.AppendU16(w.num, wire.Big, uint16(n))
	case 'l':
		w.num = wire.AppendU32(w.num, wire.Big, uint32(n))
	default:
		w.num = wire.AppendU64(w.num, wire.Big, uint64(n))
	}
	w.out.Write(w.num)
}

func (w *binaryWriter) object()    { w.out.WriteByte('{') }
func (w *binaryWriter) endObject() { w.out.WriteByte('}') }
func (w *binaryWriter) endList()   {}

func (w *binaryWriter) list(n int) {
	w.out.WriteString("[#")
	w.put('L', int64(n))
}

func (w *binaryWriter) key(s string) {
	w.put('L', int64(len(s)))
	w.out.WriteString(s)
}

func (w *binaryWriter) text(s string) {
	w.out.WriteByte('S')
	w.key(s)
}

func (w *binaryWriter) whole(v int64) {
	switch {
	case v == int64(int8(v)):
		w.put('i', v)
	case v == int64(int16(v)):
		w.put('I', v)
	case v == int64(int32(v)):
		w.put('l', v)
	default:
		w.put('L', v)
	}
}

func (w *binaryWriter) typed(kind byte, n int) {
	w.out.WriteString("[$")
	w.out.WriteByte(kind)
	w.out.WriteByte('#')
	w.put('L', int64(n))
}

func (w *binaryWriter) floats(list []float32) {
	w.typed('d', len(list))
	for _, v := range list {
		w.num = wire.AppendU32(w.num[:0], wire.Big, math.Float32bits(v))
		w.out.Write(w.num)
	}
}

func (w *binaryWriter) wholes(list []int64, kind byte) {
	if kind == 0 {
		w.list(len(list))
		for _, v := range list {
			w.whole(v)
		}
		return
	}
	w.typed(kind, len(list))
	for _, v := range list {
		w.num = w.num[:0]
		switch kind {
		case 'i', 'U':
			w.num = append(w.num, byte(v))
		case 'l':
			w.num = wire.AppendU32(w.num, wire.Big, uint32(v))
		default:
			w.num = wire.AppendU64(w.num, wire.Big, uint64(v))
		}
		w.out.Write(w.num)
	}
}

// writeValue writes what anything reads, objects with their keys in order.
func writeValue(w writer, v any) {
	switch v := v.(type) {
	case map[string]any:
		w.object()
		for _, key := range slices.Sorted(maps.Keys(v)) {
			w.key(key)
			writeValue(w, v[key])
		}
		w.endObject()
	case []any:
		w.list(len(v))
		for _, one := range v {
			writeValue(w, one)
		}
		w.endList()
	case string:
		w.text(v)
	default:
		w.text(compact(v)) // XGBoost writes settings as texts
	}
}
