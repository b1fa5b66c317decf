package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// What the programs print.
const (
	corePrints = "pull n=10000 keys=1000000 parts=16 crc=false tcp depth=4: 20.00 M rows/s | " +
		"M rows per CPU-second: server 21.1 client 29.0 both 12.50\n"
	sparsePrints = `oa-16B-prefetch          n=1000000 insert 8.46 Mrows/s
oa-16B-prefetch          n=1000000 threads=1 huge=true read           best   40.00 median   36.39 Mrows/s per CPU-s
oa-16B-prefetch          n=1000000 threads=1 huge=true rmw/avx512     best   25.00 median   28.46 Mrows/s per CPU-s
oa-16B-prefetch          n=1000000 threads=1 huge=true rmw/go         best   17.87 median   17.69 Mrows/s per CPU-s
`
	torchPrints = `{"model": "fm", "best_rows_cpu_s": 250000, "predict_rows_cpu_s": 500000}` + "\n" + `{"best": {"predict_rows_cpu_s": 1}}`
	stepsPrints = "BenchmarkSteps/fm/k16/[]-2   1  726781469 ns/op   687403 first-rows/CPU-s   1.5e+06 rows/CPU-s\n"
	scorePrints = "BenchmarkScore/fm/clicks-2   100  726781 ns/op   1000000 rows/CPU-s\n"
	benchPrints = `{"what":"pull","mrowsPerS":30,"mrowsPerCpuS":{"client":null,"server":null,"both":25},"p50Us":250,"readsMrowsPerCpuS":60}`
)

// TestCompare: peers and thole take turns, and the table has medians and ratios.
func TestCompare(t *testing.T) {
	var ran []string
	results, err := compare(coreComparisons(nil, "bin"), 3, io.Discard, func(args []string) (string, error) {
		name := filepath.Base(args[0])
		ran = append(ran, name)
		return map[string]string{"corepath": corePrints, "sparsebench": sparsePrints, "thole": "warning\n" + benchPrints + "\n"}[name], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(ran, " "), strings.Repeat(strings.Repeat("corepath thole ", 6)+"sparsebench thole ", 3); got+" " != want {
		t.Errorf("%s ran, want %s", got, want)
	}
	for i := range results { // one round of three is slow on one side
		results[i].thole[1] /= 2
	}
	var out strings.Builder
	if err := report(&out, results); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), "")
	for _, want := range []string{
		"pull,4underway|MrowsperCPU-second|12.5|25.0|2.00|1.00to2.00|", "push,4underway|Mrows/s|20.0|30.0|1.50|0.75to1.50|",
		"push,1underway|usarequest(lessisbetter)|500.0|250.0|0.50|0.25to0.50|",
		"pushof26keys|krowsperCPU-second|12500.0|25000.0|2.00|1.00to2.00|",
		"tableof1Mkeys|read,MrowsperCPU-second|40.0|60.0|1.50|0.75to1.50|",
		"tableof1Mkeys|Adagrad,MrowsperCPU-second|25.0|25.0|1.00|0.50to1.00|",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
}

// TestCompareFails: a program that fails, or prints something else, ends the comparison with its command line.
func TestCompareFails(t *testing.T) {
	gone := errors.New("gone")
	if _, err := compare(coreComparisons(nil, "bin"), 1, io.Discard, func([]string) (string, error) { return "", gone }); !errors.Is(err, gone) {
		t.Errorf("%v, want %v", err, gone)
	}
	for name, prints := range map[string]map[string]string{
		"corepath -op pull -depth 4":            {"corepath": "0 M rows/s", "thole": benchPrints},
		"thole bench pull --in-flight 4":        {"corepath": corePrints, "thole": "{}"},
		"sparsebench -n 1000000":                {"corepath": corePrints, "thole": benchPrints},
		"thole bench pull --in-flight 4 --json": {"corepath": corePrints, "thole": "what"},
	} {
		_, err := compare(coreComparisons(nil, ""), 1, io.Discard, func(args []string) (string, error) { return prints[args[0]], nil })
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error about %s", err, name)
		}
	}
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{suite: "core", rounds: 1, dir: t.TempDir()}, "the peers are not at"},
		{options{suite: "models", rounds: 1, dir: t.TempDir()}, "the peers are not at"},
		{options{suite: "core", rounds: 0}, "-n 0, want 1 or more"},
		{options{suite: "trees", rounds: 1}, "-suite trees, want core or models"},
	} {
		if err := measure(t.Context(), c.o, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.o, err, c.want)
		}
	}
}

// TestModels: figures of networks are those of the peer's fastest step and of thole's epochs after the first.
func TestModels(t *testing.T) {
	o := options{dir: "peers", python: "python3"}
	results, err := compare(modelComparisons(&o, "bin"), 1, io.Discard, func(args []string) (string, error) {
		switch line := strings.Join(args, " "); {
		case args[0] == o.python:
			return torchPrints, nil
		case strings.Contains(line, "Steps"):
			return stepsPrints, nil
		default:
			return scorePrints, nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := report(&out, results); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), "")
	for _, want := range []string{
		"lr|trained,krowsperCPU-second|250.0|1500.0|6.00|6.00to6.00|", "deepfm400-400-400|trained,krowsperCPU-second|250.0|1500.0|6.00|",
		"fm,k=8|trained,", "fm,k=8|scored,krowsperCPU-second|500.0|1000.0|2.00|2.00to2.00|",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
	for _, prints := range []string{"", "{}", `{"best_rows_cpu_s": -1}`, `{"best_rows_cpu_s": "fast"}`} {
		if _, err := torchTrains(prints); err == nil || !strings.Contains(err.Error(), "prints") {
			t.Errorf("%q: %v, want an error that says what was printed", prints, err)
		}
	}
}

// TestMedian: of odd and even numbers of values, which stay as they are.
func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		first := c.values[0]
		if got := median(c.values); got != c.want || c.values[0] != first {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}
