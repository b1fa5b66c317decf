package server

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"thole.example/rpc"
)

// CopyLimits bound how far a standby may be behind the server whose logs it copies. A field that is 0 has its default.
type CopyLimits struct {
	// Ahead is the most bytes of a log that a standby receives before it has replayed them, as a takeover replays them first. Default: 64 MiB.
	Ahead int64
	// Lag is the most bytes of each log that a standby may lack when it becomes synchronous. Default: 8 MiB.
	Lag int64
	// Keep is by how many bytes a log may grow while a standby that is not synchronous copies it. Default: 1 GiB, or the bytes of the base
	// if that is more.
	Keep int64
	// Batch is about how many bytes an answer to a standby has. Default: rpc.CopyBytes.
	Batch int
}

const (
	// copyAhead, copyLag and copyKeep are the defaults of CopyLimits.
	copyAhead = 64 << 20
	copyLag   = 8 << 20
	copyKeep  = 1 << 30
)

func (c *CopyLimits) ahead() uint64 { return uint64(cmp.Or(c.Ahead, copyAhead)) }
func (c *CopyLimits) lag() uint64   { return uint64(cmp.Or(c.Lag, copyLag)) }
func (c *CopyLimits) batch() int    { return cmp.Or(c.Batch, rpc.CopyBytes) }

// keep is Keep of a log with a base of so many bytes.
func (c *CopyLimits) keep(base int64) uint64 { return uint64(cmp.Or(c.Keep, max(copyKeep, base))) }

// SlowStandby is what a server does about a standby that does not keep up with it. In either case it gives up a standby that makes no
// progress at all, and continues alone.
type SlowStandby uint8

// The policies.
const (
	// ThrottlePushes delays acknowledgements, so that pushes come as fast as the standby copies and replays them.
	ThrottlePushes SlowStandby = iota
	// DropStandby gives up a synchronous standby that acknowledges nothing for some seconds, and any other from which the log has grown away
	// by more than CopyLimits.Keep. It may begin anew.
	DropStandby
)

// SlowStandbyNames are the names of the policies, by number.
func SlowStandbyNames() []string { return []string{"throttle", "drop"} }

const (
	// copySilence is for how long a synchronous standby may make no progress while it lacks something.
	copySilence = 5 * time.Second
	// copyThrottled is the same for one that is not synchronous while pushes are throttled for it, and copyPatience while they are not.
	copyThrottled = 15 * time.Second
	copyPatience  = time.Minute
	// copyStalls is after how long that is reported.
	copyStalls = 2 * time.Second
)

// standbyPace is how a standby makes progress.
type standbyPace struct {
	acknowledged, done uint64    // what it has said so far that it has, and with what it has replayed
	acked, moved       time.Time // when these last changed, or there was nothing that it lacked
	paused             bool      // it has no room
	stalled, throttles bool      // what was reported
}

func newStandbyPace(now time.Time) standbyPace { return standbyPace{acked: now, moved: now} }

// begin is when there is something new for the standby, which had everything.
func (p *standbyPace) begin(now time.Time) { p.acked, p.moved = now, now }

// note notes what a standby has said.
func (p *standbyPace) note(logs map[*jobLog]*sending, now time.Time) {
	acknowledged, done := uint64(0), uint64(0)
	for _, at := range logs {
		acknowledged += at.has + uint64(at.hasBase)
		done += at.replayed + uint64(at.loaded)
	}
	if done += acknowledged; done != p.done {
		p.moved = now
	}
	if acknowledged != p.acknowledged {
		p.acked = now
	}
	p.acknowledged, p.done = acknowledged, done
}

// CopyStatus is how far the copy that a standby has of a server's logs is behind, as either of them knows it.
type CopyStatus struct {
	Claim       string  `json:"claim"`           // of the standby
	At          string  `json:"at"`              // address of the other side
	Reads       string  `json:"reads,omitempty"` // where readers reach the standby, as it says
	Synchronous bool    `json:"synchronous"`     // acknowledgements wait for the standby
	Uncopied    uint64  `json:"uncopied"`        // bytes of logs and bases that are durable at the server and not acknowledged by the standby
	Unreplayed  uint64  `json:"unreplayed"`      // bytes that the standby has and has not replayed, as it last said
	Idle        float64 `json:"idle"`            // seconds since its last progress; 0: it has everything
	Stalled     bool    `json:"stalled"`         // it has made no progress for some seconds
	Throttled   bool    `json:"throttled"`       // acknowledgements are delayed so that the standby catches up
	Full        bool    `json:"full,omitempty"`  // the disk of the standby has no room for its log, so it cannot take the role over
}

// lag is how far a standby is behind, and whether a log has grown away from it by more than it may. c is locked, and nothing is being
// gathered for the standby, or only the numbers are used that change while c is locked.
func (c *copies) lag(b *standby) (uncopied, unreplayed uint64, tooFar bool) {
	for _, l := range c.logs {
		durable := l.log.Durable()
		at := b.out.logs[l]
		if at == nil {
			uncopied += durable
			continue
		}
		records, base := at.lacks(durable)
		uncopied += records + uint64(base)
		if at.whole() {
			unreplayed += uint64(at.size-at.loaded) + at.has - max(min(at.has, at.replayed), at.at)
		}
		tooFar = tooFar || records > at.room
	}
	return uncopied, unreplayed, tooFar
}

// judge gives up a standby that does not make progress, and reports whether that is to be looked at again soon. c is locked.
func (c *copies) judge(s *Server, b *standby) (again bool) {
	if b.lost || b.asks { // it has everything
		b.pace.stalled = false
		return false
	}
	uncopied, unreplayed, tooFar := c.lag(b)
	if uncopied == 0 && !b.pace.paused {
		return false
	}
	log := s.logger().With("claim", b.claim, "at", b.from.Name, "uncopied", uncopied, "unreplayed", unreplayed)
	now := time.Now()
	idle, patience := now.Sub(b.pace.moved), copyPatience
	throttles := s.SlowStandby == ThrottlePushes && !b.counts && tooFar
	switch {
	case b.counts:
		patience = copySilence
	case throttles:
		patience = copyThrottled
	}
	switch {
	case b.counts && s.SlowStandby == DropStandby && now.Sub(b.pace.acked) > copySilence:
		log.Warn("dropping a standby that acknowledges nothing (--slow-standby)", "for", now.Sub(b.pace.acked))
	case idle > patience:
		log.Warn("dropping a standby that makes no progress", "for", idle)
	case !b.counts && s.SlowStandby == DropStandby && tooFar:
		log.Warn("dropping a standby that copies more slowly than the log grows (--slow-standby)")
	default:
		if stalled := idle > copyStalls; stalled != b.pace.stalled {
			if b.pace.stalled = stalled; stalled {
				log.Warn("a standby makes no progress", "for", idle)
			}
		}
		if throttles && !b.pace.throttles {
			log.Warn("pushes are throttled until a standby has caught up (--slow-standby)")
		}
		b.pace.throttles = throttles || b.pace.throttles && !b.counts
		return true
	}
	c.dropped++
	c.giveUp(b)
	return false
}

// trims removes what was kept for a standby alone.
func (l *jobLog) trims(s *Server) {
	if err := l.trim(); err != nil {
		s.logger().Warn("segments that no standby needs cannot be removed", "log", l.name, "err", err)
	}
}

// Standbys is how far the standbys are behind that copy the logs of this server, and how many were dropped so far because they did not
// keep up.
func (s *Server) Standbys() (all []CopyStatus, dropped uint64) {
	c := &s.copies
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, claim := range slices.Sorted(maps.Keys(c.standbys)) {
		b := c.standbys[claim]
		if b.lost {
			continue
		}
		one := CopyStatus{Claim: claim, At: b.from.Name, Reads: b.reads, Synchronous: b.whole(), Stalled: b.pace.stalled,
			Throttled: b.pace.throttles && !b.counts, Full: b.full}
		if one.Uncopied, one.Unreplayed, _ = c.lag(b); !b.asks && one.Uncopied+one.Unreplayed > 0 {
			one.Idle = time.Since(b.pace.moved).Seconds()
		}
		all = append(all, one)
	}
	return all, c.dropped
}
