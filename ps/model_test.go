package ps_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// jobOn runs the tasks of a job on some servers with the bucket.
func jobOn(t *testing.T, servers, tasks int, bucket blob.Bucket, run func(ctx context.Context, p *ps.Client, task int) error) {
	t.Helper()
	tasksOn(t, servers, ps.Options{Tasks: tasks}, bucket, run)
}

// tasksOn is jobOn with options.
func tasksOn(t *testing.T, servers int, o ps.Options, bucket blob.Bucket, run func(ctx context.Context, p *ps.Client, task int) error) {
	t.Helper()
	o.Job = "j"
	stop, err := realServers(&o, setting{real: "mem"}, servers, bucket)
	must(t, err)
	defer stop()
	var wg sync.WaitGroup
	for task := range o.Tasks {
		wg.Go(func() {
			mine := o
			mine.Task = task
			p, err := ps.Dial(t.Context(), mine)
			if err == nil {
				defer p.Close()
				if err = run(t.Context(), p, task); err == nil {
					err = p.Leave(t.Context())
				}
			}
			if err != nil {
				t.Errorf("task %d: %v", task, err)
			}
		})
	}
	wg.Wait()
}

// filled saves, from three servers, a matrix of 3 x 40 whose cells are 100 times the row plus the column, those of every third
// column if it is sparse, and one beside it.
func filled(t *testing.T, bucket blob.Bucket, rowTypeName string) {
	t.Helper()
	jobOn(t, 3, 1, bucket, func(ctx context.Context, p *ps.Client, _ int) error {
		m, other, never := ps.NewModel("m", 3, 40), ps.NewModel("other", 1, 5), ps.NewModel("never", 1, 5)
		m.SetRowType(rowType(t, rowTypeName))
		for _, model := range []*ps.Model{m, other, never} {
			model.SetSavePath("saved")
		}
		never.SetNeedSave(false)
		pathless := ps.NewModel("pathless", 1, 1)
		ms, err := p.CreateModels(ctx, m, other, never, pathless)
		if err != nil {
			return err
		}
		keys, values := []int64{}, []float64{}
		for c := int64(0); c < 40; c++ {
			if m.Matrix().Meta().Layout == matrix.RowDense || c%3 == 0 {
				keys = append(keys, c)
				values = append(values, float64(c), float64(100+c), float64(200+c))
			}
		}
		b, _ := matrix.Block{At: m.Matrix().Meta().Rect(), Data: &matrix.Cols[float64]{Idx: keys, Val: values}}.Cast(m.Matrix().Meta().DType)
		if err := errors.Join(ms[0].Increment(b), p.SyncClock(ctx)); err != nil {
			return err
		}
		return p.SaveModels(ctx, m, other, never, pathless)
	})
}

// TestLoadPath: a model that was saved by three servers is what a matrix begins with, on other servers, of other partitions, larger, of
// another type; what was not saved begins with its initial values; and every task sees it.
func TestLoadPath(t *testing.T) {
	for _, from := range []string{"T_DOUBLE_DENSE", "T_DOUBLE_SPARSE"} {
		bucket := &blob.Mem{}
		filled(t, bucket, from)
		for _, into := range []string{"T_DOUBLE_DENSE", "T_DOUBLE_SPARSE_LONGKEY", "T_FLOAT_DENSE"} {
			for _, servers := range []int{1, 4} {
				for _, size := range [][2]int64{{3, 40}, {5, 40}, {3, 70}, {6, 90}} {
					what := fmt.Sprintf("%s into %s of %v on %d servers", from, into, size, servers)
					jobOn(t, servers, 3, bucket, func(ctx context.Context, p *ps.Client, _ int) error {
						model := ps.NewModel("m", size[0], size[1])
						model.SetRowType(rowType(t, into))
						model.SetLoadPath("saved")
						model.SetMeta(func(m *matrix.Meta) {
							if m.Layout == matrix.RowDense {
								m.Init = matrix.Init{Kind: "uniform", Scale: 1, Seed: 9}
							}
						})
						ms, err := p.CreateModels(ctx, model)
						if err != nil {
							return err
						}
						return checkLoaded(ctx, ms[0], from == "T_DOUBLE_DENSE", what)
					})
				}
			}
		}
	}
}

func checkLoaded(ctx context.Context, m *ps.Matrix, full bool, what string) error {
	for r := range m.Meta().Rows {
		row, err := m.GetRow(ctx, r)
		if err != nil {
			return err
		}
		row, _ = row.Cast(matrix.F64)
		for c, v := range row.ToDense().Data.Values().([]float64) {
			switch saved := r < 3 && c < 40 && (full || c%3 == 0); {
			case saved && v != float64(100*r)+float64(c):
				return fmt.Errorf("%s: row %d, column %d is %v", what, r, c, v)
			case !saved && m.Meta().Init.Kind == "" && v != 0, !saved && (r >= 3 || c >= 40) && m.Meta().Init.Kind != "" && (v == 0 || math.Abs(v) >= 1):
				return fmt.Errorf("%s: row %d, column %d, which was not saved, is %v", what, r, c, v)
			}
		}
	}
	return nil
}

// TestSaveModels: what needs it is saved to its path, what shares a path in one model, in the format that was asked for.
func TestSaveModels(t *testing.T) {
	bucket := &blob.Mem{}
	filled(t, bucket, "T_DOUBLE_DENSE")
	jobOn(t, 2, 1, bucket, func(ctx context.Context, p *ps.Client, _ int) error {
		other := ps.NewModel("other", 1, 5)
		other.SetLoadPath("saved")
		if _, err := p.CreateModels(ctx, other); err != nil {
			return err
		}
		for _, name := range []string{"never", "pathless"} {
			m := ps.NewModel(name, 1, 5)
			m.SetLoadPath("saved")
			if _, err := p.CreateModels(ctx, m); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("matrix %q", name)) {
				t.Errorf("%s was saved: %v", name, err)
			}
		}
		other.SetSave(ps.SaveOptions{Path: "x.npy", Codec: "npy"})
		if err := p.SaveModels(ctx, other); err != nil {
			return err
		}
		if o, err := bucket.Open(ctx, "x.npy"); err != nil {
			t.Errorf("no x.npy: %v", err)
		} else {
			o.Close()
		}
		one, two := ps.NewModel("one", 1, 5), ps.NewModel("two", 1, 5)
		one.SetSavePath("both")
		two.SetSave(ps.SaveOptions{Path: "both", Codec: "npy"})
		if err := p.SaveModels(ctx, one); err == nil || !strings.Contains(err.Error(), "matrix one is to be saved to both, and was not created") {
			t.Errorf("save of a matrix that there is none of: %v", err)
		}
		if _, err := p.CreateModels(ctx, one, two); err != nil {
			return err
		}
		if err := p.SaveModels(ctx, one, two); err == nil || !strings.Contains(err.Error(), "matrices one and two are to be saved to both with different") {
			t.Errorf("two formats of one path: %v", err)
		}
		return nil
	})
}

// TestArbitrary: T_INT_ARBITRARY is dense where a quarter of the cells has a value, and sparse where fewer have, or none is known.
func TestArbitrary(t *testing.T) {
	for _, c := range []struct {
		saved string // "": nothing
		cols  int64
		want  matrix.Layout
	}{
		{"", 40, matrix.RowSparse},
		{"T_INT_DENSE", 40, matrix.RowDense},    // 119 of 120
		{"T_INT_DENSE", 158, matrix.RowDense},   // of 474
		{"T_INT_DENSE", 159, matrix.RowSparse},  // of 477
		{"T_INT_SPARSE", 40, matrix.RowDense},   // 41 of 120
		{"T_INT_SPARSE", 400, matrix.RowSparse}, // of 1200
	} {
		bucket := &blob.Mem{}
		if c.saved != "" {
			filled(t, bucket, c.saved)
		}
		jobOn(t, 2, 2, bucket, func(ctx context.Context, p *ps.Client, _ int) error {
			model := ps.NewModel("m", 3, c.cols)
			model.SetRowType(matrix.IntArbitrary)
			if c.saved != "" {
				model.SetLoadPath("saved")
			}
			ms, err := p.CreateModels(ctx, model)
			if err != nil {
				return err
			}
			if m := ms[0].Meta(); m.Layout != c.want || m.DType != matrix.I32 {
				return fmt.Errorf("%s with %d columns is %v of %v, want %v", c.saved, c.cols, m.Layout, m.DType, c.want)
			}
			if c.saved == "" {
				return nil
			}
			return checkLoaded(ctx, ms[0], c.saved == "T_INT_DENSE", c.saved)
		})
	}
}

// TestRowTypesCreated: a matrix of every row type can be created and pushed to, and is saved as what it is; objects are refused.
func TestRowTypesCreated(t *testing.T) {
	for _, r := range matrix.RowTypes() {
		bucket := &blob.Mem{}
		jobOn(t, 2, 1, bucket, func(ctx context.Context, p *ps.Client, _ int) error {
			model := ps.NewModel("m", 2, 10)
			model.SetRowType(r)
			model.SetSavePath("m")
			ms, err := p.CreateModels(ctx, model)
			if r.Object() {
				if err == nil || !strings.Contains(err.Error(), "Java objects") {
					t.Errorf("%v: %v, want it refused with the reason", r, err)
				}
				return nil
			}
			if err != nil {
				return err
			}
			meta := ms[0].Meta()
			if meta.DType != r.DType() || meta.Layout != r.Layout() {
				return fmt.Errorf("%v is %v of %v", r, meta.Layout, meta.DType)
			}
			b, _ := matrix.Block{At: meta.Rect(), Data: &matrix.Cols[float64]{Idx: []int64{3}, Val: []float64{4, 5}}}.Cast(meta.DType)
			if err := errors.Join(ms[0].Increment(b), p.SyncClock(ctx), p.SaveModels(ctx, model)); err != nil {
				return err
			}
			o, err := bucket.Open(ctx, "m/m/_meta")
			if err != nil {
				return err
			}
			defer o.Close()
			text := make([]byte, o.Size())
			if _, err := o.ReadAt(text, 0); err != nil {
				return err
			}
			if want := fmt.Sprintf(`"rowType":%d,`, r); r != matrix.IntArbitrary && !strings.Contains(string(text), want) {
				t.Errorf("%v is saved with metadata %s, want %s there", r, text, want)
			}
			return nil
		})
	}
}

// TestAttributes: Angel's parameters do what the methods do, and all of them go with the matrix.
func TestAttributes(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{Tasks: 2, Task: 0})
	defer p.Close()
	model := ps.NewModel("m", 2, 10, 1, 5)
	model.SetAttribute("matrix.average", "TRUE")
	model.SetAttribute("matrix.staleness", "-1")
	model.SetAttribute("matrix.oplog.type", "T_DOUBLE_SPARSE")
	model.SetAttribute("matrix.hogwild", "false")
	model.SetAttribute("mine", "yes")
	ms, err := p.CreateModels(t.Context(), model)
	must(t, err)
	m := ms[0]
	if m.Meta().Attrs["mine"] != "yes" || m.Meta().Attrs["matrix.average"] != "TRUE" || m != model.Matrix() {
		t.Errorf("attributes %v", m.Meta().Attrs)
	}
	if at := m.Parts().At(0); at != matrix.At(0, 1, 0, 5) {
		t.Errorf("the first partition is %v, want the block of one row and five columns", at)
	}
	must(t, m.Increment(dense(matrix.At(1, 2, 9, 10), 3)))
	must(t, p.Flush(t.Context())) // under ASP it is applied
	if got := c.sum("m", cell{1, 9}); got != 1.5 {
		t.Errorf("3 of two tasks came as %v, want 1.5 at once", got)
	}
	c.right(t)
}

// TestAverageLeavesFunctions (T1): update functions are not divided, increments of every form are, and integers toward zero.
func TestAverageLeavesFunctions(t *testing.T) {
	p, stop := onReal(t, ps.Options{Tasks: 4, Bound: ssp.ASP}, 2)
	defer stop()
	model, ints := ps.NewModel("m", 1, 4), ps.NewModel("i", 1, 4)
	model.SetAverage(true)
	ints.SetAverage(true)
	ints.SetRowType(rowType(t, "T_INT_DENSE"))
	ms, err := p.CreateModels(t.Context(), model, ints)
	must(t, err)
	must(t, ms[0].Update(t.Context(), "fill", psfArgs{"value": 8}))
	delta := dense(matrix.At(0, 1, 0, 4), 1, 2, 3, 4)
	must(t, ms[0].Increment(delta))
	must(t, ms[0].IncrementRows([]int64{0}, delta))
	must(t, ms[1].Increment(matrix.Block{At: delta.At, Data: &matrix.Dense[int32]{Val: []int32{7, -7, 3, 8}}}))
	must(t, p.Flush(t.Context()))
	row, err := ms[0].GetRow(t.Context(), 0)
	must(t, err)
	if got := row.Data.Values().([]float64); !slices.Equal(got, []float64{8.5, 9, 9.5, 10}) || delta.Data.Values().([]float64)[3] != 4 {
		t.Errorf("%v, want 8.5, 9, 9.5 and 10; the delta is %v", got, delta.Data)
	}
	row, err = ms[1].GetRow(t.Context(), 0)
	must(t, err)
	if got := row.Data.Values().([]int32); !slices.Equal(got, []int32{1, -1, 0, 2}) {
		t.Errorf("%v, want 1, -1, 0 and 2", got)
	}
}

type psfArgs map[string]any

// TestModelRefused: a setting that is none is told when the matrix is created, with what was wanted.
func TestModelRefused(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	set := func(key, value string) *ps.Model {
		m := ps.NewModel("m", 1, 1)
		m.SetAttribute(key, value)
		return m
	}
	odd := ps.NewModel("m", 1, 1)
	odd.SetRowType(77)
	filter := ps.NewModel("m", 1, 1)
	filter.SetFilter(math.NaN())
	for want, m := range map[string]*ps.Model{
		"0 rows of 3 columns, want 1 or more":                          ps.NewModel("m", 0, 3),
		"blocks of 0 rows or columns, want 1 or more, or -1":           ps.NewModel("m", 1, 3, 0, 1),
		"3 sizes of a block":                                           ps.NewModel("m", 1, 3, 1, 1, 1),
		`attribute matrix.average: "maybe", want true or false`:        set("matrix.average", "maybe"),
		`attribute matrix.staleness: "x", want a number`:               set("matrix.staleness", "x"),
		`attribute matrix.oplog.filter.threshold: "-1", want a number`: set("matrix.oplog.filter.threshold", "-1"),
		"row type 77 is none":                                          odd,
		"filter threshold NaN":                                         filter,
	} {
		if _, err := p.CreateModels(t.Context(), m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestLoadFails: a load path with nothing there is an error of the task that loads, and of the others, which do not wait for ever.
func TestLoadFails(t *testing.T) {
	o := ps.Options{Job: "j", Tasks: 2}
	stop, err := realServers(&o, setting{real: "mem"}, 2, &blob.Mem{})
	must(t, err)
	defer stop()
	var tasks []*ps.Client // all of them, before the first fails: who joins later begins another job
	for task := range 2 {
		mine := o
		mine.Task = task
		p, err := ps.Dial(t.Context(), mine)
		must(t, err)
		tasks = append(tasks, p)
	}
	var wg sync.WaitGroup
	for task, p := range tasks {
		wg.Go(func() {
			defer p.Close()
			model := ps.NewModel("m", 1, 1)
			model.SetLoadPath("nothing")
			_, err := p.CreateModels(t.Context(), model)
			if want := []error{rpc.ErrNotFound, rpc.ErrAborted}[task]; !errors.Is(err, want) {
				t.Errorf("task %d: %v, want %v", task, err, want)
			}
		})
	}
	wg.Wait()
}

// TestLoadReplaced: several servers that load a model which is replaced at any moment all load the same one.
func TestLoadReplaced(t *testing.T) {
	meta := matrix.Meta{Name: "m", Rows: 1, Cols: 30, DType: matrix.F64}
	swapped := 0
	for at := 1; at < 16; at++ {
		bucket := &swapping{Mem: &blob.Mem{}}
		for value, path := range []string{"saved", "other"} {
			jobOn(t, 2, 1, bucket, func(ctx context.Context, p *ps.Client, _ int) error {
				meta := meta
				meta.Init = matrix.Init{Kind: "constant", Scale: float64(value + 1)}
				if err := p.Create(ctx, "", meta); err != nil {
					return err
				}
				return p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: path, Lossy: true})
			})
		}
		bucket.at.Store(int64(at))
		jobOn(t, 3, 1, bucket, func(ctx context.Context, p *ps.Client, _ int) error {
			if err := p.Create(ctx, "", meta); err != nil {
				return err
			}
			if err := p.Load(ctx, ps.LoadOptions{Path: "saved"}); err != nil {
				return err
			}
			m, err := p.Matrix("m")
			if err != nil {
				return err
			}
			row, err := m.GetRow(ctx, 0)
			if err != nil {
				return err
			}
			values := row.ToDense().Data.Values().([]float64)
			for _, v := range values {
				if v != values[0] || v == 0 {
					return fmt.Errorf("replaced at access %d: values %v", at, values)
				}
			}
			return nil
		})
		if bucket.at.Load() <= 0 {
			swapped++
		}
	}
	if swapped < 6 {
		t.Errorf("%d models were replaced while they were loaded", swapped)
	}
}

// swapping replaces the model at "saved" by that at "other" before an access.
type swapping struct {
	*blob.Mem
	at atomic.Int64 // accesses until then; below 1: it has been
}

func (s *swapping) access(ctx context.Context) {
	if s.at.Add(-1) == 0 {
		over, err := s.Mem.State(ctx, "saved")
		if err == nil {
			err = s.Mem.Publish(ctx, "other", "saved", over)
		}
		if err != nil {
			panic(err)
		}
	}
}

func (s *swapping) State(ctx context.Context, name string) (blob.State, error) {
	s.access(ctx)
	return s.Mem.State(ctx, name)
}

func (s *swapping) List(ctx context.Context, tree string) ([]blob.Info, error) {
	s.access(ctx)
	return s.Mem.List(ctx, tree)
}

func (s *swapping) Open(ctx context.Context, name string) (blob.Object, error) {
	s.access(ctx)
	return s.Mem.Open(ctx, name)
}

func (s *swapping) PinSet(ctx context.Context, name string, others []string) (blob.Pinned, error) {
	s.access(ctx)
	return s.Mem.PinSet(ctx, name, others)
}
