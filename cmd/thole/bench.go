package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/bench"
	"thole.example/format"
	"thole.example/optim"
	"thole.example/psf"
)

// benchFlags are what the user said.
type benchFlags struct {
	bench.Config
	kind       benchKind
	keys, cols string
	servers    []string
	processes  int
	inProcess  bool
	noChecksum bool
	memory     string
	scratch    string
	cache      string
	json       bool
	trust      trust
}

// benchFields says what the fields of --json are.
const benchFields = `With --json the last line is one object. It has the same fields for every kind, and null where something is not known
or not of the kind: the processor time and memory of the servers with --servers, rows of a barrier.

what, requests: the kind, and how many requests were measured; of a storm one a task, from its connection to its end.

mrowsPerS: millions of rows by the clock. A row is the --dim values of a key; in row and storm, which are about one dense row, each
value of it counts. For table they are the rows that are updated, or read with --rule none.

mrowsPerCpuS: the same by processor time: client is this process, server all servers, both the two together. Where one process does
all, in table and with --in-process, only both is known; with --servers only client.

gbPerS: row and storm: the values as bytes, by the clock.

p50Us, p99Us, maxUs: how long a request takes: half, 99 of 100, and all of them at most. Of 100 requests or fewer p99Us is
maxUs: more --seconds or a smaller --batch gives more.

peakRssBytes: the most memory that the servers had, each its own peak, added up; of this process where they are in it.

allocsPerRequest, allocBytesPerRequest: objects and bytes that this process allocated on the Go heap, and no other process: of the
servers only with --in-process; of a barrier, for all its tasks together.

readsMrowsPerCpuS, bytesPerKey, slowestInsertUs: table: reads where the rate is that of updates, memory of a key with its values
and the rule's slots, and how long the slowest batch of inserts took.

wireBytesPerRequest, cacheHits: pull: bytes of keys and values that cross the network, both ways, and with --cache which share of the
different keys of a request the cache had.

settings: what was measured, without those that the kind does not have: keys, dim, batch, skew, inFlight, cache, staleness, rule, wire,
cols, tasks, async, byKey and seconds are the flags, cache, staleness and wire only where they are given; servers is how many there
were, where is started, in-process or running (--servers); memory is the bound of each that was started, -1 for none; checksum: what is
sent over the network has checksums; tls, if it is there: it is encrypted.`

func benchCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure parameter servers",
		Long: `Measures how fast parameter servers are, by the clock and by the processor time of both ends, which is what to compare
on busy machines.

` + benchFields,
		Example: `  thole bench pull
  thole bench push --keys 10M --rule adagrad --in-flight 4
  thole bench pull --servers 10.0.0.1:7001,10.0.0.2:7001 --json
  thole bench table --keys 10M`,
	}
	for _, k := range bench.Kinds() {
		c.AddCommand(benchKindCommand(e, k))
	}
	return c
}

func benchKindCommand(e *env, k bench.Kind) *cobra.Command {
	f := benchFlags{kind: benchKinds()[k.Name]}
	f.What = k.Name
	help := strings.ToUpper(k.Help[:1]) + k.Help[1:]
	long := "Measures: " + k.Help + "."
	if k.Name != "table" {
		long += `

It starts a server process of its own unless --servers names some or --in-process keeps all in this process. On servers that run
already it has a job of its own, which ends with it; nothing of other jobs is touched.`
	}
	c := &cobra.Command{
		Use: k.Name, Short: help, Example: f.kind.example,
		Long: long + "\n\nWhat comes out, \"thole bench --help\" explains.",
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, e) },
	}
	f.flags(c)
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var none *pflag.NotExistError
		if errors.As(err, &none) {
			if of := benchKindsOf(none.GetSpecifiedName()); len(of) > 0 {
				err = fmt.Errorf("--%s is of %s, not of %s; see %s --help",
					none.GetSpecifiedName(), strings.Join(of, ", "), k.Name, c.CommandPath())
				return usageError{err}
			}
		}
		return usageError{flagError(c, err, e.args)}
	})
	return c
}

// flags gives a command the flags of its kind; the others have their defaults, which nobody sees.
func (f *benchFlags) flags(c *cobra.Command) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.allFlags(flags)
	kind := f.kind.all(f.What)
	flags.SortFlags = false
	flags.VisitAll(func(one *pflag.Flag) {
		if slices.Contains(kind, one.Name) {
			c.Flags().AddFlag(one)
		}
	})
	inGroup(c, "Requests", "keys", "batch", "skew", "in-flight", "dim", "rule", "wire", "cache", "staleness", "cols", "async", "by-key")
}

func (f *benchFlags) allFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.keys, "keys", "1M", "keys of the table: a number, with K, M or G for thousands, millions, thousands of millions")
	flags.StringVar(&f.cols, "cols", cmp.Or(f.kind.cols, "1"), "columns of the dense row")
	flags.Float64Var(&f.Seconds, "seconds", 2, "how long to measure, after warming up for half of that at most; each request under "+
		"way is made once at least")
	flags.IntVar(&f.Batch, "batch", 10000, "keys of a request, in random order; some come twice")
	flags.Float64Var(&f.Skew, "skew", 0, "keys come as often as Zipf's law with this exponent says, 1 as in many real tables; 0: all as often")
	flags.IntVar(&f.Depth, "in-flight", 1, "requests under way")
	flags.IntVar(&f.Dim, "dim", 16, "values of a key")
	flags.StringVar(&f.Rule, "rule", cmp.Or(f.kind.rule, "none"), "update rule of the table; none adds deltas")
	flags.StringVar(&f.Wire, "wire", "", "values cross the network as f16, bf16 or int8 instead of as they are; answers as int8 do not")
	flags.StringVar(&f.cache, "cache", "", "size of a cache of hot keys at the client, such as 10MiB; each request draws new keys")
	flags.IntVar(&f.Staleness, "staleness", 0, "requests for which the cache may use a value, each of which ends a clock; "+
		"0: no bound, no clocks")
	flags.IntVar(&f.Tasks, "tasks", 10, "tasks")
	flags.BoolVar(&f.Async, "async", false, "under ASP, where nobody waits for anybody, instead of BSP")
	flags.BoolVar(&f.ByKey, "by-key", false, "push the columns by their keys")
	flags.BoolVar(&f.json, "json", false, "print the result as one JSON object in the last line")
	flags.StringSliceVar(&f.servers, "servers", nil, "servers that run already: "+addressesHelp)
	flags.IntVar(&f.processes, "processes", 1, "servers to start, or with --in-process to run in this process")
	flags.BoolVar(&f.inProcess, "in-process", false, "run the servers in this process, without a network")
	flags.StringVar(&f.memory, "memory", "", "--memory of the servers to start")
	flags.StringVar(&f.scratch, "scratch", "", "--scratch of the servers to start")
	flags.BoolVar(&f.noChecksum, "no-checksum", false, noChecksumHelp)
	f.trust.flags(flags)
}

func (f *benchFlags) run(c *cobra.Command, e *env) error {
	if err := f.choose(c); err != nil {
		return usageError{err}
	}
	if err := f.room(availableMemory()); err != nil {
		return err
	}
	ctx := c.Context()
	show := e.showBench(f.What, "starting", f.Keys)
	end := sync.OnceFunc(show.end)
	defer end()
	f.Progress = show.tell
	stop, err := f.serve(ctx, e)
	if err != nil {
		return err
	}
	defer stop()
	r, err := bench.Run(ctx, f.Config)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // whatever became of the servers
	}
	if err != nil {
		return err
	}
	end()
	f.complete(&r.Settings)
	if f.json {
		return json.NewEncoder(e.out).Encode(r)
	}
	printBench(e, &r)
	return nil
}

// complete says what only the command line knows.
func (f *benchFlags) complete(s *bench.Settings) {
	switch {
	case f.What == "table":
		return
	case f.inProcess:
		s.Where = new("in-process")
		return
	case f.Apart:
		s.Where = new("running")
	default:
		s.Where = new("started")
		n, _ := parseSize("memory", f.memory) // it was checked
		if n == 0 {
			n = defaultMemory()
		}
		if n != 0 {
			s.Memory = &n
		}
	}
	s.Checksum = new(!f.noChecksum)
	if f.trust.encrypted() {
		s.TLS = new(true)
	}
}

// choose checks what the user said, and chooses the rest.
func (f *benchFlags) choose(c *cobra.Command) error {
	cols, err := parseCount("cols", f.cols, 1<<40)
	if err != nil {
		return err
	}
	f.Cols = int64(cols)
	if f.Keys, err = parseCount("keys", f.keys, 1<<31); err != nil {
		return err
	}
	for _, n := range []struct {
		name      string
		is, limit int
	}{{"dim", f.Dim, 1 << 16}, {"batch", f.Batch, 1 << 24}, {"in-flight", f.Depth, 1 << 8}, {"tasks", f.Tasks, 1 << 10},
		{"processes", f.processes, 1 << 8}} {
		if n.is < 1 || n.is > n.limit {
			return fmt.Errorf("--%s %d, want a number from 1 to %d", n.name, n.is, n.limit)
		}
	}
	if f.Cache, err = parseSize("cache", f.cache); err != nil {
		return err
	}
	if f.Staleness < 0 || f.Staleness > 0 && f.Cache == 0 {
		return fmt.Errorf("--staleness %d, want 0 or more, and a --cache", f.Staleness)
	}
	if !finite(f.Seconds) || f.Seconds <= 0 {
		return fmt.Errorf("--seconds %v, want a finite number above 0", f.Seconds)
	}
	if !finite(f.Skew) || f.Skew < 0 || f.Skew > 10 {
		return fmt.Errorf("--skew %v, want a number from 0 to 10", f.Skew)
	}
	f.Apart = len(f.servers) > 0
	if !slices.Contains([]string{"", "f16", "bf16", "int8"}, f.Wire) {
		return fmt.Errorf("--wire %q, want f16, bf16 or int8", f.Wire)
	}
	if err := f.chooseRule(); err != nil {
		return err
	}
	return f.checkServers(c)
}

// room refuses what takes more memory than the machine has available; 0: nobody knows.
func (f *benchFlags) room(available int64) error {
	need := f.Need()
	all := need.Requests + need.Matrices
	if available <= 0 || all <= available {
		return nil
	}
	flags := f.kind.less
	if need.Requests > need.Matrices && len(f.kind.lessRequests) > 0 {
		flags = f.kind.lessRequests
	}
	return fmt.Errorf("it takes about %s of memory (requests %s, matrix %s), and %s is available; less of --%s takes less",
		format.Bytes(all), format.Bytes(need.Requests), format.Bytes(need.Matrices), format.Bytes(available),
		strings.Join(flags, ", --"))
}

func (f *benchFlags) chooseRule() error {
	switch {
	case f.Rule == "none":
		f.Rule = ""
	case !slices.ContainsFunc(optim.Rules(), func(r psf.Rule) bool { return r.Name == f.Rule }):
		return fmt.Errorf("--rule %q, want none or one that \"thole algos\" lists", f.Rule)
	}
	return nil
}

// checkServers refuses flags that contradict each other.
func (f *benchFlags) checkServers(c *cobra.Command) error {
	given := c.Flags().Changed
	if _, err := parseSize("memory", f.memory); err != nil {
		return err
	}
	if f.scratch != "" {
		if err := folder("scratch", f.scratch); err != nil {
			return err
		}
	}
	for _, clash := range [][2]string{
		{"servers", "in-process"}, {"servers", "processes"}, {"servers", "memory"}, {"in-process", "memory"}, {"servers", "scratch"},
		{"in-process", "scratch"}, {"in-process", "no-checksum"},
		{"in-process", "tls"}, {"in-process", "tls-ca"}, {"in-process", "token-file"}, {"processes", "token-file"},
	} {
		if given(clash[0]) && given(clash[1]) {
			return fmt.Errorf("--%s and --%s, want one of them", clash[0], clash[1])
		}
	}
	if !f.Apart && !f.inProcess && f.What != "table" && f.trust.encrypted() && (f.trust.ca == "" || f.trust.cert == "") {
		return errors.New("--tls without --servers, want --tls-ca, --tls-cert and --tls-key, which the servers that are started have too")
	}
	return nil
}

// parseCount reads a number such as 10000, 10K, 1.5M.
func parseCount(flag, text string, limit float64) (int, error) {
	digits, unit := text, 1.0
	for suffix, size := range map[string]float64{"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = rest, size
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if n *= unit; err != nil || !(n >= 1 && n <= limit) || n != float64(int64(n)) {
		return 0, fmt.Errorf("--%s %q, want a whole number from 1 to %.0f, such as 10000, 10K or 1M", flag, text, limit)
	}
	return int(n), nil
}

func printBench(e *env, r *bench.Result) {
	fmt.Fprintf(e.out, "measured: %s\n", &r.Settings)
	fmt.Fprintf(e.out, "%s: %d requests, p50 %.0f us, p99 %.0f us, slowest %.0f us\n", r.What, r.Requests, r.P50, r.P99, r.Max)
	if r.Rate != nil {
		unit := "rows"
		if r.Bytes != nil {
			unit = "values"
		}
		var ends []string
		for _, end := range []struct {
			name string
			rate *float64
		}{{"server", r.PerCPU.Server}, {"client", r.PerCPU.Client}, {"both", r.PerCPU.Both}} {
			if end.rate != nil {
				ends = append(ends, fmt.Sprintf("%s %.2f", end.name, *end.rate))
			}
		}
		fmt.Fprintf(e.out, "%.2f M %s/s; M %s per CPU-second: %s\n", *r.Rate, unit, unit, orDash(strings.Join(ends, ", ")))
	}
	if r.Wire != nil {
		fmt.Fprintf(e.out, "%.0f bytes of keys and values a request", *r.Wire)
		if r.Hits != nil {
			fmt.Fprintf(e.out, "; the cache had %.1f %% of the keys", 100**r.Hits)
		}
		fmt.Fprintln(e.out)
	}
	if r.Reads != nil {
		fmt.Fprintf(e.out, "reads: %.2f M rows per CPU-second\n", *r.Reads)
	}
	if r.Bytes != nil {
		fmt.Fprintf(e.out, "%.2f GB/s\n", *r.Bytes)
	}
	if r.BytesKey != nil && r.Growth != nil {
		fmt.Fprintf(e.out, "%.1f bytes a key; slowest insert of a batch %.1f ms\n", *r.BytesKey, *r.Growth/1e3)
	}
	if r.Peak != nil {
		fmt.Fprintf(e.out, "peak memory %s; ", format.Bytes(*r.Peak))
	}
	fmt.Fprintf(e.out, "%.1f allocations a request, %s\n", r.Allocs, format.Bytes(int64(r.Alloced)))
}
