package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/graph"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/state"
	"thole.example/train"
)

// stateEnding is what the state of training is called beside its model.
const stateEnding = format.StateExt

// replacedEnding ends the name of the state of a model, where that is renamed while a new one takes its place.
const replacedEnding = ".before"

// lasting is the flags that say what outlives a training beside its model, and what it goes on from.
type lasting struct {
	saveState, freshState bool
	loadState             string
	checkpoint, resume    string // resume: never, a path, or auto, which is ""
	everyText             string
	every                 every
	keepCheckpoints       int
	parting

	replaced string // where a training in this process makes room for its state when it saves; "": nowhere
}

// What --resume takes beside a path.
const (
	resumeAuto  = "auto"
	resumeNever = "never"
)

// usualEvery is how often checkpoints are written, and usualKept how many are kept, if nobody says.
const (
	usualEvery = 5 * time.Minute
	usualKept  = 3
)

func (l *lasting) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&l.saveState, "save-state", false, "save what update rules keep beside the model, as MODEL"+stateEnding+", so that --load goes "+
		"on as if the training had not ended")
	f.StringVar(&l.loadState, "load-state", "", "state to go on from (default: of thole train that beside the model of --load, if there is "+
		"one)")
	f.BoolVar(&l.freshState, "fresh-state", false, "with --load: begin with the weights alone")
	f.StringVar(&l.checkpoint, "checkpoint", "", "folder of checkpoints, which are written while the training goes on; from the last of "+
		"them it goes on after a failure, and when the same command runs again")
	f.StringVar(&l.everyText, "checkpoint-every", "", "time, number of steps (of trees: trees) or epochs from one checkpoint to the next, "+
		"like 5m, 1000 or epoch (default: 5m); there is one at the end, too")
	f.IntVar(&l.keepCheckpoints, "keep", usualKept, "how many of the checkpoints to keep")
	l.parting.flags(f)
	f.StringVar(&l.resume, "resume", "", "go on from the last checkpoint of --checkpoint if there is one (auto), begin anew (never, with "+
		"--force where there are some), or PATH: go on from that checkpoint, or the last one of that folder, unless --checkpoint has later "+
		"ones of this training; the settings are those of the training that wrote it, and --epochs counts those before (default: auto)")
}

// every is how often checkpoints are written: by time, steps or epochs.
type every struct {
	time          time.Duration
	steps, epochs int
}

var everyEpochs = regexp.MustCompile(`^([0-9]*) ?epochs?$`)

func parseEvery(text string) (e every, err error) {
	if text == "" {
		return every{time: usualEvery}, nil
	}
	if m := everyEpochs.FindStringSubmatch(text); m != nil {
		e.epochs, err = strconv.Atoi(cmp.Or(m[1], "1"))
	} else if e.steps, err = strconv.Atoi(text); err != nil {
		e.time, err = time.ParseDuration(text)
	}
	if err != nil || e.time < 0 || e.steps < 0 || e == (every{}) {
		return e, fmt.Errorf("%q, want a time like 5m or 30s, a number of steps like 1000, or epochs like epoch or 2epochs", text)
	}
	return e, nil
}

// due reports whether it is time for a checkpoint, where the last one was after so many steps, so long ago.
func (e every) due(at train.Place, last int, since time.Duration) bool {
	switch {
	case e.steps > 0:
		return at.Made()/e.steps > last/e.steps
	case e.epochs > 0:
		return at.Step == at.Steps && at.Epoch%e.epochs == 0
	}
	return since >= e.time
}

// checkLasting checks what the user said of states.
func (j *job) checkLasting() (err error) {
	if j.checkpoint == "" && (j.resume == resumeAuto || j.resume == resumeNever) {
		return fmt.Errorf("--resume %s without --checkpoint, want both: it says what becomes of the checkpoints there", j.resume)
	}
	if j.resume == resumeAuto {
		j.resume = ""
	}
	if err := j.parting.check(j.checkpoint); err != nil {
		return err
	}
	if j.every, err = parseEvery(j.everyText); err != nil {
		return fmt.Errorf("--checkpoint-every %w", err)
	}
	switch {
	case j.checkpoint != "" && j.model != "" && (inBucket(j.checkpoint) == inBucket(j.model) || liesIn(j.checkpoint, j.model)):
		return fmt.Errorf("--checkpoint %s is or lies in --model %s, want a folder of its own: a model is replaced as a whole",
			j.checkpoint, j.model)
	case j.checkpoint == "" && j.everyText != "":
		return fmt.Errorf("--checkpoint-every %s without --checkpoint, want the folder where checkpoints are written", j.everyText)
	case j.checkpoint == "" && j.keepCheckpoints != usualKept:
		return fmt.Errorf("--keep %d without --checkpoint, want the folder where checkpoints are written", j.keepCheckpoints)
	case j.keepCheckpoints < 1:
		return fmt.Errorf("--keep %d, want 1 checkpoint or more", j.keepCheckpoints)
	case j.resumes() && j.load+j.loadState != "" && !j.byTrees():
		return fmt.Errorf("--resume and --load, want one of them: a checkpoint has the weights, too")
	case j.loadState != "" && (j.load == "" || j.freshState):
		return fmt.Errorf("--load-state without --load, or with --fresh-state: it is what rules kept beside the weights of a model")
	case j.freshState && j.load == "":
		return fmt.Errorf("--fresh-state without --load, want both: it leaves out the state beside the model of --load")
	case j.saveState && j.model == "":
		return fmt.Errorf("--save-state without --model, want both: the state lies beside the model")
	}
	return nil
}

// goesOnByItself reports whether the same command goes on with a training, and so with its log.
func (l *lasting) goesOnByItself() bool { return l.checkpoint != "" && l.resume != resumeNever }

// resumes reports whether the user names a checkpoint to go on from.
func (l *lasting) resumes() bool { return l.resume != "" && l.resume != resumeNever }

// statesHere finds the states of a training whose servers are in this process, and refuses to write over any.
func (p *plan) statesHere(ctx context.Context, model string) error {
	if err := noTrees(ctx, p.paths, p.checkpoint, p.resume); err != nil {
		return err
	}
	files := p.paths
	there := func(path string) (bool, error) {
		found, err := files.List(ctx, inBucket(path))
		return len(found) > 0, err
	}
	if p.load != "" && !p.freshState && p.loadState == "" {
		at := p.load + stateEnding
		found, err := there(at)
		if err != nil {
			return err
		}
		if found {
			p.loadState = at
		} else if aside, err := there(at + replacedEnding); err != nil {
			return err
		} else if aside {
			return fmt.Errorf("%s: another process is replacing %s, or was killed while it did: the state of %[2]s is %[3]s (--load-state takes "+
				"it, --fresh-state begins with the weights alone): %[4]w", at, p.load, at+replacedEnding, blob.ErrChanged)
		}
	}
	if err := checkFolder(ctx, p.paths, p.checkpoint); err != nil {
		return err
	}
	own, err := state.List(ctx, files, inBucket(p.checkpoint))
	if err != nil && p.checkpoint != "" {
		return err
	}
	// What --resume names is not needed any more where there are later ones.
	later := slices.ContainsFunc(own, func(e state.Entry) bool { return e.Stepped() })
	writes := map[string]string{}
	if p.saveState && model+stateEnding != inBucket(p.loadState) {
		writes[p.model+stateEnding] = "--force replaces it"
		p.replaced = model + stateEnding
	}
	for path, advice := range writes {
		found, err := there(path)
		if err != nil {
			return err
		}
		if found && !p.force {
			return fmt.Errorf("%s: there is a file or folder already (%s)", path, advice)
		}
		if found && inBucket(path) != p.replaced { // which stays until the training is at its end
			if err := files.Remove(ctx, inBucket(path)); err != nil {
				return err
			}
		}
	}
	for _, from := range []string{p.resume, p.loadState} {
		if from == "" || from == resumeNever || from == p.resume && later {
			continue
		}
		found, err := there(from)
		if err == nil && !found {
			found, err = there(inFull(inBucket(from)))
		}
		if err != nil || !found {
			at := inBucket(from)
			return fmt.Errorf("%s: no checkpoint there%s", from, cmp.Or(errText(err), besides(at, checkpointsIn(ctx, p.paths, blob.Parent(at)))))
		}
	}
	return nil
}

// checkFolder refuses what cannot be a folder of checkpoints.
func checkFolder(ctx context.Context, in *blob.Paths, path string) error {
	if path == "" {
		return nil
	}
	if found, err := in.List(ctx, inBucket(path)); err == nil && len(found) == 1 && found[0].Name == inBucket(path) {
		return fmt.Errorf("--checkpoint %s is a file, want a folder for checkpoints", path)
	}
	if _, err := state.Open(ctx, in, inBucket(path)); err == nil {
		return fmt.Errorf("--checkpoint %s is a checkpoint itself, want a folder for some (--resume %[1]s goes on from it)", path)
	}
	if len(checkpointsIn(ctx, in, inBucket(path))) > 0 {
		return nil
	}
	if c, _, err := codecs().Detect(ctx, in, inBucket(path)); err == nil {
		return fmt.Errorf("--checkpoint %s is a model (%s), want a folder of its own", path, c.Info().Name)
	}
	return nil
}

// liesIn reports whether a path lies in the folder of another.
func liesIn(path, folder string) bool { return strings.HasPrefix(inBucket(path), inBucket(folder)+"/") }

func errText(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// goesOn reports whether the training may go on from a state.
func (p *plan) goesOn() bool { return p.checkpoint != "" || p.resumes() || p.loadState != "" }

// prepare is how a task readies the parameters: the first one brings back the model or the state to go on from, if there is one.
func (p *plan) prepare(client *ps.Client, model *graph.Model, kept *taskCheckpoints) func(context.Context) (bool, error) {
	if p.loadPath == "" && !p.goesOn() {
		return nil
	}
	return func(ctx context.Context) (same bool, err error) {
		if kept == nil {
			return false, nil
		}
		if same, err = kept.bringBack(ctx); err != nil || same || p.loadPath == "" {
			return same, err
		}
		return false, p.loadBoth(ctx, client, model)
	}
}

// loadBoth fills the parameters with those of a model, and with its state if there is one.
func (p *plan) loadBoth(ctx context.Context, client *ps.Client, model *graph.Model) error {
	if err := p.loadWeights(ctx, client, model); err != nil || p.loadState == "" {
		return err
	}
	weights, err := features(ctx, client, model)
	if err != nil {
		return err
	}
	if _, err := client.Restore(ctx, p.there(p.loadState)); err != nil {
		return withAdvice(err, fmt.Sprintf("%s--fresh-state begins with the weights of %s alone", p.otherSeed(err), p.load))
	}
	state, err := features(ctx, client, model)
	if err != nil {
		return err
	}
	if !slices.Equal(weights, state) {
		return fmt.Errorf("%s is the state of other weights than those of %s, want that of the training which saved them (--fresh-state begins "+
			"with the weights alone)", p.loadState, p.load)
	}
	return nil
}

func withAdvice(err error, text string) error {
	if text == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.TrimSuffix(text, "; "))
}

// features are exact sums over the weights of a model, which tell one from another.
func features(ctx context.Context, client *ps.Client, model *graph.Model) (all []string, err error) {
	for _, m := range model.Params() {
		of, err := client.Matrix(m.Name)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{"sum", "nrm2", "nnz", "amax"} {
			answer, err := of.Get(ctx, name, psf.Args{})
			if err != nil {
				return nil, err
			}
			all = append(all, string(answer))
		}
	}
	return all, nil
}

// save saves the model, and before it the state, if that is asked for: a model is never there without. If the model cannot be saved,
// the state goes again, where this process may remove it.
func (p *plan) save(ctx context.Context, client *ps.Client, model *graph.Model, path string) (err error) {
	if p.saveState {
		end, wrong := makeRoom(ctx, p.paths, p.replaced)
		if wrong != nil {
			return wrong
		}
		before, _ := p.paths.State(ctx, path)
		defer func() {
			within := context.WithoutCancel(ctx)
			now, _ := p.paths.State(within, path)
			err = errors.Join(err, end(within, err == nil || now != blob.Nothing && now != before)) // an interrupted save may have come through
		}()
		if err := client.Checkpoint(ctx, path+stateEnding); err != nil {
			return fmt.Errorf("the state of the training cannot be saved, so its model is not saved either: %w", err)
		}
	}
	return client.Save(ctx, p.saving(model, path))
}

// makeRoom renames what is at the path, which may be nothing. end removes it if what took its place stays, and else what took its place.
func makeRoom(ctx context.Context, in *blob.Paths, path string) (end func(ctx context.Context, stays bool) error, err error) {
	if path == "" {
		return func(context.Context, bool) error { return nil }, nil
	}
	old := path + replacedEnding                // no _tmp. name, which a save may clean away
	if err := in.Remove(ctx, old); err != nil { // of a process that was killed
		return nil, err
	}
	if err := in.Publish(ctx, path, old, blob.Nothing); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return func(ctx context.Context, stays bool) error {
		if stays {
			return in.Remove(ctx, old)
		}
		err := in.Remove(ctx, path)
		if back := in.Publish(ctx, old, path, blob.Nothing); !errors.Is(back, fs.ErrNotExist) {
			err = errors.Join(err, back)
		}
		return err
	}, nil
}

// saves is train.Options.Save of a task, nil where there are no checkpoints.
func (p *plan) saves(kept *taskCheckpoints) func(context.Context, train.Place) error {
	if kept == nil || p.checkpoint == "" {
		return nil
	}
	return kept.save
}
