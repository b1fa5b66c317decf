package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/internal/spell"
	"thole.example/launch/local"
)

// launcher is a place where the processes of launches run.
type launcher struct {
	name, help string
	// own are the flags of thole launch that this place takes, of those that not all places take. Processes do not get them as they are.
	own    []string
	flags  func(*pflag.FlagSet, *launch) // adds those that only this place takes; nil: none
	launch func(context.Context, *env, *launch) error
	keeper func() keeper
}

// launchers is the table of places.
func launchers() []launcher {
	return []launcher{
		{"local", "processes of this machine", []string{"dir", "log", "runs", "server-log", "most-workers"}, nil, launchHere,
			func() keeper { return &localKeeper{} }},
		{"kubernetes", "pods of a cluster", kubeOwn(), kubeLaunchFlags, kubeLaunch, func() keeper { return &kubeKeeper{} }},
		slurmLauncher(),
	}
}

// launchKeys are the keys of job files that thole launch alone takes: what trains passes over them, so that the same file is for all.
func launchKeys() []string {
	both := []string{"servers", "tasks", "job", "memory", "log", "runs", "dry-run"}
	return slices.DeleteFunc(launchOnly(), func(name string) bool { return slices.Contains(both, name) })
}

// keeper looks after the launches of a place, for the commands below thole launch.
type keeper interface {
	// flags adds those by which a command finds a launch, beside the folder that it may have.
	flags(c *cobra.Command)
	// status prints the state of a launch, which args name.
	status(ctx context.Context, e *env, args []string, asJSON bool) error
	// logs prints what a launch, or a process of it, has written, and while follow what it writes, until it ends.
	logs(ctx context.Context, e *env, args []string, follow bool) error
	// stop ends a launch and waits until nothing of it is left.
	stop(ctx context.Context, e *env, args []string) error
}

// keepers are those of all places, as a command chooses among them.
type keepers struct {
	on  string
	all map[string]keeper // by names of places
}

// flags adds the flags of all of them.
func (k *keepers) flags(c *cobra.Command) {
	c.Flags().StringVar(&k.on, "on", "", "where the launch runs: "+strings.Join(launcherNames(), ", ")+" (default: as its folder says)")
	k.all = map[string]keeper{}
	for _, one := range launchers() {
		k.all[one.name] = one.keeper()
		k.all[one.name].flags(c)
	}
}

// of is the keeper of the launch that the arguments name: of --on, or of the place that the folder's record names.
func (k *keepers) of(c *cobra.Command, args []string) (keeper, error) {
	on := k.on
	if on == "" && len(args) > 0 {
		if r, err := local.Open(args[0]); err == nil { // else its keeper says what is wrong
			on = r.On
		}
	}
	if on == "" {
		on = launchers()[0].name
	}
	place, err := launcherOf(on, given(c))
	return k.all[place.name], err
}

func launcherNames() (names []string) {
	for _, one := range launchers() {
		names = append(names, one.name)
	}
	return names
}

// onHelp says where launches can run.
func onHelp() string {
	var all []string
	for _, one := range launchers() {
		all = append(all, one.name+" ("+one.help+")")
	}
	return "where the processes run: " + strings.Join(all, ", ")
}

// launcherOf is the place of a name. It refuses flags of the user that only other places take.
func launcherOf(name string, user []setting) (launcher, error) {
	all, names := launchers(), launcherNames()
	i := slices.Index(names, name)
	if i < 0 {
		return launcher{}, usageError{fmt.Errorf("--on %q, want %s%s", name, strings.Join(names, " or "), spell.Hint(name, names))}
	}
	for _, s := range user {
		var takers []string
		for _, one := range all {
			if slices.Contains(one.own, s.flag) {
				takers = append(takers, one.name)
			}
		}
		if (len(takers) > 0 || slices.Contains(farFlags, s.flag)) && !slices.Contains(takers, name) {
			return launcher{}, usageError{fmt.Errorf("--%s with --on %s, want it with --on %s", s.flag, name, strings.Join(takers, " or "))}
		}
	}
	return all[i], nil
}
