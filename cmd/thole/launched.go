package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"thole.example/blob"
)

// launched is what thole launch tells a worker of this machine, beside what users say.
type launched struct {
	store       string   // the servers' folder, which this process has, too: paths are then those of this machine; "": it has not
	best        string   // where the servers keep the best epoch while the job lasts
	appendLog   bool     // --log goes on with the lines that a process before this one wrote
	asked       []string // the command line of the launch, as the run is recorded with it
	started     int      // how often all processes of the job have been started again
	startsKnown bool     // somebody counts that
	tied        bool
	back        bool   // servers that die come back as they were: they are waited for also at first
	lastWords   string // file for a line that says how the training went, which whoever wants it has made; "": nobody wants it
}

// backFlag says that servers come back.
const backFlag = "servers-back"

// flags are hidden: what one process tells another.
func (l *launched) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.store, "store", "", "folder of the servers, if this machine has it: paths are then as with thole train")
	f.StringVar(&l.best, "best", "", "with --store: where the servers keep the best epoch while the job lasts")
	f.BoolVar(&l.appendLog, "append-log", false, "append to --log")
	f.StringArrayVar(&l.asked, "asked", nil, "words of the command line of the launch")
	f.BoolVar(&l.back, backFlag, false, "wait for servers that are being started again, as long as --retry")
	f.StringVar(&l.lastWords, "last-words", "", "file, if it is there, for a line that says how the training went")
	f.BoolVar(&l.tied, tiedFlag, false, "end when the standard input ends")
	for _, name := range []string{"store", "best", "append-log", "asked", backFlag, "last-words", tiedFlag} {
		_ = f.MarkHidden(name) // it is there
	}
}

// saysLast writes a line into the file of --last-words, which an engine shows. A training has succeeded whether or not that can be written.
func (l *launched) saysLast(line string) {
	if l.lastWords == "" {
		return
	}
	f, err := os.OpenFile(l.lastWords, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

// far reports whether models to go on from lie in a folder of servers that this process does not see.
func (j *job) far() bool { return j.atServers && j.store == "" && !blob.IsURL(j.load) }

// there is a path as the servers have it, which was checked before.
func (j *job) there(path string) string {
	if path == "" || j.store == "" || blob.IsURL(path) {
		return inBucket(path)
	}
	name, err := nameBelow(j.store, path)
	if err != nil {
		return inBucket(path)
	}
	return name
}

// checkThere refuses a path that the servers do not have.
func (j *job) checkThere(path string) error {
	if path == "" || blob.IsURL(path) { // which the servers know whether they may
		return nil
	}
	if j.store == "" {
		if !filepath.IsLocal(path) {
			return usageError{fmt.Errorf("%s: want a path below the servers' --store", path)}
		}
		return nil
	}
	_, err := nameBelow(j.store, path)
	return err
}

// nameBelow is the name of a path of this machine in the bucket of a folder.
func nameBelow(folder, path string) (string, error) {
	file, err := followed(path) // a model takes the place of what links lead to
	if err != nil {
		return "", err
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(folder, file)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", usageError{fmt.Errorf("%s: want a path below %s", path, folder)}
	}
	return filepath.ToSlash(rel), nil
}
