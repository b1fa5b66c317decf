package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/graph"
	"thole.example/ps"
	"thole.example/psf"
)

// stateEnding is what the state of training is called beside its model.
const stateEnding = ".state"

// lasting is the flags that say what outlives a training beside its model, and what it goes on from.
type lasting struct {
	saveState, freshState         bool
	loadState, checkpoint, resume string
	steps, keep                   int
	pace                          pace

	replaced string // where a training in this process makes room for its state when it saves; "": nowhere
}

func (l *lasting) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&l.saveState, "save-state", false, "save what update rules keep beside the model, as MODEL"+stateEnding+", so that --load goes "+
		"on as if the training had not ended")
	f.StringVar(&l.loadState, "load-state", "", "state to go on from (default: of thole train that beside the model of --load, if there is "+
		"one)")
	f.BoolVar(&l.freshState, "fresh-state", false, "with --load: begin with the weights alone")
	f.StringVar(&l.checkpoint, "checkpoint", "", "write the state of training here after epochs, for --resume; of trees a "+
		"folder of checkpoints")
	f.StringVar(&l.resume, "resume", "", "checkpoint to go on from, with the settings of the training that wrote it; --epochs counts those "+
		"before; of trees a folder of them, too, auto: the last one of --checkpoint, if there is one, or never (default: auto)")
	l.seriesFlags(c)
}

// checkLasting checks what the user said of states.
func (j *job) checkLasting() error {
	switch {
	case j.byTrees():
		return treesLasting{&j.lasting}.check()
	case j.given("keep"):
		return fmt.Errorf("--keep is of trees, --algo gbdt, and --algo is %s", j.algo)
	case j.steps < 0 || j.pace.passed > 0 || j.steps > 0 && j.checkpoint == "":
		return fmt.Errorf("--checkpoint-every %s, want a number of epochs, and --checkpoint PATH", &j.pace)
	case j.resume != "" && j.load+j.loadState != "":
		return fmt.Errorf("--resume and --load, want one of them: a checkpoint has the weights, too")
	case j.loadState != "" && (j.load == "" || j.freshState):
		return fmt.Errorf("--load-state without --load, or with --fresh-state: it is what rules kept beside the weights of a model")
	case j.freshState && j.load == "":
		return fmt.Errorf("--fresh-state without --load, want both: it leaves out the state beside the model of --load")
	case j.saveState && j.model == "":
		return fmt.Errorf("--save-state without --model, want both: the state lies beside the model")
	}
	j.steps = max(1, j.steps)
	return nil
}

// statesHere finds the states of a training whose servers are in this process, and refuses to write over any.
func (p *plan) statesHere(ctx context.Context, model string) error {
	if err := noTrees(ctx, p.checkpoint, p.resume); err != nil {
		return err
	}
	files := blob.Files{}
	there := func(path string) (bool, error) {
		found, err := files.List(ctx, inBucket(path))
		return len(found) > 0, err
	}
	if p.load != "" && !p.freshState && p.loadState == "" {
		if found, err := there(p.load + stateEnding); err != nil {
			return err
		} else if found {
			p.loadState = p.load + stateEnding
		}
	}
	writes := map[string]string{}
	if p.checkpoint != "" && p.checkpoint != p.resume {
		writes[p.checkpoint] = fmt.Sprintf("--resume %s goes on from it, --force replaces it", p.checkpoint)
	}
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
	for _, path := range []string{p.resume, p.loadState} {
		if path == "" {
			continue
		}
		if found, err := there(path); err != nil || !found {
			return fmt.Errorf("%s: no checkpoint there%s", path, errText(err))
		}
	}
	return nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// goesOn reports whether the training goes on from a state.
func (p *plan) goesOn() bool { return p.resume != "" || p.loadState != "" }

// prepare is how a task readies the parameters: the first one brings back the model or the state to go on from, if there is one.
// w may be nil.
func (p *plan) prepare(client *ps.Client, model *graph.Model, task int, w *watcher) func(context.Context) error {
	if p.loadPath == "" && !p.goesOn() {
		return nil
	}
	return func(ctx context.Context) error {
		if task != 0 {
			return nil
		}
		if p.resume != "" {
			of, err := client.Restore(ctx, p.there(p.resume))
			if err != nil {
				return withAdvice(err, p.otherSeed(err))
			}
			var say func(string, ...any)
			if w != nil {
				say = w.bar.line
			}
			return p.asBefore(of.Plan, say)
		}
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

// each writes the checkpoints of a training; nil: there are none.
func (p *plan) each(client *ps.Client) func(context.Context, int) error {
	if p.checkpoint == "" {
		return nil
	}
	return func(ctx context.Context, epoch int) error {
		if epoch%p.steps != 0 {
			return nil
		}
		return client.Checkpoint(ctx, p.there(p.checkpoint))
	}
}

// save saves the model, and before it the state, if that is asked for: a model is never there without. If the model cannot be saved,
// the state goes again, where this process may remove it.
func (p *plan) save(ctx context.Context, client *ps.Client, model *graph.Model, path string) (err error) {
	if p.saveState {
		end, wrong := makeRoom(p.replaced)
		if wrong != nil {
			return wrong
		}
		before, _ := os.Stat(path) // nothing if there is none
		defer func() {
			now, _ := os.Stat(path)
			err = errors.Join(err, end(err == nil || now != nil && !os.SameFile(before, now))) // an interrupted save may have come through
		}()
		if err := client.Checkpoint(ctx, path+stateEnding); err != nil {
			return fmt.Errorf("the state of the training cannot be saved, so its model is not saved either: %w", err)
		}
	}
	return client.Save(ctx, p.saving(model, path))
}

// makeRoom renames what is at the path, which may be nothing. end removes it if what took its place stays, and else what took its place.
func makeRoom(path string) (end func(stays bool) error, err error) {
	if path == "" {
		return func(bool) error { return nil }, nil
	}
	old := path + ".before"                   // no _tmp. name, which a save may clean away
	if err := os.RemoveAll(old); err != nil { // of a process that was killed
		return nil, err
	}
	if err := os.Rename(path, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return func(stays bool) error {
		if stays {
			return os.RemoveAll(old)
		}
		err := os.RemoveAll(path)
		if back := os.Rename(old, path); !errors.Is(back, fs.ErrNotExist) {
			err = errors.Join(err, back)
		}
		return err
	}, nil
}
