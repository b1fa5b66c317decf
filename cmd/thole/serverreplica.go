package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"thole.example/access"
	"thole.example/admin"
	"thole.example/blob"
	"thole.example/internal/number"
	"thole.example/server"
)

// checkpointReplica is the flags of a server that serves the checkpoints of a training to readers.
type checkpointReplica struct {
	of, job string
	servers int
	refresh time.Duration
}

func (r *checkpointReplica) flags(f *pflag.FlagSet) {
	f.StringVar(&r.of, "replica-of", "", "serve the newest checkpoint in this folder of --store to readers, and newer ones when they are "+
		"there, instead of jobs; PATH/STEPS serves that checkpoint alone")
	f.StringVar(&r.job, "replica-job", "", "with --replica-of: what readers call the job, NAME, or OWNER/NAME where readers have tokens "+
		"(default: as the training was called)")
	f.IntVar(&r.servers, "replica-servers", 1, "with --replica-of: how many servers share the matrices; --role N says which one this is")
	f.DurationVar(&r.refresh, "refresh", server.RefreshDefault, "with --replica-of: how often to look for a newer checkpoint")
}

// replica is what the server serves, nil if it has jobs.
func (o *serverOptions) replica() (*server.CheckpointReplica, error) {
	r, index := &o.serves, max(o.claiming.number, 0)
	switch {
	case r.of == "" && (r.job != "" || r.servers != 1 || r.refresh != server.RefreshDefault):
		return nil, usageError{errors.New("--replica-job, --replica-servers or --refresh without --replica-of, want the folder of checkpoints")}
	case r.of == "":
		return nil, nil
	case o.logs != "" || o.claiming.url != "":
		return nil, usageError{errors.New("--replica-of with --log or --coordinate, want it without: it has no changes to log, and takes no " +
			"role of a server that trains")}
	case r.servers < 1:
		return nil, usageError{fmt.Errorf("--replica-servers %d, want 1 or more", r.servers)}
	case index >= r.servers:
		return nil, usageError{fmt.Errorf("--role %d of %s, want 0 to %d", index, number.Of(r.servers, "server"), r.servers-1)}
	case r.servers > 1 && o.claiming.number == noRole:
		return nil, usageError{fmt.Errorf("--replica-servers %d without --role, want which one this is: 0 to %d", r.servers, r.servers-1)}
	case r.refresh < 10*time.Millisecond:
		return nil, usageError{fmt.Errorf("--refresh %v, want 10ms or more", r.refresh)}
	}
	out := &server.CheckpointReplica{Path: inFull(blob.Clean(r.of)), Index: index, Servers: r.servers, Refresh: r.refresh}
	owner, name, owned := strings.Cut(r.job, "/")
	if !owned {
		owner, name = "", r.job
	}
	if owned && (owner == "" || name == "") || strings.Contains(name, "/") {
		return nil, usageError{fmt.Errorf("--replica-job %q, want NAME or OWNER/NAME", r.job)}
	}
	out.Job = access.JobName{Owner: owner, Name: name}
	return out, nil
}

// replicaText says which checkpoint a server serves.
func replicaText(s *admin.Status) string {
	r := s.Replica
	text := "serves checkpoints of " + r.Path
	if r.Servers > 1 {
		text += fmt.Sprintf(", as server %d of %d", r.Index, r.Servers)
	}
	c := r.Checkpoint
	if c == nil {
		return text + ": none yet"
	}
	return text + fmt.Sprintf(": %s at step %d, as job %s, loaded at %s in %v", c.Path, c.Step, r.Job, r.Loaded.Format(time.DateTime),
		time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
}
