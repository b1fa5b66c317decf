package coord

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Job is what the catalogue has of a job. A job has attempts, counted from 1: when a server or a task is lost, all that is left
// of it begins the next attempt, from the last committed checkpoint.
type Job struct {
	Attempt    int         `json:"attempt"`
	Servers    []uint64    `json:"servers,omitempty"`  // epochs of the roles server 0, 1, … that the attempt runs on
	Ended      bool        `json:"ended,omitempty"`    // the job came to its end with the attempt
	Complete   int         `json:"complete,omitempty"` // the last attempt with which it came to its end; 0: none
	Settings   string      `json:"settings,omitempty"` // those with which it did, words "name=value"
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

// Completed reports whether the job has come to its end, and no attempt after that has written a checkpoint.
func (j *Job) Completed() bool {
	return j.Complete > 0 && (j.Checkpoint == nil || j.Checkpoint.Attempt <= j.Complete)
}

// Checkpoint names a checkpoint that is complete.
type Checkpoint struct {
	Path    string `json:"path"` // within the bucket
	ID      string `json:"id"`   // tells it from others at its path
	Step    int64  `json:"step"` // steps of the job made so far
	Attempt int    `json:"attempt"`
}

// ServerLimit is how many servers a job runs on at most.
const ServerLimit = 1024

func (j *Job) check() error {
	switch c := j.Checkpoint; {
	case j.Attempt < 1 || len(j.Servers) > ServerLimit:
		return fmt.Errorf("attempt %d on %d servers, want 1 or more, and at most %d", j.Attempt, len(j.Servers), ServerLimit)
	case slices.Contains(j.Servers, 0):
		return errors.New("a server of epoch 0, want 1 or more")
	case c != nil && (c.Path == "" || c.Step < 0 || c.Attempt < 1 || c.Attempt > j.Attempt):
		return fmt.Errorf("a checkpoint %q of step %d and attempt %d, want a path, 0 or more, and 1 to %d", c.Path, c.Step, c.Attempt, j.Attempt)
	}
	return nil
}

// ErrEarlier is that of a checkpoint that is earlier in the training than the one that is committed.
var ErrEarlier = errors.New("a later one is committed")

// Begin says that an attempt of a job runs from now on, on servers of these epochs, and ends the attempts before it: they
// commit nothing any more. What is answered has the checkpoint to go on from. It fails with ErrFenced if a later attempt has begun,
// or the same one on other servers, or one of the servers was replaced by another that does not continue what it held. Whoever got no
// answer may begin the same attempt again, also when others continue its servers meanwhile: Job.Servers stays as the attempt began.
func Begin(ctx context.Context, s Store, cluster, job string, attempt int, servers []Member) (Job, error) {
	epochs := make([]uint64, len(servers))
	for i, m := range servers {
		epochs[i] = m.Epoch
	}
	return change(ctx, s, cluster, job, func(j *Job) error {
		switch {
		case attempt < j.Attempt:
			return fmt.Errorf("attempt %d has begun: %w", j.Attempt, ErrFenced)
		case attempt > j.Attempt:
			j.Servers = epochs
		case !slices.Equal(epochs, j.Servers):
			err := ErrFenced
			if len(epochs) == len(j.Servers) {
				err = current(ctx, s, cluster, j.Servers) // if both are there still they are the same
			}
			if err != nil {
				return fmt.Errorf("attempt %d has begun on servers of the epochs %v, not %v: %w", attempt, j.Servers, epochs, err)
			}
		}
		j.Attempt, j.Ended = attempt, false
		return current(ctx, s, cluster, epochs)
	})
}

// Commit makes a checkpoint the one to go on from. All of its objects have to be written; its Attempt is the one that wrote it. It fails
// with ErrFenced if another attempt has begun or one of its servers was replaced by another that does not continue what it held, and with
// ErrEarlier if one of the same attempt and a later step is committed. Whoever got no answer may commit the same checkpoint again.
//
// That no server was replaced is looked up before the write: one that is replaced in between finds the checkpoint, which
// was complete before, because nobody goes on but by Begin, and of Begin and Commit the second sees what the first did.
func Commit(ctx context.Context, s Store, cluster, job string, c Checkpoint) error {
	_, err := change(ctx, s, cluster, job, func(j *Job) error {
		if c.Attempt != j.Attempt {
			return fmt.Errorf("checkpoint %s is of attempt %d, and attempt %d runs: %w", c.Path, c.Attempt, j.Attempt, ErrFenced)
		}
		if before := j.Checkpoint; before != nil && before.Attempt == c.Attempt && before.Step > c.Step {
			return fmt.Errorf("checkpoint %s is of step %d, that at %s of step %d: %w", c.Path, c.Step, before.Path, before.Step, ErrEarlier)
		}
		j.Checkpoint = &c
		return current(ctx, s, cluster, j.Servers)
	})
	return err
}

// Complete says that a job has come to its end with an attempt, and with which settings, as words "name=value": what comes next under its
// name starts from the beginning, with the next attempt. It fails with ErrFenced if another attempt has begun.
func Complete(ctx context.Context, s Store, cluster, job string, attempt int, settings string) error {
	_, err := change(ctx, s, cluster, job, func(j *Job) error {
		if attempt != j.Attempt {
			return fmt.Errorf("attempt %d is complete, and attempt %d runs: %w", attempt, j.Attempt, ErrFenced)
		}
		j.Ended, j.Complete, j.Settings = true, attempt, settings
		return nil
	})
	return err
}

// Superseded waits until an attempt of a job has begun that is later than the given one, and says which. The store is asked when an attempt
// or a checkpoint of the job is written, for [Changed] with each renewal of each server: so one process of a job watches the servers, and
// the others, of which there may be many, watch what that one begins. A store that does not answer is waited for.
func Superseded(ctx context.Context, s Store, cluster, job string, attempt int) (later int, err error) {
	if err := CheckNames(cluster, job); err != nil {
		return 0, err
	}
	for {
		j, v, err := last(ctx, s, cluster, job)
		if err == nil && j.Attempt > attempt {
			return j.Attempt, nil
		}
		if err == nil {
			_, _, err = s.Watch(ctx, jobKey(cluster, job), v)
		}
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, ErrRecord):
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Last is what the catalogue has of a job; its attempt is 0 if it has nothing.
func Last(ctx context.Context, s Store, cluster, job string) (Job, error) {
	j, _, err := last(ctx, s, cluster, job)
	return j, err
}

func last(ctx context.Context, s Store, cluster, job string) (j Job, v Version, err error) {
	if err := checkCluster(cluster); err != nil {
		return j, "", err
	}
	data, v, err := s.Get(ctx, jobKey(cluster, job))
	if err == nil && data != nil {
		err = decode(jobKey(cluster, job), data, &j)
	}
	return j, v, err
}

// change changes the record of a job, as often as somebody else does so in between. What edit refuses is not written.
func change(ctx context.Context, s Store, cluster, job string, edit func(*Job) error) (Job, error) {
	if err := CheckNames(cluster, job); err != nil {
		return Job{}, err
	}
	key := jobKey(cluster, job)
	for {
		j, v, err := last(ctx, s, cluster, job)
		if err != nil {
			return Job{}, err
		}
		if err := edit(&j); err != nil {
			return Job{}, fmt.Errorf("coord: job %q: %w", job, err)
		}
		data, err := encode(key, &j)
		if err != nil {
			return Job{}, err
		}
		if _, err = s.Put(ctx, key, data, v); err == nil {
			return j, nil
		}
		if !errors.Is(err, ErrChanged) {
			return Job{}, err
		}
	}
}

// Keys are those of the roles of servers 0 to servers-1 of a cluster, and of a job there: all that its processes write.
func Keys(cluster string, servers int, job string) (all []string) {
	for i := range servers {
		all = append(all, Server(i).key(cluster))
	}
	return append(all, jobKey(cluster, job))
}

// Jobs is the names of all jobs of a cluster that the catalogue has.
func Jobs(ctx context.Context, s Store, cluster string) ([]string, error) {
	all, err := s.List(ctx, cluster+jobPart)
	var names []string
	for _, e := range all {
		key := e.Key
		name, nerr := url.PathUnescape(strings.TrimPrefix(key, cluster+jobPart))
		if nerr != nil || jobKey(cluster, name) != key {
			return nil, fmt.Errorf("coord: %s, want the name of a job, escaped as a part of a URL's path: %w", key, ErrRecord)
		}
		names = append(names, name)
	}
	return names, err
}
