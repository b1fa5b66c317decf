// Command mutants changes one line of the module at a time and runs the tests that could notice: what survives is a line that
// no test holds. It draws the changes from a seed, leaves the work tree as it is (go test -overlay), and lists the survivors.
// docs/mutants.md says how to read them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// options are the command line.
type options struct {
	n, seed, parallel, importers int
	limit                        time.Duration
	json                         bool
	skip, change, run            string
	patterns                     []string
}

func main() {
	o := options{}
	flag.IntVar(&o.n, "n", 200, "how many mutations are drawn, 0 for all")
	flag.IntVar(&o.seed, "seed", 1, "which ones: the same seed draws the same from the same lines")
	flag.IntVar(&o.parallel, "p", 2, "how many are tried at a time")
	flag.IntVar(&o.importers, "importers", 3, "how many packages that import a mutated one lend it their tests")
	flag.DurationVar(&o.limit, "limit", 2*time.Minute, "how long the tests of one package may run; longer counts as noticed")
	flag.BoolVar(&o.json, "json", false, "the report as JSON")
	flag.StringVar(&o.skip, "skip", "ps,server,shard,rpc,rpc/*,psf,part,examples/*", "packages that are left out")
	flag.StringVar(&o.change, "change", "", "the only kind of change, such as wake-up (default: all but that)")
	flag.StringVar(&o.run, "run", "", "regular expression of the tests of the packages that are run")
	flag.Parse()
	o.patterns = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := mutate(ctx, ".", o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// mutate does the whole work for the module in dir, or the packages of it that the patterns name.
func mutate(ctx context.Context, dir string, o options, out, progress io.Writer) error {
	m, err := load(ctx, dir, o)
	if err != nil {
		return err
	}
	even, err := readEquivalents(filepath.Join(m.root, "internal", "mutants", "equivalent.txt"))
	if err != nil {
		return err
	}
	drawn, err := m.draw(o.n, o.seed, o.change)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "%d mutations drawn, seed %d\n", len(drawn), o.seed)
	r := &runner{module: m, limit: o.limit, run: o.run, progress: progress}
	if err := r.sound(ctx, drawn); err != nil {
		return err
	}
	results, err := r.all(ctx, drawn, even, o.parallel)
	if err != nil {
		return err
	}
	rep := newReport(o, results, even)
	if o.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(rep)
	}
	return rep.print(out)
}
