package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/train"
)

// demo is the whole way once, on made-up click-through data whose truth is known.
type demo struct {
	*env
	dir   string
	rows  int64
	seed  uint64
	force bool
	truth *data.ClickModel
	began time.Time
}

func demoCommand(e *env) *cobra.Command {
	d := &demo{env: e}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Go the whole way once: make data, train, save, score, convert, compare",
		Long: `Makes click-through examples from a known model, trains logistic regression on embedded parameter servers, saves the
model in Angel's format, scores held-out examples, converts the model to DAPHNE's and Paddle's formats and back, and
shows that nothing changed.`,
		Example: "  thole demo\n  thole demo --dir demo --rows 1000000",
		RunE:    func(c *cobra.Command, _ []string) error { return d.run(c.Context()) },
	}
	c.Flags().StringVar(&d.dir, "dir", "thole-demo", "folder for everything that the demo makes")
	c.Flags().Int64Var(&d.rows, "rows", 400_000, "training examples")
	c.Flags().BoolVar(&d.force, "force", false, "replace what an earlier demo made in the folder")
	c.Flags().Uint64Var(&d.seed, "seed", 1, "seed of the examples and of the training")
	return c
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "%5.1f s  "+format+"\n", append([]any{time.Since(d.began).Seconds()}, args...)...)
}

func (d *demo) run(ctx context.Context) error {
	d.began = time.Now()
	if d.rows < 100 {
		return usageError{fmt.Errorf("--rows %d, want at least 100", d.rows)}
	}
	if err := os.MkdirAll(d.dir, 0o777); err != nil {
		return err
	}
	for _, name := range []string{"train.dummy", "test.dummy", "model-angel", "model-daphne", "model.params", "model-back"} {
		if _, err := d.sink(d.path(name), d.force); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{d.generate, d.train, d.score, d.convert} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(d.out, `
Everything lies in %s. Look around:
  thole inspect %s
  thole cat %s --matrix input_weight | head
  thole explain %s | head -30
`, d.dir, d.path("model-angel"), d.path("model-daphne"), d.path("model.params"))
	return nil
}

// generate writes the examples and says how well anybody could predict the held-out ones.
func (d *demo) generate(ctx context.Context) (err error) {
	test := d.rows / 4
	if d.truth, err = clicks(d.seed, d.rows+test); err != nil {
		return err
	}
	dummy, err := data.FindSource("dummy", "")
	if err != nil {
		return err
	}
	for name, rows := range map[string][2]int64{"train.dummy": {0, d.rows}, "test.dummy": {d.rows, d.rows + test}} {
		s, err := d.sink(d.path(name), true)
		if err != nil {
			return err
		}
		if err := writeExamples(ctx, s, rows[0], rows[1], rowsWriter(&dummy, d.truth, rows[0])); err != nil {
			return err
		}
	}
	auc, loss, err := best(d.truth, d.rows, d.rows+test)
	if err != nil {
		return err
	}
	d.say("made %d + %d click-through examples of %d features in %d fields", d.rows, test, d.truth.Dim(), len(clickFields()))
	d.say("best possible (true model)              auc %.5f  logloss %.5f on the held-out ones", auc, loss)
	return nil
}

// job is the demo's training: two servers and two tasks in this process.
func (d *demo) job() *job {
	return &job{paths: d.paths,
		algo: "lr", model: d.path("model-angel"), to: "angel", data: []string{d.path("train.dummy")}, format: "dummy", base: "auto",
		dim: d.truth.Dim(), l2: 1e-6, epochs: 10, seed: d.seed, tasks: 2, name: "demo", force: true,
		lasting: lasting{keepCheckpoints: usualKept, parting: parting{grace: defaultGrace}},
	}
}

func (d *demo) train(ctx context.Context) error {
	j := d.job()
	path, err := j.target(ctx, d.env)
	if err != nil {
		return err
	}
	defer path.release()
	w, err := newWatcher(ctx, d.env, "", false)
	if err != nil {
		return err
	}
	p, err := j.plan(ctx, d.env)
	if err != nil {
		return err
	}
	c, err := embed(ctx, 2, nil, d.paths)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := w.begin(p); err != nil {
		return err
	}
	r, err := p.run(ctx, c, []int{0, 1}, path.name, w)
	w.bar.end()
	if err != nil {
		return err
	}
	d.say("trained %s for %s on 2 servers by 2 tasks, saved %s", j.algo, number.Of(r.Epochs, "epoch"), j.model)
	return nil
}

func (d *demo) score(ctx context.Context) error {
	m, err := d.measure(ctx, d.path("model-angel"), "")
	if err == nil {
		d.say("the trained model reaches               auc %.5f  logloss %.5f", m.Get("auc"), m.Get("logloss"))
	}
	return err
}

// convert sends the model through the other formats and back, comparing all values each time.
func (d *demo) convert(ctx context.Context) error {
	for _, step := range [][3]string{
		{"model-angel", "model-daphne", "daphne"}, {"model-daphne", "model.params", "paddle"},
		{"model.params", "model-back", "angel"},
	} {
		src, err := d.locate(ctx, d.path(step[0]), "", nil)
		if err != nil {
			return err
		}
		o := output{to: step[2], force: true, quiet: true}
		if err := o.save(ctx, d.env, []*place{src}, d.path(step[1]), unchanged); err != nil {
			return err
		}
		diff, err := d.diff(ctx, d.path("model-angel"), d.path(step[1]))
		if err != nil {
			return err
		}
		if diff != "" {
			return fmt.Errorf("%s is not what was trained: %s", d.path(step[1]), diff)
		}
		d.say("converted to %-8s %s: every value as trained", step[2], d.path(step[1]))
	}
	first, err := d.measure(ctx, d.path("model-angel"), "lr")
	if err != nil {
		return err
	}
	last, err := d.measure(ctx, d.path("model-back"), "lr")
	if err != nil {
		return err
	}
	if fmt.Sprint(first) != fmt.Sprint(last) {
		return fmt.Errorf("the model that went round scores %v, not %v", last, first)
	}
	d.say("the model that went round scores alike")
	return nil
}

func (d *demo) diff(ctx context.Context, a, b string) (string, error) {
	ra, err := d.open(ctx, a)
	if err != nil {
		return "", err
	}
	defer ra.Close()
	rb, err := d.open(ctx, b)
	if err != nil {
		return "", err
	}
	defer rb.Close()
	return format.Diff(ctx, ra, rb)
}

// measure scores the held-out examples with a stored model.
func (d *demo) measure(ctx context.Context, model, algorithm string) (train.Metrics, error) {
	p := prediction{job: *d.job()}
	p.job.model, p.job.data, p.algo = model, []string{d.path("test.dummy")}, algorithm
	s, err := p.measure(ctx, d.env)
	if err != nil {
		return nil, err
	}
	return s.Metrics, nil
}
