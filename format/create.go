package format

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/matrix"
)

// Create begins writing the matrices to the path in the format of the codec. It is the way to save: whatever the codec writes goes
// into a stage first; Commit reads it again, compares what it says of the matrices with what was to be written, and makes it
// visible only if everything that differs passed the gate of losses, and only if there is at the path what Options.Over
// says. So a result that cannot be read, a loss that nobody heard of and a foreign file that is replaced are impossible,
// whatever the codec.
func Create(ctx context.Context, c Codec, b blob.Bucket, to string, ms []matrix.Meta, o Options) (Writer, error) {
	w := &save{codec: c, bucket: b, to: strings.TrimSuffix(to, "/"), ms: ms, files: o.Files, over: map[string]blob.State{}}
	if err := w.begin(ctx, strings.HasSuffix(to, "/"), o); err != nil {
		w.Abort(context.WithoutCancel(ctx))
		return nil, w.final(err)
	}
	return w, nil
}

// save is a Writer of a codec that writes into a stage.
type save struct {
	Writer // nil until the codec has accepted the matrices
	codec  Codec
	bucket blob.Bucket
	to     string
	ms     []matrix.Meta
	files  map[string][]byte
	gate   *gate
	opts   Options
	stage  *Stage
	let    func()                // lets the stage go
	over   map[string]blob.State // what may be replaced: at the path, and beside it
	relay  *relay                // holds the blocks until the commit, if they may overlap; nil: the Writer gets them
}

func (w *save) begin(ctx context.Context, folder bool, o Options) (err error) {
	info := w.codec.Info()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := o.CheckSet(info); err != nil {
		return err
	}
	o.gate = newGate()
	if err := o.loseLong(); err != nil {
		return err
	}
	w.gate, w.opts, w.files = o.gate, o, o.Files
	if w.gate.room, err = room(ctx, w.bucket, w.to); err != nil {
		return err
	}
	if err := o.needFiles(); err != nil {
		return err
	}
	if err := loseOrigins(w.ms, info, &o); err != nil {
		return err
	}
	over, err := w.settle(ctx, o.Over)
	if err != nil {
		return err
	}
	if err := w.look(ctx, over); err != nil {
		return err
	}
	if (info.Single && len(w.ms) == 1 || info.Needs != "") && !folder { // it will be a file
		if err := w.alone(); err != nil {
			return err
		}
	}
	w.stage = NewStage(w.bucket, w.to, o.Stage)
	if err := w.hold(ctx); err != nil {
		return err
	}
	in, slash := w.inside(), ""
	if folder {
		slash = "/"
	}
	inner, err := w.codec.Create(ctx, w.bucket, in+slash, w.ms, o)
	if err != nil {
		return err
	}
	w.Writer = inner // not beside an error: it may be a nil pointer that is not a nil Writer
	if o.Relay != nil && info.Overlaps == nil {
		w.relay, err = newRelay(ctx, &o, w.bucket, in+relayEnding, w.ms)
	}
	return err
}

// inside is the path within the stage.
func (w *save) inside() string { return w.stage.Name(blob.Base(w.to)) }

// settle ends a replacement of the same path by a process that was killed. What the caller saw before may be replaced afterwards.
func (w *save) settle(ctx context.Context, over blob.State) (blob.State, error) {
	was, err := blob.Interrupted(ctx, w.bucket, w.to)
	if err != nil || !was {
		return over, err
	}
	before, err := w.bucket.State(ctx, w.to)
	if err != nil {
		return over, err
	}
	if _, err := blob.Settle(ctx, w.bucket, w.to); err != nil {
		return over, err
	}
	w.opts.Tell("ended an interrupted replacement of %s", w.to)
	if before != over {
		return over, nil
	}
	return w.bucket.State(ctx, w.to)
}

// look remembers what lies at the path and beside it, and goes when that is replaced.
func (w *save) look(ctx context.Context, over blob.State) error {
	w.over[w.to] = over
	for _, name := range companionEndings() {
		now, err := w.bucket.State(ctx, w.to+name)
		if errors.Is(err, blob.ErrName) {
			continue
		}
		if err != nil {
			return err
		}
		w.over[w.to+name] = now
	}
	return nil
}

// companionEndings are what the names of companions have behind the name of their file.
func companionEndings() []string {
	all := []string{SidecarExt}
	for _, name := range companions {
		all = append(all, "."+name)
	}
	return all
}

// hold removes what processes left here that were killed, and keeps others from taking this stage for such.
func (w *save) hold(ctx context.Context) error {
	s, can := w.bucket.(blob.Sweeper)
	if !can {
		return nil
	}
	swept, err := blob.Swept(ctx, w.bucket, w.to)
	if err != nil {
		return err
	}
	for _, name := range swept {
		w.opts.Tell("removed %s, which an interrupted save had left", name)
	}
	w.let, err = s.Hold(ctx, w.stage.Tree)
	return err
}

// Put implements Writer.
func (w *save) Put(ctx context.Context, name string, b matrix.Block) (Part, error) {
	if err := ctx.Err(); err != nil {
		return nil, w.final(err)
	}
	if w.relay == nil {
		p, err := w.put(ctx, name, b)
		return p, w.final(err)
	}
	p, err := w.relay.put(ctx, name, b, w.put)
	return p, w.final(err)
}

// put hands a block to the codec.
func (w *save) put(ctx context.Context, name string, b matrix.Block) (Part, error) {
	if err := w.opts.fillBlock(name, b); err != nil {
		return nil, err
	}
	return w.Writer.Put(ctx, name, b)
}

// Commit implements Writer.
func (w *save) Commit(ctx context.Context, parts []Part) error {
	if w.relay != nil {
		var err error
		if parts, err = w.relay.hand(ctx, parts, w.put); err != nil {
			return w.final(err)
		}
	}
	if err := w.Writer.Commit(ctx, parts); err != nil {
		return w.final(err)
	}
	for _, name := range slices.Sorted(maps.Keys(w.gate.beside)) {
		if err := blob.WriteAll(ctx, w.bucket, w.inside()+"."+name, w.gate.beside[name]); err != nil {
			return w.final(err)
		}
	}
	if err := w.readBack(ctx); err != nil {
		return w.final(err)
	}
	return w.final(w.replace(ctx))
}

// StateExt ends the name of the state of training of a model, which has the name of the model before that.
const StateExt = ".state"

// replace publishes the model, and removes the state of the one that it replaces.
func (w *save) replace(ctx context.Context) error {
	if err := w.publish(ctx); err != nil || w.opts.State || w.over[w.to] == blob.Nothing {
		return err
	}
	of := w.to + StateExt
	infos, err := w.bucket.List(ctx, of)
	if err == nil && len(infos) > 0 && infos[0].Name != of { // states are folders
		err = w.bucket.Remove(ctx, of)
	}
	if err != nil && !errors.Is(err, blob.ErrName) {
		return fmt.Errorf("the model was replaced, but %s is still the state of the old one: %w", of, err)
	}
	return nil
}

// Abort implements Writer.
func (w *save) Abort(ctx context.Context) {
	if w.relay != nil && w.relay.to != nil {
		w.relay.to.Abort(ctx)
	}
	if w.Writer != nil {
		w.Writer.Abort(ctx)
	}
	if w.stage != nil {
		w.stage.Abort(ctx)
	}
	if w.let != nil {
		w.let()
		w.let = nil
	}
}

// publish makes what the stage holds visible.
func (w *save) publish(ctx context.Context) error {
	infos, err := w.bucket.List(ctx, w.stage.Tree)
	if err != nil {
		return err
	}
	main, beside := w.inside(), map[string]bool{}
	isFile := slices.ContainsFunc(infos, func(i blob.Info) bool { return i.Name == main })
	if isFile {
		if err := w.alone(); err != nil {
			return err
		}
	}
	for _, i := range infos {
		name, _, _ := strings.Cut(strings.TrimPrefix(i.Name, w.stage.Tree+"/"), "/")
		if name = w.stage.Name(name); name != main {
			beside[strings.TrimPrefix(name, main)] = true
		}
	}
	var gone []string // of the model that is replaced
	for name, was := range w.over {
		if ending := strings.TrimPrefix(name, w.to); ending != "" && was != blob.Nothing && !beside[ending] {
			gone = append(gone, blob.Base(name))
		}
	}
	slices.Sort(gone)
	if !isFile { // a folder, which readers look for nothing next to
		if err := w.bucket.Publish(ctx, main, w.to, w.over[w.to]); err != nil {
			return err
		}
		for _, name := range gone {
			if err := w.bucket.Remove(ctx, blob.Join(blob.Parent(w.to), name)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(beside)+len(gone) == 0 {
		return w.bucket.Publish(ctx, main, w.to, w.over[w.to])
	}
	var files []string
	for _, ending := range slices.Sorted(maps.Keys(beside)) {
		files = append(files, blob.Base(w.to)+ending)
	}
	kept, err := blob.PublishSet(ctx, w.bucket, w.stage.Tree, w.to, files, gone, w.over[w.to])
	if kept { // the next save, or clean, needs the stage
		w.stage.done = true
		err = fmt.Errorf("%w; the model is in %s and next to it, and readers find it: thole clean ends the replacement", err, w.stage.Tree)
	}
	return err
}

// alone refuses to make a file beside which something lies that would be taken for its own.
func (w *save) alone() error {
	if w.over[w.to] != blob.Nothing {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.over)) {
		if w.over[name] != blob.Nothing {
			return fmt.Errorf("%s is there, and would be taken for that of %s: %w; remove it, or choose another path", name, w.to, fs.ErrExist)
		}
	}
	return nil
}

// final makes an error speak of the path where it names the stage.
func (w *save) final(err error) error {
	if err == nil || w.stage == nil {
		return Wrap(w.codec.Info().Name, w.to, err)
	}
	base := regexp.QuoteMeta(blob.Base(w.to))
	inside := `(?:/` + base + `(?:/_tmp\.[^ :]*)?|/[^ :]*)?` // what is written, or a piece of it, which has no name for the user
	return restage(Wrap(w.codec.Info().Name, w.inside(), err), blob.Base(w.to), inside)
}

// readBack opens what was written as any reader finds it, and refuses to go on if it says something else than what was to be
// written and the difference did not pass the gate.
func (w *save) readBack(ctx context.Context) error {
	info := w.codec.Info()
	dialect, err := Sniff(ctx, w.codec, w.bucket, w.inside())
	if err != nil {
		return fmt.Errorf("what was written cannot be looked at; nothing was replaced: %w", err)
	}
	if dialect == "" {
		return fmt.Errorf("what was written is not known as %s; nothing was replaced: %w", info.Name, ErrUnknown)
	}
	r, err := Open(ctx, w.codec, w.bucket, w.inside(), Options{})
	if err != nil {
		return fmt.Errorf("what was written cannot be read; nothing was replaced: %w", err)
	}
	defer r.Close()
	got := r.Matrices()
	if len(got) != len(w.ms) && !w.gate.passed(Matrices, "") {
		return fmt.Errorf("%d matrices were written and %d are read; nothing was replaced: %w", len(w.ms), len(got), ErrCorrupt)
	}
	w.loseOrder(got)
	for i := range w.ms {
		m := &w.ms[i]
		if w.gate.passed(Matrices, "") && !slices.ContainsFunc(got, func(g matrix.Meta) bool { return g.Name == m.Name }) {
			continue
		}
		g, err := w.match(got, i)
		if err != nil {
			return err
		}
		for _, d := range Differences(m, g) {
			if !w.gate.passed(d.Of, m.Name) {
				return fmt.Errorf("matrix %q: %v would differ unsaid; nothing was replaced: %w", m.Name, d, ErrLossy)
			}
		}
	}
	for name, data := range w.files {
		if string(r.Files()[name]) != string(data) && !w.gate.passed(Files, "") {
			return fmt.Errorf("file %s would be lost unsaid; nothing was replaced: %w", name, ErrLossy)
		}
	}
	return nil
}

// match finds the i-th matrix among those that are read: by its name, or at its place if names passed the gate. A file of one
// matrix has that of the file, which the user chose.
func (w *save) match(got []matrix.Meta, i int) (*matrix.Meta, error) {
	m := &w.ms[i]
	for k := range got {
		if got[k].Name == m.Name {
			return &got[k], nil
		}
	}
	if w.gate.passed(Names, m.Name) { // in any order
		for k := range got {
			if len(Differences(m, &got[k])) == 0 {
				return &got[k], nil
			}
		}
		return &got[i], nil
	}
	if m.Unnamed || len(got) == 1 && (got[0].Unnamed || w.codec.Info().Single) {
		return &got[i], nil
	}
	return nil, fmt.Errorf("matrix %q would be called %q unsaid; nothing was replaced: %w", m.Name, got[i].Name, ErrLossy)
}

// loseOrder says that a target has an order of its own.
func (w *save) loseOrder(got []matrix.Meta) {
	if len(got) != len(w.ms) {
		return
	}
	for i := range got {
		if k := slices.IndexFunc(w.ms, func(m matrix.Meta) bool { return m.Name == got[i].Name }); k >= 0 && k != i {
			w.opts.Drop(Names, "", "the order of the matrices, which is that of the format now")
			return
		}
	}
}
