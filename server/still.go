package server

import (
	"sync"

	"thole.example/rpc"
)

// stillness orders what goes to several partitions of a job: whoever posts to some shares it, and whoever has them stand still has it
// alone. It is cut in parts, so that requests of different connections write to different lines of the cache.
type stillness [16]struct {
	sync.RWMutex
	_ [40]byte // up to a line
}

// of is the part that a connection shares.
func (s *stillness) of(from *rpc.Peer) *sync.RWMutex {
	n := int64(0)
	if at, _ := from.State.(*seat); at != nil {
		n = at.conn
	}
	return &s[uint64(n)%uint64(len(s))].RWMutex
}

// own is the part that the job itself shares.
func (s *stillness) own() *sync.RWMutex { return &s[0].RWMutex }

// Lock implements sync.Locker: nobody shares any part.
func (s *stillness) Lock() {
	for i := range s {
		s[i].Lock()
	}
}

// Unlock implements sync.Locker.
func (s *stillness) Unlock() {
	for i := range s {
		s[i].Unlock()
	}
}
