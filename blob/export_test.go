package blob

import "errors"

// Poorer makes the system one that can neither exchange names nor rename to free ones only, until back is called.
func Poorer() (back func()) {
	was := system
	system.exchange, system.free = unsupported, unsupported
	return func() { system = was }
}

func unsupported(_, _ string) error { return errors.ErrUnsupported }
