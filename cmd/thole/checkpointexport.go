package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/format"
	"thole.example/graph"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/state"
	"thole.example/train"
)

// checkpointExport is what becomes of a checkpoint that is exported.
type checkpointExport struct {
	*checkpointFlags
	model, to    string
	set          map[string]string
	lossy, force bool
	among        string // folder of other checkpoints, if there are some
}

// unread completes the error of a checkpoint that cannot be read by what to do next.
func (x *checkpointExport) unread(err error) error {
	if x.among == "" {
		return err
	}
	return fmt.Errorf("%w; thole checkpoint verify %s says which ones can be used", err, x.among)
}

func (f *checkpointFlags) exportCommand() *cobra.Command {
	x := &checkpointExport{checkpointFlags: f}
	c := &cobra.Command{
		Use:   "export PATH",
		Short: "Save the model that a training had at a checkpoint; of a folder the last one",
		Long: `Saves the model that a training had when a checkpoint of it was taken, as the training would have saved it then, with the same
bits. The files beside it (job.yaml, graph.json, transform.json) are those that the checkpoint has. Optimizer state is left out: use
the checkpoint itself to resume the training. At its end, a training moves the bias until the mean prediction equals the mean label
(with huberloss, until the mean gradient is 0; with hingeloss and crossentropyloss, not at all). Every checkpoint, including the last, has
the bias before this move; a message says so.`,
		Example: "  thole checkpoint export run/checkpoints --model out/then\n" +
			"  thole checkpoint export run/checkpoints/420 --model then --to daphne",
		RunE: func(c *cobra.Command, args []string) error {
			if x.model == "" {
				return usageError{errors.New("no --model, want where to save the model")}
			}
			k, e, err := f.findOne(c.Context(), args[0])
			if err != nil {
				return err
			}
			x.among = k.among(c.Context())
			return x.export(c.Context(), k, e)
		},
	}
	fl := c.Flags()
	fl.StringVar(&x.model, "model", "", "where to save the model")
	fl.StringVar(&x.to, "to", "", "format of the model (default: by the ending of --model, else angel)")
	pairsVar(fl, &x.set, "set", "options of the format, NAME=VALUE")
	fl.BoolVar(&x.lossy, "lossy", false, "save even if the format loses something")
	fl.BoolVar(&x.force, "force", false, "replace the model if it exists")
	return c
}

// codec is the format of the model. It completes the options by what the ending of the path stands for.
func (x *checkpointExport) codec() (string, error) {
	codec, ending, err := (&output{to: x.to}).codec(x.model, nil)
	if x.to == "" && err != nil && fileEnding(x.model) == "" {
		codec, err = codecs().Lookup("angel")
	}
	if err == nil && codec.Info().Writes == "" {
		err = fmt.Errorf("format %s is only read", codec.Info().Name)
	}
	if err != nil {
		return "", usageError{err}
	}
	if x.set == nil {
		x.set = map[string]string{}
	}
	for name, value := range ending {
		if _, said := x.set[name]; !said {
			x.set[name] = value
		}
	}
	o := format.Options{Set: x.set, Lossy: x.lossy}
	if err := o.CheckSet(codec.Info()); err != nil {
		return "", usageError{err}
	}
	return codec.Info().Name, nil
}

// export restores the checkpoint on a server in this process, which brings columns up to date as that of the training would have done,
// and has it save the model.
func (x *checkpointExport) export(ctx context.Context, k *checkpointer, e *state.Entry) error {
	codec, err := x.codec()
	if err != nil {
		return err
	}
	to := &job{paths: x.paths, model: x.model, force: x.force}
	path, err := to.target(ctx, x.env)
	if err != nil {
		return err
	}
	defer path.release()
	in, err := state.NewInput(ctx, k.bucket, e.Path)
	if err != nil {
		return x.unread(err)
	}
	defer in.Close()
	o := ps.SaveOptions{Codec: codec, Path: path.name, Set: x.set, Lossy: x.lossy, Replace: x.force, Files: map[string][]byte{}}
	for _, name := range in.Loose {
		if o.Files[name], err = in.Get(ctx, name); err != nil {
			return x.unread(err)
		}
	}
	p := x.progress("export "+k.shown(e), "", 1)
	defer p.end()
	if o.Files[graph.FileName] == nil {
		p.line("%s has no %s: the model has its matrices alone, and thole predict wants --algo", k.shown(e), graph.FileName)
	}
	if err := x.wait(p, func() error { return x.save(ctx, in, &o) }); err != nil {
		return err
	}
	if uncorrected(o.Files) {
		p.line("the bias is the one of the checkpoint: at its end, the training moves the bias to the least loss")
	}
	p.end()
	_, err = fmt.Fprintf(legible{x.out}, "model  %s (%s), %s\n", x.model, codec, momentText(in.Checkpoint))
	return err
}

// uncorrected reports whether the training with these files next to its model moves the bias at its end, as plan.calibrates says.
func uncorrected(files map[string][]byte) bool {
	f, err := graph.ParseJSON(files[graph.FileName])
	if err != nil || files[jobFileName] == nil {
		return false
	}
	if !train.Calibrates(algo.LossOf(f)) {
		return false
	}
	src, err := jsonOf(jobFileName, files[jobFileName])
	if err != nil {
		return false
	}
	job, err := graph.Parse(jobFileName, src)
	if err != nil || job.Data.PosNegRatio > 0 {
		return false
	}
	return !slices.ContainsFunc(job.Unknown, func(k graph.Key) bool {
		return k.Path == "save-state" && string(k.Value) == "true" || k.Path == "compat" && strings.Contains(string(k.Value), "angel")
	})
}

// wait shows that time passes while something is done.
func (x *checkpointExport) wait(p *progress, do func() error) error {
	began, done := x.now(), make(chan error, 1)
	go func() { done <- do() }()
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			p.during("", x.now().Sub(began), 0)
		}
	}
}

// save makes the matrices on a server, fills them from the checkpoint and saves those of the model.
func (x *checkpointExport) save(ctx context.Context, in *state.Input, o *ps.SaveOptions) error {
	c, err := embed(ctx, 1, nil, x.paths.Synced(true))
	if err != nil {
		return err
	}
	defer c.stop()
	funcs, err := psf.NewTable(functions(), nil)
	if err != nil {
		return err
	}
	client, err := ps.Dial(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "export", Tasks: 1, Funcs: funcs})
	if err != nil {
		return err
	}
	defer client.Close()
	for i := range in.Matrices {
		m := &in.Matrices[i]
		if train.Board(m.Meta.Name) {
			continue
		}
		if err := client.Create(ctx, "column", m.Meta); err != nil { // not every format takes blocks that are cut by hash
			return err
		}
		o.Matrices = append(o.Matrices, m.Meta.Name)
	}
	if len(o.Matrices) == 0 {
		return fmt.Errorf("%s has no matrices of a model", in.Path())
	}
	if _, err := client.Restore(ctx, in.Path()); err != nil {
		return x.unread(err)
	}
	return errors.Join(client.Save(ctx, *o), client.Leave(ctx))
}

// momentText is where in a training a checkpoint was taken.
func momentText(h *state.Checkpoint) string {
	m := h.Moment
	if m.Epoch == 0 && m.Step == 0 {
		return fmt.Sprintf("as of clock %d of job %s", h.Clock, h.Job)
	}
	return fmt.Sprintf("as of epoch %d, step %d", m.Epoch, m.Step)
}
