package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/journal"
	"thole.example/ssp"
	"thole.example/state"
)

// A log would grow until its job ends. So now and then it gets a base: the state of the job on this server at one position, in a file
// beside the segments, from which a replay begins. The partitions are marked in the job's mailbox, where the position is the log's end;
// the rest is written in the background, as checkpoints are. When the file is durable, and the log is up to the position, it gets
// its name; then segments before the position go, and the base before this one. A crash in between leaves a base too many, or none yet.
//
// Checkpoints of the job are no bases, though they have nearly the same in them: a log has to be good without any, whatever becomes of
// the bucket in which they lie, how far that is, and whether what it says is written is on a disk.

// basePrefix begins the name of a base; the position follows, in as many digits as in those of segments.
const basePrefix = "base."

// freshBase is the name of a base that is being written.
const freshBase = "new-base"

func baseName(position uint64) string { return fmt.Sprintf("%s%020d", basePrefix, position) }

// basesOf are the positions of the bases among names, the latest first.
func basesOf(names []string) (all []uint64) {
	for _, name := range names {
		number, ok := strings.CutPrefix(name, basePrefix)
		position, err := strconv.ParseUint(number, 10, 64)
		if ok && err == nil && baseName(position) == name {
			all = append(all, position)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// base is the state of a job at a position of its log, on its way to disk.
type base struct {
	j        *job
	position uint64
	head     baseHead
	core     ssp.State[*delta]
	stores   []*store
	clocks   []int
	shots    [][]*snapshot
}

// baseHead is what a base has that a checkpoint has not, or not there.
type baseHead struct {
	Job      string `json:"job"`
	Owner    string `json:"owner,omitempty"` // of the job
	Position uint64 `json:"position"`
	Launch   int    `json:"launch,omitempty"` // rpc.Join.Launch of its tasks
	placement
	Made      time.Time      `json:"made,omitzero"`
	Matrices  []baseMatrix   `json:"matrices"`            // by number, from 1 on
	Functions []string       `json:"functions,omitempty"` // whose modules follow, each in a note
	Restored  []restoredBy   `json:"restored,omitempty"`
	Targets   []loggedTarget `json:"claims,omitempty"` // paths to save to
}

// baseMatrix is a matrix of a base.
type baseMatrix struct {
	Spec      json.RawMessage `json:"spec"` // as it was created
	NonFinite int64           `json:"nonfinite,omitempty"`
}

// grown is called when much has come to the log since its base.
func (j *job) grown() {
	j.submit(deed(func() {
		j.moments = append(j.moments, j.takeBase)
		j.atMoment()
	}))
}

// takeBase begins a base, in the job's mailbox: what is appended later is not in it.
func (j *job) takeBase() {
	if j.ended || j.core.Failed() != nil || j.core.Tasks() == 0 { // the log ends soon
		j.log.basing.Store(false)
		return
	}
	b := &base{j: j, position: j.log.end(), stores: (*j.stores.Load())[1:]}
	b.shots, b.core = j.snapshots(b.stores, nil), j.core.State()
	b.head = baseHead{Job: j.name, Owner: j.full.Owner, Position: b.position, Launch: j.launch, placement: j.placement, Made: time.Now().UTC(),
		Restored: j.restores.last(j.core.LastChange), Targets: j.server.targetsOf(j)}
	for i, st := range b.stores {
		m := &b.core.Matrices[i+1]
		all := len(m.Staged)
		m.Staged = slices.DeleteFunc(m.Staged, func(e ssp.Staged[*delta]) bool { return !e.Tick && e.Delta.leftOut() })
		b.clocks = append(b.clocks, j.core.Slowest(int(st.number)))
		b.head.Matrices = append(b.head.Matrices, baseMatrix{st.spec, st.nonFinite + int64(all-len(m.Staged))})
	}
	eachDelta(&b.core, (*delta).use)
	j.log.baseBegins(b.size())
	j.loads.Add(1)
	j.later.then = append(j.later.then, func() { go b.keep() })
}

// keep writes the base, and removes what it makes needless.
func (b *base) keep() {
	j := b.j
	defer j.loads.Done()
	defer j.log.baseEnds()
	defer eachDelta(&b.core, (*delta).end)
	defer closeAll(b.shots)
	size, err := int64(0), error(nil)
	if panicked := j.server.try(func() { size, err = b.write(j.ctx) }); panicked != nil {
		err = panicked
	}
	if err == nil {
		err = j.log.setBase(b.position, size, b.head.Made)
	}
	switch {
	case err == nil:
		j.server.logger().Info("a log has a new base", "job", j.full.String(), "log", j.log.name, "position", b.position, "bytes", size)
	case j.ctx.Err() == nil:
		j.server.logger().Warn("a log could not get a base, and goes on without", "job", j.full.String(), "log", j.log.name, "err", err)
	}
}

// size is about how many bytes the base will have.
func (b *base) size() (n int64) {
	for _, st := range b.stores {
		for _, p := range st.owned {
			n += p.counted.Load() + p.away.Load()
		}
	}
	return n
}

// write writes the base into a file that gets its name when all of it is durable.
func (b *base) write(ctx context.Context) (size int64, err error) {
	files := b.j.log.files
	f, err := files.Create(freshBase)
	if err != nil {
		return 0, err
	}
	err = f.Truncate(0) // of one that was not finished
	out := &fileWriter{f: f}
	if err == nil {
		err = b.stream(ctx, state.NewWriter(out))
	}
	if err == nil {
		err = out.flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = files.Remove(freshBase) // the next one writes it anew
		return 0, err
	}
	if err := b.j.log.log.Harden(ctx, b.position); err != nil { // else the log could end before its base
		return 0, err
	}
	return out.off, errors.Join(files.Rename(freshBase, baseName(b.position)), files.Sync())
}

// stream writes what the base has.
func (b *base) stream(ctx context.Context, w *state.Writer) error {
	modules := b.j.functions.texts()
	for _, m := range modules {
		b.head.Functions = append(b.head.Functions, m.name)
	}
	head, err := json.Marshal(&b.head)
	if err != nil {
		return err
	}
	if err := w.Note(head); err != nil {
		return err
	}
	for _, m := range modules {
		if err := w.Note(m.text); err != nil {
			return err
		}
	}
	if err := state.Job(w, &b.core, lend); err != nil {
		return err
	}
	pace, lent := newPace(b.j.slowest.Load()), &rooms{}
	pace.haste = b.j.log.baseGoesOn
	for i := range b.stores {
		for _, shot := range b.shots[i] {
			shot.pace, shot.lent = pace, lent
			if _, err := shot.record(ctx, w, b.clocks[i]); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// eachDelta calls a function with each delta that is staged.
func eachDelta(s *ssp.State[*delta], f func(d *delta)) {
	for i := range s.Matrices {
		for _, e := range s.Matrices[i].Staged {
			if !e.Tick {
				f(e.Delta)
			}
		}
	}
}

// fileWriter writes a file from its begin on, much at once, and has it synced on the way: what the system collects would come to the disk
// all at once in the end, and keep the log waiting.
type fileWriter struct {
	f      journal.File
	buf    []byte
	off    int64 // bytes written
	synced int64
}

const (
	fileWrites = 1 << 20
	fileSyncs  = 32 << 20
)

// Write implements io.Writer.
func (w *fileWriter) Write(b []byte) (int, error) {
	n := len(b)
	if len(w.buf)+n < fileWrites {
		w.buf = append(w.buf, b...)
		return n, nil
	}
	err := w.flush()
	if err == nil {
		w.buf = append(w.buf, b...)
		err = w.flush()
	}
	return n, err
}

func (w *fileWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	n, err := w.f.WriteVec([][]byte{w.buf}, w.off)
	if w.off += n; err == nil && w.off-w.synced >= fileSyncs {
		w.synced = w.off
		err = w.f.Sync()
	}
	w.buf = w.buf[:0]
	return err
}
