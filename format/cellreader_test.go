package format

import (
	"fmt"
	"testing"

	"thole.example/matrix"
)

// readCell is what the reader of the type makes of text: the number and its length.
func readCell[T matrix.Stored](text string) string {
	v, n := CellReader[T]()([]byte(text))
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(v, " ", n)
}

// TestCellReader reads the ends of each type and what is just beyond them.
func TestCellReader(t *testing.T) {
	for name, c := range map[string]struct {
		read func(string) string
		want map[string]string
	}{
		"f64": {readCell[float64], map[string]string{"0.1,": "0.1 3", "1.7976931348623157e308": "1.7976931348623157e+308 22", "1e309": "none", "x": "none"}},
		// 1 + 2^-24 and a little is just above the middle of two values, which it is when read as a float64
		"f32":  {readCell[float32], map[string]string{"0.1\t": "0.1 3", "1.000000059604644775390625867": "1.0000001 29", "3.5e38": "none"}},
		"i64":  {readCell[int64], map[string]string{"-9223372036854775808": "-9223372036854775808 20", "9223372036854775808": "none", "1.5": "1 1"}},
		"i32":  {readCell[int32], map[string]string{"-2147483648": "-2147483648 11", "2147483647": "2147483647 10", "2147483648": "none", "-2147483649": "none"}},
		"i16":  {readCell[int16], map[string]string{"-32768": "-32768 6", "32767": "32767 5", "32768": "none", "-32769": "none"}},
		"i8":   {readCell[int8], map[string]string{"-128": "-128 4", "127": "127 3", "128": "none", "-129": "none"}},
		"u64":  {readCell[uint64], map[string]string{"18446744073709551615": "18446744073709551615 20", "+7": "7 2", "-0": "0 2", "-1": "none", "18446744073709551616": "none"}},
		"u32":  {readCell[uint32], map[string]string{"4294967295": "4294967295 10", "4294967296": "none", "-1": "none"}},
		"u16":  {readCell[uint16], map[string]string{"65535": "65535 5", "65536": "none", "-1": "none"}},
		"u8":   {readCell[uint8], map[string]string{"255": "255 3", "256": "none", "-1": "none"}},
		"f16":  {readCell[matrix.Float16], map[string]string{"65504": "31743 5", "65520": "none", "inf": "31744 3"}},
		"bf16": {readCell[matrix.BFloat16], map[string]string{"1": "16256 1", "3.4e38": "none"}},
		"bool": {readCell[matrix.Boolean], map[string]string{"1": "1 1", "0": "0 1", "TRUE": "1 4", "False": "0 5", "2": "none", "tru": "none", "": "none"}},
	} {
		for text, want := range c.want {
			if got := c.read(text); got != want {
				t.Errorf("%s: %q is read as %s, want %s", name, text, got, want)
			}
		}
	}
}
