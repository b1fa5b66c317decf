package main

import (
	"fmt"

	"thole.example/internal/number"
)

// parseSize reads a number of bytes like "8GiB", "500 MB" or "4096"; "none" is -1, no bound, and "" is 0, the default.
func parseSize(flag, text string) (int64, error) {
	switch text {
	case "":
		return 0, nil
	case "none":
		return -1, nil
	}
	n, err := number.ParseBytes(text)
	if err != nil {
		return 0, usageError{fmt.Errorf("--%s %q, want a size like 8GiB or 500MB, or none", flag, text)}
	}
	return n, nil
}
