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
	switch r.Type().Elem().Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	default:
		return nil, 0 // no number of a fixed width: its memory means nothing elsewhere
	}
	size = int(r.Type().Elem().Size())
	if r.Len() == 0 {
		return nil, size
	}
	return unsafe.Slice((*byte)(r.UnsafePointer()), r.Len()*size), size
}
