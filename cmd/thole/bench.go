package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thole.example/bench"
	"thole.example/format"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/ssp"
)

// benchFlags are what the user said.
type benchFlags struct {
	bench.Config
	keys, cols string
	servers    []string
	count      int
	inProcess  bool
	noChecksum bool
	async      bool
	memory     string
	json       bool
}

func benchCommand(e *env) *cobra.Command {
	var f benchFlags
	names := make([]string, 0, 5)
	about := ""
	for _, k := range bench.Kinds() {
		names = append(names, k.Name)
		about += fmt.Sprintf("\n  %-8s %s", k.Name, k.Help)
	}
	c := &cobra.Command{
		Use:   "bench " + strings.Join(names, "|"),
		Short: "Measure parameter servers",
		Long: `Measures how fast parameter servers are, by the clock and by the processor time of both ends, which is what to compare
on busy machines:
` + about + `

It starts a server process of its own unless --servers names some or --in-process keeps all in this process.`,
		Example: `  thole bench pull
  thole bench push --keys 10M --rule adagrad --in-flight 4
  thole bench pull --servers 10.0.0.1:7001,10.0.0.2:7001 --json
  thole bench table --keys 10M`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE: func(c *cobra.Command, args []string) error {
			f.What = args[0]
			return runBench(c, e, &f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.keys, "keys", "1M", "keys of the table: a number, with K, M or G for thousands, millions, thousands of millions")
	flags.IntVar(&f.Dim, "dim", 16, "values of a key")
	flags.IntVar(&f.Batch, "batch", 10000, "keys of a request, in random order; some come twice")
	flags.StringVar(&f.Rule, "rule", "", "update rule of the table, or none: deltas are added (default: adagrad for push and table, else none)")
	flags.IntVar(&f.Depth, "in-flight", 1, "requests under way")
	flags.Float64Var(&f.Seconds, "seconds", 2, "how long to measure")
	flags.StringVar(&f.cols, "cols", "100M", "columns of the dense row (storm: 25M)")
	flags.IntVar(&f.Tasks, "tasks", 10, "tasks of barrier and storm")
	flags.BoolVar(&f.async, "async", false, "storm: without waiting for each other (ASP) instead of clock by clock (BSP)")
	flags.BoolVar(&f.ByKey, "by-key", false, "storm: push the columns by their keys")
	flags.StringSliceVar(&f.servers, "servers", nil, "addresses of servers that run already")
	flags.IntVar(&f.count, "processes", 1, "server processes to start")
	flags.StringVar(&f.memory, "memory", "", "--memory of the server processes")
	flags.BoolVar(&f.inProcess, "in-process", false, "run the servers in this process, without a network")
	flags.BoolVar(&f.noChecksum, "no-checksum", false, "send frames without checksums")
	flags.BoolVar(&f.json, "json", false, "print the result as one JSON object in the last line")
	return c
}

func runBench(c *cobra.Command, e *env, f *benchFlags) error {
	ctx := c.Context()
	var err error
	if f.Keys, err = countOf("keys", f.keys, 1<<31); err != nil {
		return err
	}
	cols, err := countOf("cols", f.cols, 1<<40)
	if err != nil {
		return err
	}
	f.Cols = int64(cols)
	for _, n := range []struct {
		name string
		is   int
		max  int
	}{{"dim", f.Dim, 1 << 16}, {"batch", f.Batch, 1 << 24}, {"in-flight", f.Depth, 1 << 10}, {"tasks", f.Tasks, 1 << 10}, {"processes", f.count, 1 << 8}} {
		if n.is < 1 || n.is > n.max {
			return usageError{fmt.Errorf("--%s %d, want a number from 1 to %d", n.name, n.is, n.max)}
		}
	}
	if f.Rule == "" && (f.What == "push" || f.What == "table") {
		f.Rule = "adagrad"
	}
	if f.What == "storm" && !c.Flags().Changed("cols") {
		f.Cols = 25_000_000
	}
	if f.Rule != "" && f.Rule != "none" && !slices.ContainsFunc(optim.Rules(), func(r psf.Rule) bool { return r.Name == f.Rule }) {
		return usageError{fmt.Errorf("--rule %q, want one that \"thole algos\" lists", f.Rule)}
	}
	if f.async {
		f.Bound = ssp.ASP
	}
	if f.Rule == "none" {
		f.Rule = ""
	}
	if !f.json {
		f.Tell = func(line string) { fmt.Fprintln(e.err, line) }
	}
	stop, err := f.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	r, err := bench.Run(ctx, f.Config)
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(e.out).Encode(r)
	}
	printBench(e, &r)
	return nil
}

// serve finds or starts the servers.
func (f *benchFlags) serve(ctx context.Context) (stop func(), err error) {
	network := &tcp.Network{NoChecksum: f.noChecksum}
	f.Network = network
	switch {
	case f.What == "table":
		return func() {}, nil
	case len(f.servers) > 0:
		f.Servers = f.servers
		return func() {}, nil
	case f.inProcess:
		c, err := embed(ctx, f.count, false)
		if err != nil {
			return nil, err
		}
		f.Network, f.Servers = c.net.(*mem.Network), c.addrs
		return c.stop, nil
	}
	var started []*exec.Cmd
	stop = func() {
		for _, c := range started {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	for range f.count {
		c, addr, err := benchServer(ctx, f.memory, f.noChecksum)
		if err != nil {
			stop()
			return nil, err
		}
		started = append(started, c)
		f.Servers = append(f.Servers, addr)
	}
	f.Server = func() (cpu time.Duration, peak int64) {
		for _, c := range started {
			cpu += bench.TimeOf(c.Process.Pid)
			peak += bench.PeakOf(strconv.Itoa(c.Process.Pid))
		}
		return cpu, peak
	}
	return stop, nil
}

// benchServer starts this binary as a server and gives its address.
func benchServer(ctx context.Context, memory string, noChecksum bool) (*exec.Cmd, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	args := []string{"server", "--listen", "127.0.0.1:0", "--quiet"}
	if memory != "" {
		args = append(args, "--memory", memory)
	}
	if noChecksum {
		args = append(args, "--no-checksum")
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening at ")
	if err != nil || !ok {
		_ = c.Process.Kill()
		return nil, "", fmt.Errorf("the server process said %q, want the address that it listens at", line)
	}
	return c, addr, nil
}

// countOf is a number such as 10000, 10K, 1.5M.
func countOf(flag, text string, most float64) (int, error) {
	digits, unit := text, 1.0
	for suffix, size := range map[string]float64{"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = rest, size
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if n *= unit; err != nil || !(n >= 1 && n <= most) || n != float64(int64(n)) {
		return 0, usageError{fmt.Errorf("--%s %q, want a whole number from 1 to %.0f, such as 10000, 10K or 1M", flag, text, most)}
	}
	return int(n), nil
}

func printBench(e *env, r *bench.Result) {
	fmt.Fprintf(e.out, "%s: %d requests, p50 %.0f us, p99 %.0f us, slowest %.0f us\n", r.What, r.Requests, r.P50, r.P99, r.Max)
	if r.PerCPU != nil {
		fmt.Fprintf(e.out, "%.2f M rows/s; M rows per CPU-second: ", r.Rate)
		if r.PerCPU.Server > 0 {
			fmt.Fprintf(e.out, "server %.1f, client %.1f, ", r.PerCPU.Server, r.PerCPU.Client)
		}
		fmt.Fprintf(e.out, "both %.2f\n", r.PerCPU.Both)
	}
	if r.Reads > 0 {
		fmt.Fprintf(e.out, "reads: %.1f M rows per CPU-second\n", r.Reads)
	}
	if r.Bytes > 0 {
		fmt.Fprintf(e.out, "%.2f GB/s\n", r.Bytes)
	}
	if r.BytesKey > 0 {
		fmt.Fprintf(e.out, "%.1f bytes a key; slowest insert of a batch %.1f ms\n", r.BytesKey, r.Growth/1e3)
	}
	fmt.Fprintf(e.out, "peak memory %s; %.1f allocations a request\n", format.Bytes(r.Peak), r.Allocs)
}
