package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"thole.example/bench"
)

// buildCore builds thole and the programs that it is compared with.
func buildCore(ctx context.Context, o *options, bin string) error {
	dir, err := o.sources("ps", "go.mod")
	if err != nil {
		return err
	}
	if _, err := run(ctx, dir, []string{"go", "build", "-o", bin, "./corepath", "./sparsebench"}); err != nil {
		return err
	}
	_, err = run(ctx, ".", []string{"go", "build", "-o", bin, "./cmd/thole"})
	return err
}

// coreComparisons is the table of what is compared of the core.
func coreComparisons(_ *options, bin string) []comparison {
	corepath, sparsebench, thole := filepath.Join(bin, "corepath"), filepath.Join(bin, "sparsebench"), filepath.Join(bin, "thole")
	perCPU := measured{"M rows per CPU-second", corePerCPU, benchPerCPU}
	perSecond := measured{"M rows/s", coreRate, benchRate}
	took := measured{"us a request (less is better)", coreTook, benchTook}
	all := []comparison{}
	for _, way := range []struct {
		depth    string
		measures []measured
	}{{"4", []measured{perCPU, perSecond}}, {"1", []measured{perCPU, took}}} {
		for _, op := range []string{"pull", "push"} {
			all = append(all, comparison{
				op + ", " + way.depth + " under way",
				[]string{corepath, "-op", op, "-depth", way.depth, "-secs", "2"},
				[]string{thole, "bench", op, "--in-flight", way.depth, "--json"},
				way.measures,
			})
		}
	}
	perThousand := measured{"k rows per CPU-second", thousandsOf(corePerCPU), thousandsOf(benchPerCPU)}
	for _, op := range []string{"pull", "push"} {
		all = append(all, comparison{
			op + " of 26 keys",
			[]string{corepath, "-op", op, "-n", "26", "-crc", "-secs", "2"},
			[]string{thole, "bench", op, "--batch", "26", "--json"},
			[]measured{perThousand},
		})
	}
	return append(all, comparison{
		"table of 1M keys",
		[]string{sparsebench, "-n", "1000000", "-secs", "0.5", "-kinds", "oa-16B-prefetch"},
		[]string{thole, "bench", "table", "--keys", "1M", "--seconds", "1", "--json"},
		[]measured{{"read, M rows per CPU-second", sparseRead, benchReads}, {"Adagrad, M rows per CPU-second", sparseAdagrad, benchPerCPU}},
	})
}

// batch is the keys of a request, of corepath and of thole bench, if nothing else is said.
const batch = 10000

var (
	coreLine   = regexp.MustCompile(`([\d.]+) M rows/s \| M rows per CPU-second: server [\d.]+ client [\d.]+ both ([\d.]+)`)
	sparseLine = regexp.MustCompile(`(?m) read +best +([\d.]+)(?s:.*) rmw/avx512 +best +([\d.]+)`)
)

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

// thousandsOf is a figure in thousands instead of millions.
func thousandsOf(millions func(text string) (float64, error)) func(text string) (float64, error) {
	return func(text string) (float64, error) {
		n, err := millions(text)
		return 1000 * n, err
	}
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
