package journal

import (
	"context"
	"errors"
	"fmt"
)

// Harden waits until everything before the position is durable, and brings it to disk also if the log is not synced (NoSync): then no loss
// of power takes it away. What has it in another form, and is kept instead of it, must not be there before.
func (l *Log) Harden(ctx context.Context, position uint64) error {
	if err := l.Wait(ctx, position); err != nil || !l.options.NoSync {
		return err
	}
	l.mu.Lock()
	segments := l.segments
	l.mu.Unlock()
	for _, s := range segments {
		if s.first >= position {
			continue
		}
		f, err := l.files.Open(s.name())
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return fmt.Errorf("journal: %s: %w", s.name(), err)
		}
	}
	return nil
}
