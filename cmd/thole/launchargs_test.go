package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// samples are words of command lines that give flags of each type values which are not their defaults, with what could be taken for
// something else in them.
var samples = map[string][]string{
	"string": {`a "b", c=d`}, "stringArray": {"a,b", `"c" d`}, "stringSlice": {`x,"y,z"`, `"a""b"`}, "intSlice": {"3,4"}, "bool": {"true"},
	"int": {"7"}, "int64": {"7"}, "uint64": {"7"}, "float64": {"0.25"}, "duration": {"7s"}, "stringToString": {"a=1", `"b=c,d"`},
}

// TestLaunchedFlags: every flag of a launch comes to its workers as the user gave it, or is one of those that only the launch has.
func TestLaunchedFlags(t *testing.T) {
	e := &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	var c *cobra.Command
	launchCommand(e).LocalFlags().VisitAll(func(f *pflag.Flag) {
		words := samples[f.Value.Type()]
		if words == nil {
			words = []string{f.DefValue} // of a kind of its own
		}
		l := &launch{job: &job{name: "train"}}
		c = launchFlags(e, l)
		var args []string
		for _, word := range words {
			args = append(args, "--"+f.Name+"="+word)
		}
		if err := c.ParseFlags(args); err != nil {
			t.Errorf("%q: %v", args, err)
			return
		}
		l.user = given(c)
		w := workerCommand(e)
		if err := w.ParseFlags(l.common([]string{"unix:/a,b", "unix:/c"}, "/")); err != nil {
			t.Errorf("--%s: %v", f.Name, err)
			return
		}
		if slices.Contains(launchOnly(), f.Name) || f.Name == "help" {
			return
		}
		want, got := c.Flags().Lookup(f.Name).Value.String(), w.Flags().Lookup(f.Name)
		if got == nil || !got.Changed || got.Value.String() != want && len(words) == 1 || len(got.Value.String()) != len(want) {
			t.Errorf("--%s comes as %+v, want %s", f.Name, got, want)
		}
		if s, _ := w.Flags().GetStringSlice("servers"); !slices.Equal(s, []string{"unix:/a,b", "unix:/c"}) {
			t.Errorf("servers come as %q", s)
		}
	})
}

// TestLastWords: a worker says how the training went in a file that an engine has made for that, and makes none.
func TestLastWords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "words")
	l := &launched{lastWords: file}
	l.saysLast("lr: 4 examples")
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is made: %v", err)
	}
	if err := os.WriteFile(file, []byte("something that is longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.saysLast("lr: 4 examples")
	if text, err := os.ReadFile(file); err != nil || string(text) != "lr: 4 examples" {
		t.Errorf("it says %q, %v", text, err)
	}
}
