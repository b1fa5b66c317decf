package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	lib "github.com/colinmarc/hdfs/v2"

	"thole.example/blob"
)

// What is the matter with a cluster. Those that pass are met only after Options.Patience.
var (
	// ErrAway says that no namenode answers.
	ErrAway = blob.Unavailable("no namenode answers: see whether it runs (hdfs dfsadmin -report), and host and port (fs.defaultFS)")
	// ErrStandby says that the namenode is not the active one.
	ErrStandby = blob.Unavailable("the namenode stands by: name the active one, or all (hdfs://HOST:PORT,HOST:PORT/ or hdfs://NAMESERVICE/)")
	// ErrSafeMode says that nothing can be changed for now.
	ErrSafeMode = blob.Unavailable("the namenode is in safe mode: wait for its datanodes, or ask who set it (hdfs dfsadmin -safemode get)")
	// ErrQuota says that the folder may not have more files, or bytes with all copies.
	ErrQuota = errors.New("the quota of a folder is used up: remove something, or have it raised (hdfs dfs -count -q shows it)")
	// ErrDatanodes says that blocks cannot be read or written.
	ErrDatanodes = blob.Unavailable("datanodes do not take or have the blocks: " +
		"see which live (hdfs dfsadmin -report) and are reached from here")
)

// remote is what is made of an exception of the cluster.
type remote struct {
	is     error
	passes bool // it is worth trying again
}

// remotes are exceptions by the last part of their class's name. The library makes os errors of the most usual ones.
var remotes = map[string]remote{
	"SafeModeException":             {ErrSafeMode, true},
	"StandbyException":              {ErrStandby, true},
	"RetriableException":            {ErrAway, true},
	"ServerTooBusyException":        {ErrAway, true},
	"NotReplicatedYetException":     {ErrDatanodes, true},
	"NSQuotaExceededException":      {ErrQuota, false},
	"DSQuotaExceededException":      {ErrQuota, false},
	"QuotaByStorageTypeExceeded":    {ErrQuota, false},
	"ParentNotDirectoryException":   {errBelow, false},
	"InvalidPathException":          {fs.ErrInvalid, false},
	"PathComponentTooLongException": {fs.ErrInvalid, false},
	"AlreadyBeingCreatedException":  {errHeld, false},
	"RecoveryInProgressException":   {errHeld, false},
	"FileNotFoundException":         {fs.ErrNotExist, false},
	"LeaseExpiredException":         {fs.ErrNotExist, false}, // of a file that was removed while it was written
	"AccessControlException":        {fs.ErrPermission, false},
	"AuthorizationException":        {fs.ErrPermission, false},
	"AuthenticationException":       {fs.ErrPermission, false},
}

var (
	// errBelow says that a part of a path above its last is a file.
	errBelow = errors.New("a name above is an object, want a tree")
	// errHeld says that somebody else has the lease of a file.
	errHeld = errors.New("another client has it open")
)

// class is the name of the exception that an error is, without its package; "" if it is none.
func class(err error) string {
	var r lib.Error
	if !errors.As(err, &r) {
		return ""
	}
	name := r.Exception()
	return name[strings.LastIndexAny(name, ".$")+1:]
}

// short is an error in a line.
func short(err error) string {
	if name := class(err); name != "" {
		return name
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// missing reports whether there is nothing of a name, be it because an object stands where a tree would have to be.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || class(err) == "ParentNotDirectoryException" || class(err) == "FileNotFoundException"
}

// held reports whether an error says that another client has the lease.
func held(err error) bool { return err != nil && remotes[class(err)].is == errHeld }

// final are the errors that the library makes of exceptions.
var final = []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, fs.ErrInvalid, fs.ErrClosed, syscall.ENOTEMPTY, context.Canceled,
	context.DeadlineExceeded, errors.ErrUnsupported, blob.ErrChanged}

// passes reports whether what failed may go well later.
func passes(err error) bool {
	for _, e := range final {
		if errors.Is(err, e) {
			return false
		}
	}
	var r lib.Error
	if errors.As(err, &r) {
		return remotes[class(err)].passes || noRoom(r)
	}
	// The rest is of connections. What Kerberos refuses, it refuses again.
	return !strings.Contains(err.Error(), "SASL") && !strings.Contains(err.Error(), "kerberos")
}

// noRoom reports whether there is no datanode for a block.
func noRoom(r lib.Error) bool { return strings.Contains(r.Message(), "could only be written to") }

// explain says what was done to which name, and what can be done about an error.
func (b *Bucket) explain(op, name string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, blob.ErrChanged) {
		return fmt.Errorf("blob: %s %s: %w", op, b.url(name), err)
	}
	return fmt.Errorf("blob: %w", &fs.PathError{Op: op, Path: b.url(name), Err: b.reason(op, err)})
}

// opConnect is what New does.
const opConnect = "connect"

// reason is an error in words of ours.
func (b *Bucket) reason(op string, err error) error {
	var r lib.Error
	if errors.As(err, &r) {
		text, _, _ := strings.Cut(r.Message(), "\n") // a stack of Java follows
		if is := remotes[class(err)].is; is != nil {
			return fmt.Errorf("%w (%s)", is, text)
		}
		if noRoom(r) {
			return fmt.Errorf("%w (%s)", ErrDatanodes, text)
		}
		return fmt.Errorf("%s: %s", class(err), text)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w for the user %s (hdfs://USER@… or HADOOP_USER_NAME says another; hdfs dfs -ls shows whose it is)",
			fs.ErrPermission, b.user())
	}
	var at *fs.PathError
	for errors.As(err, &at) { // paths of the library are those of temporary files
		err = at.Err
	}
	switch {
	case !passes(err) && !strings.Contains(err.Error(), "SASL"):
		return err
	case strings.Contains(err.Error(), "SASL") || strings.Contains(err.Error(), "kerberos"):
		return fmt.Errorf("%w: Kerberos refuses: %w; see keytab, principal and time (klist)", fs.ErrPermission, err)
	case op == opConnect && strings.Contains(err.Error(), "unexpected sequence number"): // all that is left of a refusal
		return fmt.Errorf("%w, or no namenode: does the cluster want Kerberos? kinit, and HADOOP_CONF_DIR with its configuration (%w)",
			fs.ErrPermission, err)
	case strings.Contains(err.Error(), "StandbyException"): // of the last of several
		return fmt.Errorf("%w (%w)", ErrStandby, err)
	}
	return fmt.Errorf("%w (%w)", b.silent(err), err)
}

// silent says who does not answer. Errors of connections do not tell, but the namenode does when it is asked.
func (b *Bucket) silent(err error) error {
	if b.client == nil || strings.Contains(err.Error(), "no available namenodes") {
		return ErrAway
	}
	if _, err := b.client.Stat("/"); err != nil && passes(err) {
		return ErrAway
	}
	return ErrDatanodes
}

func (b *Bucket) user() string {
	if b.client == nil {
		return b.opts.User
	}
	return b.client.User()
}
