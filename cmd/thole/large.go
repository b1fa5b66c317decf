package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/format"
	"thole.example/graph"
	"thole.example/internal/number"
	"thole.example/kernel"
	"thole.example/train"
)

// large is the settings of examples that memory has no room for.
type large struct {
	memory  string // most that the process takes, as the user says it
	scratch string // folder for examples that do not fit; "": that of the system for temporary files
	window  int    // examples that are shuffled at a time; 0: all
	most    int64  // bytes of memory; 0: no bound
}

func (l *large) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.memory, "memory", "", "memory that this process may take, a size like 8GiB, or none: examples that do not fit lie in a "+
		"file (default: three quarters of the machine's memory, "+format.Bytes(defaultMemory())+"; see docs/large.md)")
	f.StringVar(&l.scratch, "scratch", "", "folder on a local disk for the examples that memory has no room for (default: "+os.TempDir()+")")
	f.IntVar(&l.window, "shuffle-window", 0, "examples that are shuffled at a time, of blocks from all over the file (default: all, or of "+
		"examples that do not fit as many as do)")
}

// Of the memory of a process examples have three quarters, but a half of little: the rest is for the model, batches and the reading.
const (
	leastRest = 256 << 20
	restShare = 4
)

// program is what the process takes whatever the examples are, which of little memory is taken to be a quarter: then it takes more.
func (l *large) program() int64 { return min(64<<20, l.most/4) }

// collected is how many times as much memory as its values a slice of the collected heap takes, at most.
const collected = 2

// bounded keeps what the collector leaves within the memory of the process, until ctx ends.
func (l *large) bounded(ctx context.Context) {
	if l.most > 0 {
		go boundHeap(ctx, l.most-l.most/8, outsideHeap)
	}
}

// windowShare is the part of the memory for examples that a window takes: one is trained on and one read, and where the collector has no
// room for garbage it gives memory back and asks for it again at every step, which takes longer than what a larger window is worth.
const windowShare = 5

// leastWindow is how many examples are shuffled at a time, however little memory there is.
const leastWindow = 1000

// check finds out how much memory there is for the process.
func (l *large) check() (err error) {
	if l.most, err = parseSize("memory", l.memory); err != nil {
		return err
	}
	switch {
	case l.most == 0:
		l.most = defaultMemory()
	case l.most < 0:
		l.most = 0
	}
	if l.window < 0 {
		return fmt.Errorf("--shuffle-window %d, want 0 (all examples) or more", l.window)
	}
	if l.scratch != "" {
		return folder("scratch", l.scratch)
	}
	return nil
}

// forExamples is how many bytes of memory the examples may take; 0: any number.
func (l *large) forExamples() int64 {
	if l.most == 0 || !kernel.CanBack && l.memory == "" {
		return 0
	}
	return max(1, l.most-max(l.most/restShare, min(l.most/2, leastRest)))
}

// folder is where examples lie that do not fit.
func (l *large) folder() string {
	if l.scratch == "" {
		return os.TempDir()
	}
	return l.scratch
}

// sayReading says beforehand where the examples of the files will lie, if their text is more than there is room for: they take less than
// that of libsvm, and more than that of gzip.
func (l *large) sayReading(ctx context.Context, e *env, paths []string) {
	files, _ := data.Files(ctx, e.paths, paths) // which the reader tells
	var size int64
	for _, path := range files {
		if n, err := data.Size(ctx, e.paths, path); err == nil {
			size += max(0, n)
		}
	}
	if limit := l.forExamples(); limit > 0 && size > limit {
		fmt.Fprintf(e.err, "%s: %s to read; examples that take more than %s (of --memory %s) lie in a file in %s (--scratch)\n",
			strings.Join(paths, ", "), format.Bytes(size), format.Bytes(limit), format.Bytes(l.most), l.folder())
	}
}

// arrange finds how many examples are shuffled at a time, of those that memory has no room for, where the user leaves that open, and tells
// of it.
func (p *plan) arrange(w io.Writer, m *graph.Model) error {
	share := p.train.Bytes()
	if p.mine != nil {
		share = share / int64(p.tasks) * int64(len(p.mine))
	}
	limit := p.forExamples()
	if limit == 0 || share <= limit {
		return nil
	}
	tables, batch, outputs := p.takes(m)
	rows := int64(max(1, p.train.Len()))
	marks := collected * rows * p.train.MarkBytes()
	rest := p.most - p.program() - int64(min(tables+batch+outputs, float64(p.most))) - marks
	each := p.train.Bytes()/rows + 16 // and two numbers in the order
	if p.memory != "" && rest < each*leastWindow {
		return usageError{fmt.Errorf("--memory %s, want more: weights and batches take %s, the labels of %s %s, the program %s",
			format.Bytes(p.most), sizeText(tables+batch+outputs), number.Of(rows, "example"), format.Bytes(marks), format.Bytes(p.program()))}
	}
	if !p.given("shuffle-window") {
		n := max(leastWindow, int64(p.batch), min(rest, limit)/windowShare/each)
		p.window = int(min(rows, n))
	}
	fmt.Fprintf(w, "examples: %s take %s, in a file in %s; %s (%s) are shuffled at a time (--shuffle-window)\n", number.Of(rows, "example"),
		format.Bytes(p.train.Bytes()), p.folder(), number.Of(p.shuffled(), "example"), format.Bytes(each*p.shuffled()))
	return nil
}

// shuffled is how many examples are shuffled at a time.
func (p *plan) shuffled() int64 {
	if p.window == 0 {
		return int64(p.rows)
	}
	return int64(min(p.window, p.rows))
}

// part takes the examples of this process's tasks, if it has not all of the job, and lets go of the others.
func (p *plan) part() error {
	if p.parted { // by an attempt before
		return nil
	}
	p.parted = true
	p.mineOf = train.Options{Data: p.train.Set, Valid: p.validation()}
	if p.mine == nil {
		return nil
	}
	model, err := p.build(p.conf)
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // what the reading left may be more than a part of the examples
	p.mineOf.Model, p.mineOf.Tasks, p.mineOf.Offset, p.mineOf.Measured = model, p.tasks, p.offset(), true
	p.mineOf, err = p.mineOf.Keep(p.mine, p.forExamples())
	if errors.Is(err, errors.ErrUnsupported) {
		return usageError{err}
	}
	own := *p.train
	own.Set = p.mineOf.Data
	p.train = &own
	debug.FreeOSMemory() // the marks of the others
	return err
}
