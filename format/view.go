package format

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"thole/blob"
	"thole/internal/wire"
	"thole/matrix"
)

// Viewer is a Reader that can show values where they lie in the mapped file, without a copy.
type Viewer interface {
	Reader
	// View calls look with the whole matrix as one dense block whose values are the file's own bytes: they must not be
	// changed, nor be looked at after look has returned or by another goroutine. ok is false, and look was not called, if
	// the file cannot be mapped or its values are not aligned; Blocks gives them then. A file that is cut while look
	// reads it is an error that wraps ErrCorrupt.
	View(name string, look func(matrix.Block) error) (ok bool, err error)
}

// View shows the values of the slab in the object's own memory, as Viewer.View says.
func (s *Slab) View(o blob.Object, look func(matrix.Block) error) (ok bool, err error) {
	mapped, can := o.(blob.Mapped)
	size, fits := s.Size()
	if !can || !fits || s.Off < 0 || size > o.Size()-s.Off || !s.native() {
		return false, nil
	}
	err = mapped.Map(func(file []byte) error {
		raw := file[s.Off : s.Off+size]
		data, aligned := dataOver(s.DType, raw)
		if !aligned {
			return nil
		}
		ok = true
		return s.guard(raw, matrix.Block{At: s.At, Data: data}, look)
	})
	if errors.Is(err, errors.ErrUnsupported) && !ok {
		return false, nil
	}
	return ok, err
}

// guard calls look and makes an error of a look at mapped bytes that the file has no more.
func (s *Slab) guard(raw []byte, b matrix.Block, look func(matrix.Block) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		fault, ok := p.(interface{ Addr() uintptr })
		if !ok || len(raw) == 0 || fault.Addr()-reflect.ValueOf(raw).Pointer() >= uintptr(len(raw)) {
			panic(p) // of look itself, whose matter it is
		}
		at := s.Off + int64(fault.Addr()-reflect.ValueOf(raw).Pointer())
		err = &wire.At{Off: at, Err: fmt.Errorf("the file became shorter while it was read: %w", ErrCorrupt)}
	}()
	if err := CheckBools(b, s.Off); err != nil {
		return err
	}
	return look(b)
}

// dataOver is dense data whose values are the bytes; aligned is false if they do not begin at a multiple of an element.
func dataOver(d matrix.DType, raw []byte) (data matrix.Data, aligned bool) {
	switch d {
	case matrix.F64:
		return over[float64](raw)
	case matrix.F32:
		return over[float32](raw)
	case matrix.I64:
		return over[int64](raw)
	case matrix.I32:
		return over[int32](raw)
	case matrix.I16:
		return over[int16](raw)
	case matrix.I8:
		return over[int8](raw)
	case matrix.U64:
		return over[uint64](raw)
	case matrix.U32:
		return over[uint32](raw)
	case matrix.U16:
		return over[uint16](raw)
	case matrix.U8:
		return over[uint8](raw)
	case matrix.F16:
		return over[matrix.Float16](raw)
	case matrix.BF16:
		return over[matrix.BFloat16](raw)
	}
	return over[matrix.Boolean](raw)
}

func over[T interface {
	wire.Number
	matrix.Stored
}](raw []byte) (matrix.Data, bool) {
	v, ok := wire.Numbers[T](raw)
	return &matrix.Dense[T]{Val: v}, ok
}
