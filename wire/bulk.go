package wire

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"unsafe"
)

// Number is an element that has a fixed width in memory and on disk.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// NativeOrder is the byte order of this machine's memory.
var NativeOrder = nativeOrder()

func nativeOrder() Order {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return Little
	}
	return Big
}

// View is the memory of v as bytes, in the machine's order, without a copy.
func View[T Number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

// Numbers is the view of bytes as numbers without a copy. ok is false if the bytes do not begin at a multiple of the
// element size or are not a whole number of elements.
func Numbers[T Number](b []byte) (v []T, ok bool) {
	var zero T
	size := unsafe.Sizeof(zero)
	if len(b) == 0 {
		return nil, true
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%size != 0 || uintptr(len(b))%size != 0 {
		return nil, false
	}
	return unsafe.Slice((*T)(p), uintptr(len(b))/size), true
}

// NumbersAnywhere is Numbers without asking for alignment, where the machine loads numbers from any address as fast;
// elsewhere it is Numbers. Atomic operations are not allowed on the result.
func NumbersAnywhere[T Number](b []byte) (v []T, ok bool) {
	var zero T
	size := unsafe.Sizeof(zero)
	if !LoadsAnywhere || len(b) == 0 || uintptr(len(b))%size != 0 {
		return Numbers[T](b)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))/size), true
}

// LoadsAnywhere reports whether numbers may lie at any address on this machine. Go's own checks of pointers ask for alignment
// only where the element holds a pointer.
const LoadsAnywhere = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" || runtime.GOARCH == "386"

// ViewAny is View for a []T of unknown number type, as matrix.Data.Values gives it, and the size of an element. Types
// defined on numbers (half floats, booleans) are found by their kind. nil and anything else gives nil, 0.
func ViewAny(v any) (b []byte, size int) {
	switch s := v.(type) {
	case []float64:
		return View(s), 8
	case []float32:
		return View(s), 4
	case []int64:
		return View(s), 8
	case []int32:
		return View(s), 4
	case []int16:
		return View(s), 2
	case []int8:
		return View(s), 1
	case []uint64:
		return View(s), 8
	case []uint32:
		return View(s), 4
	case []uint16:
		return View(s), 2
	case []uint8:
		return s, 1
	}
	return viewDefined(v)
}

// Put copies the numbers of v into dst in the given order; len(dst) is len(v) elements.
func Put[T Number](dst []byte, v []T, o Order) {
	copy(dst, View(v))
	var zero T
	fix(dst[:len(v)*int(unsafe.Sizeof(zero))], int(unsafe.Sizeof(zero)), o)
}

// Get fills v from src, whose numbers are in the given order; len(src) is len(v) elements.
func Get[T Number](v []T, src []byte, o Order) {
	b := View(v)
	copy(b, src)
	var zero T
	fix(b, int(unsafe.Sizeof(zero)), o)
}

// Swap turns numbers of size bytes from the machine's order into o or back, in place.
func Swap(b []byte, size int, o Order) { fix(b, size, o) }

func fix(b []byte, size int, o Order) {
	if o == NativeOrder {
		return
	}
	switch size {
	case 2:
		for i := 0; i+2 <= len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			binary.NativeEndian.PutUint32(b[i:], bits.ReverseBytes32(binary.NativeEndian.Uint32(b[i:])))
		}
	case 8:
		for i := 0; i+8 <= len(b); i += 8 {
			binary.NativeEndian.PutUint64(b[i:], bits.ReverseBytes64(binary.NativeEndian.Uint64(b[i:])))
		}
	}
}
