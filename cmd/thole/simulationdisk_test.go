package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"thole.example/blob"
	"thole.example/state"
)

// simStore is what all servers of a simulation keep their checkpoints in; what they do there takes time, and may fail.
type simStore struct {
	blob.Mem
	mu    sync.Mutex
	rnd   *rand.Rand
	fails time.Time                // until then, by chance
	next  map[string]chan struct{} // closed by the next operation of a kind
	tears int                      // objects that were left half written
}

// simDisk is the store as a server process has it.
type simDisk struct {
	*simStore
	name string
	dead bool // nothing of the process comes there any more; under mu
}

const simWriting = 20 * time.Millisecond // the time of an operation, at most

var errSimDisk = errors.New("the disk said no")

// soon is closed when an operation of the kind begins; with "moved" when a checkpoint is there of a job that has moved.
func (s *simStore) soon(kind string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next[kind] == nil {
		s.next[kind] = make(chan struct{})
	}
	return s.next[kind]
}

// tell closes what soon gave; the caller has mu.
func (s *simStore) tell(kind string) {
	if c := s.next[kind]; c != nil {
		close(c)
		delete(s.next, kind)
	}
}

// op takes the time of an operation; the error is why it is not made. Only the writing of checkpoints fails, as a training goes on
// without them: what else cannot be read or written ends it, with its reason.
func (d *simDisk) op(kind, name string) error {
	d.mu.Lock()
	d.tell(kind)
	takes := time.Duration(d.rnd.Int64N(int64(simWriting)))
	fails := time.Now().Before(d.fails) && d.rnd.IntN(4) == 0 && kind != "look" && kind != "restore" && strings.HasPrefix(name, "ck/") &&
		!strings.Contains(name, state.BestName(0)[:5])
	d.mu.Unlock()
	time.Sleep(takes)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errSimKilled
	}
	if fails {
		return errSimDisk
	}
	return nil
}

// over is the error of an operation that was made: of a process that was killed meanwhile.
func (d *simDisk) over(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errSimKilled
	}
	return err
}

func (d *simDisk) Open(ctx context.Context, name string) (blob.Object, error) {
	kind := "look"
	if strings.Contains(name, "/server.") {
		kind = "restore"
	}
	if err := d.op(kind, name); err != nil {
		return nil, err
	}
	o, err := d.Mem.Open(ctx, name)
	return o, d.over(err)
}

func (d *simDisk) List(ctx context.Context, tree string) ([]blob.Info, error) {
	if err := d.op("look", tree); err != nil {
		return nil, err
	}
	return d.Mem.List(ctx, tree)
}

func (d *simDisk) State(ctx context.Context, name string) (blob.State, error) {
	if err := d.op("look", name); err != nil {
		return blob.Nothing, err
	}
	return d.Mem.State(ctx, name)
}

func (d *simDisk) Remove(ctx context.Context, name string) error {
	if err := d.op("remove", name); err != nil {
		return err
	}
	return d.over(d.Mem.Remove(ctx, name))
}

func (d *simDisk) Publish(ctx context.Context, from, to string, over blob.State) error {
	kind := "publish"
	if to == "model" {
		kind = "save"
	}
	if err := d.op(kind, to); err != nil {
		return err
	}
	err := d.over(d.Mem.Publish(ctx, from, to, over))
	if e, _ := state.At(ctx, &d.Mem, to); err == nil && e.Err == nil && e.Head.Moment.Servers != nil {
		d.mu.Lock()
		d.tell("moved")
		d.mu.Unlock()
	}
	return err
}

func (d *simDisk) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := d.op("create", name); err != nil {
		return nil, err
	}
	w, err := d.Mem.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &simWriter{Writer: w, disk: d, name: name}, nil
}

// simWriter is an object that is being written.
type simWriter struct {
	blob.Writer
	disk *simDisk
	name string
	head []byte // half of what was written
	torn bool
}

func (w *simWriter) Write(p []byte) (int, error) {
	if err := w.op(); err != nil {
		return 0, err
	}
	w.head = append(w.head, p[:len(p)/2]...)
	return w.Writer.Write(p)
}

func (w *simWriter) Commit() error {
	if err := w.op(); err != nil {
		return err
	}
	return w.disk.over(w.Writer.Commit())
}

// op takes the time of an operation. A process that was killed may leave half of what is not published yet.
func (w *simWriter) op() error {
	err := w.disk.op("write", w.name)
	if !errors.Is(err, errSimKilled) || w.torn || !strings.Contains(w.name, "_tmp.") {
		return err
	}
	w.torn = true
	w.disk.mu.Lock()
	leaves := w.disk.rnd.IntN(2) == 0
	if leaves {
		w.disk.tears++
	}
	w.disk.mu.Unlock()
	if leaves {
		_ = blob.WriteAll(context.Background(), &w.disk.Mem, w.name, w.head)
	}
	return err
}

// look looks at the folder of checkpoints again and again, until the job has ended.
func (s *sim) look() {
	for {
		select {
		case <-s.over:
			return
		case <-time.After(700 * time.Millisecond):
			s.checkFolder(false)
		}
	}
}

// checkFolder wants each checkpoint that is listed to be whole and, in the end, no more of them than there may be.
func (s *sim) checkFolder(end bool) {
	ctx, bucket := s.t.Context(), &s.store.Mem
	there, _ := bucket.State(ctx, "ck")
	if there == s.seen[""] && !end {
		return
	}
	s.seen[""] = there
	all, err := state.List(ctx, bucket, "ck")
	if err != nil {
		s.t.Error(err)
	}
	n := 0
	for _, e := range all {
		before, _ := bucket.State(ctx, e.Path)
		err := e.Err
		if err == nil && (before != s.seen[e.Path] || end) {
			s.seen[e.Path] = before
			err = verifyChain(ctx, bucket, e.Path)
		}
		if now, _ := bucket.State(ctx, e.Path); err != nil && now == before && now != blob.Nothing {
			s.t.Errorf("%s is listed, and %v", e.Path, err)
		}
		if e.Stepped() {
			n++
		}
	}
	if most := s.drawn.keep + state.ChainLimit; end && n > most {
		s.t.Errorf("%d checkpoints stay, want at most %d", n, most)
	}
	if end {
		s.count.stayed = n
	}
}

func verifyChain(ctx context.Context, b blob.Bucket, at string) error {
	chain, err := state.OpenChain(ctx, b, at)
	for _, in := range chain {
		err = errors.Join(err, in.Verify(ctx, nil))
		in.Close()
	}
	return err
}
