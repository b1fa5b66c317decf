// Package hdfs keeps named bytes in the Hadoop Distributed File System, where Angel's models live: a blob.Bucket over its own protocols,
// by github.com/colinmarc/hdfs, without Java.
//
// # What maps to what
//
//	blob                        HDFS
//	an object, a tree           a file, a folder
//	what is not finished        files and folders "_tmp.…" beside what they will be, as blob.Dir has them
//	State                       number of the inode, length and time of change; of a tree a digest of those of all that is in it
//	Publish, Commit of a file   rename2 with overwrite: one step for whoever reads
//	Publish with a State        the same behind a lock, "_tmp.NAME.lock"
//	Claim, Hold                 files that are never closed: "_tmp.NAME.claim", "_tmp.NAME.….hold.…"
//	who has a lock or claim     the lease of that file, which the namenode takes away 60 seconds after its client was last heard
//
// # A read
//
// Open asks the namenode for the file, and reads its first 64 KiB, which is all of a small one. Everything later is read by the number of
// the inode, so that an open object never shows bytes of another that took its name. ReadAt of several goroutines takes one of up to
// eight readers, the one that stands nearest before the place; each has a connection to a datanode. Checksums are verified; a
// datanode that fails is replaced by one that has another copy. The bytes of an object that was replaced or removed go when its
// datanodes hear of it, seconds later: reading what was not read yet fails with blob.ErrChanged from then on.
//
// # A write
//
// What is written goes to a blob.Spool on this machine. Commit sends it from front to back to a file "_tmp.…", and renames that. If a
// datanode fails in the middle, the file is begun anew with other datanodes: the protocol library cannot mend a pipeline.
//
// # A publish
//
// A file takes the name of a file in one step, also for who reads meanwhile. HDFS cannot exchange two folders: a tree that replaces
// something is renamed into the place of the old one right after that was renamed away. Before, the lock gets a note of both. Whoever
// reads by this package, finds nothing and sees a lock on the way, waits for its end, so the gap of about a millisecond is closed
// for Thole; other clients (hdfs dfs) may see it. If the publisher was killed in the gap, the first that comes after its
// lease has ended makes the second step. Whoever publishes or commits by this package with a State is held to it; somebody else who
// changes a file between the look at it and the rename, less than a millisecond later, is overwritten, and so is a Commit that
// was to replace anything.
//
// # When something is away
//
// While no namenode answers, or those that do stand by or are in safe mode, everything is tried again for Options.Patience, then
// fails with ErrAway, ErrStandby or ErrSafeMode. See the table in errors.go.
package hdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	lib "github.com/colinmarc/hdfs/v2"

	"thole.example/blob"
)

// Options say which file system it is, and how it is used.
type Options struct {
	Addresses   []string // HOST:PORT of the namenode, or of several of which one is active
	User        string   // as whom, where the cluster believes what it is told; overridden by Kerberos
	Root        string   // the folder in which names are; "/" if empty
	Kerberos    *Kerberos
	Replication int   // of new files; 0: what the cluster has as its default
	BlockSize   int64 // bytes of a block of new files; 0: the cluster's default
	Umask       fs.FileMode
	// Timeout is how long a peer may be silent when it has to answer; 0: a minute.
	Timeout time.Duration
	// Patience is how long something is tried again while the cluster cannot do it; 0: half a minute.
	Patience time.Duration
	// Age is how old temporary files have to be that nobody holds, by the clocks of this machine and the namenode, to count as
	// leftovers; 0: a day.
	Age time.Duration
	// Tell is called when the cluster has not done what it was asked to for Quiet (0: 2 s), and when it does again; nil: nobody is told.
	Tell  func(text string)
	Quiet time.Duration

	conf map[string]string // of the cluster's configuration, if it was read
}

// Bucket is the part of a file system below Options.Root. It has one connection to the namenode, and all its methods may be called by
// many goroutines. The connection and what it holds ends with Close.
type Bucket struct {
	opts   Options
	root   string
	client *lib.Client
	close  func() error
	life   context.Context // until Close
	outage blob.Outage

	mu   sync.Mutex
	mine map[string]bool // names of leases that this process has, or is about to have
}

var (
	_ blob.Bucket  = (*Bucket)(nil)
	_ blob.Roomer  = (*Bucket)(nil)
	_ blob.Claimer = (*Bucket)(nil)
	_ blob.Sweeper = (*Bucket)(nil)
)

// tmpMark begins the names of what is not finished.
const tmpMark = "_tmp."

// New connects with the file system. A namenode that does not answer is an error at once.
func New(ctx context.Context, o Options) (*Bucket, error) {
	if len(o.Addresses) == 0 {
		return nil, errors.New("hdfs: no namenode is named: want hdfs://HOST:PORT/…, or HADOOP_CONF_DIR with its core-site.xml")
	}
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	o.Age = cmp.Or(o.Age, 24*time.Hour)
	o.Quiet = cmp.Or(o.Quiet, 2*time.Second)
	b := &Bucket{opts: o, root: path.Clean("/" + o.Root), mine: map[string]bool{}}
	b.outage = blob.Outage{Store: "hdfs://" + strings.Join(o.Addresses, ","), Tell: o.Tell, Quiet: o.Quiet}
	var end context.CancelFunc
	b.life, end = context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)() // whoever gives up while it connects waits for nothing
	options, err := o.library()
	if err != nil {
		return nil, err
	}
	dial := b.dialer()
	options.DatanodeDialFunc = func(_ context.Context, network, address string) (net.Conn, error) { return dial(network, address) }
	options.NamenodeDialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
		c, err := dial(network, address)
		if err != nil {
			return nil, err
		}
		return &framed{Conn: c}, nil
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	forget := func() {}
	if options.KerberosClient != nil {
		forget = options.KerberosClient.Destroy // renews tickets until then
	}
	if b.client, err = lib.NewClient(options); err != nil {
		end()
		forget()
		return nil, b.explain(opConnect, "", err)
	}
	b.close = sync.OnceValue(func() error { // twice it would panic
		end()
		forget()
		return b.client.Close()
	})
	var defaults lib.ServerDefaults
	err = b.attempts(ctx, 0, func() (err error) {
		defaults, err = b.client.ServerDefaults() // also later calls of the library find them then, without a race
		return err
	})
	if err != nil {
		b.Close()
		return nil, b.explain(opConnect, "", err)
	}
	b.opts.Replication = cmp.Or(o.Replication, defaults.Replication)
	b.opts.BlockSize = cmp.Or(o.BlockSize, defaults.BlockSize)
	return b, nil
}

// Close ends the connections, and what goes on by them. What was claimed or held is free a minute later, if it was not released.
func (b *Bucket) Close() error { return b.close() }

// path is where a name is in the file system, url how it is written in errors.
func (b *Bucket) path(name string) string { return path.Join(b.root, name) }

func (b *Bucket) url(name string) string {
	return "hdfs://" + strings.Join(b.opts.Addresses, ",") + b.path(name)
}

// checkName refuses what is no name.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, "\x00") {
		return fmt.Errorf("blob: %q: %w", name, blob.ErrName)
	}
	return nil
}

// stat is what lies at a name, looked at once.
func (b *Bucket) stat(ctx context.Context, name string) (info os.FileInfo, err error) {
	err = b.attempt(ctx, func() (err error) {
		info, err = b.client.Stat(b.path(name))
		return err
	})
	return info, err
}

// inode is the number of a file or folder, which it keeps when it is renamed.
func inode(info os.FileInfo) uint64 {
	if status, ok := info.Sys().(*lib.FileStatus); ok {
		return status.GetFileId()
	}
	return 0
}

// inodePath is where a file or folder is by that number, whatever its name.
func inodePath(info os.FileInfo) string {
	return "/.reserved/.inodes/" + strconv.FormatUint(inode(info), 10)
}

// entries lists a folder, looked at once.
func (b *Bucket) entries(ctx context.Context, dir string) (entries []os.FileInfo, err error) {
	err = b.attempt(ctx, func() (err error) {
		entries, err = b.client.ReadDir(b.path(dir))
		return err
	})
	return entries, err
}

// settledEntries lists a folder in which nothing is being replaced, nor above it; nil if there is none.
func (b *Bucket) settledEntries(ctx context.Context, dir string) ([]os.FileInfo, error) {
	for {
		entries, err := b.entries(ctx, dir)
		if err != nil && !missing(err) {
			return nil, err
		}
		wait := dir
		if err == nil {
			name := beingReplaced(entries)
			if name == "" {
				return entries, nil
			}
			wait = path.Join(dir, name)
		}
		info, serr := b.settled(ctx, wait)
		if serr != nil && !missing(serr) {
			return nil, serr
		}
		if gone := missing(serr) || !info.IsDir() && wait == dir; gone {
			return entries, nil // the lock was of a name that is still free, or the folder is none any more
		}
	}
}

// List implements blob.Bucket.
func (b *Bucket) List(ctx context.Context, tree string) ([]blob.Info, error) {
	if tree == "." {
		tree = ""
	}
	if tree != "" {
		if err := checkName(tree); err != nil {
			return nil, err
		}
	}
	info, err := b.settled(ctx, tree)
	switch {
	case missing(err):
		return nil, nil
	case err != nil:
		return nil, b.explain("list", tree, err)
	case !info.IsDir():
		return []blob.Info{{Name: tree, Size: info.Size(), Modified: info.ModTime()}}, nil
	}
	var found []blob.Info
	if err := b.list(ctx, tree, &found); err != nil {
		return nil, b.explain("list", tree, err)
	}
	slices.SortFunc(found, func(a, b blob.Info) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

func (b *Bucket) list(ctx context.Context, dir string, found *[]blob.Info) error {
	entries, err := b.settledEntries(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), tmpMark):
		case !e.IsDir():
			*found = append(*found, blob.Info{Name: name, Size: e.Size(), Modified: e.ModTime()})
		default:
			if err := b.list(ctx, name, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove implements blob.Bucket. A tree is gone in one step.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := b.remove(ctx, name); err != nil {
		return b.explain("remove", name, err)
	}
	return nil
}

func (b *Bucket) remove(ctx context.Context, name string) error {
	err := b.attempt(ctx, func() error { return b.client.RemoveAll(b.path(name)) })
	if missing(err) {
		return nil
	}
	return err
}

// folders makes a folder with those above it.
func (b *Bucket) folders(ctx context.Context, dir string) error {
	return b.attempt(ctx, func() error { return b.client.MkdirAll(b.path(dir), 0o777&^b.opts.Umask) })
}

// Room implements blob.Roomer: what the datanodes have left, for files of so many copies. Quotas are not looked at.
func (b *Bucket) Room(ctx context.Context, name string) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	var stat lib.FsInfo
	err := b.attempt(ctx, func() (err error) {
		stat, err = b.client.StatFs()
		return err
	})
	if err != nil {
		return 0, b.explain("look at the room for", name, err)
	}
	return int64(min(stat.Remaining, 1<<62)) / int64(max(b.opts.Replication, 1)), nil
}
