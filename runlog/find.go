package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"thole.example/internal/spell"
)

// Last is the name of the run that began last.
const Last = "last"

// Find is the run of the name: its whole name, the path of its folder, the beginning or the end of a name that no other run has, Last, or
// Last with "-" and how many began after it. all are those that there are, the newest first.
func Find(all []*Run, name string) (*Run, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("no run %q: there are none", name)
	}
	for _, r := range all {
		if r.Name == name || filepath.Clean(name) == filepath.Clean(r.Folder) {
			return r, nil
		}
	}
	if back, ok := strings.CutPrefix(name+"-0", Last+"-"); ok {
		n, err := strconv.ParseUint(strings.TrimSuffix(back, "-0"), 10, 31)
		switch {
		case err != nil:
			return nil, fmt.Errorf("no run %q, want %s, or %s-1 for the one before it", name, Last, Last)
		case int(n) >= len(all):
			return nil, fmt.Errorf("no run %q: there are %d", name, len(all))
		}
		return all[n], nil
	}
	var begin, end []*Run
	for _, r := range all {
		switch {
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
// the folder stays, and the error names one. A run that is Unsure is only removed if the caller is sure.
func (r *Run) Remove(sure bool) error {
	switch {
	case r.State == Running:
		return fmt.Errorf("%s is still running (process %d), want one that has ended", r.Name, r.Process)
	case r.State == Unsure && !sure:
		return fmt.Errorf("%s may still be running (process %d of %s): --force removes it", r.Name, r.Process, r.Host)
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
