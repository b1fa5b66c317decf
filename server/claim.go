package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"thole.example/blob"
	"thole.example/rpc"
)

// folderClaim is a folder into which a job writes its checkpoints, and nobody else.
type folderClaim struct {
	of      *job
	release func() // nil: the bucket has no claims
}

// claimFolder makes a folder the job's until it ends. Another job, of this server or of one on the same bucket, is refused.
func (s *Server) claimFolder(ctx context.Context, j *job, folder string) error {
	s.mu.Lock()
	c, is := s.folders[folder]
	err := context.Cause(j.ctx) // nobody would give it back
	if !is && err == nil {
		if s.folders == nil {
			s.folders = map[string]folderClaim{}
		}
		s.folders[folder] = folderClaim{of: j}
	}
	s.mu.Unlock()
	b, can := s.Bucket.(blob.Claimer)
	switch {
	case is && c.of == j:
		return nil
	case is:
		return folderTaken(folder, c.of.who())
	case err != nil || !can:
		return err
	}
	release, err := b.Claim(ctx, folder, j.who())
	if err != nil {
		release = nil
	}
	if s.keepClaim(j, folder, release) {
		return nil
	}
	if other, is := errors.AsType[*blob.Claimed](err); is {
		err = folderTaken(folder, other.Who)
	}
	if err == nil { // the job has ended meanwhile
		release()
		err = context.Cause(j.ctx)
	}
	return err
}

// keepClaim notes how a folder is given back when the job ends; without release, or when the job has ended, the job does not have it.
func (s *Server) keepClaim(j *job, folder string, release func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders[folder].of != j {
		return false
	}
	if release == nil || j.ctx.Err() != nil {
		delete(s.folders, folder)
		return false
	}
	s.folders[folder] = folderClaim{j, release}
	return true
}

func folderTaken(folder, who string) error {
	return fmt.Errorf("%s writes its checkpoints to %q: %w (it has to end first, or this one needs another --checkpoint)", who, folder,
		rpc.ErrRefused)
}

// who says which job it is, to people who look for it.
func (j *job) who() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("job %q on the server of process %d on %s", j.name, os.Getpid(), host)
}

// unclaim gives back the folders of a job that has ended. Until they are given back they are the job's.
func (s *Server) unclaim(j *job) {
	mine := func(c folderClaim) bool { return c.of == j }
	for _, release := range s.claims(mine) { // files are removed, which may take long
		release()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.folders, func(_ string, c folderClaim) bool { return mine(c) })
}

// claims are how some folders are given back.
func (s *Server) claims(of func(folderClaim) bool) (releases []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.folders {
		if c.release != nil && of(c) {
			releases = append(releases, c.release)
		}
	}
	return releases
}
