package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"thole.example/access"
	"thole.example/blob"
	"thole.example/rpc"
)

// folderClaim is a folder into which a job writes its checkpoints, and nobody else.
type folderClaim struct {
	of      *job
	who     string        // has it, to people who look for it
	decided chan struct{} // closed when it is known whether the job has it
	release func()        // nil: not yet, or the bucket has no claims
}

// claimFolder makes a folder the job's until it ends. Another job, of this server or of one on the same bucket, is refused; the claim of a
// server that was killed is waited for.
func (s *Server) claimFolder(ctx context.Context, j *job, folder string) error {
	for {
		s.mu.Lock()
		c, is := s.folders[folder]
		err := context.Cause(j.ctx) // nobody would give it back
		if !is && err == nil {
			if s.folders == nil {
				s.folders = map[string]*folderClaim{}
			}
			c = &folderClaim{of: j, who: j.who(), decided: make(chan struct{})}
			s.folders[folder] = c
		}
		s.mu.Unlock()
		switch {
		case is && c.of != j:
			return folderTaken(folder, j.mayName(c.who))
		case is:
			select {
			case <-c.decided:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if s.has(folder, c) {
				return nil
			}
		case err != nil:
			return err
		default:
			return s.decide(ctx, folder, c)
		}
	}
}

// has reports whether a folder is a claim's.
func (s *Server) has(folder string, c *folderClaim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.folders[folder] == c
}

// decide claims a folder in the bucket.
func (s *Server) decide(ctx context.Context, folder string, c *folderClaim) error {
	defer close(c.decided)
	b, can := c.of.bucket().(blob.Claimer)
	if !can {
		return nil
	}
	release, err := blob.Await(ctx, b, folder, c.who, func(by *blob.Claimed) {
		s.logger().Warn("waits for a claim: it lapses if whoever has it does not live any more", "job", c.of.full.String(), "folder", folder,
			"of", by.Who, "most", by.Lapses.Round(time.Second))
	})
	if err != nil {
		release = nil
	}
	if s.keepClaim(c, folder, release) {
		return nil
	}
	if other, is := errors.AsType[*blob.Claimed](err); is {
		err = folderTaken(folder, c.of.mayName(other.Who))
	}
	if err == nil { // the job has ended meanwhile
		release()
		err = context.Cause(c.of.ctx)
	}
	return err
}

// keepClaim notes how a folder is given back when the job ends; without release, or when the job has ended, the job does not have it.
func (s *Server) keepClaim(c *folderClaim, folder string, release func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders[folder] != c {
		return false
	}
	if release == nil || c.of.ctx.Err() != nil {
		delete(s.folders, folder)
		return false
	}
	c.release = release
	return true
}

func folderTaken(folder, who string) error {
	return fmt.Errorf("%s writes its checkpoints to %q: %w (it has to end first, or this one needs another --checkpoint)", who, folder,
		rpc.ErrRefused)
}

// who says which job it is that claims something now.
func (j *job) who() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("job %q on the server of process %d on %s, since %s", j.full, os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
}

// mayName is what who says of a job, unless that has another owner.
func (j *job) mayName(who string) string {
	own := fmt.Sprintf("job %q", access.JobName{Owner: j.full.Owner})
	if j.owner != nil && !strings.HasPrefix(who, strings.TrimSuffix(own, `"`)) {
		return "another job"
	}
	return who
}

// unclaim gives back the folders of a job that has ended. Until they are given back they are the job's.
func (s *Server) unclaim(j *job) {
	mine := func(c *folderClaim) bool { return c.of == j }
	for _, release := range s.claims(mine) { // files are removed, which may take long
		release()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.folders, func(_ string, c *folderClaim) bool { return mine(c) })
}

// claims are how some folders are given back.
func (s *Server) claims(of func(*folderClaim) bool) (releases []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.folders {
		if c.release != nil && of(c) {
			releases = append(releases, c.release)
		}
	}
	return releases
}
