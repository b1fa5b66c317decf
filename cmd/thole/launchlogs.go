package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"thole.example/internal/spell"
	"thole.example/launch/local"
)

func launchLogsCommand(e *env) *cobra.Command {
	follow := false
	var k keepers
	c := &cobra.Command{
		Use:   "logs [DIR] [PROCESS]",
		Short: "Print the logs of a launch",
		Long: `Prints what the processes of a launch wrote, over all restarts; lines of the launch itself begin with ====. Of several
processes each line begins with the name of its process. Of a launch on Kubernetes they are those of the pods that are there.`,
		Example: "  thole launch logs jobs/clicks\n  thole launch logs jobs/clicks worker.1 -f\n" +
			"  thole launch logs --on kubernetes --name clicks clicks-server-0",
		RunE: func(c *cobra.Command, args []string) error {
			place, err := k.of(c, args)
			if err != nil {
				return err
			}
			return place.logs(c.Context(), e, args, follow)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) != 1 || k.on != "" {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			names, _ := logNames(args[0]) // there is nobody to tell
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "print what is added, until the launch ends")
	k.flags(c)
	return c
}

func (k *localKeeper) logs(ctx context.Context, e *env, args []string, follow bool) error {
	dir, err := oneDir(args)
	if err != nil {
		return err
	}
	logs, err := launchLogs(args)
	if err != nil {
		return err
	}
	return printLogs(ctx, e.out, dir, logs, follow)
}

// logNames are the logs of a launch: of its processes, and its own if it went on in the background.
func logNames(dir string) (names []string, err error) {
	r, err := local.Open(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, launchLog+local.LogEnding)); err == nil {
		names = append(names, launchLog)
	}
	for _, p := range r.Processes {
		names = append(names, p.Name)
	}
	return names, nil
}

// launchLogs are the logs that the arguments name.
func launchLogs(args []string) (all []*processLog, err error) {
	names, err := logNames(args[0])
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		if !slices.Contains(names, args[1]) {
			return nil, usageError{spell.Unknown("process", args[1], names)}
		}
		names = args[1:]
	}
	for _, name := range names {
		one := &processLog{path: filepath.Join(args[0], name+local.LogEnding)}
		if len(names) > 1 {
			one.prefix = name + " | "
		}
		all = append(all, one)
	}
	return all, nil
}

// processLog is a log that is printed, as far as it is.
type processLog struct {
	path, prefix string
	at           int64  // bytes that were read
	rest         []byte // the beginning of a line
}

// logLook is how often logs are looked at that are followed.
const logLook = 200 * time.Millisecond

// printLogs prints logs, and if they are followed what is added, until the launch of the folder has ended.
func printLogs(ctx context.Context, out io.Writer, dir string, all []*processLog, follow bool) error {
	for {
		r, err := local.Open(dir) // before its logs are read for the last time
		if err != nil {
			return err
		}
		last := !follow || r.State != local.Going
		for _, one := range all {
			if err := one.print(legible{out}, last); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil // that is how following ends
		case <-time.After(logLook):
		}
	}
}

// print prints whole lines, and at last also what is no whole one.
func (l *processLog) print(out io.Writer, last bool) error {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // of a process that was not there yet
	}
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := f.ReadAt(buf, l.at)
		l.at += int64(n)
		l.rest = append(l.rest, buf[:n]...)
		for {
			line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
			if !whole && !(last && n == 0 && len(line) > 0) && len(line) < len(buf) {
				break
			}
			if _, err := fmt.Fprintf(out, "%s%s\n", l.prefix, bytes.TrimSuffix(line, []byte("\r"))); err != nil {
				return err
			}
			l.rest = rest
		}
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}
