package format

import "testing"

func TestUUID(t *testing.T) {
	b := []byte{0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0}
	if got, err := AppendUUID([]byte("x"), b); err != nil || string(got) != "x123e4567-e89b-12d3-a456-426614174000" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := AppendUUID(nil, b[1:]); err == nil {
		t.Error("15 bytes are read")
	}
}
