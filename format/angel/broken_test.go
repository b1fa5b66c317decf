package angel

import (
	"errors"

	"thole/format"
)

// isTyped tells whether an error wraps one of the given sentinels and says where it was found.
func isTyped(err error, any ...error) bool {
	var where *format.Error
	if !errors.As(err, &where) {
		return false
	}
	for _, want := range any {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}
