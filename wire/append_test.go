package wire

import (
	"bytes"
	"testing"
)

func TestAppend(t *testing.T) {
	number := func(o Order) []byte {
		return AppendU64(AppendU32(AppendU16(nil, o, 0x0102), o, 0x03040506), o, 0x0708090a0b0c0d0e)
	}
	if got := number(Big); !bytes.Equal(got, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}) {
		t.Errorf("big-endian: % x", got)
	}
	if got := number(Little); !bytes.Equal(got, []byte{2, 1, 6, 5, 4, 3, 14, 13, 12, 11, 10, 9, 8, 7}) {
		t.Errorf("little-endian: % x", got)
	}
}

// Appending to a slice with room takes no memory: codecs append number by number.
func TestAppendAllocates(t *testing.T) {
	buf := make([]byte, 0, 64)
	for name, o := range map[string]Order{"little": Little, "big": Big} {
		n := testing.AllocsPerRun(100, func() {
			buf = AppendU64(AppendU32(AppendU16(buf[:0], o, 1), o, 2), o, 3)
		})
		if n != 0 {
			t.Errorf("%s-endian: %v allocations for three numbers, want none", name, n)
		}
	}
}
