package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"thole.example/admin"
	"thole.example/blob"
	"thole.example/budget"
	"thole.example/coord"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/rpc/tcp"
	"thole.example/server"
)

func serverCommand(e *env) *cobra.Command {
	var o serverOptions
	size, base, file, quiet, tied, asJSON := "", "", "", false, false, false
	c := &cobra.Command{
		Use:   "server",
		Short: "Run a parameter server",
		Long: `Serves matrices to the workers of any number of jobs until it is interrupted. It prints the address it listens at.
Models are saved and loaded below the folder --store; all servers of a job need the same one.

With --log FOLDER the server keeps a log there of each change that its jobs make, and acknowledges none that is not on disk. Started again
with the same --listen and --log it is where it died: workers reach it again within their --retry, and nobody goes back to a checkpoint. Now
and then it writes the state of a job beside its log, in the background, which makes what came before needless (--log-base).

With --coordinate it is one of the servers of a cluster, --role N of them from 0 on, or the pod ps-N of a StatefulSet: workers find it by
its role. While another process has the role it waits, and takes over when that one is silent for --lease, or ends; jobs go on from their
last checkpoints then. It answers nothing while it does not hold the role, and ends, with exit code 75, when another has taken it.

With --log, --coordinate and --replicas 2 the process that waits copies the log of the one that has the role, which acknowledges nothing
that the other has not: it takes over where that one was, and nobody goes back.

With --replica-of FOLDER it serves the newest checkpoint of a training to readers (thole psf --job), and newer ones when they are there,
during the training and after it; it takes no jobs and changes nothing.

Asked to end (SIGTERM, Ctrl-C) it takes no new jobs, and those that write checkpoints write one, for which it waits --grace at most; then it
ends, with exit code 75 if jobs were running. With --log it waits for nothing.`,
		Example: "  thole server --listen 127.0.0.1:7001 --store /data/models\n  thole server --listen unix:/run/thole.sock\n" +
			"  thole server --listen 127.0.0.1:7001 --store /data/models --log /data/log\n" +
			"  thole server --config server.yaml\n" +
			"  thole server --listen :7001 --tls-cert cert.pem --tls-key key.pem --tokens tokens --admin 127.0.0.1:9001\n" +
			"  thole server --listen :7001 --advertise host1 --store /data/models --coordinate etcd://host0:2379 --role 0\n" +
			"  thole server --listen 127.0.0.1:0 --coordinate dir:coordination --role 1 --lease 3s\n" +
			"  thole server --listen 127.0.0.1:0 --coordinate dir:coordination --role 1 --log /data/log --replicas 2\n" +
			"  thole server --listen :7101 --store /data/models --replica-of ctr/checkpoints",
		RunE: func(c *cobra.Command, _ []string) (err error) {
			placed, err := e.config(c.Context(), c, file)
			if err != nil {
				return err
			}
			defer func() { err = placed(err) }()
			level := slog.LevelInfo
			if quiet {
				level = slog.LevelWarn
			}
			log := slog.New(tint.NewTextHandler(raw(e.err), &tint.Options{Level: level, NoColor: !terminal(e.err), TimeFormat: time.DateTime}))
			if asJSON {
				log = slog.New(slog.NewJSONHandler(raw(e.err), &slog.HandlerOptions{Level: level}))
			}
			e.paths = blob.NewPaths(stores(func(text string) { log.Warn(text) })...)
			if o.ledger, err = memoryBound(size); err != nil {
				return err
			}
			if err := o.checkLogWait(); err != nil {
				return err
			}
			if o.logBase, err = logBase(base, o.logs); err != nil {
				return err
			}
			ctx := context.WithoutCancel(c.Context())
			if tied {
				ctx = untilEnd(ctx, e.in)
			}
			e.until(ctx)
			return serve(ctx, c.Context(), e, &o, log)
		},
	}
	c.Flags().StringVar(&o.listen, "listen", "127.0.0.1:7001", "address: host:port, port 0 for a free one, or unix:/path")
	c.Flags().StringArrayVar(&o.stores, "store", []string{"."},
		"folder of the saved models, or a URL such as s3://bucket/models; given several times, more that jobs may name by their URLs")
	c.Flags().BoolVar(&o.sync, "sync", true, syncHelp)
	c.Flags().StringVar(&size, "memory", "", "most memory for matrices, requests, answers and saves together, a size like 8GiB, or none "+
		"(default: three quarters of the machine's memory, "+format.Bytes(defaultMemory())+")")
	c.Flags().StringVar(&o.scratch, "scratch", "", "folder on a local disk for what memory has no room for: deltas that wait for "+
		"their clock, and rows of sparse matrices that were not used for longest (default: the system's for temporary files, and no rows)")
	c.Flags().StringVar(&o.logs, "log", "", "folder for a log of all changes, of this server alone, from which it goes on when it is started "+
		"again (default: none, and a server that ends takes what it held with it)")
	c.Flags().StringVar(&base, "log-base", "", "how much may come to the log of a job before its state is written beside it, a size like "+
		"1GiB (default: 256MiB, or a third of the bytes of that state if that is more)")
	c.Flags().DurationVar(&o.logWait, "log-wait", logWaitDefault, "how long a job waits for room when the disk of its log is full, "+
		"before it fails")
	c.Flags().StringVar(&o.name, "name", "", "what this server is called, for people (default: the variable "+podVariable+", or the name of "+
		"the machine)")
	c.Flags().BoolVar(&o.noChecksum, "no-checksum", false, noChecksumHelp)
	c.Flags().BoolVar(&asJSON, "log-json", false, "log JSON lines")
	o.guard.flags(c.Flags())
	o.watch.flags(c.Flags())
	o.claiming.flags(c.Flags())
	o.replication.flags(c.Flags())
	o.serves.flags(c.Flags())
	c.Flags().DurationVar(&o.grace, "grace", defaultGrace, "how long a server that is asked to end (SIGTERM, Ctrl-C) waits for the "+
		"checkpoints of its jobs; asked once more it ends at once")
	c.Flags().BoolVar(&quiet, "quiet", false, "print warnings only")
	c.Flags().StringVar(&file, configFlag, "", "file of settings, YAML or JSON: its keys are names of these flags, which come before it, as "+
		"do their variables")
	c.Flags().BoolVar(&tied, tiedFlag, false, "end when the standard input ends")
	_ = c.Flags().MarkHidden(tiedFlag) // it is there
	return c
}

// tiedFlag makes a server end with the process that started it, however that ends: the system closes the pipe that the other
// process holds at its standard input.
const tiedFlag = "until-input-ends"

// untilEnd is ctx, but it ends also when the input does. The input is read until then.
func untilEnd(ctx context.Context, in io.Reader) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		defer end(errInputEnds)
		_, _ = io.Copy(io.Discard, in) // an input that cannot be read is one that has ended
	}()
	return ctx
}

// errInputEnds is why such a process ends.
var errInputEnds = errors.New("the process that started this one has ended")

// serverOptions are what the user said.
type serverOptions struct {
	listen, scratch  string
	name             string
	stores           []string // folders and URLs
	logs             string
	logBase          int64
	logWait          time.Duration
	ledger           *budget.Ledger
	noChecksum, sync bool
	guard            guard
	watch            watch
	claiming         claiming
	replication      replication
	serves           checkpointReplica
	grace            time.Duration
}

// folder checks that a flag names a folder.
func folder(flag, path string) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--%s %s: no such folder", flag, path)
	case err != nil:
		return fmt.Errorf("--%s %w", flag, err)
	case !info.IsDir():
		return fmt.Errorf("--%s %s: a file, want a folder", flag, path)
	}
	return nil
}

// checkStores checks that those of the stores that are no URLs are folders.
func (o *serverOptions) checkStores() error {
	for _, store := range o.stores {
		if blob.IsURL(store) {
			continue
		}
		if err := folder("store", store); err != nil {
			return err
		}
	}
	return nil
}

// logBase is the size that --log-base says, 0 if it says none.
func logBase(text, logs string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	switch n, err := number.ParseBytes(text); {
	case text == "none":
		return 0, usageError{errors.New("--log-base none, want a size like 1GiB: a log without one would fill the disk")}
	case err != nil || n < 1:
		return 0, usageError{fmt.Errorf("--log-base %q, want a size like 1GiB", text)}
	case logs == "":
		return 0, usageError{fmt.Errorf("--log-base %s without --log: want the folder of the log, too", text)}
	default:
		return n, nil
	}
}

// logWaitDefault is the default of Server.LogPatience.
const logWaitDefault = 30 * time.Second

// checkLogWait checks what the user said of full disks.
func (o *serverOptions) checkLogWait() error {
	switch {
	case o.logWait <= 0:
		return usageError{fmt.Errorf("--log-wait %v, want a time like 30s", o.logWait)}
	case o.logs == "" && o.logWait != logWaitDefault:
		return usageError{fmt.Errorf("--log-wait %v without --log: want the folder of the log, too", o.logWait)}
	}
	return nil
}

// openLogs opens the folder of logs; end lets another server have it.
func openLogs(s *server.Server, o *serverOptions) (logs *server.LogDir, end func(), err error) {
	store := o.stores[0]
	if !blob.IsURL(store) {
		if store, err = filepath.Abs(store); err != nil {
			return nil, nil, err
		}
	}
	owner := fmt.Sprintf("the server at %s with the store %s", o.listen, store)
	if c := &o.claiming; c.url != "" {
		owner = fmt.Sprintf("%s of cluster %q with the store %s", coord.Server(c.number), c.cluster, store)
	}
	if logs, err = server.OpenLogDir(o.logs, owner); err != nil {
		return nil, nil, fmt.Errorf("--log %w", err)
	}
	s.Logs, s.LogUnsynced, s.LogBase, s.Replicas = logs, !o.sync, o.logBase, o.replication.replicas
	s.LogPatience = o.logWait
	s.SlowStandby = server.SlowStandby(slices.Index(server.SlowStandbyNames(), o.replication.slow))
	return logs, func() { _ = logs.Close() }, nil // the process ends
}

// serve serves until asked ends, and what is to be done then, or ctx does.
func serve(ctx, asked context.Context, e *env, o *serverOptions, log *slog.Logger) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	if o.grace < 0 {
		return usageError{fmt.Errorf("--grace %v, want a time like 25s, or 0s to wait for nothing", o.grace)}
	}
	if err := o.watch.check(&o.guard); err != nil {
		return err
	}
	if err := o.claiming.find(thisProcess(), func(text string) { log.Info(text) }); err != nil {
		return err
	}
	is, err := o.identity()
	if err != nil {
		return err
	}
	role, err := o.claiming.claim(o.listen)
	if err != nil {
		return err
	}
	defer role.close()
	if err := o.replication.check(o); err != nil {
		return err
	}
	if err := o.checkStores(); err != nil {
		return err
	}
	if o.scratch != "" {
		if err := folder("scratch", o.scratch); err != nil {
			return err
		}
	}
	s, err := newServer(ctx, e.paths.Synced(o.sync).Below(o.stores...), o.ledger, log)
	if err != nil {
		return err
	}
	s.Scratch = o.scratch
	if s.Replica, err = o.replica(); err != nil {
		return err
	}
	if s.JobLimits, err = o.guard.limits(); err != nil {
		return err
	}
	n := &tcp.Network{Name: is.Text(), Log: log, Ledger: o.ledger, NoChecksum: o.noChecksum}
	if err := o.guard.secure(ctx, n, log); err != nil {
		return err
	}
	s.Tokens = n.Tokens // before jobs come back from logs, which have owners
	go s.Relieve(ctx)
	seen := &admin.Admin{Server: s, Ledger: o.ledger, Ready: func() error { return cmp.Or(role.notReady(), s.ReplicaReady()) }}
	left := o.drain(ctx, asked, s, func() { seen.Stop() }, end, log)
	if role != nil {
		s.Role = role
	}
	var line *line
	if o.logs != "" {
		logs, end, err := openLogs(s, o)
		if err != nil {
			return err
		}
		defer end()
		if role != nil {
			line, err = o.newLine(s, logs, role, log)
		} else if err = s.Recover(ctx); err != nil {
			err = fmt.Errorf("--log %s: %w", o.logs, err)
		}
		if err != nil {
			return err
		}
	}
	l, err := n.Listen(ctx, o.listen, s)
	if err != nil {
		return err
	}
	o.guard.warn(l.Addr(), log)
	seen.Is, seen.Listener, seen.Tokens = is, l, n.Tokens
	unseen, err := o.watch.serve(ctx, seen, n.ServerTLS, log)
	if err != nil {
		l.Close()
		return err
	}
	defer unseen()
	if s.Replica != nil {
		loads := make(chan struct{})
		go func() { defer close(loads); s.ServeCheckpoints(ctx) }()
		defer func() { end(); <-loads }()
	}
	if o.ledger != nil {
		dropCode()
		go boundHeap(ctx, o.ledger.Total(), besideHeap)
	}
	fmt.Fprintf(e.out, "listening at %s\n", o.claiming.reached(l.Addr(), net.InterfaceAddrs))
	err = role.stay(ctx, e.out, l.Addr(), line, log)
	end()
	err = cmp.Or(err, left())
	log.Info("server stops")
	l.Close()
	endSaves(s)
	return err
}
