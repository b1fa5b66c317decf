package server

import "math"

// The size of a log. A base begins when [jobLog.most] bytes have come since the last one, and the log grows while the base is written.
// Its folder has room for four times the least size that begins a base, or for the state if that is larger.
//
// The writer of the base therefore keeps up with the log: the part of the base that is written is at least the part that the log has
// used of three quarters of its room. As long as that holds, the writer leaves the processors to training (pace). If a writer that
// never pauses is still too slow, because the disk is, answers wait for it: the last quarter of the room opens as the base is written.

// baseLimit is how long a log may be without a base in any case, unless Server.LogBase says it.
const baseLimit = 256 << 20

// growth is a log that grows while its base is written. Guarded by the lock of the log.
type growth struct {
	writing bool
	begun   int64 // length of the log when it began
	size    int64 // of the base, about
	written int64 // bytes of it
}

// least is how many bytes begin a base in any case.
func (l *jobLog) least() int64 {
	if l.limit > 0 {
		return l.limit
	}
	return baseLimit
}

// most is how long the log may be since its base before it gets another. It is locked.
func (l *jobLog) most() int64 {
	if l.limit > 0 {
		return l.limit
	}
	return max(baseLimit, l.based.Bytes/3)
}

// room is how long the log may become before the next base is there. The files of four segments, which are not full, are left out. It is
// locked.
func (l *jobLog) room() int64 { return max(4*l.least(), l.based.Bytes) - l.least() }

// length is how long the log is, from its base on. It is locked.
func (l *jobLog) length() int64 {
	end := l.log.End()
	return int64(end - min(end, l.based.Position))
}

// allowed is the position up to which answers do not wait for the base that is being written. It is locked.
func (l *jobLog) allowed() uint64 {
	if !l.growth.writing {
		return math.MaxUint64
	}
	room := float64(l.room())
	return l.based.Position + uint64(room*(3+l.growth.part())/4)
}

// part is how much of the base is written.
func (g *growth) part() float64 { return min(1, float64(g.written)/float64(max(1, g.size))) }

// baseBegins says that a base of about so many bytes is being written.
func (l *jobLog) baseBegins(size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.growth = growth{writing: true, begun: l.length(), size: max(size, l.based.Bytes)}
}

// baseGoesOn counts bytes of the base that were written, and reports whether its writer must not pause, because the log has used a larger
// part of its room.
func (l *jobLog) baseGoesOn(bytes int) (haste bool) {
	l.mu.Lock()
	l.growth.written += int64(bytes)
	left := l.room()*3/4 - l.growth.begun
	haste = left <= 0 || float64(l.length()-l.growth.begun)/float64(left) > l.growth.part()
	over := l.over()
	l.mu.Unlock()
	answerAll(over)
	return haste
}

// baseEnds says that no base is written any more.
func (l *jobLog) baseEnds() {
	l.mu.Lock()
	l.growth = growth{}
	over := l.over()
	l.mu.Unlock()
	answerAll(over)
	l.basing.Store(false)
}
