// Package coord decides who is which server of a cluster, and what was last committed of a job. It keeps both in a small
// [Store] with compare-and-set: in this process, in a folder, in etcd, in Kubernetes. It has no consensus of its own; the
// store has.
//
//	key                what it holds
//	CLUSTER/server/N   the Holder of the role "server N": who has it, under which epoch, for how long a lease
//	CLUSTER/job/NAME   the Job: its attempt, the epochs of the servers it runs on, the last committed checkpoint
//
// A process that wants a role is a [Claimant], a pure state machine: what happens is an [Event], what is to be done about it
// an [Effect], and testdata/claim tells its stories. [Claim] is the shell around it, with goroutine and time.
//
// # Leases
//
// A holder writes its record again and again, with a higher beat each time. Times of different machines are never
// compared: whoever waits for a role measures with its own clock how long it has seen no change, and takes the role over, with
// the epoch + 1, when that is a whole lease. A holder counts from before it sent what was written last, and counts as held
// for two thirds of a lease only. So there are never two that believe to hold a role at once, as long as no clock runs more than
// 1.5 times as fast as another, and as long as clocks count while a machine sleeps.
//
// The second assumption can fail (a machine that is suspended has a monotonic clock that stands still on Linux), and between a
// look at the clock and what is done then there is always some time. Hence the epoch: it grows by one with each change of the
// holder, travels with what a holder does, and whoever has seen a higher one refuses a lower one. [Begin] and [Commit] do.
//
// # What a role holds
//
// What a server holds can outlive a change of the holder: in a log on its disk, and in copies that other claimants have of it. The record
// says so: the identity of the log, the claims that have a copy ([Held.SetCopies]), and since which epoch nothing was lost. A claimant
// that has either is complete: it takes the role over as said above, and Since stays. Any other is patient, as long as the record has a
// log: it waits three leases for one that is complete, also when the role was given back. If it takes the role over, Since is its own
// epoch: what was held before is lost. Whoever works with epoch e of a role goes on as long as Since <= e <= Epoch.
//
// Epochs grow as long as nobody removes keys from the store by hand.
package coord

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Role names what a process can hold in a cluster.
type Role string

// Server is the role of the n-th parameter server, from 0 on.
func Server(n int) Role { return Role(fmt.Sprintf("server/%d", n)) }

// String is the role as people say it: "server 3".
func (r Role) String() string { return strings.ReplaceAll(string(r), "/", " ") }

// key is where the role's record is.
func (r Role) key(cluster string) string { return cluster + "/" + string(r) }

// jobKey is where the record of a job is. Names of jobs may have any letters.
func jobKey(cluster, job string) string { return cluster + jobPart + url.PathEscape(job) }

const jobPart = "/job/"

// KeyLimit is how long a key is at most, escaped as a part of a URL's path.
const KeyLimit = 200

// CheckKey says what is wrong with a key: it is parts between slashes, of letters that can be printed. Every store takes every such key.
func CheckKey(key string) error {
	if n := len(url.PathEscape(key)); n > KeyLimit {
		return fmt.Errorf("coord: key %.40q… has %d bytes, want at most %d: give shorter names", key, n, KeyLimit)
	}
	if !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("coord: key %q, want letters that can be printed", key)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("coord: key %q has the part %q, want names between slashes", key, part)
		}
	}
	return nil
}

// CheckNames says what is wrong with the name of a cluster, or with those of jobs in it.
func CheckNames(cluster string, jobs ...string) error {
	err := checkCluster(cluster)
	for _, job := range jobs {
		switch {
		case err != nil:
		case job == "":
			err = errors.New("coord: a job without a name")
		default:
			err = CheckKey(jobKey(cluster, job))
		}
	}
	return err
}

// checkCluster says what is wrong with the name of a cluster, which is one part of a key.
func checkCluster(name string) error {
	if strings.Contains(name, "/") {
		return fmt.Errorf("coord: cluster %q, want a name without slashes", name)
	}
	return CheckKey(name)
}

// ErrFenced is that of somebody who was replaced: what it has done does not count any more. It has to stop, or to come back with
// a new epoch or attempt.
var ErrFenced = errors.New("replaced meanwhile")
