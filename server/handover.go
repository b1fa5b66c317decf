package server

import (
	"errors"
	"slices"
)

// When the log of a job takes no more records, as its disk stays full or fails, a standby that has everything continues the jobs of the
// server: the server gives its role up. It does so before any answer says that a change was lost, so the tasks, which look for the server
// again, send at the standby what was not acknowledged. Without such a standby the job fails.
//
// A server gives its role up only if the disk of a standby has room: while a disk of the server is full, the standby tries twice a second
// (copyBeat) whether its own has room for another segment, and tells the server. Of several standbys the one that takes the role may be
// another, whose disk is full; then it waits for room, or gives the role up to the one that has some.

// handOver has a standby continue, because of an error of a log, and reports whether one does, or did before.
func (s *Server) handOver(why error) bool {
	c := &s.copies
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handed {
		return true
	}
	claim := c.successor()
	if s.Role == nil || claim == "" {
		return false
	}
	c.handed = true
	s.Role.Resign(why)
	s.logger().Error("a log takes no more records: this server gives its role up, and a standby that has everything continues its jobs",
		"standby", claim, "err", why)
	return true
}

// successor is the claim of a standby that the store names, and whose disk has room; "": no standby is. c is locked.
func (c *copies) successor() string {
	i := slices.IndexFunc(c.named, func(claim string) bool {
		b := c.standbys[claim]
		return b != nil && b.whole() && !b.full
	})
	if i < 0 || c.unsure {
		return ""
	}
	return c.named[i]
}

// roomName is the folder, next to the logs, in which a standby tries whether its disk has room.
const roomName = "room"

// hasRoom reports whether the disk of the standby has room for another segment.
func (c *Copying) hasRoom() bool {
	files := c.s.Logs.Folder(roomName)
	unlock, err := files.Lock() // makes the folder
	if err != nil {
		return false
	}
	f, err := files.Create(roomName)
	if err == nil {
		err = errors.Join(f.Allocate(c.s.segment()), f.Close())
	}
	return errors.Join(err, unlock(), c.s.Logs.Remove(roomName)) == nil
}
