package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"thole.example/internal/proc"
)

// How Stop waits for a supervisor: a little longer than that waits for its processes.
const (
	stopLook = 20 * time.Millisecond
	stopWait = grace + 5*time.Second
)

// Stop ends the launch of a folder, and waits until none of its processes is left. A supervisor that does not end is killed, and with it
// all that look after their input. Of a launch that has ended it kills what is left. Only processes that the launch started are signalled,
// and none on another machine.
func Stop(ctx context.Context, dir string) error { return stop(ctx, dir, stopWait) }

// stop is Stop; a supervisor is killed after the time.
func stop(ctx context.Context, dir string, after time.Duration) error {
	pid, alive, err := holder(dir, lockFile)
	if err != nil {
		return fmt.Errorf("%s: nobody can tell whether the launch goes on: %w", filepath.Join(dir, lockFile), err)
	}
	if alive {
		if err := stopSupervisor(ctx, dir, pid, after); err != nil {
			return err
		}
	}
	r, err := read(dir)
	if err != nil {
		return err
	}
	return r.kill(ctx, grace)
}

func stopSupervisor(ctx context.Context, dir string, pid int, after time.Duration) error {
	if r, err := read(dir); err == nil && r.Pid == pid {
		if host, _ := os.Hostname(); r.Host != host {
			return fmt.Errorf("%s: process %d on machine %s launches there, want thole launch stop on that machine", dir, pid, r.Host)
		}
		after += r.Grace
		if r.Born != proc.Birth(pid) {
			return fmt.Errorf("%s: process %d launches there, and this machine has another process of that number", dir, pid)
		}
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if terminate(p) != nil { // where processes cannot be asked
		_ = p.Kill()
	}
	end := time.Now().Add(after)
	for {
		if _, alive, err := holder(dir, lockFile); err != nil || !alive {
			return err
		}
		if time.Now().After(end) {
			_ = p.Kill() // its processes see that their input ends
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(stopLook):
		}
	}
}

// kill kills processes that outlived their supervisor, which is gone; those that are about to end have some time.
func (r *Record) kill(ctx context.Context, after time.Duration) error {
	for end := time.Now().Add(after); ; {
		left := r.left()
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			for _, pid := range left {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill() // it may have ended
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(stopLook):
		}
	}
}

// left are the processes of the record that still run on this machine.
func (r *Record) left() (all []int) {
	if host, _ := os.Hostname(); r.Host != host {
		return nil
	}
	for _, p := range r.Processes {
		if p.Pid > 0 && p.Born > 0 && proc.Birth(p.Pid) == p.Born {
			all = append(all, p.Pid)
		}
	}
	return all
}
