package server

import "time"

// LogStatus is the log of a job on this server. Positions count bytes from the begin of the log.
type LogStatus struct {
	Name    string        `json:"name"`    // of its folder
	End     uint64        `json:"end"`     // position after the last record
	Waiting uint64        `json:"waiting"` // bytes at its end that are not on disk yet
	Since   uint64        `json:"since"`   // bytes since its base, or since it began: a replay has to read them
	Most    int64         `json:"most"`    // of them, before it gets another base
	Synced  bool          `json:"synced"`  // what is acknowledged is on disk; else the system may have it yet
	Basing  bool          `json:"basing,omitempty"`
	Base    *BaseStatus   `json:"base,omitempty"`   // nil: it has none
	Replay  *ReplayStatus `json:"replay,omitempty"` // nil: the job has begun since the server did
	Error   string        `json:"error,omitempty"`  // why nothing more comes to it
	Full    *FullStatus   `json:"full,omitempty"`   // nil: its disk has room
}

// FullStatus is a disk that has no room for a log. The tasks of the job wait.
type FullStatus struct {
	Error   string  `json:"error"`   // of the system
	Seconds float64 `json:"seconds"` // since the disk was found to be full
	Wait    float64 `json:"wait"`    // seconds after which a standby takes over or the job fails
}

// BaseStatus is the state from which a replay begins.
type BaseStatus struct {
	Position uint64    `json:"position"`
	Bytes    int64     `json:"bytes"`
	Made     time.Time `json:"made,omitzero"` // when it was begun, by the clock of its server's machine; zero: not known
	Age      float64   `json:"age"`           // seconds since; 0 if it is not known
}

// ReplayStatus is what a server has read of a log when it was started.
type ReplayStatus struct {
	Records int64   `json:"records"` // after the base
	Bytes   int64   `json:"bytes"`   // of those
	Seconds float64 `json:"seconds"` // that it took, with the base
}

// setReplay notes what was read when the server was started.
func (l *jobLog) setReplay(as *ReplayStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replay = as
}

// status is what there is to be told of the log, which may be nil.
func (l *jobLog) status(now time.Time) *LogStatus {
	if l == nil {
		return nil
	}
	end, durable := l.log.End(), l.log.Durable()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := &LogStatus{Name: l.name, End: end, Waiting: end - min(end, durable), Since: end - min(end, l.based.Position), Most: l.most(),
		Synced: l.synced, Basing: l.basing.Load(), Replay: l.replay}
	if l.based.Bytes > 0 {
		base := l.based
		if !base.Made.IsZero() {
			base.Age = max(0, now.Sub(base.Made).Seconds())
		}
		out.Base = &base
	}
	switch {
	case l.err != nil:
		out.Error = l.err.Error()
	case l.full.err != nil:
		out.Full = &FullStatus{Error: l.full.err.Error(), Seconds: max(0, now.Sub(l.full.since).Seconds()), Wait: l.full.wait.Seconds()}
	}
	return out
}
