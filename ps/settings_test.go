package ps_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/ssp"
)

// setting is how a program is run; under BSP nothing of it may be seen in the results.
type setting struct {
	place
	inFlight int
	uncached bool // no row is kept by the client
	cache    int  // keys that the client keeps; 0: none
	next     bool // a step is ended, and the values after it are asked for, in one message
	every    int  // about every how many requests a connection is lost; 0: none is
	seed     uint64
	real     string // servers of package server on the network of this name; "": stores on the fake one
	moves    int    // after so many steps all goes on from a checkpoint on other servers; 0: it does not
	to       place  // where
	since    bool   // that checkpoint has what has changed since another one
}

// place is where matrices are kept, and how they are cut.
type place struct {
	servers int
	cut     string
}

// drawPlace draws one that can have matrices of the layout.
func drawPlace(t *rapid.T, kept matrix.Layout) place {
	cuts := []string{"range", "column"}
	if kept == matrix.RowSparse {
		cuts = append(cuts, "hash")
	}
	return place{rapid.IntRange(1, 7).Draw(t, "servers"), rapid.SampledFrom(cuts).Draw(t, "cut")}
}

// drawSetting draws one in which a connection is lost about every so many requests, and for matrices of the layout.
func drawSetting(t *rapid.T, kept matrix.Layout, every ...int) setting {
	return setting{
		place: drawPlace(t, kept), inFlight: rapid.IntRange(1, 5).Draw(t, "in flight"), uncached: rapid.Bool().Draw(t, "uncached"),
		cache: rapid.SampledFrom([]int{0, 16, 40, 1000}).Draw(t, "cached keys"),
		next:  rapid.Bool().Draw(t, "next"),
		every: rapid.SampledFrom(every).Draw(t, "every"), seed: rapid.Uint64().Draw(t, "losses"),
	}
}

// op is something a task does; what is seen of the matrix is written down.
type op struct {
	kind  string
	block matrix.Block
	ids   []int64
	rows  []int64
	text  string // of a staged function; "": one that scales
}

// program is what the tasks of a job do: ops[step][task], and after each step something that one task does while the
// others wait.
type program struct {
	meta  matrix.Meta
	tasks int
	ops   [][][]op
	quiet []string
}

func drawProgram(t *rapid.T) program {
	m := matrix.Meta{
		Name: "m", Rows: rapid.Int64Range(1, 4).Draw(t, "rows"), Cols: rapid.Int64Range(1, 130).Draw(t, "cols"),
		BlockCols: rapid.SampledFrom([]int64{0, 7, 40}).Draw(t, "block"), DType: matrix.F64,
		Layout: rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "layout"),
	}
	p := program{meta: m, tasks: rapid.IntRange(1, 3).Draw(t, "tasks")}
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		step := make([][]op, p.tasks)
		for task := range step {
			for range rapid.IntRange(0, 4).Draw(t, "ops") {
				step[task] = append(step[task], drawOp(t, &m))
			}
		}
		p.ops = append(p.ops, step)
		p.quiet = append(p.quiet, rapid.SampledFrom([]string{"", "", "double", "sum", "reload"}).Draw(t, "quiet"))
	}
	return p
}

func drawOp(t *rapid.T, m *matrix.Meta) op {
	o := op{kind: rapid.SampledFrom([]string{"push", "push", "increment", "scattered", "keys", "cols", "row", "rows", "flow", "flush", "pull"}).Draw(t, "op")}
	switch o.kind {
	case "push", "increment":
		o.block = drawBlock(t, m.Rect())
	case "scattered":
		o.block = drawBlock(t, m.Rect())
		for range o.block.At.Rows.Len() {
			o.rows = append(o.rows, rapid.Int64Range(0, m.Rows-1).Draw(t, "row"))
		}
		o.block.At.Rows = matrix.Range{Hi: int64(len(o.rows))}
	case "cols", "pull":
		for c := int64(0); c < m.Cols; c += rapid.Int64Range(1, 30).Draw(t, "gap") {
			o.ids = append(o.ids, c)
		}
	case "keys":
		o.ids = rapid.SliceOfN(rapid.Int64Range(0, m.Cols-1), 0, 30).Draw(t, "keys")
	default:
		o.ids = rapid.SliceOfN(rapid.Int64Range(0, m.Rows-1), 1, 4).Draw(t, "rows")
	}
	return o
}

func drawBlock(t *rapid.T, whole matrix.Rect) matrix.Block {
	between := func(r matrix.Range) matrix.Range {
		lo := rapid.Int64Range(r.Lo, r.Hi-1).Draw(t, "lo")
		return matrix.Range{Lo: lo, Hi: rapid.Int64Range(lo+1, r.Hi).Draw(t, "hi")}
	}
	at := matrix.Rect{Rows: between(whole.Rows), Cols: between(whole.Cols)}
	b := matrix.NewDense(matrix.F64, at)
	seed := rapid.Uint64().Draw(t, "values")
	for i := range b.Data.Values().([]float64) {
		seed = seed*6364136223846793005 + 1442695040888963407
		b.Data.Values().([]float64)[i] = float64(int64(seed)) / (1 << 61)
	}
	some := rapid.Int64Range(1, 9).Draw(t, "some")
	csr := b.Pick(func(col int64) bool { return col%some == 0 })
	switch d := csr.Data.(*matrix.CSR[float64]); rapid.IntRange(0, 3).Draw(t, "kind") {
	case 1:
		return csr
	case 2:
		out := &matrix.COO[float64]{Col: d.Idx, Val: d.Val}
		for r := range len(d.Ptr) - 1 {
			for range d.Ptr[r+1] - d.Ptr[r] {
				out.Row = append(out.Row, int64(r))
			}
		}
		slices.Reverse(out.Row)
		slices.Reverse(out.Col)
		return matrix.Block{At: at, Data: out}
	case 3:
		out := matrix.Block{At: at, Data: &matrix.Cols[float64]{}}
		if rows := int(at.Rows.Len()); d.Ptr[1] > 0 {
			out.Data = matrix.KindOf(matrix.F64).Cols(d.Idx[:d.Ptr[1]], rows)
			val := out.Data.Values().([]float64)
			for i := range val {
				val[i] = d.Val[i%rows*d.Ptr[1]+i/rows]
			}
		}
		return out
	}
	return b
}

// text is the block as text: every cell that is not zero, exactly.
func text(b matrix.Block) string {
	var out strings.Builder
	wide, _ := b.ToDense().Cast(matrix.F64)
	d := wide.Data.Values().([]float64)
	width := b.At.Cols.Len()
	for i, v := range d {
		if v != 0 {
			fmt.Fprintf(&out, "%d,%d=%b ", b.At.Rows.Lo+int64(i)/width, b.At.Cols.Lo+int64(i)%width, v)
		}
	}
	return out.String()
}

// run makes the program happen and answers with what each task saw. No time passes between attempts to come back.
func (p *program) run(whole *testing.T, t *rapid.T, s setting) (saw []string) {
	t.Helper()
	var err error
	if s.real == "tcp" {
		saw, err = p.happen(s)
	} else {
		synctest.Test(whole, func(*testing.T) { saw, err = p.happen(s) })
	}
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return saw
}

func (p *program) happen(s setting) ([]string, error) {
	o := ps.Options{Job: "j", Tasks: p.tasks, Bound: ssp.BSP, InFlight: s.inFlight}
	if s.every > 0 {
		o.Retry = time.Minute
	}
	if s.real != "" {
		return p.onServers(o, s)
	}
	c := newCluster(s.servers)
	o.Network, o.Servers = c.fake, c.addrs()
	o.Funcs = fakeFuncs
	if s.every > 0 {
		c.fate = lossy(s.seed, s.every)
	}
	saw, err := p.tasksOf(o, s, leg{place: s.place, to: len(p.ops)})
	for i, st := range c.stores {
		if len(st.wrong) > 0 {
			err = errors.Join(err, fmt.Errorf("server %d: %q", i, st.wrong))
		}
	}
	return saw, err
}

// leg is some steps of a program that are made at one place.
type leg struct {
	place
	from, to int
}

// tasksOf runs all tasks of the program.
func (p *program) tasksOf(o ps.Options, s setting, l leg) ([]string, error) {
	saw, errs := make([]string, p.tasks), make([]error, p.tasks)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var wg sync.WaitGroup
	for task := range p.tasks {
		wg.Go(func() {
			mine := o
			mine.Task = task
			if saw[task], errs[task] = p.task(ctx, mine, s, l); errs[task] != nil {
				cancel(errs[task])
			}
		})
	}
	wg.Wait()
	return saw, errors.Join(errs...)
}

func (p *program) task(ctx context.Context, o ps.Options, s setting, l leg) (string, error) {
	c, err := ps.Dial(ctx, o)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.Create(ctx, l.cut, p.meta); err != nil {
		return "", err
	}
	m, err := c.Matrix("m")
	if err != nil {
		return "", err
	}
	if err := m.SetCache(ps.CacheBytes(m, s.cache), 0); err != nil {
		return "", err
	}
	if err := l.begin(ctx, c, o.Task); err != nil {
		return "", err
	}
	var saw strings.Builder
	for step := l.from; step < l.to; step++ {
		if s.since && o.Task == 0 && l.to < len(p.ops) && step == l.to/2 {
			if err := c.CheckpointSince(ctx, "base", ""); err != nil {
				return "", err
			}
		}
		if err := p.step(ctx, c, m, s, step, o.Task, &saw); err != nil {
			return "", fmt.Errorf("step %d: %w", step, err)
		}
	}
	if l.to < len(p.ops) && o.Task == 0 {
		write := c.Checkpoint
		if s.since {
			write = func(ctx context.Context, path string) error {
				err := c.CheckpointSince(ctx, path, "base")
				if err != nil && strings.Contains(err.Error(), "as where something was loaded") {
					err = c.CheckpointSince(ctx, path, "")
				}
				return err
			}
		}
		if err := write(ctx, "state"); err != nil {
			return "", err
		}
	}
	return saw.String(), c.Leave(ctx)
}

// begin has the first task restore what the leg before left, while the others wait.
func (l leg) begin(ctx context.Context, c *ps.Client, task int) error {
	if l.from == 0 {
		return nil
	}
	if task == 0 {
		if _, err := c.Restore(ctx, "state"); err != nil {
			return err
		}
	}
	return errors.Join(c.SyncClock(ctx), c.Barrier(ctx))
}

// step is what a task does in one step, and after it.
func (p *program) step(ctx context.Context, c *ps.Client, m *ps.Matrix, s setting, step, task int, saw *strings.Builder) error {
	for _, x := range p.ops[step][task] {
		if s.uncached {
			ps.Forget(m)
		}
		got, err := do(ctx, c, m, x)
		if err != nil {
			return fmt.Errorf("%s: %w", x.kind, err)
		}
		for _, b := range got {
			fmt.Fprintf(saw, "step %d %s: %s\n", step, x.kind, text(b))
		}
	}
	// What is read here may be read after the function that the first task runs, as that runs at once.
	if _, err := s.tick(ctx, c, 1); err != nil {
		return err
	}
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	if task == 0 {
		alone := p.alone
		if s.real != "" {
			alone = p.aloneWithServers
		}
		if err := alone(ctx, c, m, p.quiet[step], saw); err != nil {
			return fmt.Errorf("%s: %w", p.quiet[step], err)
		}
	}
	after, err := s.tick(ctx, c, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(saw, "after step %d: %s\n", step, text(after))
	return c.Barrier(ctx)
}

// tick ends a step of so many examples, and reads everything.
func (s *setting) tick(ctx context.Context, c *ps.Client, weight float64) (matrix.Block, error) {
	all := []matrix.Lookup{{Matrix: "m"}}
	var got []matrix.Block
	var err error
	if s.next {
		got, err = c.Next(ctx, weight, 0.1, all, nil)
	} else if err = c.Clock(ctx, weight, 0.1); err == nil {
		got, err = c.Pull(ctx, all)
	}
	if err != nil {
		return matrix.Block{}, err
	}
	return got[0], nil
}

// alone is what one task does while the others wait.
func (p *program) alone(ctx context.Context, c *ps.Client, m *ps.Matrix, what string, saw *strings.Builder) error {
	switch what {
	case "double":
		return m.Update(ctx, "double", nil)
	case "sum":
		parts := 0
		answer, err := m.Get(ctx, "parts", nil)
		parts = bytes.Count(answer, []byte(" "))
		fmt.Fprintf(saw, "every partition: %v\n", parts == len(m.Parts().Owners))
		return err
	case "reload":
		if err := c.Save(ctx, ps.SaveOptions{Codec: "x", Path: "m"}); err != nil {
			return err
		}
		return c.Load(ctx, ps.LoadOptions{Path: "m"})
	}
	return nil
}

func do(ctx context.Context, c *ps.Client, m *ps.Matrix, x op) ([]matrix.Block, error) {
	delta := func() matrix.Block {
		b, _ := x.block.Clone().Cast(m.Meta().DType)
		return b
	}
	switch x.kind {
	case "push":
		return nil, c.Push("m", delta())
	case "increment", "scattered":
		b := delta()
		err := error(nil)
		if x.kind == "scattered" {
			err = m.IncrementRows(x.rows, b)
		} else {
			err = m.Increment(b)
		}
		switch val := b.Data.Values().(type) { // the increment has copied
		case []float64:
			clear(val)
		case []float32:
			clear(val)
		}
		return nil, err
	case "flush":
		return nil, c.Flush(ctx)
	case "stage":
		if x.text != "" {
			return nil, m.Stage("mapinplace", psf.Args{"f": x.text, "rows": x.ids})
		}
		return nil, m.Stage("scale", psf.Args{"by": 0.3, "rows": x.ids})
	case "keys":
		if m.Meta().DType == matrix.F32 {
			return pushAndPull[float32](ctx, m, x.ids)
		}
		return pushAndPull[float64](ctx, m, x.ids)
	case "cols":
		b, err := m.GetCols(ctx, x.ids)
		return []matrix.Block{b}, err
	case "pull":
		return c.Pull(ctx, []matrix.Lookup{{Matrix: "m", Cols: x.ids}, {Matrix: "m"}, {Matrix: "m", Cols: x.ids[:1]}})
	case "row":
		b, err := m.GetRow(ctx, x.ids[0])
		return []matrix.Block{b}, err
	case "rows":
		return m.GetRows(ctx, x.ids)
	}
	var out []matrix.Block
	for b, err := range m.GetRowsFlow(ctx, x.ids, 2) {
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// pushAndPull does both by one plan, and shows the values of the inputs in a row of their own.
func pushAndPull[T float32 | float64](ctx context.Context, m *ps.Matrix, keys []int64) ([]matrix.Block, error) {
	k, err := m.Plan(nil, keys)
	if err != nil {
		return nil, err
	}
	n := len(keys) * int(m.Meta().Rows)
	grads, got := make([]T, n), make([]T, n)
	for i := range grads {
		grads[i] = 1 / T(i+3)
	}
	if err := ps.PushKeys(m, k, grads); err != nil {
		return nil, err
	}
	if err := ps.PullKeys(ctx, m, k, got); err != nil {
		return nil, err
	}
	return []matrix.Block{{At: matrix.At(0, 1, 0, int64(n)), Data: &matrix.Dense[T]{Val: got}}}, nil
}

// TestSettings runs random programs under different settings, with connections that are lost and without, and wants the
// same bits seen in all of them.
func TestSettings(t *testing.T) {
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		want := p.run(whole, t, setting{place: place{1, "column"}, uncached: true})
		for range 3 {
			s := drawSetting(t, p.meta.Layout, 0, 5, 20)
			for task, saw := range p.run(whole, t, s) {
				if saw != want[task] {
					t.Fatalf("under %+v task %d saw\n%swant\n%s", s, task, saw, want[task])
				}
			}
		}
	})
}
