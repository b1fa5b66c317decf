package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/format"
	"thole.example/metric"
	"thole.example/train"
)

// demo is the whole way once, on made-up click-through data whose truth is known.
type demo struct {
	*env
	dir   string
	rows  int64
	seed  uint64
	truth *data.ClickModel
	began time.Time
}

// demoFields are sizes of the one-hot fields of the demo's examples: some small like weekday and country, some large
// like site and item.
func demoFields() []int64 { return []int64{2, 7, 24, 50, 12, 300, 1000, 5000, 20, 200, 2000, 100} }

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
	d.truth, err = data.NewClicks(data.Clicks{
		Seed: d.seed, Rows: d.rows + test, Dims: demoFields(), Skew: 1.1, Spread: 0.6, Bias: -1.2,
	})
	if err != nil {
		return err
	}
	if err := d.write(ctx, "train.dummy", 0, d.rows); err != nil {
		return err
	}
	if err := d.write(ctx, "test.dummy", d.rows, d.rows+test); err != nil {
		return err
	}
	held := d.truth.Batch(d.rows, d.rows+test)
	labels := make([]float64, held.Len())
	for i, y := range held.Label {
		labels[i] = float64(y)
	}
	best := d.truth.Truth(held)
	auc, err := metric.AUC(best, labels)
	if err != nil {
		return err
	}
	loss, err := metric.LogLoss(best, labels)
	if err != nil {
		return err
	}
	d.say("made %d + %d click-through examples of %d features in %d fields", d.rows, test, d.truth.Dim(), len(demoFields()))
	d.say("whoever knows the true model reaches    auc %.5f  logloss %.5f on the held-out ones", auc, loss)
	return nil
}

// writeRows is how many examples are written between two looks at the context.
const writeRows = 50_000

func (d *demo) write(ctx context.Context, name string, lo, hi int64) error {
	f, err := os.Create(d.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for ; lo < hi && err == nil; lo += writeRows {
		if err = ctx.Err(); err == nil {
			err = d.truth.Write(w, lo, min(lo+writeRows, hi))
		}
	}
	if err == nil {
		err = w.Flush()
	}
	return err
}

// job is the demo's training: two servers and two tasks in this process.
func (d *demo) job() *job {
	return &job{
		algo: "lr", model: d.path("model-angel"), to: "angel", data: []string{d.path("train.dummy")}, format: "dummy", base: "auto",
		dim: d.truth.Dim(), l2: 1e-6, epochs: 10, seed: d.seed, tasks: 2, name: "demo", force: true,
	}
}

func (d *demo) train(ctx context.Context) error {
	j := d.job()
	path, err := j.target()
	if err != nil {
		return err
	}
	defer path.release()
	w, err := newWatcher(d.env, "")
	if err != nil {
		return err
	}
	p, err := j.plan(ctx, d.env)
	if err != nil {
		return err
	}
	c, err := embed(ctx, 2, false)
	if err != nil {
		return err
	}
	defer c.stop()
	w.begin(p)
	r, err := p.run(ctx, c, []int{0, 1}, path.name, w)
	w.bar.end()
	if err != nil {
		return err
	}
	d.say("trained %s for %d epochs on 2 servers by 2 tasks, saved %s", j.algo, r.Epochs, j.model)
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
		src, err := locate(ctx, d.path(step[0]), "", nil)
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
	ra, _, err := open(ctx, a, "", nil)
	if err != nil {
		return "", err
	}
	defer ra.Close()
	rb, _, err := open(ctx, b, "", nil)
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
