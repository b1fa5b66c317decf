package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configFlag names a file of settings of a command that is no job.
const configFlag = "config"

// config gives the flags of a command what a file says, unless the command line or variables did: its keys are the names of the flags. What
// comes later of the settings is an error of a line of the file, by placed.
func (e *env) config(ctx context.Context, c *cobra.Command, path string) (placed func(error) error, err error) {
	if path == "" {
		return func(err error) error { return err }, nil
	}
	j := &job{jobFile: path, command: c, places: map[string]string{}}
	s := &settings{job: j, flags: c.Flags(), user: map[string]bool{}, not: []string{configFlag, "help"}}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			s.not = append(s.not, f.Name)
		}
	})
	s.firm()
	f, err := s.parse(ctx, e, path, true)
	if err != nil {
		return nil, fmt.Errorf("--%s %w", configFlag, err)
	}
	if len(f.Lines) > 0 { // a job's
		key := slices.MinFunc(slices.Sorted(maps.Keys(f.Lines)), func(a, b string) int { return f.Lines[a] - f.Lines[b] })
		return nil, usageError{fmt.Errorf("--%s %s:%d: %s is a setting of jobs, want names of flags of %s", configFlag, path, f.Lines[key], key,
			c.CommandPath())}
	}
	for i := range f.Unknown {
		f.Unknown[i].Known = nil
	}
	if err := s.others(f); err != nil {
		return nil, usageError{fmt.Errorf("--%s %w", configFlag, err)}
	}
	return j.placed, nil
}
