package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/gbdt"
	"thole.example/internal/number"
	"thole.example/state"
)

// treeSeries is the checkpoints of a training of trees: it finds the one to go on from, and writes new ones while trees grow. It lives as
// long as the job, whose attempts each begin it again. It is for one goroutine.
type treeSeries struct {
	p     *plan
	say   func(text string, args ...any)
	now   func() time.Time
	facts []fact // of this training

	begun   bool
	first   *treeCheckpoint // that the first attempt went on from; nil: none
	last    string          // that was written or read last; "": none
	trees   int             // its iterations
	since   time.Time       // when it was
	owed    bool            // one is due, and another was being written
	writing chan error      // gets the end of the one that is being written; nil: there is none
}

// folder is where the checkpoints lie, each in a folder of its own; "": none are written.
func (s *treeSeries) folder() string { return s.p.checkpoint }

// from is resumeAuto, resumeNever, or the path of a checkpoint or of a folder of them.
func (s *treeSeries) from() string { return cmp.Or(s.p.resume, resumeAuto) }

// again reports whether this process comes back into a training that is going on: it takes the last checkpoint whatever from says.
func (s *treeSeries) again() bool { return s.p.attempt > max(1, s.p.first) }

// beginSeries finds what a training of trees goes on from, nil if it begins; of the examples everything is known.
func (p *plan) beginSeries(ctx context.Context, of *treeData, w *watcher) (*treeCheckpoint, error) {
	f := p.forest
	if f.series == nil {
		s := &treeSeries{p: p, say: func(string, ...any) {}, now: time.Now, facts: p.facts(of)}
		if w != nil {
			s.say, s.now = w.bar.line, w.env.now
		}
		f.series = s
	}
	return f.series.begin(ctx)
}

func (s *treeSeries) begin(ctx context.Context) (c *treeCheckpoint, err error) {
	if c, err = s.find(ctx); err != nil {
		return nil, err
	}
	if s.since = s.now(); c != nil {
		s.last, s.trees = c.path, c.Iterations
		s.say("going on after %s of %s", number.Of(c.Iterations, "tree"), c.path)
	}
	if s.begun || s.folder() == "" {
		return c, nil
	}
	if err := s.clear(ctx); err != nil {
		return nil, err
	}
	s.begun, s.first = true, c
	return c, s.try(ctx)
}

// find reads the checkpoint to go on from. Later attempts take the last one that there is, whatever the first one took. So does who names
// another one, if the training went on from there already.
func (s *treeSeries) find(ctx context.Context) (c *treeCheckpoint, err error) {
	from := s.from()
	if s.folder() != "" && (s.begun || s.again() || from == resumeAuto) {
		if c, err = s.latest(ctx, s.folder()); c == nil && err == nil {
			c = s.first
		}
		return c, err
	}
	if from == resumeAuto || from == resumeNever {
		return nil, nil
	}
	if c, err = s.named(ctx, from); err != nil || s.folder() == "" {
		return c, err
	}
	later, err := s.latest(ctx, s.folder())
	switch {
	case err != nil && !s.p.force: // else it goes
		return nil, err
	case err == nil && later != nil && later.Iterations > c.Iterations:
		return later, nil
	}
	return c, nil
}

// named reads a checkpoint, or the last one of a folder, that the user names.
func (s *treeSeries) named(ctx context.Context, from string) (*treeCheckpoint, error) {
	single, err := isTreeCheckpoint(ctx, s.p.paths, from)
	if err != nil {
		return nil, err
	}
	if single {
		c, err := readTreeCheckpoint(ctx, s.p.paths, from)
		if err == nil {
			err = s.fits(c)
		}
		return c, err
	}
	c, err := s.latest(ctx, from)
	if c == nil && err == nil {
		err = fmt.Errorf("--resume %s: %w there", from, errNoTrees)
		if m, wrong := openModel(ctx, s.p.paths, from, "", nil); wrong == nil {
			m.Close()
			err = fmt.Errorf("%w, but a model (--load %s adds trees to one)", err, from)
		}
	}
	return c, err
}

// latest reads the last checkpoint of a folder, nil if there is none. In the place of one that is damaged it takes the one before, and says
// so.
func (s *treeSeries) latest(ctx context.Context, folder string) (*treeCheckpoint, error) {
	all, err := listTreeCheckpoints(ctx, s.p.paths, folder)
	if err != nil {
		return nil, err
	}
	var damaged []error
	for _, n := range slices.Backward(all) {
		c, err := readTreeCheckpoint(ctx, s.p.paths, blob.Join(folder, state.StepName(int64(n))))
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		for _, err := range damaged {
			s.say("warning: %v: the checkpoint before it is taken", err)
		}
		return c, s.fits(c)
	}
	return nil, errors.Join(damaged...)
}

// fits refuses a checkpoint of another training.
func (s *treeSeries) fits(c *treeCheckpoint) error {
	if has, want := differing(c.Facts, s.facts); len(has) > 0 {
		return fmt.Errorf("%s is of another training: %s, and this one has %s: want the same, or another --checkpoint (--resume never --force "+
			"begins anew)", c.path, strings.Join(has, ", "), strings.Join(want, ", "))
	}
	if n := s.p.forest.Trees; c.Iterations > n {
		return fmt.Errorf("--trees %d, and %s has %d: want at least as many (--trees counts those before)", n, c.path, c.Iterations)
	}
	return nil
}

// differing are the facts in which two trainings differ. Bins follow from the others, and are told of only if nothing else is.
func differing(a, b []fact) (has, want []string) {
	is := func(all []fact, name string) string {
		if i := slices.IndexFunc(all, func(f fact) bool { return f.Name == name }); i >= 0 {
			return all[i].Value
		}
		return "unknown"
	}
	for _, f := range slices.Concat(b, a) {
		v, w := is(a, f.Name), is(b, f.Name)
		if v == w || slices.Contains(has, f.Name+" "+v) || f.Name == binsFact && len(has) > 0 {
			continue
		}
		has, want = append(has, f.Name+" "+v), append(want, f.Name+" "+w)
	}
	return has, want
}

// binsFact is the name of the bins among facts.
const binsFact = "bins of features"

// clear makes sure that no checkpoint comes after the one to go on from: a later attempt would take it for its own.
func (s *treeSeries) clear(ctx context.Context) error {
	all, err := listTreeCheckpoints(ctx, s.p.paths, s.folder())
	if err != nil || s.again() || s.from() == resumeAuto { // after it there are damaged ones at most
		return err
	}
	for _, n := range all {
		at := blob.Join(s.folder(), state.StepName(int64(n)))
		switch {
		case s.last != "" && blob.Parent(s.last) == blob.Clean(s.folder()) && n <= s.trees:
		case !s.p.force:
			return fmt.Errorf("%s: there is a checkpoint already (--resume %s goes on from the last one of %s, --force begins anew and removes "+
				"it)", at, resumeAuto, s.folder())
		default:
			if err := s.p.paths.Remove(ctx, inBucket(at)); err != nil {
				return err
			}
		}
	}
	return nil
}

// try tries whether checkpoints can be written, before the time of many trees goes by.
func (s *treeSeries) try(ctx context.Context) error {
	codec, err := codecs().Lookup(treesFormat)
	if err != nil {
		return err
	}
	r, err := s.p.treeReader(s.p.oneTree())
	if err != nil {
		return err
	}
	w, err := format.Create(ctx, codec, s.p.paths, inBucket(blob.Join(s.folder(), state.StepName(0))), r.Matrices(),
		format.Options{Files: r.Files()})
	if err == nil {
		w.Abort(ctx)
	}
	return err
}

// due reports whether a checkpoint is to be written after an iteration, which may be the last one. One that is due by time waits until
// the one before is written.
func (s *treeSeries) due(iteration int, last bool) bool {
	if s == nil || s.folder() == "" {
		return false
	}
	steps := max(s.p.every.steps, s.p.every.epochs)
	if last || steps > 0 {
		return last || iteration%steps == 0
	}
	if s.owed = s.owed || s.now().Sub(s.since) >= s.p.every.time; !s.owed {
		return false
	}
	select {
	case err := <-s.writing:
		_ = s.wrote(err) // which is said
		return true
	default:
		return s.writing == nil
	}
}

// write writes a checkpoint of what was grown, while more trees grow.
func (s *treeSeries) write(ctx context.Context, g *gbdt.Grown, losses []float64) {
	_ = s.wait()
	s.p.label(g.Model)
	of := newGrowth(g, slices.Clone(losses), s.facts, s.p.forest.Drop.Rate > 0)
	at := blob.Join(s.folder(), state.StepName(int64(of.Iterations)))
	s.since, s.owed, s.writing = s.now(), false, make(chan error, 1)
	s.last, s.trees = at, of.Iterations
	ctx = context.WithoutCancel(ctx) // who is interrupted keeps it
	go func(done chan error) {
		err := s.p.writeTreeCheckpoint(ctx, at, g.Model, of)
		if err == nil {
			err = prune(ctx, s.p.paths, s.folder(), s.p.keepCheckpoints, of.Iterations)
		}
		done <- err
	}(s.writing)
}

// wrote takes the end of a writing. A training does not end because a disk is full: it has the checkpoints before.
func (s *treeSeries) wrote(err error) error {
	if s.writing = nil; err != nil {
		s.say("warning: %s: no checkpoint: %v", s.last, err)
		return err
	}
	s.p.written++
	return nil
}

// wait waits until nothing is being written, and says what became of that; s may be nil.
func (s *treeSeries) wait() error {
	if s != nil && s.writing != nil {
		return s.wrote(<-s.writing)
	}
	return nil
}

// prune removes checkpoints but for the last ones up to that of so many iterations.
func prune(ctx context.Context, in *blob.Paths, folder string, keep, upTo int) error {
	all, err := listTreeCheckpoints(ctx, in, folder)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(n int) bool { return n > upTo })
	for _, n := range all[:max(0, len(all)-keep)] {
		if err := in.Remove(ctx, inBucket(blob.Join(folder, state.StepName(int64(n))))); err != nil {
			return err
		}
	}
	return nil
}

// end waits for what is being written, and says of a training that failed what is kept of it.
func (s *treeSeries) end(ctx context.Context, failed error) {
	_ = s.wait()
	interrupted := ctx.Err() != nil && !again(context.Cause(ctx)) // or another attempt begins
	if s == nil || failed == nil || !interrupted && s.p.attempt > 0 && again(failed) ||
		s.folder() == "" || !s.begun || s.last == "" {
		return
	}
	if all, err := listTreeCheckpoints(context.WithoutCancel(ctx), s.p.paths, s.folder()); err == nil && len(all) > 0 {
		n := all[len(all)-1]
		s.say("%s has %s: the same command goes on from there", blob.Join(s.folder(), state.StepName(int64(n))), number.Of(n, "tree"))
	}
}

// facts are what decides the trees, in the words of the flags.
func (p *plan) facts(of *treeData) []fact {
	c := &p.forest.Config
	var all []fact
	child := fmt.Sprint(c.MinWeight)
	if c.Rare {
		child = "default"
	}
	add := func(name string, v any) { all = append(all, fact{name, fmt.Sprint(v)}) }
	add("--loss", c.Objective.Name)
	add("--loss-set", c.Objective.Settings) // maps are printed in the order of their keys
	for _, one := range []struct {
		flag string
		v    any
	}{
		{"classes", c.Classes}, {"rate", c.Rate}, {"depth", c.Depth}, {"leaves", c.Leaves}, {"growth", c.Growth}, {"bins", c.Bins},
		{"seed", c.Seed}, {"l1", c.L1}, {"l2", c.L2}, {"gamma", c.Gamma}, {"min-child-weight", child}, {"max-delta-step", c.MaxStep},
		{"subsample", c.Rows}, {"colsample", c.Columns}, {"drop-rate", c.Drop.Rate}, {"skip-drop", c.Drop.Skip}, {"max-drop", c.Drop.Most},
		{"monotone", p.monotone}, {"cat-one-hot", c.OneHot}, {"cat-order", c.Order}, {"cat-smooth", c.Smooth}, {"cat-l2", c.Level2},
		{"cat-levels", c.MaxLevels}, {"cat-weight", c.LevelWeight},
	} {
		add("--"+one.flag, one.v)
	}
	if p.shared == byVoting { // which depends on who votes
		add("--share", fmt.Sprintf("%s of %d tasks, --votes %d", p.shared, p.tasks, p.votes))
	}
	before := "none"
	if m := p.forest.from; m != nil {
		sum, _ := (&growth{}).sum(m, nil) // whose text always can be
		before = fmt.Sprintf("%s (checksum %s)", number.Of(len(m.Scoring()), "tree"), sum)
	}
	add("--load", before)
	add("examples", fmt.Sprintf("%d (checksum %08x)", p.rows, p.digest))
	early, held := "none", "none"
	if v := p.valid; v != nil {
		held = fmt.Sprintf("%d (checksum %08x)", v.Len(), v.Checksum())
	}
	if p.patience > 0 {
		early = strings.TrimSpace("by " + cmp.Or(p.by, p.compares.Name()) + " " + p.mode)
	}
	add("held-out examples", held)
	add("--early-stop", early)
	add(binsFact, fmt.Sprintf("%d (checksum %08x)", of.layout.Varying(), of.layout.Checksum()))
	return all
}
