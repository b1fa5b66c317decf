package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"thole.example/bench"
)

// batch is the keys of a request, of corepath and of thole bench.
const batch = 10000

var (
	coreLine   = regexp.MustCompile(`([\d.]+) M rows/s \| M rows per CPU-second: server [\d.]+ client [\d.]+ both ([\d.]+)`)
	sparseLine = regexp.MustCompile(`(?m) read +best +([\d.]+)(?s:.*) rmw/avx512 +best +([\d.]+)`)
)

// found is the i-th number of a line, above 0.
func found(line *regexp.Regexp, text string, i int) (float64, error) {
	m := line.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("prints %q, want a line like %v", text, line)
	}
	n, err := strconv.ParseFloat(m[i], 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("prints %q, want a number above 0 where it has %q", text, m[i])
	}
	return n, nil
}

func coreRate(text string) (float64, error)      { return found(coreLine, text, 1) }
func corePerCPU(text string) (float64, error)    { return found(coreLine, text, 2) }
func sparseRead(text string) (float64, error)    { return found(sparseLine, text, 1) }
func sparseAdagrad(text string) (float64, error) { return found(sparseLine, text, 2) }

// coreTook is how long a request takes in the mean, in microseconds, where one is under way; corepath does not say more.
func coreTook(text string) (float64, error) {
	rate, err := coreRate(text)
	if err != nil {
		return 0, err
	}
	return batch / rate, nil
}

// benched is a figure of the last line of thole bench --json.
func benched(text string, of func(r *bench.Result) *float64) (float64, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var r bench.Result
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		return 0, fmt.Errorf("prints %q: %w", text, err)
	}
	n := of(&r)
	if n == nil || *n <= 0 {
		return 0, fmt.Errorf("does not say what is asked for: %s", text)
	}
	return *n, nil
}

func benchRate(text string) (float64, error) {
	return benched(text, func(r *bench.Result) *float64 { return r.Rate })
}

func benchPerCPU(text string) (float64, error) {
	return benched(text, func(r *bench.Result) *float64 { return r.PerCPU.Both })
}

func benchTook(text string) (float64, error) {
	return benched(text, func(r *bench.Result) *float64 { return &r.P50 })
}

func benchReads(text string) (float64, error) {
	return benched(text, func(r *bench.Result) *float64 { return r.Reads })
}
