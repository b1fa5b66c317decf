package format

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/wire"
)

// Viewer is a Reader that can show values where they lie in the mapped file, without a copy.
type Viewer interface {
	Reader
	// View calls look with the whole matrix in blocks of rows whose values are the file's own bytes, or that are empty:
	// they must not be changed, nor be looked at after look has returned or by another goroutine. ok is false, and look was
	// not called, if the file cannot be mapped or does not hold the values as memory does; Blocks gives them then. A file
	// that is cut while look reads it is an error that wraps ErrCorrupt.
	View(ctx context.Context, name string, look func(matrix.Block) error) (ok bool, err error)
}

// Look calls look with the stored values of the whole matrix, as Reader.Blocks gives them, but in place where the reader
// can show them so. The blocks must not be changed nor kept, nor be looked at by another goroutine.
func Look(ctx context.Context, r Reader, name string, look func(matrix.Block) error) error {
	m, err := Find(r, name)
	if err != nil {
		return err
	}
	if v, can := r.(Viewer); can {
		if ok, err := v.View(ctx, m.Name, look); ok || err != nil {
			return err
		}
	}
	for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
		if err == nil {
			err = look(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Viewable reports whether View can show the slab if the object can be mapped.
func (s *Slab) Viewable() bool {
	return s.native() && (wire.LoadsAnywhere || s.Off%int64(s.DType.Size()) == 0)
}

// View shows the values of the slab in the object's own memory, at most 16 MiB at a time, as Viewer.View says.
func (s *Slab) View(ctx context.Context, o blob.Object, look func(matrix.Block) error) (ok bool, err error) {
	mapped, can := o.(blob.Mapped)
	size, fits := s.Size()
	if !can || !fits || s.Off < 0 || size > o.Size()-s.Off || !s.Viewable() {
		return false, nil
	}
	err = mapped.Map(func(file []byte) error {
		ok = true
		if s.At.Empty() {
			return look(matrix.NewDense(s.DType, s.At))
		}
		for at := range Bands(s.At, bandBytes/int64(s.DType.Size())) { // each one piece of the file
			if err := ctx.Err(); err != nil {
				return err
			}
			off := s.place(at.Rows.Lo, at.Cols.Lo)
			cells, _ := at.Cells()
			if err := s.guard(off, file[off:off+cells*int64(s.DType.Size())], at, look); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errors.ErrUnsupported) && !ok {
		return false, nil
	}
	return ok, err
}

// guard calls look and makes an error of a look at mapped bytes that the file has no more.
func (s *Slab) guard(off int64, raw []byte, at matrix.Rect, look func(matrix.Block) error) (err error) {
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
		off += int64(fault.Addr() - reflect.ValueOf(raw).Pointer())
		err = &wire.At{Off: off, Err: fmt.Errorf("the file became shorter while it was read: %w", ErrCorrupt)}
	}()
	b := matrix.Block{At: at, Data: dataOver(s.DType, raw)}
	if err := CheckBools(b, off); err != nil {
		return err
	}
	return look(b)
}

// dataOver is dense data whose values are the bytes, which lie where the machine can load them.
func dataOver(d matrix.DType, raw []byte) matrix.Data {
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
}](raw []byte) matrix.Data {
	v, _ := wire.NumbersAnywhere[T](raw)
	return &matrix.Dense[T]{Val: v}
}
