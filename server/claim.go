package server

import (
	"context"
	"errors"
	"fmt"
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.folders[folder].of == j {
		s.folders[folder] = folderClaim{j, release}
		return nil
	}
	if s.folders[folder].of == j {
		delete(s.folders, folder)
	}
	if other, is := errors.AsType[*blob.Claimed](err); is {
		return folderTaken(folder, other.Who)
	}
	if err == nil { // the job has ended meanwhile
		release()
		err = context.Cause(j.ctx)
	}
	return err
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

// unclaim gives back the folders of a job that has ended.
func (s *Server) unclaim(j *job) {
	for folder, c := range s.folders {
		if c.of == j {
			if c.release != nil {
				c.release()
			}
			delete(s.folders, folder)
		}
	}
}
