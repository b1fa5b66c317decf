package server

import (
	"sync"
	"sync/atomic"
	"time"

	"thole.example/journal"
	"thole.example/rpc"
)

// copySeen is what others see of a [Copying]: how far it is behind. The zero value says that nothing is copied.
type copySeen struct {
	mu    sync.Mutex
	runs  bool
	logs  []copySeenLog // as they were when the last answer came
	done  uint64        // bytes that had been received, read and replayed at the last look
	moved time.Time     // when that had changed
}

// copySeenLog is a log on its way in.
type copySeenLog struct {
	in       *copyIn
	log      *jobLog // nil: the base is not here
	uncopied uint64
	received uint64 // bytes of the base
}

// over is when nothing is copied any more.
func (c *copySeen) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = false
}

// answer notes what an answer says, after it was taken. One to a standby without room says nothing but that time has passed.
func (c *copySeen) answer(of *Copying, head *rpc.Copied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !head.Paused {
		c.logs = c.logs[:0]
		for _, l := range head.Logs {
			if in := of.logs[l.Name]; in != nil {
				c.logs = append(c.logs, copySeenLog{in, in.log, l.Durable - min(l.Durable, l.To) + uint64(in.size-in.off), uint64(in.off)})
			}
		}
	}
	c.runs = true
	c.look()
}

// look adds up how far the copy is behind. It is locked.
func (c *copySeen) look() (uncopied, unreplayed uint64) {
	done := uint64(0)
	for _, l := range c.logs {
		read := uint64(l.in.read.Load())
		done += l.received + read
		uncopied += l.uncopied
		unreplayed += l.received - min(l.received, read)
		if l.log != nil {
			end, replayed := l.log.log.End(), l.log.replayed.load()
			done += end + replayed
			unreplayed += end - min(end, replayed)
		}
	}
	if done != c.done || uncopied+unreplayed == 0 {
		c.done, c.moved = done, time.Now()
	}
	return uncopied, unreplayed
}

// Copying is how far this server's own copy of another's logs is behind, nil if it copies none.
func (s *Server) Copying() *CopyStatus {
	of := s.copying.Load()
	if of == nil {
		return nil
	}
	c := &of.seen
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.runs {
		return nil
	}
	out := &CopyStatus{Claim: of.claim}
	if out.Uncopied, out.Unreplayed = c.look(); out.Uncopied+out.Unreplayed > 0 {
		out.Idle = time.Since(c.moved).Seconds()
	}
	out.Stalled = out.Idle > copyStalls.Seconds()
	return out
}

// countingFiles counts the bytes that are read of bases.
type countingFiles struct {
	journal.Files
	read *atomic.Int64
}

// Open implements journal.Files.
func (f countingFiles) Open(name string) (journal.File, error) {
	file, err := f.Files.Open(name)
	if err != nil || len(basesOf([]string{name})) == 0 {
		return file, err
	}
	return countingFile{file, f.read}, nil
}

// countingFile is a base.
type countingFile struct {
	journal.File
	read *atomic.Int64
}

// ReadAt implements io.ReaderAt.
func (f countingFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.read.Add(int64(n))
	return n, err
}
