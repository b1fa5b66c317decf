package main

import (
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// addressesLeft is how many bytes of addresses this process may still take (ulimit -v); 0 if there is no limit.
func addressesLeft() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur >= math.MaxInt64 {
		return 0
	}
	text, _ := os.ReadFile("/proc/self/statm") // the first number is pages of addresses; nothing if the system does not tell
	first, _, _ := strings.Cut(string(text), " ")
	pages, _ := strconv.ParseInt(first, 10, 64)
	return max(1, int64(limit.Cur)-pages*int64(os.Getpagesize()))
}
