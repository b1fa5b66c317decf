package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thole.example/internal/spell"
)

// Last is the name of the run that began last.
const Last = "last"

// Find is the run of the name: its whole name, the path of its folder, the beginning or the end of a name that no other run has, or Last.
// all are those that there are, the newest first.
func Find(all []*Run, name string) (*Run, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("no run %q: there are none", name)
	}
	if name == Last {
		return all[0], nil
	}
	var begin, end []*Run
	for _, r := range all {
		switch {
		case r.Name == name, filepath.Clean(name) == filepath.Clean(r.Folder):
			return r, nil
		case name == "":
		case strings.HasPrefix(r.Name, name):
			begin = append(begin, r)
		case strings.HasSuffix(r.Name, name):
			end = append(end, r)
		}
	}
	found := append(begin, end...)
	switch len(found) {
	case 0:
		var names []string
		for _, r := range all {
			names = append(names, r.Name)
		}
		if near := spell.Near(name, names); len(near) > 0 && len(near) <= 3 {
			return nil, fmt.Errorf("no run %q%s", name, spell.Ask(near))
		}
		return nil, fmt.Errorf("no run %q, want one of %d, the beginning or the end of its name, or %s, which is %s", name, len(all), Last,
			all[0].Name)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%q may be %d runs, want more of the name: %s", name, len(found), some(found))
}

// some are the names of a few runs.
func some(runs []*Run) string {
	const few = 4
	var names []string
	for _, r := range runs[:min(few, len(runs))] {
		names = append(names, r.Name)
	}
	if len(runs) > few {
		names = append(names, fmt.Sprintf("and %d more", len(runs)-few))
	}
	return strings.Join(names, ", ")
}

// Remove removes the folder of a run that no process writes to, with the files that belong to a run. Others in it are not touched: then
// the folder stays, and the error names one.
func (r *Run) Remove() error {
	if r.State == Running || r.State == Unsure {
		return fmt.Errorf("%s is still running (process %d), want one that has ended", r.Name, r.Process)
	}
	entries, err := os.ReadDir(r.Folder)
	if err != nil {
		return err
	}
	own := []string{EventsFile, JobFile, EnvironmentFile} // in this order: what is left after a crash is still a run
	for _, e := range entries {
		if !slices.Contains(own, e.Name()) {
			return fmt.Errorf("%s: %s in it is not of the run; nothing was removed: move it away first", r.Folder, e.Name())
		}
	}
	for _, name := range own {
		if err := os.Remove(filepath.Join(r.Folder, name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return os.Remove(r.Folder)
}
