package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

// waiting are the commands whose examples wait for other processes, or take long: only their flags are read, as
// are those of what asks a cluster.
var waiting = map[string]bool{"server": true, "status": true, "worker": true, "demo": true, "wait": true, "bench": true, "coordinate": true,
	"launch scale": true}

// first is what has to be done before the examples of a command.
var first = map[string]string{
	"train":  "rm -r out", // which they make
	"data":   "rm train.libsvm test.libsvm loans.csv",
	"loans":  "rm loans.csv",
	"clicks": "rm train.libsvm test.libsvm",
	"thole":  "rm train.libsvm",
	"export": "rm -r lr-paddle lr-sparse lr.onnx",
	"logs":   aLaunch,
	"status": aLaunch, // of launches
	"stop":   aLaunch,
	"unpack": "thole pack lr-paddle lr.zip",
}

// aLaunch is a launch that has ended.
const aLaunch = "thole launch --workers 2 --data train.libsvm --epochs 1 --dir jobs/clicks"

// helpExamples runs the examples of every command's help, each command in a copy of the folder.
func helpExamples(ts *testscript.TestScript, _ bool, args []string) {
	prepared := ts.MkAbs(args[0])
	root := rootCommand(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	for _, c := range below(root) {
		if c.HasParent() && c.Parent().Name() == "completion" {
			continue // cobra's
		}
		if c.Example == "" {
			ts.Fatalf("%s has no example", c.CommandPath())
		}
		dir := filepath.Join(filepath.Dir(prepared), "as-"+strings.ReplaceAll(c.CommandPath(), " ", "-"))
		ts.Check(os.CopyFS(dir, os.DirFS(prepared)))
		ts.Check(ts.Chdir(dir))
		if line := first[c.Name()]; line != "" {
			ts.Check(ts.Exec("sh", "-e", "-c", line))
		}
		for line := range strings.Lines(c.Example) {
			helpExample(ts, c, strings.TrimSpace(line))
		}
	}
}

func helpExample(ts *testscript.TestScript, c *cobra.Command, line string) {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "thole" {
		ts.Fatalf("%s: example %q does not begin with thole", c.CommandPath(), line)
	}
	asksCluster := slices.Contains(words, "kubernetes") && !slices.Contains(words, "--dry-run") || len(words) > 2 && words[2] == "keys"
	if asksCluster || waiting[words[len(words)-1]] || len(words) > 1 && waiting[words[1]] || len(words) > 2 && waiting[words[1]+" "+words[2]] || slices.Contains(words, "--job") {
		of, rest, err := c.Root().Find(words[1:])
		ts.Check(err)
		ts.Check(of.ParseFlags(rest))
		return
	}
	if err := ts.Exec("sh", "-e", "-c", line); err != nil {
		ts.Fatalf("%s: example %q: %v", c.CommandPath(), line, err)
	}
}
