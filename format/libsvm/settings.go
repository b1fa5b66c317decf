package libsvm

import (
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
)

// settings are the options, read.
type settings struct {
	base  int64 // -1: to be found out
	dtype matrix.DType
	meta  bool
}

func newSettings(o *format.Options) (w settings, err error) {
	info := codec{}.Info()
	if err := o.CheckSet(info); err != nil {
		return w, err
	}
	bad := func(name, want string) error {
		return fmt.Errorf("option %s is %q, want %s: %w", name, o.Get(info, name), want, format.ErrOption)
	}
	switch o.Get(info, "base") {
	case "auto":
		w.base = -1
	case "0":
	case "1":
		w.base = 1
	default:
		return w, bad("base", "auto, 0 or 1")
	}
	if v := o.Get(info, "type"); v != "auto" {
		if w.dtype, err = matrix.ParseDType(v); err != nil {
			return w, bad("type", "auto or an element type")
		}
	}
	switch o.Get(info, "meta") {
	case "true":
		w.meta = true
	case "false":
	default:
		return w, bad("meta", "true or false")
	}
	return w, nil
}
