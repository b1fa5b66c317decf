package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"thole.example/internal/number"
	"thole.example/server"
)

// drain has a server end when asked does: it is not ready any more (stop), takes no new jobs, and has those that it has write their
// checkpoints; then end is called. If ctx ends before, nothing is waited for any more. left waits for that, and is the error of a server
// that has left jobs unfinished.
func (o *serverOptions) drain(ctx, asked context.Context, s *server.Server, stop, end func(), log *slog.Logger) (left func() error) {
	over, all := make(chan struct{}), []server.Unfinished(nil)
	off := context.AfterFunc(asked, func() {
		defer close(over)
		defer end()
		stop()
		within, cancel := context.WithTimeoutCause(ctx, o.grace, fmt.Errorf("--grace %v is over", o.grace))
		defer cancel()
		all = s.Drain(within)
	})
	return func() error {
		if off() { // nobody has asked
			return nil
		}
		<-over
		return tellLeft(all, log)
	}
}

// tellLeft says what becomes of jobs that a server leaves unfinished.
func tellLeft(all []server.Unfinished, log *slog.Logger) error {
	if len(all) == 0 {
		return nil
	}
	names := make([]string, len(all))
	for i, u := range all {
		names[i] = u.Job
		switch {
		case u.Logged:
			log.Info("the job goes on where the log ends", "job", u.Job)
		case u.Err != nil:
			log.Warn("what this server has of the job is lost since its last checkpoint, if there is one", "job", u.Job, "err", u.Err)
		default:
			log.Info("the job goes on from its checkpoint", "job", u.Job, "checkpoint", u.Checkpoint)
		}
	}
	return exitStatus{unfinished{fmt.Errorf("ended as it was asked to, and left %s unfinished: %s", number.Of(len(all), "job"),
		strings.Join(names, ", "))}, exitTemporary}
}
