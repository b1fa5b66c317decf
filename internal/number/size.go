package number

import (
	"fmt"
	"strconv"
	"strings"
)

// units are what sizes are counted in.
var units = map[string]float64{
	"": 1, "b": 1, "bytes": 1, "k": 1 << 10, "ki": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mi": 1 << 20, "mib": 1 << 20,
	"g": 1 << 30, "gi": 1 << 30, "gib": 1 << 30, "t": 1 << 40, "ti": 1 << 40, "tib": 1 << 40, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// ParseBytes reads a number of bytes, from 1 on, as people write it: 8GiB, 500 MB, 4096.
func ParseBytes(text string) (int64, error) {
	number, unit := strings.TrimSpace(text), ""
	if i := strings.IndexFunc(number, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }); i >= 0 {
		number, unit = number[:i], strings.ToLower(strings.TrimSpace(number[i:]))
	}
	v, err := strconv.ParseFloat(number, 64)
	scale, ok := units[unit]
	if err != nil || !ok || v*scale >= 1<<63 || v*scale < 1 {
		return 0, fmt.Errorf("%.40q, want a size like 8GiB or 500MB", text)
	}
	return int64(v * scale), nil
}
