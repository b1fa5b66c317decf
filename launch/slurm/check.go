package slurm

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Error is what of a job cannot be in a script.
type Error struct {
	What  string // option or setting, like dir or partition
	Found string
	Want  string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s %q, want %s", e.What, e.Found, e.Want) }

// times are those that Slurm takes: minutes, minutes:seconds, hours:minutes:seconds, days-hours and so on.
var times = func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{1,8}(:\d{1,2}){0,2}|\d{1,5}-\d{1,2}(:\d{1,2}){0,2}|(?i:infinite|unlimited))$`)
}

// check refuses what cannot be written in the lines of #SBATCH, or is no such thing.
func (j *Job) check() error {
	for _, one := range []struct{ what, text string }{
		{"name", j.Name}, {"dir", j.Dir}, {"partition", j.Options.Partition}, {"account", j.Options.Account}, {"qos", j.Options.QOS},
		{"time", j.Options.Time},
	} {
		if err := line(one.what, one.text); err != nil {
			return err
		}
	}
	for _, more := range j.Options.More {
		if err := line("sbatch", more); err != nil {
			return err
		}
		if !strings.HasPrefix(more, "-") {
			return &Error{"sbatch", more, "an option of sbatch, like --gres=gpu:1"}
		}
	}
	for _, one := range []struct{ what, path string }{{"dir", j.Dir}, {"folder", j.Folder}, {"program", j.Program}} {
		if !filepath.IsAbs(one.path) || strings.ContainsRune(one.path, 0) {
			return &Error{one.what, one.path, "an absolute path"}
		}
	}
	for _, g := range []Group{j.Servers, j.Workers} {
		n := 0
		for _, w := range slices.Concat(g.Args, g.First, g.Others) {
			if n += len(w); strings.ContainsRune(string(w), 0) {
				return &Error{"word", string(w), "one without a byte 0"}
			}
		}
		if n > wordsLimit {
			return &Error{"words", fmt.Sprint(n, " bytes"), fmt.Sprintf("at most %d: put settings into a file (--job)", wordsLimit)}
		}
	}
	switch all := j.Servers.Count + j.Workers.Count; {
	case j.Options.Time != "" && !times().MatchString(j.Options.Time):
		return &Error{"time", j.Options.Time, "minutes, or like 1:30:00 or 2-12 (two days and a half)"}
	case j.Servers.Count < 1 || j.Workers.Count < 1:
		return &Error{"processes", fmt.Sprint(j.Servers.Count, " servers and ", j.Workers.Count, " workers"), "one of each at least"}
	case j.Servers.CPUs < 1 || j.Workers.CPUs < 1:
		return &Error{"cpus", fmt.Sprint(min(j.Servers.CPUs, j.Workers.CPUs)), "1 or more"}
	case j.Servers.Memory < 0 || j.Workers.Memory < 0:
		return &Error{"memory", fmt.Sprint(min(j.Servers.Memory, j.Workers.Memory)), "a size"}
	case j.Options.Nodes < 0 || j.Options.Nodes > all:
		return &Error{"nodes", fmt.Sprint(j.Options.Nodes), fmt.Sprintf("1 to %d, as many as there are processes", all)}
	case j.Restarts < 0:
		return &Error{"restarts", fmt.Sprint(j.Restarts), "0 or more"}
	}
	return nil
}

// wordsLimit is how long the words of a process may be together: Linux takes 128 KiB for a word, and steps are given all in one.
const wordsLimit = 50_000

// line checks a text of one line of #SBATCH, where a backslash has no place in names of files.
func line(what, text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\\' || r == unicode.ReplacementChar }) {
		return &Error{what, text, "one line of text, without backslashes"}
	}
	return nil
}
