package format

import (
	"encoding/hex"
	"fmt"
)

// UUIDSize is how many bytes a UUID has.
const UUIDSize = 16

// AppendUUID appends the text of a UUID: 123e4567-e89b-12d3-a456-426614174000.
func AppendUUID(dst, b []byte) ([]byte, error) {
	if len(b) != UUIDSize {
		return dst, fmt.Errorf("a UUID of %d bytes, want %d", len(b), UUIDSize)
	}
	for i, n := range [...]int{4, 2, 2, 2, 6} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, b[:n])
		b = b[n:]
	}
	return dst, nil
}
