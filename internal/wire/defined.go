package wire

import (
	"reflect"
	"unsafe"
)

// viewDefined is ViewAny for slices of types defined on a number, once per block and so by reflection.
func viewDefined(v any) (b []byte, size int) {
	r := reflect.ValueOf(v)
	if !r.IsValid() || r.Kind() != reflect.Slice {
		return nil, 0
	}
	size = int(r.Type().Elem().Size())
	if r.Len() == 0 {
		return nil, size
	}
	return unsafe.Slice((*byte)(r.UnsafePointer()), r.Len()*size), size
}
