package ps_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format/all"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// setting is how a program is run; under BSP nothing of it may be seen in the results.
type setting struct {
	servers int
	cut     string
	layout  matrix.Layout
	tcp     bool
}

// op is something a task does; what is seen of the matrix is written down.
type op struct {
	kind  string
	block matrix.Block
	ids   []int64
}

// program is what the tasks of a job do: ops[step][task], and after each step something that one task does while the
// others wait.
type program struct {
	meta  matrix.Meta
	tasks int
	ops   [][][]op
	quiet []string
}

// ruleNames are no rule and those of the table.
func ruleNames() []string {
	names := []string{""}
	for _, r := range optim.Rules() {
		names = append(names, r.Name)
	}
	return names
}

func drawProgram(t *rapid.T) program {
	m := matrix.Meta{
		Name: "m", Rows: rapid.Int64Range(1, 4).Draw(t, "rows"), Cols: rapid.Int64Range(1, 130).Draw(t, "cols"),
		BlockCols: rapid.SampledFrom([]int64{0, 7, 40}).Draw(t, "block"), DType: matrix.F64,
		Layout: rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "layout"),
		Rule:   rapid.SampledFrom(ruleNames()).Draw(t, "rule"),
	}
	if rapid.Bool().Draw(t, "init") {
		m.Init = matrix.Init{Kind: "normal", Scale: 1, Seed: 3}
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
		p.quiet = append(p.quiet, rapid.SampledFrom([]string{"", "", "scale", "max", "reload"}).Draw(t, "quiet"))
	}
	return p
}

func drawOp(t *rapid.T, m *matrix.Meta) op {
	o := op{kind: rapid.SampledFrom([]string{"push", "push", "increment", "cols", "row", "rows", "flow", "flush", "pull"}).Draw(t, "op")}
	switch o.kind {
	case "push", "increment":
		o.block = drawBlock(t, m.Rect())
	case "cols", "pull":
		for c := int64(0); c < m.Cols; c += rapid.Int64Range(1, 30).Draw(t, "gap") {
			o.ids = append(o.ids, c)
		}
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

// cells is the block as text: every cell that is not zero, exactly.
func cells(b matrix.Block) string {
	var out strings.Builder
	d := b.ToDense().Data.Values().([]float64)
	width := b.At.Cols.Len()
	for i, v := range d {
		if v != 0 {
			fmt.Fprintf(&out, "%d,%d=%b ", b.At.Rows.Lo+int64(i)/width, b.At.Cols.Lo+int64(i)%width, v)
		}
	}
	return out.String()
}

// run makes the program happen and answers with what each task saw.
func (p *program) run(t *rapid.T, s setting) []string {
	funcs, err := psf.NewTable(psf.Gets(), psf.Updates(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	var net rpc.Network = &mem.Network{}
	addr := ""
	if s.tcp {
		net, addr = &tcp.Network{}, "127.0.0.1:0"
	}
	bucket := &blob.Mem{}
	var addrs []string
	for range s.servers {
		l, err := net.Listen(context.Background(), addr, &server.Server{Funcs: funcs, Codecs: all.Codecs(), Bucket: bucket})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr())
	}
	saw, errs := make([]string, p.tasks), make([]error, p.tasks)
	var wg sync.WaitGroup
	for task := range p.tasks {
		wg.Go(func() {
			o := ps.Options{Network: net, Servers: addrs, Job: "j", Task: task, Tasks: p.tasks, Bound: ssp.BSP}
			saw[task], errs[task] = p.task(context.Background(), o, s)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return saw
}

func (p *program) task(ctx context.Context, o ps.Options, s setting) (string, error) {
	c, err := ps.Dial(ctx, o)
	if err != nil {
		return "", err
	}
	defer c.Close()
	meta := p.meta
	meta.Layout = s.layout
	if err := c.Create(ctx, s.cut, meta); err != nil {
		return "", err
	}
	m, err := c.Matrix("m")
	if err != nil {
		return "", err
	}
	var saw strings.Builder
	for step := range p.ops {
		for _, x := range p.ops[step][o.Task] {
			got, err := do(ctx, c, m, x)
			if err != nil {
				return "", fmt.Errorf("step %d: %s: %w", step, x.kind, err)
			}
			for _, b := range got {
				fmt.Fprintf(&saw, "step %d %s: %s\n", step, x.kind, cells(b))
			}
		}
		if err := errors.Join(c.Clock(ctx, 1, 0.1), c.Barrier(ctx)); err != nil {
			return "", err
		}
		if o.Task == 0 {
			if err := p.alone(ctx, c, m, p.quiet[step], &saw); err != nil {
				return "", fmt.Errorf("step %d: %s: %w", step, p.quiet[step], err)
			}
		}
		if err := errors.Join(c.SyncClock(ctx), c.Barrier(ctx)); err != nil {
			return "", err
		}
	}
	return saw.String(), c.Leave(ctx)
}

// alone is what one task does while the others wait.
func (p *program) alone(ctx context.Context, c *ps.Client, m *ps.Matrix, what string, saw *strings.Builder) error {
	switch what {
	case "scale":
		for _, u := range psf.Updates() {
			if u.Name == "scale" {
				return m.Update(ctx, &u, []byte(`{"by":0.3,"rows":[0]}`))
			}
		}
	case "max":
		for _, g := range psf.Gets() {
			if g.Name == "max" {
				answer, err := m.Get(ctx, &g, nil)
				if err != nil {
					return err
				}
				v, err := psf.Number(answer)
				fmt.Fprintf(saw, "max %b\n", max(v, 0)) // absent cells are not seen
				return err
			}
		}
	case "reload":
		if p.meta.Layout == matrix.RowSparse && p.meta.Init.Kind != "" {
			return nil // zeros that were stored may come back as the values that cells begin with
		}
		if err := c.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "m"}); err != nil {
			return err
		}
		return c.Load(ctx, ps.LoadOptions{Path: "m"})
	}
	return nil
}

func do(ctx context.Context, c *ps.Client, m *ps.Matrix, x op) ([]matrix.Block, error) {
	switch x.kind {
	case "push":
		return nil, c.Push("m", x.block.Clone())
	case "increment":
		b := x.block.Clone()
		err := m.Increment(b)
		if val, ok := b.Data.Values().([]float64); ok {
			clear(val) // the increment has copied
		}
		return nil, err
	case "flush":
		return nil, c.Flush(ctx)
	case "cols":
		keys := slices.Clone(x.ids)
		b, err := m.GetCols(ctx, keys)
		if !slices.Equal(keys, x.ids) {
			err = errors.New("the keys have changed")
		}
		return []matrix.Block{b}, err
	case "pull":
		return c.Pull(ctx, []matrix.Want{{Matrix: "m", Cols: x.ids}, {Matrix: "m"}, {Matrix: "m", Cols: x.ids[:1]}})
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

// TestSettings runs random programs under different settings and wants the same bits seen in all of them.
func TestSettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		want := p.run(t, setting{servers: 1, cut: "column", layout: p.meta.Layout})
		for range 3 {
			s := setting{
				servers: rapid.IntRange(1, 5).Draw(t, "servers"), layout: p.meta.Layout,
				cut: rapid.SampledFrom([]string{"range", "column", "hash"}).Draw(t, "cut"),
				tcp: rapid.IntRange(0, 4).Draw(t, "tcp") == 0,
			}
			if p.meta.Rule == "" && p.meta.Init.Kind == "" {
				s.layout = rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "kept")
			}
			if s.cut == "hash" && s.layout == matrix.RowDense {
				s.cut = "range"
			}
			for task, saw := range p.run(t, s) {
				if saw != want[task] {
					t.Fatalf("under %+v task %d saw\n%swant\n%s", s, task, saw, want[task])
				}
			}
		}
	})
}
