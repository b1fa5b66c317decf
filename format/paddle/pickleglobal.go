package paddle

import (
	"fmt"
	"strings"

	"thole.example/format"
)

// GlobalError says that a pickle names a global that it has no reason to name, or uses one in another way than arrays and
// dictionaries do. It wraps format.ErrCorrupt.
type GlobalError struct {
	Global string // module and name
	Use    string // how it is used; "": at all
}

// Error implements error.
func (e *GlobalError) Error() string {
	if e.Use != "" {
		return fmt.Sprintf("forbidden use of global %q %s", e.Global, e.Use)
	}
	return fmt.Sprintf("forbidden global %q: want only what arrays and dictionaries of them need", e.Global)
}

// Unwrap gives format.ErrCorrupt.
func (e *GlobalError) Unwrap() error { return format.ErrCorrupt }

// global checks a global and pushes it.
func (m *pickle) global(module, name string) {
	m.said = fmt.Sprintf("%q", module+"."+name)
	if !allowed(module, name) {
		m.fail("%w", &GlobalError{Global: module + "." + name})
		return
	}
	m.push(global{module, name})
}

// allowed is the list of globals. Names are enough to tell them apart.
func allowed(module, name string) bool {
	names := ""
	switch module {
	case "numpy":
		names = "ndarray dtype"
	case "numpy.core.multiarray", "numpy._core.multiarray":
		names = "_reconstruct scalar"
	case "numpy.core.numeric", "numpy._core.numeric":
		names = "_frombuffer"
	case "_codecs":
		names = "encode"
	case "collections":
		names = "OrderedDict"
	case "builtins", "__builtin__":
		names = "tuple dict list bytes eval"
	case "paddle.framework.io_utils":
		names = "_reconstruct_dense_tensor_data"
	}
	for _, known := range strings.Fields(names) {
		if known == name {
			return true
		}
	}
	return false
}
