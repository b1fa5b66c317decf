//go:build wasip1

// Command moments is a get function for Thole in Go: how many cells a matrix has, their mean and their variance.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags=-s -o moments.wasm ./examples/functions/moments
//
// See docs/functions.md for what each exported function is.
package main

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

// summary is what is known of some cells: how many, their mean, and the sum of the squares of their distances from it.
type summary struct{ count, mean, squares float64 }

// add takes in other cells.
func (s *summary) add(o summary) {
	if o.count == 0 {
		return
	}
	n, d := s.count+o.count, o.mean-s.mean
	s.mean += d * o.count / n
	s.squares += o.squares + d*d*s.count*o.count/n
	s.count = n
}

// What lies in the module's memory for the host has to stay where it is: in variables of the package.
var (
	buffer  []uint64
	total   summary
	answer  []byte
	problem []byte
)

// bytes is the buffer as bytes.
func bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(buffer))), 8*len(buffer))
}

// place tells the host where bytes are.
func place(b []byte) int64 {
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))<<32 | int64(len(b))
}

//go:wasmexport thole_abi
func abi() int32 { return 1 }

//go:wasmexport thole_buffer
func room(size int32) *uint64 {
	buffer = make([]uint64, (size+7)/8)
	return &buffer[0]
}

//go:wasmexport thole_describe
func describe() int64 {
	answer = []byte(`{"name":"moments","help":"count, mean and variance of all cells","kind":"get"}`)
	return place(answer)
}

//go:wasmexport thole_error
func lastError() int64 { return place(problem) }

//go:wasmexport thole_chunk
func chunk(code, cells, rows int32, first int64, cols int32, row int64) int32 {
	b := bytes()
	s := summary{count: float64(cells)}
	for pass := range 2 { // the mean first, then the squares
		for i := range int(cells) {
			var v float64
			switch code {
			case 1:
				v = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			case 2:
				v = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
			case 3:
				v = float64(int64(binary.LittleEndian.Uint64(b[8*i:])))
			case 4:
				v = float64(int32(binary.LittleEndian.Uint32(b[4*i:])))
			default:
				problem = []byte("type of cells " + strconv.Itoa(int(code)) + ", want 1 to 4")
				return 1
			}
			if pass == 0 {
				s.mean += v / s.count
			} else {
				s.squares += (v - s.mean) * (v - s.mean)
			}
		}
	}
	total.add(s)
	return 0
}

//go:wasmexport thole_end
func end() int64 {
	answer = nil
	for _, v := range []float64{total.count, total.mean, total.squares} {
		answer = binary.LittleEndian.AppendUint64(answer, math.Float64bits(v))
	}
	return place(answer)
}

//go:wasmexport thole_merge
func merge(parts int32) int64 {
	b := bytes()
	var all summary
	for range parts {
		if n := binary.LittleEndian.Uint64(b); n != 24 {
			problem = []byte("a part of " + strconv.FormatUint(n, 10) + " bytes, want 24")
			return -1
		}
		f := func(at int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[at:])) }
		all.add(summary{f(8), f(16), f(24)})
		b = b[32:]
	}
	answer = []byte(`{"count":`)
	answer = strconv.AppendFloat(answer, all.count, 'f', -1, 64)
	answer = append(answer, `,"mean":`...)
	answer = strconv.AppendFloat(answer, all.mean, 'g', -1, 64)
	answer = append(answer, `,"variance":`...)
	answer = append(strconv.AppendFloat(answer, all.squares/max(all.count, 1), 'g', -1, 64), '}')
	return place(answer)
}

func main() {}
