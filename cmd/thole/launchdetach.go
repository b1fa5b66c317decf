package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"thole.example/launch/local"
)

// launchLog is the output of a launch in the background, in its folder.
const launchLog = "launch"

// detachLook is how often it is looked whether a launch in the background has begun.
const detachLook = 20 * time.Millisecond

// background starts the launch as a process that goes on when this one has ended, waits until its workers run, and prints its folder.
func (l *launch) background(ctx context.Context, e *env, dir string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, launchLog+local.LogEnding)
	out, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer out.Close()
	info, err := out.Stat()
	if err != nil {
		return err
	}
	c := exec.Command(program, l.inBackground(e.args, dir)...)
	c.Stdout, c.Stderr = out, out
	local.Detach(c)
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	tick := time.NewTicker(detachLook)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return detachError(err, out, info.Size())
			}
		case <-ctx.Done():
			if c.Process.Signal(os.Interrupt) != nil { // where processes cannot be asked
				_ = c.Process.Kill()
			}
			<-ended
			return ctx.Err()
		case <-tick.C:
			if r, err := local.Open(dir); err != nil || r.Pid != c.Process.Pid || !begun(r) {
				continue
			}
		}
		_, err := fmt.Fprintln(e.out, dir)
		return err
	}
}

// begun reports whether a worker has been started.
func begun(r *local.Record) bool {
	for _, p := range r.Processes {
		if p.Kind == local.Worker && !p.Since.IsZero() {
			return true
		}
	}
	return false
}

// detachError is why a launch in the background has ended at once, with its status: what it wrote as its error, from the byte on.
func detachError(err error, out *os.File, from int64) error {
	info, serr := out.Stat()
	if serr != nil {
		return errors.Join(err, serr)
	}
	text := make([]byte, min(info.Size()-from, detachMost))
	n, _ := out.ReadAt(text, info.Size()-int64(len(text))) // as much as there is
	said := "\n" + strings.TrimSpace(string(text[:n]))
	if at := strings.LastIndex(said, "\nthole: "); at >= 0 {
		said = said[at+len("\nthole: "):]
	}
	failed := errors.New(strings.TrimSpace(said))
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exitStatus{failed, exit.ExitCode()}
	}
	return fmt.Errorf("%w: %w", err, failed)
}

// detachMost is how much is read of what a launch wrote at its end.
const detachMost = 64 << 10
